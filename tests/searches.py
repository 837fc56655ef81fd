"""Short searches, and a regressor whose fit does what the test needs."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_friedman1
from sklearn.linear_model import Ridge

from dln.tune import search

X, Y = make_friedman1(200, n_features=5, noise=1.0, random_state=0)


def alphas(trial):
    """Return a regularisation for ridge regression."""
    return {"alpha": trial.suggest_float("alpha", 1e-3, 1e3, log=True)}


def ridge(n_trials=6, **options):
    """Search for a ridge regression."""
    return search(Ridge(), options.pop("X", X), Y, space=alphas, n_trials=n_trials, **{"random_state": 0, **options})


def results(study):
    """Return all of a study that is the same every time."""
    return [(trial.number, trial.state, trial.value, trial.params, trial.fold_values) for trial in study.trials]


class Scripted(RegressorMixin, BaseEstimator):
    """A regressor that predicts the mean plus its parameter, and whose fit calls a function first."""

    def __init__(self, shift=0.0, script=None):
        self.shift = shift
        self.script = script

    def fit(self, X, y):
        """Call the function, then learn the mean."""
        del X
        if self.script is not None:
            self.script(self)
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        """Return the mean, shifted."""
        return np.full(X.shape[0], self.mean_ + self.shift)


def shifts(trial):
    """Return a shift."""
    return {"shift": trial.suggest_float("shift", 1.0, 2.0)}
