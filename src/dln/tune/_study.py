"""What a search came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from dln.tune._optuna import Evaluation
from dln.tune._storage import StudyError
from dln.tune._trial import State


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """A finished trial.

    Attributes
    ----------
    number : int
        Counted from 0, the estimator as it was given.
    state : {"complete", "pruned", "failed"}
        How it ended.
    value : float or None
        The cross-validated mean squared error, where the trial ran to its end.
    params : dict
        Parameters that were set.
    seconds : float
        What it took.
    fold_values : tuple of float
        The mean squared error of each fold that was run.
    fit_seconds : float
        What the fit of one fold took, on average.
    error : str
        What went wrong, where the trial failed.

    """

    number: int
    state: State
    value: float | None
    params: Mapping[str, Any]
    seconds: float
    fold_values: tuple[float, ...]
    fit_seconds: float
    error: str

    @classmethod
    def of(cls, evaluation: Evaluation) -> TrialRecord:
        """Return the record of a trial."""
        outcome = evaluation.outcome
        return cls(
            evaluation.suggestion.number,
            outcome.state,
            outcome.value,
            evaluation.suggestion.params,
            outcome.seconds,
            outcome.losses,
            outcome.fit_seconds,
            outcome.error,
        )


class Study:
    """The trials of a search, and the best of them: what `search` returns.

    Attributes
    ----------
    trials : list of TrialRecord
        In the order of their numbers.
    best_trial : TrialRecord
        The one with the smallest mean squared error.
    folds : int
        Folds of the cross-validation.
    seconds : float
        What all trials took together, those of earlier runs with the same storage included.
    seed : int
        The `random_state` of the search, drawn if none was given.

    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, evaluations: Sequence[Evaluation], *, folds: int, seed: int
    ) -> None:
        self.trials = [
            TrialRecord.of(evaluation) for evaluation in sorted(evaluations, key=lambda a: a.suggestion.number)
        ]
        self.folds, self.seed = folds, seed
        self.seconds = sum(trial.seconds for trial in self.trials)
        self._estimator, self._X, self._y = estimator, X, y
        self._model: Any = None
        complete = [trial for trial in self.trials if trial.value is not None]
        if not complete:
            failed = next((trial for trial in self.trials if trial.state == "failed"), None)
            message = "no trial was run to its end"
            if failed is not None:
                message = f"all {len(self.trials)} trials failed, the first of them with {failed.error}"
            raise StudyError(message)
        # The earlier of equals: with the same value, nearer to the estimator as it was given.
        self.best_trial: TrialRecord = min(complete, key=lambda trial: trial.value or 0.0)

    @property
    def n_trials(self) -> int:
        """Finished trials, those that were pruned or failed included."""
        return len(self.trials)

    @property
    def best_params(self) -> dict[str, Any]:
        """The parameters of the best trial; none if it was the first, the estimator as it was given."""
        return dict(self.best_trial.params)

    @property
    def best_value(self) -> float:
        """The cross-validated mean squared error of the best trial, in the target's units squared."""
        return self.best_trial.value or 0.0

    @property
    def best_model(self) -> Any:
        """The estimator with the best parameters, fitted on all rows when it is first asked for."""
        if self._model is None:
            if self._X is None:
                message = "the data of this study is no longer there: fit DLNSearchCV with refit=True"
                raise AttributeError(message)
            self._model = self.best_estimator().fit(self._X, self._y)
        return self._model

    def best_estimator(self) -> Any:
        """Return a copy of the estimator with the best parameters, not fitted.

        Returns
        -------
        regressor

        """
        return clone(self._estimator).set_params(**self.best_trial.params)

    def forget_data(self) -> None:
        """Let the table go: a search that is kept, or written to a file, should not carry it along."""
        self._X = self._y = None

    def __repr__(self) -> str:
        return f"<Study: {self.n_trials} trials, best mean squared error {self.best_value:.6g}>"
