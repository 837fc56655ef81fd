"""Searches that are over in a blink, and a regressor that does what it is told."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_friedman1
from sklearn.linear_model import Ridge

from dln import DLNRegressor
from dln.tune import search

X, Y = make_friedman1(200, n_features=5, noise=1.0, random_state=0)
QUICK = DLNRegressor(hidden_layer_sizes=(16, 8), max_epochs=30, n_iter_no_change=10)


def alphas(trial, context):
    """Return a regularisation for ridge regression."""
    del context
    return {"alpha": trial.suggest_float("alpha", 1e-3, 1e3, log=True)}


def rates(trial, context):
    """Return parameters that matter even in thirty epochs."""
    del context
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.001, 0.3, log=True),
        "n_thresholds": trial.suggest_int("n_thresholds", 2, 12),
    }


def ridge(n_trials=6, **options):
    """Search for a ridge regression, in a blink."""
    return search(Ridge(), options.pop("X", X), Y, space=alphas, n_trials=n_trials, **{"random_state": 0, **options})


def network(n_trials=12, **options):
    """Search for a network, with trials that are pruned."""
    return search(QUICK, X, Y, space=rates, n_trials=n_trials, **{"random_state": 0, **options})


def told(study):
    """Return all of a study that has to be the same every time."""
    return [(trial.number, trial.state, trial.value, trial.params, trial.fold_values) for trial in study.trials]


class Obedient(RegressorMixin, BaseEstimator):
    """A regressor that predicts the mean plus its parameter, and does to the fit what the parameter says."""

    def __init__(self, shift=0.0, order=None):
        self.shift = shift
        self.order = order

    def fit(self, X, y):
        """Follow the order, then learn the mean."""
        del X
        if callable(self.order):
            self.order(self)
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        """Return the mean, shifted."""
        return np.full(X.shape[0], self.mean_ + self.shift)


def shifts(trial, context):
    """Return a shift."""
    del context
    return {"shift": trial.suggest_float("shift", 1.0, 2.0)}
