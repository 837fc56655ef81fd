"""Time, Ctrl-C, SIGTERM or a callback stops a search, and finished trials are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

from dln import FitInterruptedWarning
from dln.tune import search
from dln.tune._data import split
from dln.tune._folds import Folds
from dln.tune._prune import Thresholds
from dln.tune._trial import Job, OutOfTimeError, Trial, evaluate
from searches import QUICK, Obedient, X, Y, alphas, rates, ridge, shifts, told


@pytest.mark.parametrize("estimator", [QUICK, Ridge()])
def test_when_the_time_is_over_the_first_trial_still_ends(estimator):
    """However short the time, there is a result, and only one."""
    space = rates if estimator is QUICK else alphas
    study = search(estimator, X, Y, space=space, timeout=1e-6, random_state=0)
    assert [trial.state for trial in study.trials] == ["complete"]


def test_the_running_trial_ends_with_the_time():
    """A network is stopped after its epoch when the time is over, and has no outcome."""
    model = clone(QUICK).set_params(max_epochs=10**6, n_iter_no_change=10**6, early_stopping=False)
    job = Job(model, Folds(X, Y, split(len(Y), 2, 0)))
    end = time.monotonic() + 0.3
    with pytest.raises(OutOfTimeError):
        evaluate(job, Trial(0, {}, Thresholds()), lambda: time.monotonic() > end)


def test_ctrl_c_keeps_what_is_finished():
    """Ctrl-C ends the search with a warning; the trials so far are there."""
    model = Obedient(order=lambda model: os.kill(os.getpid(), signal.SIGINT) if model.shift > 1.5 else None)
    with pytest.warns(FitInterruptedWarning, match="the search was interrupted after [1-7] of 8 trials"):
        study = search(model, X, Y, space=shifts, n_trials=8, random_state=0)
    assert {trial.state for trial in study.trials} <= {"complete", "pruned"}


def test_ctrl_c_in_a_network_ends_the_search(tmp_path):
    """The network of a trial that is interrupted is not taken for a result: the trial is run again."""
    sent = []

    def interrupt(epoch):
        if len(sent) == 60:
            os.kill(os.getpid(), signal.SIGINT)
        sent.append(epoch)

    model = clone(QUICK).set_params(callbacks=[interrupt])
    path = tmp_path / "study.log"
    with pytest.warns(FitInterruptedWarning, match=r"of 12 trials. The same search goes on from its storage"):
        study = search(model, X, Y, space=rates, n_trials=12, random_state=0, storage=path, folds=2)
    assert study.n_trials < 12
    expected = search(QUICK, X, Y, space=rates, n_trials=12, random_state=0, folds=2)
    assert told(search(QUICK, X, Y, space=rates, n_trials=12, storage=path, folds=2)) == told(expected)


def test_sigterm_ends_the_process_and_keeps_the_trials(tmp_path):
    """SIGTERM ends a process that searches; the trials that were finished are in the storage."""
    script = """
import os, signal, sys
import numpy as np
from sklearn.linear_model import Ridge
from dln.tune import search

def send(trial):
    if trial.number == 2:
        os.kill(os.getpid(), signal.SIGTERM)

X = np.random.default_rng(0).normal(size=(40, 3))
space = lambda trial, context: {"alpha": trial.suggest_float("alpha", 0.1, 1)}
search(Ridge(), X, X[:, 0], space=space, storage=sys.argv[1], n_trials=9, folds=2, random_state=0, callbacks=[send])
print("went on")
"""
    path = tmp_path / "study.log"
    done = subprocess.run([sys.executable, "-c", script, path], check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert done.stdout == ""
    assert path.read_text().count('"losses"') == 3


def test_ctrl_c_before_anything_is_finished_is_ctrl_c():
    """Without a finished trial there is nothing to keep."""
    with pytest.raises(KeyboardInterrupt):
        search(Obedient(order=lambda _: os.kill(os.getpid(), signal.SIGINT)), X, Y, space=shifts, random_state=0)


def test_callbacks_see_every_trial_and_can_end_the_search():
    """A callback gets the record of each trial as it ends; True ends the search."""
    seen = []
    study = ridge(9, callbacks=[lambda trial: seen.append(trial.number), lambda trial: trial.number == 4])
    assert seen == [0, 1, 2, 3, 4]
    assert study.n_trials == 5
