"""One trial of a search: an estimator is fitted and tested fold by fold. Its result depends on its arguments alone."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.metrics import mean_squared_error
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

#: Complete trials from which others are pruned, and standard deviations that a trial may be behind the best.
ENOUGH_TRIALS: Final = 5
MARGIN: Final = 2.5


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """Result of one trial.

    Attributes
    ----------
    number : int
        Counted from 0, the estimator as it was given.
    state : {"complete", "pruned", "failed"}
        How it ended.
    params : dict
        Parameters that were set.
    fold_values : tuple of float
        Mean squared error of each fold that was run.
    seconds : float
        Duration.
    error : str
        Message of the error, where the trial failed.

    """

    number: int
    state: Literal["complete", "pruned", "failed"]
    params: Mapping[str, Any]
    fold_values: tuple[float, ...] = ()
    seconds: float = 0.0
    error: str = ""

    @property
    def value(self) -> float | None:
        """Cross-validated mean squared error of a complete trial."""
        return sum(self.fold_values) / len(self.fold_values) if self.state == "complete" else None


class Task(NamedTuple):
    """A trial to run; it is pruned where the sum of its losses after 1, 2, … folds is above a limit."""

    number: int
    params: Mapping[str, Any]
    limits: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Runs the trials of a search."""

    estimator: Any
    X: Any
    y: npt.NDArray[np.float64]
    splits: Sequence[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]
    groups: npt.NDArray[np.int64] | None = None
    """For estimators whose `fit` takes groups."""

    def __call__(self, task: Task) -> TrialRecord:
        start, losses, error = time.perf_counter(), list[float](), ""
        state: Literal["complete", "pruned", "failed"] = "complete"
        try:
            for train, test in self.splits:
                model = clone(self.estimator).set_params(**task.params)
                takes_groups = has_fit_parameter(model, "groups")
                given = {"groups": self.groups[train]} if takes_groups and self.groups is not None else {}
                model.fit(_safe_indexing(self.X, train), self.y[train], **given)
                losses.append(mean_squared_error(self.y[test], model.predict(_safe_indexing(self.X, test))))
                if len(losses) <= len(task.limits) and sum(losses) > task.limits[len(losses) - 1]:
                    state = "pruned"
                    break
        except Exception as failure:  # noqa: BLE001 (kept with the trial; the search goes on)
            state, error = "failed", f"{type(failure).__name__}: {failure}"
        return TrialRecord(task.number, state, task.params, tuple(losses), time.perf_counter() - start, error)


def loss_limits(losses: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return the limits of a task, given the losses of earlier trials in their folds.

    The difference of two trials varies from fold to fold with a standard deviation σ, the median of those of complete
    trials to the best. Its mean over k of n folds differs from that over all n by a standard deviation of
    σ · √((n - k) / (n · k)), so its sum over k folds by σ · √(k · (n - k) / n).
    """
    n = max(map(len, losses), default=0)
    complete = [each for each in losses if len(each) == n > 1]
    if len(complete) < ENOUGH_TRIALS:
        return ()
    best = min(complete, key=sum)
    sigma = np.median([np.std(np.subtract(each, best), ddof=1) for each in complete if each is not best])
    return tuple(sum(best[:k]) + MARGIN * float(sigma) * math.sqrt(k * (n - k) / n) for k in range(1, n))
