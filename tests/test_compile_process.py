"""Another process compiles kernels for this one, which depends on it for nothing but time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

import pytest

from dln import _compile, _compile_process
from dln._compile_process import CompileProcess

#: Modules that a process is started for: a kernel, one that fails, one that never ends.
MODULES = {
    "kernel_for_process": (
        "from dln._compile import compiled\n\n@compiled()\ndef twice(x):\n    return 2 * x\n\n"
        "def compile_kernels():\n    twice(1)\n"
    ),
    "fails_in_process": "def compile_kernels():\n    raise OSError('no compiler')\n",
    "hangs_in_process": (
        "import os, pathlib, time\n\ndef compile_kernels():\n"
        "    pathlib.Path(os.environ['NUMBA_CACHE_DIR'], 'pid').write_text(str(os.getpid()))\n    time.sleep(600)\n"
    ),
}

#: Starts a process that never ends, and waits for it.
STARTS = "import sys; from dln._compile_process import CompileProcess as P; P.start('hangs_in_process').wait()"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a fresh folder for machine code, this process's and the other's, beside modules that both find."""
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    place = tmp_path / "machine code" / (_compile.FOLDER + _compile.kernel_hash())
    place.mkdir(parents=True)
    monkeypatch.setattr(_compile, "kernel_folder", lambda: place)
    monkeypatch.setattr(_compile_process, "kernel_folder", lambda: place)
    monkeypatch.setattr(_compile_process, "n_cores", lambda: 2)
    return place


def started(module: str) -> CompileProcess:
    """Return a process that was started."""
    process = CompileProcess.start(module)
    assert process is not None
    return process


def pid_when_begun(folder: Path) -> int:
    """Return the number of a process that never ends, once it has begun."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError):
            return int((folder.parent / "pid").read_text())
        time.sleep(0.01)
    pytest.fail("the process never began")


def is_gone(pid: int) -> bool:
    """Whether a process has ended, waited for or not, before long."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":  # not ours to wait for
            return True
        time.sleep(0.01)
    return False


@pytest.mark.usefixtures("folder")
def test_what_the_other_process_compiles_is_loaded_here():
    """It finds the modules and the folder of this process, and this one compiles nothing."""
    process = started("kernel_for_process")
    assert process.wait()
    process.stop()
    twice = import_module("kernel_for_process").twice
    assert twice(2) == 4
    assert sum(twice.stats.cache_hits.values()) == 1


def test_a_process_that_fails_leaves_nothing(folder: Path, capfd: pytest.CaptureFixture[str]):
    """What goes wrong there is nobody's matter: it is neither shown nor raised."""
    process = started("fails_in_process")
    assert process.wait()
    process.stop()
    assert list(folder.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_stop(folder: Path):
    """Who waits for a process that is stopped is told so; it is gone at once, and was waited for."""
    process, told = started("hangs_in_process"), []
    waiting = threading.Thread(target=lambda: told.append(process.wait()))
    waiting.start()
    pid = pid_when_begun(folder)
    if hasattr(os, "getsid"):
        assert os.getsid(pid) == pid  # Ctrl-C is for this process alone
    process.stop()
    waiting.join(30)
    assert told == [False]
    assert process._process.returncode is not None
    process.stop()  # once more does no harm


@pytest.mark.usefixtures("folder")
def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch):
    """Nobody waits for ever: after a while this process compiles by itself."""
    monkeypatch.setattr(_compile_process, "MOST_SECONDS", 0.01)
    process = started("hangs_in_process")
    assert process.wait()
    process.stop()
    assert process._process.returncode is not None


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.skipif(_compile_process.n_cores() == 1, reason="no other process is started")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_it_ends_with_its_parent(folder: Path, name: str):
    """However this process ends, the other does not live on."""
    path = os.pathsep.join([str(folder.parent.parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder.parent)}
    parent = subprocess.Popen([sys.executable, "-c", STARTS], env=environment, stderr=subprocess.DEVNULL)
    pid = pid_when_begun(folder)
    parent.send_signal(signal.Signals[name])
    parent.wait()
    assert is_gone(pid)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("holder", "name", "value"),
    [
        (_compile_process, "kernel_folder", lambda: None),
        (_compile_process, "n_cores", lambda: 1),
        (sys, "executable", ""),
        (sys, "executable", None),
        (sys, "executable", "/opt/spreadsheet/bin/spreadsheet"),
        (sys, "executable", "/nowhere/python3"),
    ],
)
def test_where_there_is_no_other_process(monkeypatch: pytest.MonkeyPatch, holder, name, value):
    """Without a folder, a second core or a Python to start, none is started; a program with Python inside is none."""
    monkeypatch.setattr(holder, name, value)
    assert CompileProcess.start("kernel_for_process") is None


@pytest.mark.usefixtures("folder")
def test_none_from_a_frozen_program(monkeypatch: pytest.MonkeyPatch):
    """A program that was packed with its Python would start itself."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert CompileProcess.start("kernel_for_process") is None


def test_cores():
    """A process has at least one core."""
    assert 1 <= _compile_process.n_cores() <= (os.cpu_count() or 1)
