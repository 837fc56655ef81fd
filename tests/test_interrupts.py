from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import make_friedman1

from dln import DLNRegressor, RuleRegressor, _interrupt
from dln._interrupt import Deadline, ctrl_c_calls
from dln.rules import _learn
from models import SMALL, SMALL_NETWORK, frame, target

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals between processes are a Unix matter")


def test_a_handler_of_the_program_is_called_too():
    """A program's own handler for SIGINT is called besides, and is in its place again afterwards."""
    called: list[str] = []
    before = signal.signal(signal.SIGINT, lambda *_: called.append("own"))
    own = signal.getsignal(signal.SIGINT)
    try:
        with ctrl_c_calls(lambda: called.append("stop")):
            signal.raise_signal(signal.SIGINT)
        assert called == ["stop", "own"]
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_second_ctrl_c_is_as_ever():
    """Who presses Ctrl-C twice gets a KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    called: list[str] = []
    try:
        with ctrl_c_calls(lambda: called.append("stop")):
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert called == ["stop"]


@pytest.mark.parametrize("how", ["network", "rules"])
def test_ctrl_c_is_answered_and_the_second_ends_the_fit_at_once(how: str):
    """The first Ctrl-C is answered by a line at once; the second ends a fit before its threads, with no model kept."""
    script = """
import os, signal, sys, threading, time
import numpy as np
from dln import DLNRegressor, RuleRegressor
from dln.rules import _learn

def slow(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.5)
    pressed.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)

pressed = []
X = np.random.default_rng(0).normal(size=(60, 2))
if sys.argv[1] == "rules":
    _learn.find_rules = slow
    model = RuleRegressor(n_teachers=0, verbose=1)
else:
    model = DLNRegressor(hidden_layer_sizes=(4,), callbacks=[slow], verbose=1)
try:
    model.fit(X, X[:, 0])
