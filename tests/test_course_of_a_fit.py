"""A fit keeps its time limit, and one that fails changes nothing."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError

from dln import RuleRegressor, TimeLimitWarning
from dln.rules import _learn
from models import small


def test_a_fit_that_fails_leaves_the_model_as_it_was(houses, monkeypatch):
    """After a refit that raised, the model predicts as before; after a first fit that raised, it is not fitted."""
    X, y = houses
    model = small().fit(X, y)
    before = model.predict(X)

    def fail(*_):
        message = "no more"
        raise RuntimeError(message)

    monkeypatch.setattr(_learn, "smallest_good", fail)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(X[["area", "rooms"]], y)
    np.testing.assert_array_equal(model.predict(X), before)
    fresh = small()
    with pytest.raises(RuntimeError, match="no more"):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


@pytest.mark.parametrize("max_seconds", [0.01, 1.0])
def test_max_seconds_is_kept(max_seconds):
    """A fit returns within max_seconds and two more, keeps its limits, and says what was cut short."""
    X, y = make_friedman1(1500, noise=1.0, random_state=0)
    small().fit(X[:50], y[:50])  # now all is compiled
    model = RuleRegressor(max_seconds=max_seconds, random_state=0, n_jobs=1, n_generations=10_000)
    start = time.process_time()
    with pytest.warns(TimeLimitWarning, match=rf"max_seconds={max_seconds:g} is over: .*cut short: \w+"):
        model.fit(X, y)
    # Seconds of work of one thread: others of the machine's are not ours.
    assert time.process_time() - start < max_seconds + 2.0
    assert 0 < model.rules_.n_conditions <= 100
    assert model.score(X, y) > 0.2


def test_a_fit_in_time_cuts_nothing(houses):
    """With time enough nothing is cut, there is no warning, and the model is the one without a limit."""
    X, y = houses
    assert small(max_seconds=1000.0).fit(X, y).circuit_ == small().fit(X, y).circuit_
