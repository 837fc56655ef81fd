"""What a search comes to: the lowest cross-validated error, never worse than what was given."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from dln import RuleRegressor
from dln.tune import Context, search
from dln.tune._data import split
from dln.tune._folds import Folds
from dln.tune._prune import Thresholds
from dln.tune._trial import Job, Trial, evaluate
from models import SMALL
from searches import QUICK, Obedient, X, Y, alphas, network, rates, ridge, shifts, told


def test_the_first_trial_is_the_estimator_as_it_was_given():
    """Trial 0 changes nothing, so the best is never worse than what was there."""
    study = search(Obedient(), X, Y, space=shifts, n_trials=5, random_state=0)
    assert study.trials[0].params == {}
    assert study.best_trial.number == 0
    assert study.best_params == {}
    assert study.best_value == study.trials[0].value


def test_the_best_is_the_lowest_cross_validated_error():
    """The best value is the mean squared error over the folds, in the target's units, of the lowest trial."""
    study = ridge(8)
    assert study.best_value == min(trial.value for trial in study.trials if trial.value is not None)
    job = Job(Ridge(random_state=0), Folds(X, Y, split(len(Y), study.folds, 0)))
    assert evaluate(job, Trial(0, study.best_params, Thresholds())).value == study.best_value


def test_the_best_model_is_fitted_on_all_rows_once():
    """`best_model` has the best parameters, has seen all rows, also where fewer were searched on, and is one object."""
    study = ridge(6, max_rows=50)
    model = study.best_model
    assert model is study.best_model
    expected = Ridge(random_state=0, **study.best_params).fit(X, Y)
    assert np.array_equal(model.predict(X), expected.predict(X))


def test_fewer_rows_are_searched_on():
    """With `max_rows` a trial sees so many rows, and the space is told."""
    seen = set()

    def space(trial, context):
        seen.add(context)
        return alphas(trial, context)

    study = search(Ridge(), X, Y, space=space, n_trials=2, max_rows=40, folds=2, random_state=0)
    assert seen == {Context(40, 5, 0)}
    assert study.folds == 2


def test_trials_with_the_same_parameters_are_run_once():
    """A space with few points is not fitted over and over."""
    fits = []
    model = Obedient(order=lambda _: fits.append(1))

    def space(trial, context):
        del context
        return {"shift": trial.suggest_categorical("shift", [1.0])}

    study = search(model, X, Y, space=space, n_trials=30, folds=2, random_state=0, prune=False)
    assert study.n_trials == 30
    assert len(fits) <= 2 * 6


def test_tables_of_any_kind():
    """Arrays, frames, lists and sparse matrices of the same numbers come to the same, as far as their solvers do."""
    names = list("abcde")
    expected = told(ridge(3))
    for table in (X.tolist(), pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), sparse.csr_array(X)):
        assert [t[2] for t in told(ridge(3, X=table))] == pytest.approx([t[2] for t in expected], rel=1e-3)


def test_a_dln_inside_a_pipeline_is_searched_too():
    """The DLN at the end of a pipeline gets a seed, and its parameters by their long names."""

    def space(trial, context):
        return {f"paperdlnregressor__{name}": value for name, value in rates(trial, context).items()}

    pipeline = make_pipeline(FunctionTransformer(), QUICK)
    study = search(pipeline, X, Y, space=space, n_trials=12, random_state=0)
    assert [(t.state, t.value) for t in study.trials] == [(t.state, t.value) for t in network().trials]
    assert study.best_estimator()["paperdlnregressor"].random_state == 0


def test_a_page_is_searched_for_too():
    """A search over a page of rules finds parameters, judges no network by its epochs, and keeps the size."""

    def space(trial, context):
        del context
        return {"n_grown_rules": trial.suggest_int("n_grown_rules", 10, 30), "n_networks": 1}

    study = search(RuleRegressor(**SMALL), X[:80], Y[:80], space=space, n_trials=3, folds=2, random_state=0)
    assert [trial.state for trial in study.trials] == ["complete"] * 3
    job = Job(RuleRegressor(**SMALL), Folds(X[:80], Y[:80], split(80, 2, 0)))
    assert evaluate(job, Trial(0, {}, Thresholds())).curve == {}
    assert study.best_model.rules_.n_conditions <= SMALL["max_conditions"]


def test_the_first_steps_of_a_pipeline_are_fitted_once_for_each_fold():
    """Trials that change the last step share what comes before it, with the results of fitting all of it each time."""
    fits = []

    class Counted(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            fits.append(len(X))
            return super().fit(X, y, sample_weight)

    def inner(trial, context):
        return {f"ridge__{name}": value for name, value in alphas(trial, context).items()}

    shared = search(make_pipeline(Counted(), Ridge()), X, Y, space=inner, n_trials=5, folds=3, random_state=0)
    assert len(fits) == 3

    def outer(trial, context):
        return {**inner(trial, context), "counted__with_mean": True}

    fits.clear()
    apart = search(make_pipeline(Counted(), Ridge()), X, Y, space=outer, n_trials=5, folds=3, random_state=0)
    assert len(fits) > 3
    assert [trial.fold_values for trial in shared.trials] == [trial.fold_values for trial in apart.trials]


def test_progress_is_shown(capsys):
    """`verbose=1` tells the trials, the best so far and the time left, on standard error."""
    ridge(5, verbose=1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.search(r"5 of 5 .*lowest RMSE \d.* s left", shown.err)
    ridge(5)
    assert capsys.readouterr().err == ""