except KeyboardInterrupt as stop:
    print(time.monotonic() - pressed[-1] < 30, stop.args, hasattr(model, "circuit_"), flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", script, how], check=False, capture_output=True, text=True)
    assert done.stdout == "True () False\n", done.stderr
    assert "Ctrl-C: finishing with the best model so far; press again to stop at once" in " ".join(done.stderr.split())


def test_an_ignored_signal_stays_ignored():
    """A process that ignores SIGINT goes on ignoring it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    called: list[str] = []
    try:
        with ctrl_c_calls(lambda: called.append("stop")):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not called


def test_other_threads_leave_signals_alone():
    """A fit in a thread that is not the main one changes no handler."""
    seen: list[object] = []

    def look() -> None:
        with ctrl_c_calls(lambda: None):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]


def test_kills_at_random_moments(tmp_path):
    """After SIGKILL at any moment of a save, the file is the old one or the new one, whole."""
    script = """
import os, random, signal, sys, time
sys.path.insert(0, sys.argv[1])
import dln
from models import models
path, contents = sys.argv[2], []
pair = models()[4][0], models()[9][0]
for model in pair:
    model.save(path)
    contents.append(open(path, "rb").read())
for _ in range(20):
    child = os.fork()
    while child == 0:
        for model in pair:
            model.save(path)
    time.sleep(random.uniform(0.01, 0.08))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert open(path, "rb").read() in contents
    dln.load(path)
"""
    command = [sys.executable, "-c", script, str(Path(__file__).parent), str(tmp_path / "saved.dln")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


#: The function in `_learn` that begins each stage; `grow` that of the choice of the target.
STAGES = ("most_telling_inputs", "cross_fit", "grow", "find_rules", "shrinking_path", "smallest_good")


@pytest.fixture
def default_ctrl_c():
    """Ctrl-C as Python has it: jobs in a shell's background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pressing_ctrl_c_at(stage: str, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let Ctrl-C be pressed when a stage begins; return where its moment will stand, in seconds of work."""
    real, moments = getattr(_learn, stage), []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        if not moments:
            moments.append(time.process_time())
            # Stages run in threads of their own; the keyboard's signal goes to the main one.
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return real(*args, **kwargs)

    monkeypatch.setattr(_learn, stage, interrupted)
    return moments


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.usefixtures("default_ctrl_c")
def test_ctrl_c_at_any_stage(stage: str, monkeypatch: pytest.MonkeyPatch):
    """Ctrl-C at any stage raises KeyboardInterrupt within two seconds of work, with a model on the estimator."""
    table = frame()
    model = RuleRegressor(**{**SMALL, "n_teachers": 1}).fit(table, target(table))  # now all is compiled
    del model.circuit_
    moments = pressing_ctrl_c_at(stage, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        model.fit(table, target(table))
    assert time.process_time() - moments[0] < 2.0
    assert model.rules_.n_conditions <= SMALL["max_conditions"]
    assert model.predict(table).shape == (len(table),)


@pytest.mark.parametrize("stage", ["cross_fit", "find_rules"])
@pytest.mark.usefixtures("default_ctrl_c")
def test_ctrl_c_in_a_long_fit(stage: str, monkeypatch: pytest.MonkeyPatch):
    """However long the rest would take, a default fit of two thousand rows ends within two seconds of work."""
    X, y = make_friedman1(2000, noise=1.0, random_state=0)
    moments = pressing_ctrl_c_at(stage, monkeypatch)
    model = RuleRegressor(n_jobs=1, random_state=0, n_generations=10_000)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.process_time() - moments[0] < 2.0
    assert 0 < model.rules_.n_conditions <= 100


@pytest.mark.parametrize("how", ["callback", "keyboard"])
@pytest.mark.usefixtures("default_ctrl_c")
def test_ctrl_c_keeps_the_best_epoch_of_a_network(how: str):
    """An interrupted network is that of its best epoch so far, and the caller gets KeyboardInterrupt."""
    table = frame()

    def press(epoch: Any) -> None:
        if epoch.epoch == 3 and how == "callback":
            raise KeyboardInterrupt
        if epoch.epoch == 3:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    model = DLNRegressor(**{**SMALL_NETWORK, "max_epochs": 100_000}, callbacks=[press])
    with pytest.raises(KeyboardInterrupt):
        model.fit(table, target(table))
    assert 3 <= model.n_iter_ < 100_000
    assert model.predict(table).shape == (len(table),)


@pytest.mark.usefixtures("default_ctrl_c")
def test_a_loop_over_fits_ends_with_ctrl_c():
    """One Ctrl-C ends a loop over seeds: it is not swallowed by the fit that it interrupts."""
    script = """
import os, signal
from dln import DLNRegressor
press = lambda epoch: os.kill(os.getpid(), signal.SIGINT) if epoch.epoch == 2 else None
for seed in range(3):
    print(seed, flush=True)
    DLNRegressor(hidden_layer_sizes=(4,), max_epochs=500, random_state=seed, callbacks=[press]).fit(
        [[float(i), i % 3.0] for i in range(40)], [float(i) for i in range(40)]
    )
"""
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert done.stdout == "0\n"
    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr


def test_a_clock_without_a_limit_stops_when_asked():
    """No stage is cut before the cancellation; then every stage is, and is named once."""
    deadline = Deadline()
    stop = deadline.stage("networks")
    assert not stop()
    assert not deadline.over()
    assert deadline.cut == []
    deadline.cancel()
    assert stop()
    assert stop()
    assert deadline.was_cancelled
    assert deadline.over()
    assert deadline.cut == ["networks"]


def test_a_deadline_shares_out_what_is_left(monkeypatch):
    """A stage may take its share of what is left when it begins; the whole ends when the time is over."""
    now = [100.0]
    monkeypatch.setattr(_interrupt.time, "monotonic", lambda: now[0])
    deadline = Deadline(10.0)
    half = deadline.stage("teachers", 0.5)
    now[0] = 104.9
    assert not half()
    now[0] = 105.1
    assert half()
    rest = deadline.stage("rules", 0.5)
    now[0] = 107.5
    assert not rest()
    now[0] = 107.6
    assert rest()
    assert not deadline.over()
    now[0] = 110.1
    assert deadline.over()
    late = deadline.stage("late")
    now[0] = 110.2
    assert late()
    assert deadline.cut == ["teachers", "rules", "late"]
