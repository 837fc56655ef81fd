"""The course of a fit: it is told, may be stopped, keeps its time, and leaves no half of a model."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError

from dln import FitInterruptedWarning, RuleRegressor, TimeLimitWarning
from models import small


def test_a_fit_that_fails_leaves_the_model_as_it_was(houses):
    """After a refit that raised, the model predicts as before; after a first fit that raised, it is not fitted."""
    X, y = houses
    model = small().fit(X, y)
    before = model.predict(X)

    def fail(_epoch):
        message = "no more"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="no more"):
        model.set_params(callbacks=[fail]).fit(X[["area", "rooms"]], y)
    np.testing.assert_array_equal(model.predict(X), before)
    fresh = small(callbacks=[fail])
    with pytest.raises(RuntimeError, match="no more"):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_history_tells_each_epoch(houses):
    """History has one entry per epoch for each of its columns."""
    X, y = houses
    model = small(n_networks=2, max_epochs=15).fit(X, y)
    assert {len(column) for column in model.history_.values()} == {30}
    assert set(model.history_) >= {
        "training_loss",
        "validation_loss",
        "temperature",
        "learning_rate",
        "open_rules",
        "epoch",
    }
    assert len(pd.DataFrame(model.history_)) == 30


def test_a_callback_sees_every_epoch_and_may_stop():
    """Callbacks get each epoch's record; True ends the training of networks, and the model is usable."""
    X, y = make_friedman1(80, random_state=0)
    seen = []
    model = small(max_epochs=15, callbacks=[lambda epoch: seen.append(epoch) or len(seen) == 4]).fit(X, y)
    assert [epoch.epoch for epoch in seen] == [1, 2, 3, 4]
    assert model.n_iter_ == 4


def test_an_error_in_a_callback_ends_the_fit():
    """What a callback raises comes out of fit, and the other networks stop."""
    X, y = make_friedman1(80, random_state=0)

    def fail(_epoch):
        message = "no more"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="no more"):
        small(n_networks=2, max_epochs=100_000, callbacks=[fail]).fit(X, y)


def test_ctrl_c_keeps_the_best_model_and_says_so():
    """Interrupted, fit warns, says what was cut short, and returns the best model so far."""
    X, y = make_friedman1(80, random_state=0)

    def press(epoch):
        if epoch.epoch == 3:
            raise KeyboardInterrupt

    with pytest.warns(FitInterruptedWarning, match="interrupted: the model is the best found so far; cut short: "):
        model = small(max_epochs=1000, callbacks=[press]).fit(X, y)
    assert model.n_iter_ == 3
    assert np.isfinite(model.predict(X)).all()


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
