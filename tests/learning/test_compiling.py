"""Kernels that are compiled before they are needed: all of a fit, once each; what goes wrong is not hidden."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from dln.learning import _changes, _compiling
from dln.learning._compiling import Compiling

SIGNATURES = """
import numpy as np
from dln import DLNRegressor
from dln.data import _encoding, _rows
from dln.learning import _changes, _scan
from dln.learning._compiling import compile_networks, compile_search
from dln.network import _kernels

def signatures():
    modules = (_changes, _scan, _kernels, _rows, _encoding)
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
    DLNRegressor(**small, **settings).fit(rows, rows[:, 0] * rows[:, 1] + rows[:, 3])
after = signatures()
for (module, name), known in after.items():
    assert len(known) <= 1, (name, known)
    if module in ("dln.learning._changes", "dln.learning._scan", "dln.network._kernels"):
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
    with Compiling(lambda *_: lambda: moved.append(1), networks=True) as compiling:
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
    with Compiling(lambda name, total: shown.append((name, total)) or (lambda: None), networks=False) as compiling:
        compiling.wait("search")
        compiling.wait("networks")
    assert shown == [("compiling", 0)]
