"""Pipes, disks and signals: one sentence or silence, and the exit codes that other programs have."""

from __future__ import annotations

import os
import pty
import signal
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from commands import fit_houses, houses, run, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes, limits and signals of Unix")

PROGRAM = (sys.executable, "-m", "dln.cli")

#: A program that may write no file larger than 2 kB, which is what a full disk looks like to it.
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from dln.cli import main
main()
"""

#: A program whose fit gets Ctrl-C when its first stage begins.
INTERRUPTED = """
import os, signal
from dln._progress import Progress
from dln.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)
networks = Progress.networks

def interrupted(self, n_networks, n_epochs):
    signal.raise_signal(int(os.environ["SEND"]))
    networks(self, n_networks, n_epochs)

Progress.networks = interrupted
main()
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """Fit once, and predict once, so that nothing is left to compile."""
    made = fit_houses(tmp_path_factory.mktemp("houses"))
    assert run("predict", str(made), str(made.with_name("houses.csv"))).exit_code == 0
    return made


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table of so many rows that its predictions do not fit in a pipe."""
    path = tmp_path / "many.csv"
    pl.concat([pl.read_csv(houses().encode(), infer_schema=False)] * 2000).write_csv(path)
    return path


@pytest.mark.parametrize("command", ["predict", "show"])
def test_a_reader_that_has_seen_enough(command, model: Path, table: Path):
    """When the reader of a pipe goes, the program goes too, in silence, with the exit code of SIGPIPE."""
    arguments = [model, table] if command == "predict" else [model, "--json"]
    with subprocess.Popen([*PROGRAM, command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert errors == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("command", ["predict", "show", "explain"])
def test_standard_output_on_a_full_disk(command, model: Path, table: Path):
    """If standard output cannot be written, one sentence reports it, and the exit code is 1."""
    arguments = [model] if command == "show" else [model, table]
    with open("/dev/full", "wb") as full:  # noqa: PTH123 (a device)
        done = subprocess.run([*PROGRAM, command, *arguments], check=False, stdout=full, stderr=subprocess.PIPE)
    assert done.stderr.decode() == "dln: the output could not be written: No space left on device\n"
    assert done.returncode == 1


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet", "out.csv.gz"])
def test_a_full_disk(name, model: Path, table: Path, tmp_path: Path):
    """A disk that is full leaves the old output as it was, in all formats, with one sentence and exit code 1."""
    output = tmp_path / name
    output.write_text("before")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "predict", model, table, "-o", output, "--force", "--with-input"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stderr == "dln: the output could not be written: File too large\n"
    assert done.returncode == 1
    assert output.read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {name, table.name}


def test_forced_output_keeps_mode_and_link(model: Path, tmp_path: Path):
    """`predict -o f --force` writes through a symbolic link, and the file keeps its permissions."""
    write(tmp_path, {"t.csv": houses(), "real.csv": "before"})
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.chmod(0o640)
    link.symlink_to(real)
    assert run("predict", str(model), str(tmp_path / "t.csv"), "-o", str(link), "--force").exit_code == 0
    assert link.is_symlink()
    assert real.read_text().startswith("prediction\n")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    "arguments",
    [("predict", "MODEL", "TABLE", "-o", "PIPE"), ("prune", "MODEL", "--max-conditions", "3", "-o", "PIPE")],
)
def test_forced_output_into_a_pipe(arguments, model: Path, tmp_path: Path):
    """`--force` writes into a pipe that has a name, and leaves it a pipe."""
    write(tmp_path, {"houses.csv": houses()})
    pipe = tmp_path / "out.csv"
    os.mkfifo(pipe)
    places = {"MODEL": model, "TABLE": tmp_path / "houses.csv", "PIPE": pipe}
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    command = [*PROGRAM, *(places.get(word, word) for word in arguments), "--force"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert os.read(reader, 9) == (b"predictio" if arguments[0] == "predict" else b"dln-model")
    os.close(reader)
    assert pipe.is_fifo()


def test_long_fields(tmp_path: Path):
    """A field longer than Python's csv allows is read like any other."""
    write(tmp_path, {"t.csv": houses(note=["x" * 200_000] + ["y", "z"] * 29 + ["y"])})
    arguments = ("fit", str(tmp_path / "t.csv"), "-t", "price", "-o", str(tmp_path / "m.dln"), "--time-limit", "1s")
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    assert run("predict", str(tmp_path / "m.dln"), str(tmp_path / "t.csv")).exit_code == 0


