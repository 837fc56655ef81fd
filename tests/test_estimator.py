"""A model learns what is in the data: its rules come from networks too, and teachers steady it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from models import small


def test_it_learns(houses):
    """With a rule in the data, test R² is high and the rule's columns appear."""
    X, y = houses
    model = small(max_conditions=30, n_grown_rules=60).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9
    assert "district" in repr(model.circuit_)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "absolute_error", "quantile"])
def test_losses(loss):
    """Each loss trains; a high quantile lies above most of the data."""
    X, y = make_friedman1(300, noise=2.0, random_state=0)
    model = small(loss=loss, quantile=0.9 if loss == "quantile" else 0.5).fit(X, y)
    share = np.mean(y <= model.predict(X))
    assert 0.8 < share < 0.97 if loss == "quantile" else 0.3 < share < 0.7


def test_teachers_steady_a_noisy_target():
    """On noisy rows of a smooth function a model taught by teachers is better on new rows than one of y alone."""
    scores = {0: [], 2: []}
    for seed in range(2):
        X, y = make_friedman1(150, noise=3.0, random_state=seed)
        X_new, y_new = make_friedman1(1000, noise=0.0, random_state=100 + seed)
        for n_teachers, found in scores.items():
            model = small(n_teachers=n_teachers, n_synthetic_rows=1000, max_conditions=40, n_grown_rules=100)
            found.append(model.fit(X, y).score(X_new, y_new))
    assert np.mean(scores[2]) > np.mean(scores[0])


@pytest.mark.parametrize(("least", "rows"), [(12, 12), (0.1, 20)])
def test_every_rule_rests_on_rows_enough(least, rows):
    """A rule fires, and does not fire, on `min_samples_rule` rows of the table, whatever synthetic rows add."""
    X, y = make_friedman1(200, noise=1.0, random_state=0)
    model = small(n_teachers=1, n_synthetic_rows=500, max_conditions=40, min_samples_rule=least, n_generations=2)
    support = 200 * np.array(model.fit(X, y).support_)
    assert len(support) > 2
    assert np.minimum(support, 200 - support).min() >= rows - 1e-6
