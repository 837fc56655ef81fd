"""The result of a search: the lowest cross-validated error, never worse than what was given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dln import DLNRegressor
from dln.tune import search
from searches import Scripted, X, Y, alphas, results, ridge, shifts


def test_the_first_trial_is_the_estimator_as_it_was_given():
    """Trial 0 changes nothing, so the best is never worse than what was given."""
    study = search(Scripted(), X, Y, space=shifts, n_trials=5, random_state=0)
    assert study.trials[0].params == {}
    assert study.best_trial.number == 0
    assert study.best_params == {}
    assert study.best_value == study.trials[0].value


def test_the_best_is_the_lowest_cross_validated_error():
    """The best value is the mean squared error over the folds, in the target's units, of the lowest trial."""
    study = ridge(8)
    assert study.best_value == min(trial.value for trial in study.trials if trial.value is not None)
    folds = KFold(4, shuffle=True, random_state=0)
    scores = cross_val_score(Ridge(**study.best_params), X, Y, cv=folds, scoring="neg_mean_squared_error")
    assert study.best_value == pytest.approx(-scores.mean())


@pytest.mark.parametrize(("n_rows", "folds"), [(3, 3), (300, 4), (3000, 3), (30_000, 2)])
def test_smaller_tables_get_more_folds(n_rows, folds):
    """2 to 4 folds, as in the paper, unless `cv` says otherwise."""
    table = np.arange(n_rows, dtype=float)[:, None]
    study = search(Ridge(), table, table[:, 0], space=alphas, n_trials=1, random_state=0)
    assert study.folds == len(study.trials[0].fold_values) == folds
    assert ridge(1, cv=5).folds == 5


def test_trials_with_the_same_parameters_are_run_once():
    """A space with few points is not fitted over and over."""
    fits = []
    model = Scripted(script=lambda _: fits.append(1))

    def space(trial):
        return {"shift": trial.suggest_categorical("shift", [1.0])}

    study = search(model, X, Y, space=space, n_trials=30, cv=2, random_state=0, prune=False)
    assert len(study.trials) == 30
    assert len(fits) <= 2 * 5


def test_tables_of_any_kind():
    """Arrays, frames, lists and sparse matrices of the same numbers give the same, as far as their solvers do."""
    names = list("abcde")
    expected = results(ridge(3))
    for table in (X.tolist(), pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), sparse.csr_array(X)):
        assert [t[2] for t in results(ridge(3, X=table))] == pytest.approx([t[2] for t in expected], rel=1e-3)


def test_a_regressor_inside_a_pipeline_is_searched_too():
    """A part of a pipeline gets a seed, and its parameters by their long names."""

    def space(trial):
        return {f"ridge__{name}": value for name, value in alphas(trial).items()}

    study = search(make_pipeline(StandardScaler(), Ridge()), X, Y, space=space, n_trials=3, random_state=4)
    assert study.best_estimator["ridge"].random_state == 4
    assert all(set(trial.params) == {"ridge__alpha"} for trial in study.trials[1:])


def test_a_network_is_searched_in_its_own_space():
    """Without a space, a DLNRegressor is searched in the paper's."""
    model = DLNRegressor(hidden_layer_sizes=(12, 8), max_epochs=3)
    study = search(model, X[:60], Y[:60], n_trials=2, cv=2, random_state=0)
    assert "temperature_decay" in study.trials[1].params
    assert study.best_estimator.fit(X, Y).predict(X).shape == (200,)
