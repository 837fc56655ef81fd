"""One trial: an estimator with some parameters, fitted and tested fold by fold. A function of its arguments alone."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from dln._errors import FitInterruptedWarning
from dln._paper import PaperDLNRegressor
from dln._regressor import CircuitRegressor
from dln.training._loop import Epoch
from dln.tune._prune import Bars, EpochBar

Rows: TypeAlias = npt.NDArray[np.intp]
State: TypeAlias = Literal["complete", "pruned", "failed"]


@dataclass(frozen=True, slots=True)
class Job:
    """What all trials of a search share."""

    estimator: Any
    X: Any
    y: npt.NDArray[np.float64]
    folds: tuple[tuple[Rows, Rows], ...]
    """Rows to train on and rows to test on."""


@dataclass(frozen=True, slots=True)
class Task:
    """A trial to run."""

    number: int
    params: Mapping[str, Any]
    bars: Bars


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


def evaluate(job: Job, task: Task, is_over: Callable[[], bool] = lambda: False) -> Outcome:
    """Run a trial. Whatever the estimator raises is an outcome too; Ctrl-C and the end of the time are not."""
    start = time.perf_counter()
    losses: list[float] = []
    curve: dict[int, float] = {}
    fits: list[float] = []

    def outcome(state: State, error: str = "") -> Outcome:
        fit_seconds = sum(fits) / len(fits) if fits else 0.0
        return Outcome(state, tuple(losses), curve, time.perf_counter() - start, fit_seconds, error)

    try:
        for k, (train, test) in enumerate(job.folds):
            watch = _Watch(task.bars, curve if k == 0 else None, is_over)
            began = time.perf_counter()
            model = _fitted(job, task, train, watch)
            fits.append(time.perf_counter() - began)
            losses.append(_loss(model, job, test))
            if is_over() and k + 1 < len(job.folds):
                raise OutOfTimeError  # noqa: TRY301 (a fit may raise it too)
            if k + 1 < len(job.folds) and task.bars.rules_out_fold(losses):
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


def _fitted(job: Job, task: Task, train: Rows, watch: _Watch) -> Any:
    model = clone(job.estimator).set_params(**task.params)
    for part in dln_parts(model):
        part.set_params(verbose=0, checkpoint=None, callbacks=[*(part.callbacks or ()), watch.of(part)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitInterruptedWarning)
        return model.fit(_safe_indexing(job.X, train), job.y[train])


def _loss(model: Any, job: Job, test: Rows) -> float:
    error = np.asarray(model.predict(_safe_indexing(job.X, test)), dtype=np.float64).reshape(-1) - job.y[test]
    loss = float(np.mean(error * error))
    if not math.isfinite(loss):
        message = "the predictions are not finite numbers, or too large to square"
        raise ValueError(message)
    return loss


def dln_parts(estimator: Any) -> list[CircuitRegressor]:
    """Return the DLNs in an estimator: itself, or the last step of a pipeline, and so on."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return [part for part in parts if isinstance(part, CircuitRegressor)]


class _Watch:
    """Sees every epoch of a fit: writes its curve down, and ends it when it is ruled out or the time is over."""

    def __init__(self, bars: Bars, curve: dict[int, float] | None, is_over: Callable[[], bool]) -> None:
        self._bar, self._curve, self._is_over = EpochBar(bars), curve, is_over

    def of(self, model: CircuitRegressor) -> Callable[[Epoch], None]:
        """Return the callback for a model."""
        # The networks of a page only propose rules, and say little about the model: they are not judged by the epoch.
        judged = isinstance(model, PaperDLNRegressor)
        max_epochs = model.max_epochs

        def after_epoch(epoch: Epoch) -> None:
            if self._is_over():
                raise OutOfTimeError
            loss = epoch.validation_loss
            if self._curve is None or not judged or epoch.network or loss is None or not math.isfinite(loss):
                return
            best = min(self._curve.values(), default=math.inf)
            if loss < best:
                self._curve[epoch.epoch] = best = loss
            if self._bar.rules_out(epoch.epoch, max_epochs, best):
                raise _PrunedError

        return after_epoch
