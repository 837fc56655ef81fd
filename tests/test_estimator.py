"""A model learns what is in the data: its rules come from networks too, and teachers steady it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from dln.rules._neurons import neuron_expressions
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
    model = small(loss=loss, quantile=0.9).fit(X, y)
    share = np.mean(y <= model.predict(X))
    assert 0.8 < share < 0.97 if loss == "quantile" else 0.3 < share < 0.7


def test_networks_propose_rules_of_the_model(monkeypatch):
    """On a table made by exclusive ors, rules of the model are neurons, and without networks it is another model."""
    rng = np.random.default_rng(0)
    X = (rng.random((400, 6)) < 0.5).astype(float)
    y = 4.0 * (X[:, 0] != X[:, 1]) + 2.0 * (X[:, 2] != X[:, 3]) + X[:, 4]
    settings = {"hidden_layer_sizes": (100, 50), "max_epochs": 30, "n_networks": 2, "n_grown_rules": 20}
    neurons = set()

    def seen(*args):
        found = neuron_expressions(*args)
        neurons.update(found)
        return found

    monkeypatch.setattr("dln.rules._student.neuron_expressions", seen)
    with_networks = small(**settings).fit(X, y)
    assert len(neurons) > 20
    assert with_networks.score(X, y) > 0.99
    assert "exactly one of" in repr(with_networks.rules_) or "both or neither of" in repr(with_networks.rules_)
    without = small(**{**settings, "n_networks": 0}).fit(X, y)
    assert without.circuit_ != with_networks.circuit_
    assert without.n_iter_ == 0


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
