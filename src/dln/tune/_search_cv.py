"""`DLNSearchCV`: the search as a scikit-learn estimator."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from dln._atomic import AnyPath
from dln._rule import RuleRegressor
from dln.tune._context import Space
from dln.tune._search import search
from dln.tune._study import Study


def _is_refitted(model: DLNSearchCV) -> bool:
    """Whether there is, or will be, a model to predict with."""
    if not model.refit:
        message = f"{type(model).__name__} was given refit=False: there is no model to predict with"
        raise AttributeError(message)
    return True


class DLNSearchCV(RegressorMixin, BaseEstimator):
    """A regressor that searches for its parameters by cross-validation and is then fitted with the best.

    Parameters
    ----------
    estimator : regressor or None, default=None
        What to search for; None: ``RuleRegressor()``.
    space : callable or None, default=None
        Where to search, as for `search`.
    n_trials : int, default=32
        Trials in all.
    cv : int or None, default=None
        Folds; None: 4 up to 1000 rows, 3 up to 5000, then 2.
    timeout, max_rows, storage, random_state, n_jobs, ray, prune, verbose
        As for `search`.
    refit : bool, default=True
        Whether to fit the best on all rows, so that the search can predict.

    Attributes
    ----------
    best_estimator_ : regressor
        Fitted with the best parameters on all rows, where `refit`.
    best_params_ : dict
        Parameters of the best trial; empty if the estimator as it was given is best.
    best_score_ : float
        Minus the cross-validated mean squared error of the best trial.
    best_index_ : int
        Where the best trial stands in ``cv_results_``.
    cv_results_ : dict of arrays
        Per trial: params, mean_test_score (minus the mean squared error; NaN unless the trial is complete),
        std_test_score, rank_test_score, mean_fit_time, state, and split0_test_score and so on.
    study_ : Study
        The search.
    n_splits_ : int
        Folds.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = DLNSearchCV(RuleRegressor.paper(max_epochs=5), n_trials=3, random_state=0).fit(X, y)
    >>> model.predict(X[:2]).shape, len(model.cv_results_["params"])
    ((2,), 3)

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict", "get_params", "set_params"]), None],
        "space": [callable, None],
        "n_trials": [Interval(Integral, 1, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left"), None],
        "timeout": [Interval(Real, 0, None, closed="neither"), None],
        "max_rows": [Interval(Integral, 2, None, closed="left"), None],
        "storage": [str, os.PathLike, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "ray": [str, None],
        "prune": ["boolean"],
        "refit": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        space: Space | None = None,
        n_trials: int = 32,
        cv: int | None = None,
        timeout: float | None = None,
        max_rows: int | None = None,
        storage: AnyPath | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        ray: str | None = None,
        prune: bool = True,
        refit: bool = True,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.n_trials = n_trials
        self.cv = cv
        self.timeout = timeout
        self.max_rows = max_rows
        self.storage = storage
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.ray = ray
        self.prune = prune
        self.refit = refit
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Search, and fit the best.

        Parameters
        ----------
        X, y
            The table and the target, as for the estimator.

        Returns
        -------
        self

        """
        study = search(
            self._estimator(),
            X,
            y,
            n_trials=self.n_trials,
            space=self.space,
            folds=self.cv,
            timeout=self.timeout,
            max_rows=self.max_rows,
            storage=self.storage,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            ray=self.ray,
            prune=self.prune,
            verbose=self.verbose,
        )
        best = study.best_model if self.refit else None
        validate_data(self, X, skip_check_array=True)  # only now: a fit that fails leaves the model as it was
        study.forget_data()
        if best is not None:
            self.best_estimator_ = best
        self.study_ = study
        self.best_params_ = study.best_params
        self.best_score_ = -study.best_value
        self.n_splits_ = study.folds
        self.cv_results_ = _results(study)
        self.best_index_ = study.trials.index(study.best_trial)
        return self

    @available_if(_is_refitted)
    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the predictions of the best estimator.

        Parameters
        ----------
        X
            A table with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)

        """
        check_is_fitted(self, "best_estimator_")
        predictions: npt.NDArray[np.float64] = self.best_estimator_.predict(X)
        return predictions

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "study_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._estimator()).input_tags
        return tags

    def _estimator(self) -> Any:
        return RuleRegressor() if self.estimator is None else self.estimator


def _results(study: Study) -> dict[str, Any]:
    """Return the trials as the arrays that scikit-learn's searches have."""
    trials = study.trials
    scores = np.full((len(trials), study.folds), np.nan)
    for i, trial in enumerate(trials):
        scores[i, : len(trial.fold_values)] = -np.asarray(trial.fold_values)
    means = np.array([np.nan if trial.value is None else -trial.value for trial in trials])
    # Equals share the better rank; trials that did not end come last.
    rank = 1 + np.array([np.sum(means > mean) if np.isfinite(mean) else np.isfinite(means).sum() for mean in means])
    results: dict[str, Any] = {f"split{k}_test_score": scores[:, k] for k in range(study.folds)}
    results |= {
        "params": [dict(trial.params) for trial in trials],
        "mean_test_score": means,
        "std_test_score": np.where(np.isfinite(means), scores.std(axis=1), np.nan),
        "rank_test_score": rank.astype(np.int32),
        "mean_fit_time": np.array([trial.fit_seconds for trial in trials]),
        "state": np.array([trial.state for trial in trials]),
    }
    for name in sorted({name for trial in trials for name in trial.params}):
        values: Any = np.ma.MaskedArray(np.empty(len(trials), dtype=object), mask=True)
        for i, trial in enumerate(trials):
            if name in trial.params:
                values[i] = trial.params[name]
        results[f"param_{name}"] = values
    return results
