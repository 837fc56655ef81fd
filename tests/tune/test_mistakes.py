"""Each mistake in a call of `search` gets one sentence, before anything is fitted."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from dln import MissingExtraError
from dln.tune import search
from searches import X, Y, alphas, ridge


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_trials": 0}, "n_trials == 0, must be >= 1"),
        ({"n_trials": 2.5}, "n_trials must be an instance of int, not float"),
        ({"cv": 1}, "cv == 1, must be >= 2"),
        ({"cv": 500}, "cv == 500, must be <= 200"),
        ({"n_jobs": 0}, "n_jobs must be a number above 0, -1 for one per core, or None, got 0"),
        ({"random_state": -1}, "random_state == -1, must be >= 0"),
        ({"random_state": "x"}, "random_state must be an instance of int, not str"),
        ({"space": None}, "space must be a function space(trial) that returns a dict of parameters to set, got None"),
        ({"space": lambda _: 7}, "space must be a function space(trial) that returns a dict of parameters to set"),
        ({"space": lambda _: {"alhpa": 1}}, "Invalid parameter 'alhpa' for estimator Ridge()"),
        ({"space": "alpha"}, "space must be a function space(trial) that returns a dict of parameters to set"),
        ({"estimator": Ridge}, "estimator must be a scikit-learn regressor"),
        ({"estimator": LogisticRegression()}, "estimator must be a scikit-learn regressor"),
        ({"y": None}, "the target y is None"),
        ({"y": Y[:-1]}, "inconsistent numbers of samples"),
        ({"y": np.where(Y > 10, np.nan, Y)}, "Input y contains NaN"),
        ({"X": X[:1], "y": Y[:1]}, "cv == 1, must be >= 2"),
    ],
)  # fmt: skip
def test_one_sentence_for_each_mistake(options, sentence):
    """The sentence says what was required and what was received."""
    options = {"estimator": Ridge(), "X": X, "y": Y, "space": alphas, "n_trials": 2, "random_state": 0, **options}
    with pytest.raises((ValueError, TypeError), match=re.escape(sentence)):
        search(options.pop("estimator"), options.pop("X"), options.pop("y"), **options)


@pytest.mark.parametrize(("missing", "options"), [("optuna", {}), ("ray", {"ray": "auto"})])
def test_missing_extras_are_named(missing, options, monkeypatch):
    """Without its package, the search says what to install."""
    monkeypatch.setitem(sys.modules, missing, None)
    extra = {"optuna": "tune", "ray": "ray"}[missing]
    with pytest.raises(MissingExtraError, match=re.escape(f"pip install '.[{extra}]'")):
        ridge(2, **options)
