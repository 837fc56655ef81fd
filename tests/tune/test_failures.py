"""A trial that fails, or whose process dies, is told and does not stop the search."""

from __future__ import annotations

import os
import signal

import cloudpickle
import numpy as np
import pytest

import searches
from dln.tune import StudyError, search
from searches import Obedient, X, Y, shifts, told


@pytest.fixture
def sent_by_value():
    """Let other processes have the regressor of searches.py, which they cannot import."""
    cloudpickle.register_pickle_by_value(searches)
    yield
    cloudpickle.unregister_pickle_by_value(searches)


@pytest.mark.usefixtures("sent_by_value")
def test_processes_give_the_same_study_and_one_that_dies_is_replaced(tmp_path):
    """With trials side by side, and a process lost on the way, the study is the same as one by one."""
    flag = tmp_path / "flag"

    def die_once(_):
        if not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    study = search(Obedient(order=die_once), X, Y, space=shifts, n_trials=9, random_state=0, n_jobs=2)
    assert flag.exists()
    assert told(study) == told(search(Obedient(), X, Y, space=shifts, n_trials=9, random_state=0))


@pytest.mark.usefixtures("sent_by_value")
def test_a_trial_that_always_kills_its_process_has_failed():
    """A trial whose process dies every time is given up, and the search goes on."""

    def die_if_shifted(model):
        if model.shift:
            os.kill(os.getpid(), signal.SIGKILL)

    study = search(Obedient(order=die_if_shifted), X, Y, space=shifts, n_trials=2, random_state=0, n_jobs=2)
    assert [trial.state for trial in study.trials] == ["complete", "failed"]
    assert study.trials[1].error == "the process that ran it died 3 times, the last time with SIGKILL(-9)"


def fail_if_shifted(model):
    """Refuse to fit."""
    if model.shift > 1.5:
        message = "too far"
        raise ValueError(message)


def test_a_trial_that_fails_is_told_and_the_search_goes_on():
    """What a fit raises is kept with the trial."""
    study = search(Obedient(order=fail_if_shifted), X, Y, space=shifts, n_trials=8, random_state=0)
    failed = [trial for trial in study.trials if trial.state == "failed"]
    assert failed
    assert all(trial.error == "ValueError: too far" and trial.value is None for trial in failed)
    assert study.n_trials == 8


def test_if_all_trials_fail_the_error_says_why():
    """With nothing to show for, the first message is told."""
    model = Obedient(shift=9.0, order=fail_if_shifted)
    with pytest.raises(StudyError, match="all 3 trials failed, the first of them with ValueError: too far"):
        search(model, X, Y, space=lambda *_: {}, n_trials=3, random_state=0)


def test_predictions_that_are_not_numbers_are_a_failure():
    """A model that predicts infinity cannot win, nor end the search."""
    study = search(Obedient(), X, Y, space=lambda *_: {"shift": np.inf}, n_trials=2, random_state=0)
    assert study.trials[1].error == "ValueError: the predictions are not finite numbers, or too large to square"