def test_carriage_returns_alone(tmp_path: Path):
    """Lines that end as on old Macs get a sentence that says how to mend them."""
    write(tmp_path, {"t.csv": houses().replace("\n", "\r")})
    result = run("fit", str(tmp_path / "t.csv"), "-t", "price", "-o", str(tmp_path / "m.dln"))
    assert result.exit_code == 2
    assert "ends its lines with carriage returns alone: save it with line feeds" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_damaged_study(tmp_path: Path):
    """A study journal that is damaged gets one sentence that names it."""
    write(tmp_path, {"t.csv": houses(), "study.log": '{"op_code": 0, "study_name'})
    write(tmp_path, {"study.log": '{"op_code": 0}\n{"op_code": "\x1b[31m"}\n'})
    result = run("tune", str(tmp_path / "t.csv"), "-t", "price", "--storage", str(tmp_path / "study.log"), "-q")
    assert result.exit_code == 2
    assert "study.log is not a study that can be read" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "\x1b" not in result.stderr


def test_ctrl_c_saves_what_there_is(tmp_path: Path):
    """Ctrl-C in `dln fit` saves the best so far, says so, and ends with 130."""
    write(tmp_path, {"t.csv": houses()})
    model = tmp_path / "m.dln"
    fit = ("fit", tmp_path / "t.csv", "-t", "price", "-o", model)
    command = [sys.executable, "-c", INTERRUPTED, *fit]
    environment = {**os.environ, "SEND": str(int(signal.SIGINT))}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 130, done.stderr
    assert f"interrupted: the best model so far is saved in {model}" in done.stderr
    assert run("show", str(model)).exit_code == 0


def test_ctrl_c_in_a_search(tmp_path: Path):
    """Ctrl-C in `dln tune` keeps the trials that are finished, says how to go on, and ends with 130."""
    write(tmp_path, {"t.csv": houses()})
    script = """
import signal
import dln.tune
from dln.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)
search = dln.tune.search
send = lambda trial: signal.raise_signal(signal.SIGINT) if trial.number == 1 else None
dln.tune.search = lambda *args, callbacks, **kwargs: search(*args, **kwargs, callbacks=[*callbacks, send])
main()
"""
    command = [sys.executable, "-c", script, "tune", "t.csv", "-t", "price", "--trials", "9"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 130, done.stderr
    assert "interrupted: 2 trials are kept in t.tune.log, and the same command goes on from there" in done.stderr
    assert "cross-validated" not in done.stdout


def test_sigterm_ends_a_fit(tmp_path: Path):
    """SIGTERM ends `dln fit` as it ends every program: no model is written."""
    write(tmp_path, {"t.csv": houses()})
    fit = ("fit", tmp_path / "t.csv", "-t", "price", "-o", tmp_path / "m.dln")
    command = [sys.executable, "-c", INTERRUPTED, *fit]
    environment = {**os.environ, "SEND": str(int(signal.SIGTERM))}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert not (tmp_path / "m.dln").exists()


def test_a_terminal_on_standard_error_only(model: Path, table: Path, tmp_path: Path):
    """A progress bar on a terminal does no harm to an output that fails."""
    leader, follower = pty.openpty()
    with open(leader, "rb", buffering=0) as shown:  # noqa: PTH123 (a descriptor)
        process = subprocess.Popen(
            [sys.executable, "-c", LIMITED, "predict", model, table, "-o", tmp_path / "o.csv", "--with-input"],
            stderr=follower,
        )
        os.close(follower)
        errors = b""
        try:
            while piece := shown.read(65536):
                errors += piece
        except OSError:  # the other end is closed
            pass
        assert process.wait(timeout=60) == 1
    assert b"dln: the output could not be written: File too large" in errors
