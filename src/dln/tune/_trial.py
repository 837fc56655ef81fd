"""One trial: an estimator with some parameters, fitted and tested fold by fold. A function of its arguments alone."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.base import clone

from dln._dln import DLNRegressor
from dln._errors import FitInterruptedWarning
from dln._regressor import CircuitRegressor
from dln.network._loop import Epoch
from dln.tune._folds import Folds, Part
from dln.tune._prune import EpochThreshold, Thresholds

State: TypeAlias = Literal["complete", "pruned", "failed"]


@dataclass(frozen=True, slots=True)
class Job:
    """What all trials of a search share."""

    estimator: Any
    folds: Folds


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial to run."""

    number: int
    params: Mapping[str, Any]
    thresholds: Thresholds


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a trial came to."""

    state: State
    losses: tuple[float, ...] = ()
    """The mean squared error of each fold that was run."""
    curve: Mapping[int, float] = field(default_factory=dict)
    """In the first fold: the epochs that improved the validation loss, and that loss, on the standardised target."""
    seconds: float = 0.0
    fit_seconds: float = 0.0
    """The mean over the folds."""
    error: str = ""

    @property
    def value(self) -> float | None:
        """The cross-validated mean squared error of a complete trial."""
        return sum(self.losses) / len(self.losses) if self.state == "complete" else None


class OutOfTimeError(Exception):
    """The time for the whole search is over: the trial is given up."""


class _PrunedError(Exception):
    """The trial is not worth going on with."""


def evaluate(job: Job, task: Trial, is_over: Callable[[], bool] = lambda: False) -> Outcome:
    """Run a trial. Whatever the estimator raises is an outcome too; Ctrl-C and the end of the time are not."""
    start = time.perf_counter()
    losses: list[float] = []
    curve: dict[int, float] = {}
    fits: list[float] = []

    def outcome(state: State, error: str = "") -> Outcome:
        fit_seconds = sum(fits) / len(fits) if fits else 0.0
        return Outcome(state, tuple(losses), curve, time.perf_counter() - start, fit_seconds, error)

    try:
        for k in range(len(job.folds)):
            watch = _Watch(task.thresholds, curve if k == 0 else None, is_over)
            began = time.perf_counter()
            model, part = job.folds.last_step(job.estimator, dict(task.params), k)
            _fit(model, part, watch)
            fits.append(time.perf_counter() - began)
            losses.append(_loss(model, part))
            if is_over() and k + 1 < len(job.folds):
                raise OutOfTimeError  # noqa: TRY301 (a fit may raise it too)
            if k + 1 < len(job.folds) and task.thresholds.rules_out_fold(losses):
                return outcome("pruned")
    except _PrunedError:
        return outcome("pruned")
    except OutOfTimeError:
        raise
    except FitInterruptedWarning as error:  # Ctrl-C, which a DLN takes as the wish to keep what it has
        raise KeyboardInterrupt from error
    except Exception as error:  # noqa: BLE001 (any failure is told, and the search goes on)
        return outcome("failed", f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    return outcome("complete")


def _fit(model: Any, part: Part, watch: _Watch) -> None:
    for dln in dln_parts(model):
        dln.set_params(verbose=0)
        if isinstance(dln, DLNRegressor):
            dln.set_params(checkpoint=None, callbacks=[*(dln.callbacks or ()), watch.of(dln)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitInterruptedWarning)
        model.fit(part.X_train, part.y_train)


def _loss(model: Any, part: Part) -> float:
    error = np.asarray(model.predict(part.X_test), dtype=np.float64).reshape(-1) - part.y_test
    loss = float(np.mean(error * error))
    if not math.isfinite(loss):
        message = "the predictions are not finite numbers, or too large to square"
        raise ValueError(message)
    return loss


def single_threaded(job: Job) -> Job:
    """Return the job with one thread per DLN, which comes to the same, where trials run side by side."""
    estimator = clone(job.estimator)
    for part in dln_parts(estimator):
        if part.n_jobs is None:
            part.set_params(n_jobs=1)
    return replace(job, estimator=estimator)


def dln_parts(estimator: Any) -> list[CircuitRegressor]:
    """Return the DLNs in an estimator: itself, or the last step of a pipeline, and so on."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return [part for part in parts if isinstance(part, CircuitRegressor)]


class _Watch:
    """Sees every epoch of a fit: writes its curve down, and ends it when it is ruled out or the time is over."""

    def __init__(self, thresholds: Thresholds, curve: dict[int, float] | None, is_over: Callable[[], bool]) -> None:
        self._threshold, self._curve, self._is_over = EpochThreshold(thresholds), curve, is_over

    def of(self, model: DLNRegressor) -> Callable[[Epoch], None]:
        """Return the callback for a model."""
        max_epochs = model.max_epochs

        def after_epoch(epoch: Epoch) -> None:
            if self._is_over():
                raise OutOfTimeError
            loss = epoch.validation_loss
            if self._curve is None or epoch.network or loss is None or not math.isfinite(loss):
                return
            best = min(self._curve.values(), default=math.inf)
            if loss < best:
                self._curve[epoch.epoch] = best = loss
            if self._threshold.rules_out(epoch.epoch, max_epochs, best):
                raise _PrunedError

        return after_epoch
