"""Kernels that are compiled before they are needed: all of a fit, once each; what goes wrong is not hidden."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from dln._compile_process import CompileProcess, n_cores
from dln.rules import _changes, _compiling
from dln.rules._compiling import Compiling

SIGNATURES = """
import numpy as np
from dln import RuleRegressor
from dln.data import _encoding, _rows
from dln.rules import _change_kernel, _scan
from dln.rules._compiling import compile_networks, compile_search
from dln.network import _kernels

def signatures():
    modules = (_change_kernel, _scan, _kernels, _rows, _encoding)
    found = {(m.__name__, n): x for m in modules for n, x in vars(m).items() if hasattr(x, "_cache")}
    return {name: list(kernel.signatures) for name, kernel in found.items()}

compile_search()
compile_networks()
before = signatures()
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
X[:, 3] = X[:, 3] > 0
small = dict(n_generations=2, n_grown_rules=60, max_epochs=2, hidden_layer_sizes=(20, 20), random_state=0)
for rows, settings in (X, {}), (X[:30], {}), (X, {"max_conditions": 8}), (X, {"loss": "absolute_error"}):
    RuleRegressor(**small, **settings).fit(rows, rows[:, 0] * rows[:, 1] + rows[:, 3])
after = signatures()
for (module, name), known in after.items():
    assert len(known) <= 1, (name, known)
    if module in ("dln.rules._change_kernel", "dln.rules._scan", "dln.network._kernels"):
        assert known == before[module, name], name
"""


def test_a_fit_compiles_each_kernel_once_and_all_of_them_beforehand():
    """Fits of several kinds call every kernel with the types that it is compiled for beforehand, and with no others."""
    done = subprocess.run([sys.executable, "-c", SIGNATURES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_goes_wrong_is_raised_where_it_is_waited_for(monkeypatch):
    """An error of the thread that compiles comes out of `wait`, jobs not begun are dropped, and the thread ends."""
    begun = []

    def fail() -> None:
        message = "no compiler"
        raise OSError(message)

    monkeypatch.setattr(_changes, "are_compiled", lambda: False)
    monkeypatch.setattr(_compiling.kernels, "are_compiled", lambda: False)
    monkeypatch.setattr(_compiling, "compile_search", fail)
    monkeypatch.setattr(_compiling, "compile_networks", lambda: begun.append(threading.current_thread()))
    moved = []
    with Compiling(lambda *_: lambda: moved.append(1), networks=True, n_threads=1) as compiling:
        with pytest.raises(OSError, match="no compiler"):
            compiling.wait("search")
        compiling.wait("networks")
    assert moved == [1]
    assert not begun[0].is_alive()


def test_nothing_is_compiled_again(monkeypatch):
    """Where all is compiled, there is no bar, and nobody waits."""
    monkeypatch.setattr(_changes, "are_compiled", lambda: True)
    monkeypatch.setattr(_compiling, "compile_search", pytest.fail)
    shown = []
    with Compiling(
        lambda name, total: shown.append((name, total)) or (lambda: None), networks=False, n_threads=2
    ) as compiling:
        compiling.wait("search")
        compiling.wait("networks")
    assert shown == []


@pytest.fixture
def jobs(monkeypatch) -> list[str]:
    """Return what is compiled in this process: nothing is yet, nor is it really."""
    begun: list[str] = []
    monkeypatch.setattr(_changes, "are_compiled", lambda: False)
    monkeypatch.setattr(_compiling.kernels, "are_compiled", lambda: False)
    monkeypatch.setattr(_compiling, "compile_search", lambda: begun.append("search"))
    monkeypatch.setattr(_compiling, "compile_networks", lambda: begun.append("networks"))
    return begun


def test_another_process_is_not_relied_on(monkeypatch, jobs):
    """It is started before anything is waited for; here all is called nonetheless, and compiled if it is not there."""
    events = []
    process = SimpleNamespace(wait=lambda: True, stop=lambda: events.append("stop"))
    monkeypatch.setattr(CompileProcess, "start", lambda module: events.append(module) or process)
    stage = lambda name, total: events.append((name, total)) or (lambda: events.append("one"))  # noqa: E731
    with Compiling(stage, networks=True, n_threads=2) as compiling:
        assert events == ["dln.network._precompile", ("compiling", 2)]
        assert jobs == []
        compiling.wait("search")
        compiling.wait("networks")
    assert events[2:] == ["one", "one", "stop"]
    assert jobs == ["search", "networks"]


def test_what_is_given_up_is_not_compiled(monkeypatch, jobs):
    """After an error the other process is stopped, and this one does not begin with what that was to do."""
    is_waiting, is_stopped = threading.Event(), threading.Event()
    process = SimpleNamespace(wait=lambda: is_waiting.set() or not is_stopped.wait(60), stop=is_stopped.set)
    monkeypatch.setattr(CompileProcess, "start", lambda _: process)

    def interrupted() -> None:
        with Compiling(lambda *_: lambda: None, networks=True, n_threads=2) as compiling:
            compiling.wait("search")
            is_waiting.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert jobs == ["search"]


def test_a_fit_of_one_thread_starts_no_process(monkeypatch, jobs):
    """`n_jobs=1` is one core, also where there are more."""
    monkeypatch.setattr(CompileProcess, "start", pytest.fail)
    with Compiling(lambda *_: lambda: None, networks=True, n_threads=1) as compiling:
        compiling.wait("networks")
    assert jobs == ["search", "networks"]


FIRST_FIT = """
import sys, threading
import numpy as np
from dln import RuleRegressor
from dln.rules import _change_kernel
from dln.network import _kernels

X = np.random.default_rng(0).normal(size=(60, 2))
small = dict(n_generations=1, n_grown_rules=20, max_epochs=1, hidden_layer_sizes=(10,), n_teachers=1, random_state=0)
RuleRegressor(**small, n_jobs=2).fit(X, X[:, 0] * X[:, 1])
for kernel in _kernels._train_epoch, _kernels._hard_outputs, _kernels.weighted_loss, _change_kernel.change_rules:
    print(sum(kernel.stats.cache_hits.values()), len(kernel.signatures))
"""


@pytest.mark.skipif(n_cores() == 1, reason="no other process is started")
@pytest.mark.parametrize("helps", [True, False])
def test_a_first_fit(tmp_path: Path, helps: bool):
    """The first fit of all has its networks' kernels from another process, or from itself where that cannot start."""
    spoilt = "import sys; sys.executable = sys.executable + '-none'\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST_FIT if helps else spoilt + FIRST_FIT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{int(helps)} 1"] * 3 + ["0 1"]
