"""Reported accuracy and intervals come from held-out rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from models import network, small


def test_validation_data_can_be_given(houses):
    """With X_val and y_val the frontier holds R² on those rows, and intervals come from them."""
    X, y = houses
    model = small().fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    for point in model.frontier_:
        if point.circuit is not None:
            smaller = model.prune(point.conditions)
            assert point.r2 == pytest.approx(smaller.score(X[200:], y[200:]), abs=0.01)
    assert model.intervals_.source == "rows set aside"
    assert model.intervals_.weight == len(X) - 200
    by_epoch = network().fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    assert all(loss is not None for loss in by_epoch.history_["validation_loss"])
    with pytest.raises(ValueError, match="X_val was given without y_val"):
        small().fit(X, y, X_val=X)


def test_the_frontier_is_validated():
    """R² of the frontier is that of held-out rows: noise is worth nothing, and more conditions than help cost."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    noise = small(max_conditions=40).fit(X, rng.normal(size=200))
    assert max(point.r2 for point in noise.frontier_) < 0.2
    assert noise.score(X, rng.normal(size=200)) < 0.2
    assert noise.rules_.n_conditions < 40
    clear = small(max_conditions=40).fit(X, np.where(X[:, 0] > 0, 5.0, -5.0))
    assert max(point.r2 for point in clear.frontier_) > 0.9
    assert clear.rules_.n_conditions == 1


def test_intervals_come_from_rows_not_learned_from():
    """After a fit the intervals cover new rows about as often as they say, without any calibration."""
    X, y = make_friedman1(600, noise=2.0, random_state=0)
    model = small().fit(X[:300], y[:300])
    assert model.intervals_.source == "folds"
    low, high = model.predict_interval(X[300:], 0.8).T
    assert 0.7 < np.mean((low <= y[300:]) & (y[300:] <= high)) < 0.92
    assert not hasattr(small().fit(X[:20], y[:20]), "intervals_"), "of so few rows none is set aside"
