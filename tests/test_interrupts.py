from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import dln
from dln import DLNRegressor, FitInterruptedWarning, _estimator
from dln.training._signals import signals_call
from fits import SETTINGS, fit, fit_elsewhere, uninterrupted
from models import NOT_GROWN, SMALL, frame, target

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals between processes are a Unix matter")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_the_best_epochs(number, tmp_path: Path):
    """Ctrl-C and SIGTERM end a fit of several networks in threads with a usable model and a checkpoint."""
    done = fit_elsewhere(tmp_path, send=number)
    assert done.returncode == 0, done.stderr
    assert "FitInterruptedWarning" in done.stderr
    model = dln.load(tmp_path / "model.dln")
    epochs = [model.history_["network"].count(network) for network in range(3)]
    assert 5 <= epochs[1] < SETTINGS["max_epochs"]
    assert (tmp_path / "run.ckpt").exists()
    assert fit(tmp_path).history_ == uninterrupted().history_
    assert not (tmp_path / "run.ckpt").exists()


def test_a_handler_of_the_program_is_called_too():
    """A program's own handler for SIGTERM is called besides, and is in its place again afterwards."""
    called: list[str] = []
    before = signal.signal(signal.SIGTERM, lambda *_: called.append("own"))
    own = signal.getsignal(signal.SIGTERM)
    try:
        with signals_call(lambda: called.append("stop")):
            signal.raise_signal(signal.SIGTERM)
        assert called == ["stop", "own"]
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_second_ctrl_c_is_as_ever():
    """Who presses Ctrl-C twice gets a KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    called: list[str] = []
    try:
        with signals_call(lambda: called.append("stop")):
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert called == ["stop"]


def test_an_ignored_signal_stays_ignored():
    """A process that ignores SIGTERM goes on ignoring it."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    called: list[str] = []
    try:
        with signals_call(lambda: called.append("stop")):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not called


def test_other_threads_leave_signals_alone():
    """A fit in a thread that is not the main one changes no handler."""
    seen: list[object] = []

    def look() -> None:
        with signals_call(lambda: None):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]


def test_kills_at_random_moments():
    """After SIGKILL at any moment of fit or save, files are whole and the resumed fit ends in the identical model."""
    script = Path(__file__).parents[1] / "benchmarks" / "kill_test.py"
    done = subprocess.run(
        [sys.executable, script, "--fits", "6", "--saves", "20"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_rules_grow_keeps_the_networks(number, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """After training, Ctrl-C and SIGTERM give the model of the networks alone, and the checkpoint stays."""
    settings = {**SMALL, **dict.fromkeys(NOT_GROWN, 10), "checkpoint": tmp_path / "run.ckpt"}
    table = frame()
    expected = DLNRegressor(**{**settings, "checkpoint": None}).fit(table, target(table))

    def interrupted_growth(networks: Any, training: Any, recipe: Any, progress: Any) -> Any:
        if recipe.growth.n_rules:
            signal.raise_signal(number)
        return assemble(networks, training, recipe, progress)

    assemble = _estimator.assemble
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        monkeypatch.setattr(_estimator, "assemble", interrupted_growth)
        with pytest.warns(FitInterruptedWarning, match="networks alone"):
            model = DLNRegressor(**settings).fit(table, target(table))
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.setattr(_estimator, "assemble", assemble)
    assert model.predict(table).shape == (len(table),)
    assert (tmp_path / "run.ckpt").exists()
    assert DLNRegressor(**settings).fit(table, target(table)).circuit_ == expected.circuit_
    assert not (tmp_path / "run.ckpt").exists()
