"""Both regressors are estimators of scikit-learn's kind: checks, clones, pipelines, searches, routing."""

from __future__ import annotations

import pickle

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dln import DLNRegressor, RuleRegressor
from models import small


@parametrize_with_checks(
    [
        RuleRegressor(
            max_conditions=20,
            n_grown_rules=40,
            n_teachers=1,
            n_synthetic_rows=100,
            n_generations=1,
        ),
        DLNRegressor(hidden_layer_sizes=(100, 50), max_epochs=20),
    ]
)
def test_scikit_learns_checks(estimator, check):
    """Every check of scikit-learn passes."""
    check(estimator)


def test_clone_and_pickle_keep_everything(houses):
    """A clone has the parameters, a pickle the whole model."""
    X, y = houses
    model = small().fit(X, y)
    assert clone(model).get_params() == model.get_params()
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 (our own bytes)
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_it_works_in_pipelines_and_searches():
    """Pipeline, grid search and cross-validation in two processes take the estimator as any other."""
    X, y = make_friedman1(80, random_state=0)
    pipe = make_pipeline(StandardScaler(), small())
    assert len(cross_val_score(pipe, X, y, cv=2, n_jobs=2)) == 2
    search = GridSearchCV(small(), {"max_conditions": [2, 12]}, cv=2).fit(X, y)
    assert search.best_params_["max_conditions"] == 12


def test_it_takes_transformers_frames(houses):
    """Behind a column transformer with pandas output, rules name the transformer's columns."""
    X, y = houses
    scale = make_column_transformer(
        (StandardScaler(), ["rooms"]), remainder="passthrough", verbose_feature_names_out=False
    )
    model = make_pipeline(scale.set_output(transform="pandas"), small()).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert list(model[-1].feature_names_in_) == ["rooms", "area", "district", "garden", "kind"]


def test_metadata_routing_passes_weights():
    """With routing on, a request for sample_weight reaches fit."""
    import sklearn

    X, y = make_friedman1(60, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = small().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"max_conditions": [5]}, cv=2).fit(X, y, sample_weight=np.ones(60))
    assert search.best_estimator_.rules_.n_conditions <= 12
