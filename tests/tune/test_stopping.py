"""Ctrl-C or a callback stops a search, and finished trials are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

from dln import DLNRegressor
from dln.tune import search
from searches import Scripted, X, Y, results, ridge, shifts

NETWORK = DLNRegressor(hidden_layer_sizes=(16, 8), max_epochs=30)


def rates(trial):
    """Return a learning rate."""
    return {"learning_rate": trial.suggest_float("learning_rate", 0.001, 0.01, log=True)}


def test_ctrl_c_ends_the_search_and_the_next_call_goes_on(tmp_path):
    """Ctrl-C raises KeyboardInterrupt; the same call then ends in the study that it has without a stop."""
    path, sent = tmp_path / "study.log", []

    def interrupt(model):
        if model.shift > 1.5 and not sent:
            sent.append(1)
            os.kill(os.getpid(), signal.SIGINT)

    model = Scripted(script=interrupt)
    with pytest.raises(KeyboardInterrupt):
        search(model, X, Y, space=shifts, n_trials=8, random_state=0, storage=path)
    seen = []
    study = search(model, X, Y, space=shifts, n_trials=8, random_state=0, storage=path, callbacks=[seen.append])
    assert results(study) == results(search(Scripted(), X, Y, space=shifts, n_trials=8, random_state=0))


def test_ctrl_c_in_a_network_is_no_result(tmp_path):
    """The network of a trial that is interrupted is not taken for a result: the trial is run again."""
    path, sent = tmp_path / "study.log", []

    def interrupt(epoch):
        if len(sent) == 70:
            os.kill(os.getpid(), signal.SIGINT)
        sent.append(epoch)

    options = {"space": rates, "n_trials": 4, "random_state": 0, "cv": 2}
    model = clone(NETWORK).set_params(callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        search(model, X, Y, storage=path, **options)
    assert results(search(model, X, Y, storage=path, **options)) == results(search(NETWORK, X, Y, **options))


def test_ctrl_c_ends_workers_too(tmp_path):
    """With trials side by side Ctrl-C ends all processes, soon, and the trials that were finished are kept."""
    script = """
import sys, time
import numpy as np
from sklearn.linear_model import Ridge
from dln.tune import search

class Slow(Ridge):
    def fit(self, X, y):
        time.sleep(3600 if self.alpha > 0.5 else 0)
        return super().fit(X, y)

X = np.random.default_rng(0).normal(size=(40, 3))
space = lambda trial: {"alpha": trial.suggest_float("alpha", 0.6, 1)}
shout = lambda trial: print(trial.number, flush=True)
search(Slow(alpha=0.1), X, X[:, 0], space=space, storage=sys.argv[1], n_trials=9, cv=2, n_jobs=2, random_state=0,
       callbacks=[shout])
"""
    path = tmp_path / "study.log"
    process = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout.readline() == b"0\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == -signal.SIGINT
    process.stdout.close()
    assert path.read_text().count('"fold_values"') == 1


def test_ctrl_c_before_anything_is_finished_is_ctrl_c():
    """Without a finished trial there is nothing to keep."""
    with pytest.raises(KeyboardInterrupt):
        search(Scripted(script=lambda _: os.kill(os.getpid(), signal.SIGINT)), X, Y, space=shifts, random_state=0)


def test_callbacks_get_every_trial_and_can_end_the_search(tmp_path):
    """A callback gets each trial as it ends, those of the storage first; True ends the search."""
    seen = []
    options = {"storage": tmp_path / "study.log"}
    study = ridge(9, callbacks=[lambda trial: seen.append(trial.number), lambda trial: trial.number == 4], **options)
    assert seen == [0, 1, 2, 3, 4]
    assert len(study.trials) == 5
    seen.clear()
    ridge(7, callbacks=[lambda trial: seen.append(trial.number)], **options)
    assert seen == [0, 1, 2, 3, 4, 5, 6]


def test_a_callback_can_end_a_search_with_the_trials_of_the_storage(tmp_path):
    """If the storage alone is enough, no trial is run."""
    path = tmp_path / "study.log"
    ridge(3, storage=path)
    assert len(ridge(9, storage=path, callbacks=[lambda trial: trial.number == 2]).trials) == 3


def test_a_failing_callback_ends_the_search():
    """An error of a callback is the caller's own and is raised."""

    def fail(_):
        message = "mine"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="mine"):
        search(Ridge(), X, Y, space=lambda _: {}, n_trials=2, callbacks=[fail])
