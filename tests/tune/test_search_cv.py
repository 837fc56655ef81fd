"""The search as an estimator of scikit-learn's kind."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from dln import DLNRegressor, RuleRegressor
from dln.tune import DLNSearchCV
from searches import QUICK, X, Y, alphas, network, rates, ridge, told

REFITTED = DLNRegressor(hidden_layer_sizes=(16, 8), max_epochs=10)


@parametrize_with_checks([DLNSearchCV(REFITTED, n_trials=2, cv=2)])
def test_scikit_learns_checks(estimator, check):
    """Every check of scikit-learn passes."""
    check(estimator)


def test_the_search_as_an_estimator():
    """`DLNSearchCV` finds what `search` finds and predicts with it."""
    table = pd.DataFrame(X, columns=list("abcde"))
    model = DLNSearchCV(QUICK, space=rates, n_trials=12, random_state=0).fit(table, Y)
    study = network()
    assert model.best_params_ == study.best_params
    assert model.best_score_ == -study.best_value
    assert list(model.feature_names_in_) == list("abcde")
    assert np.array_equal(model.predict(table), study.best_model.predict(X))
    results = model.cv_results_
    assert results["rank_test_score"][model.best_index_] == 1
    assert [np.isnan(score) for score in results["mean_test_score"]] == [s != "complete" for s in results["state"]]
    assert results["params"][1] == study.trials[1].params
    assert results["param_learning_rate"].mask.tolist() == [True] + [False] * 11
    frame = pd.DataFrame(results)
    assert len(frame) == 12


def test_the_default_estimator_is_a_dln():
    """Without an estimator it is RuleRegressor() that is searched for."""
    assert DLNSearchCV()._estimator().get_params() == RuleRegressor().get_params()


def test_without_refit_there_is_nothing_to_predict_with():
    """`refit=False` searches only."""
    model = DLNSearchCV(Ridge(), space=alphas, n_trials=3, refit=False, random_state=0).fit(X, Y)
    assert model.best_params_ == ridge(3).best_params
    assert not hasattr(model, "predict")
    with pytest.raises(AttributeError, match="the data of this study is no longer there"):
        _ = model.study_.best_model


def test_a_fitted_search_does_not_carry_the_table_along():
    """A pickle of it is small, and predicts the same."""
    rows = np.repeat(X, 50, axis=0)
    model = DLNSearchCV(Ridge(), space=alphas, n_trials=2, random_state=0).fit(rows, np.repeat(Y, 50))
    content = pickle.dumps(model)
    assert len(content) < 20_000
    assert np.array_equal(pickle.loads(content).predict(X), model.predict(X))  # noqa: S301 (our own)


def test_a_search_that_is_not_fitted_says_so():
    """As everywhere in scikit-learn."""
    with pytest.raises(NotFittedError):
        DLNSearchCV().predict(X)


def test_the_storage_serves_the_estimator_too(tmp_path: Path):
    """A `DLNSearchCV` goes on from its storage."""
    path = tmp_path / "study.log"
    DLNSearchCV(Ridge(), space=alphas, n_trials=3, storage=path, random_state=0).fit(X, Y)
    model = DLNSearchCV(Ridge(), space=alphas, n_trials=8, storage=path, random_state=0).fit(X, Y)
    assert told(model.study_) == told(ridge(8))
