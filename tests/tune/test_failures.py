"""A trial that fails, or whose process dies, does not stop the search."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from dln.tune import StudyError, search
from searches import Scripted, X, Y, results, shifts


def test_a_worker_that_is_killed_changes_nothing(tmp_path):
    """With four trials side by side, and a process killed in mid-search, the study is the same as one by one."""
    flag = tmp_path / "flag"

    def die_once(model):
        if model.shift > 1.5 and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    study = search(Scripted(script=die_once), X, Y, space=shifts, n_trials=9, random_state=0, n_jobs=4)
    assert flag.exists()
    assert results(study) == results(search(Scripted(), X, Y, space=shifts, n_trials=9, random_state=0))


def test_a_trial_that_always_kills_its_process_has_failed():
    """A trial whose process dies every time is given up, and the search goes on."""

    def die_if_shifted(model):
        if model.shift:
            os.kill(os.getpid(), signal.SIGKILL)

    study = search(Scripted(script=die_if_shifted), X, Y, space=shifts, n_trials=2, random_state=0, n_jobs=2)
    assert [trial.state for trial in study.trials] == ["complete", "failed"]
    assert study.trials[1].error == "the process that ran it died 3 times, the last time with SIGKILL(-9)"


def fail_if_shifted(model):
    """Refuse to fit."""
    if model.shift > 1.5:
        message = "too far"
        raise ValueError(message)


def test_the_error_of_a_trial_is_kept():
    """An exception of a fit is kept with the trial, and the search goes on."""
    study = search(Scripted(script=fail_if_shifted), X, Y, space=shifts, n_trials=8, random_state=0)
    failed = [trial for trial in study.trials if trial.state == "failed"]
    assert failed
    assert all(trial.error == "ValueError: too far" and trial.value is None for trial in failed)
    assert len(study.trials) == 8


def test_if_all_trials_fail_the_error_gives_the_first():
    """Without a complete trial the search raises the first message."""
    model = Scripted(shift=9.0, script=fail_if_shifted)
    with pytest.raises(StudyError, match="all 3 trials failed, the first of them with ValueError: too far"):
        search(model, X, Y, space=lambda _: {}, n_trials=3, random_state=0)


def test_predictions_that_are_not_numbers_are_a_failure():
    """A model that predicts infinity can neither win nor end the search."""
    study = search(Scripted(), X, Y, space=lambda _: {"shift": np.inf}, n_trials=2, random_state=0)
    assert study.trials[1].error == "ValueError: Input contains infinity or a value too large for dtype('float64')."
