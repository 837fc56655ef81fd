from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dln
from dln import _compile

SOURCE = Path(dln.__file__).parent
FILES = Path(__file__).parent / "model_files"

#: Two kernel files, one of which inlines the other, and a file with a constant.
KERNELS = {
    "places.py": "STEP = 1\n",
    "inner.py": "from dln._compile import inlined\n\n@inlined()\ndef inner(x):\n    return x + 10\n",
    "outer.py": (
        "from dln._compile import compiled\nfrom dln.places import STEP\nfrom dln.inner import inner\n\n"
        "@compiled(nogil=True)\ndef outer(x):\n    return inner(x) + STEP\n"
    ),
    "other.py": "UNUSED = 1\n",
}

#: Runs a kernel of those files for whole numbers and for floats, and tells how often the cache was of use.
CALL = """
import sys
from dln.outer import outer
kinds = {"int": 1, "float": 0.5, "complex": 1j}
results = [outer(kinds[name]) for name in sys.argv[1:]]
print(*results, sum(outer.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder with a small package dln of kernels, whose compiled code is its own."""
    folder = tmp_path / "site" / "dln"
    folder.mkdir(parents=True)
    for name in ("_compile.py", "_atomic.py", "_clean.py", "_errors.py"):
        shutil.copy(SOURCE / name, folder / name)
    (folder / "__init__.py").touch()
    for name, text in KERNELS.items():
        (folder / name).write_text(text)
    return folder


def environment(package: Path, **settings: str) -> dict[str, str]:
    """Return an environment whose package is this one and that has no other place for compiled code."""
    hidden = {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", **settings}


def call(package: Path, *kinds: str, **settings: str) -> tuple[list[str], str]:
    """Run the kernel in a process of its own; return what it printed and what it warned of."""
    done = subprocess.run(
        [sys.executable, "-c", CALL, *kinds],
        check=True,
        capture_output=True,
        text=True,
        env=environment(package, **settings),
    )
    return done.stdout.split(), done.stderr


def blocked(package: Path) -> dict[str, str]:
    """Take away the places in the package and in the user's home; return the settings that do so."""
    (package / "__pycache__").write_text("a file where a folder would be")
    return {"HOME": "/proc/none"}


def test_compiled_once(package: Path):
    """A second process finds what the first has compiled, beside the package."""
    assert call(package, "int", "float") == (["12", "11.5", "0"], "")
    assert call(package, "int", "float") == (["12", "11.5", "2"], "")
    assert list((package / "__pycache__").glob("dln-kernels-*/dln.outer.outer-*"))


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("inner.py", "10", "20", "22"),  # another kernel file, inlined
        ("places.py", "1", "5", "16"),  # a constant that a kernel file imports
        ("outer.py", "+ STEP", "- STEP", "10"),
    ],
)
def test_no_stale_code(package: Path, name: str, old: str, new: str, expected: str):
    """A change of any file that compiled code was made from makes it be compiled again."""
    call(package, "int")
    (package / name).write_text(KERNELS[name].replace(old, new))
    assert call(package, "int")[0] == [expected, "0"]


def test_other_changes_keep_the_cache(package: Path):
    """A change of a file that no kernel is made from costs nothing."""
    call(package, "int")
    (package / "other.py").write_text("UNUSED = 2\n")
    assert call(package, "int")[0] == ["12", "1"]


def test_old_folders_are_dropped(package: Path):
    """Of the folders of older kernels the last few are kept, for versions that are used side by side."""
    for step in range(7):
        (package / "places.py").write_text(f"STEP = {step}\n")
        assert call(package, "int")[0] == [f"{step + 11}", "0"]
    assert len(list((package / "__pycache__").glob("dln-kernels-*"))) == _compile.KEPT


def test_a_chosen_folder(package: Path, tmp_path: Path):
    """NUMBA_CACHE_DIR says where compiled code is kept, also where nothing else can be written to."""
    settings = {**blocked(package), "NUMBA_CACHE_DIR": str(tmp_path / "chosen")}
    assert call(package, "int", **settings) == (["12", "0"], "")
    assert call(package, "int", **settings) == (["12", "1"], "")


def test_a_temporary_folder(package: Path, tmp_path: Path):
    """Where package and home cannot be written to, a private temporary folder serves, and a sentence says so once."""
    settings = {**blocked(package), "TMPDIR": str(tmp_path)}
    results, said = call(package, "int", "float", **settings)
    assert results == ["12", "11.5", "0"]
    assert said.count("CompileCacheWarning") == 1
    assert "set NUMBA_CACHE_DIR to a folder that can be written to" in said
    assert call(package, "int", "float", **settings) == (["12", "11.5", "2"], "")
    (private,) = tmp_path.glob("dln-*")
    assert private.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="temporary folders are every user's own there")
@pytest.mark.parametrize("kind", ["file", "open to others", "link"])
def test_nowhere_to_keep_it(package: Path, tmp_path: Path, kind: str):
    """A temporary folder that others could have filled is not trusted: code is compiled anew, and that is said."""
    place = tmp_path / f"dln-{os.getuid()}"
    if kind == "file":
        place.touch()
    elif kind == "link":
        place.symlink_to(tmp_path / "site")
    else:
        place.mkdir()
        place.chmod(0o777)
    settings = {**blocked(package), "TMPDIR": str(tmp_path)}
    for _ in range(2):
        results, said = call(package, "int", **settings)
        assert results == ["12", "0"]
        assert "compiled anew in every process: set NUMBA_CACHE_DIR" in said


def test_a_read_only_machine_predicts(tmp_path: Path):
    """With neither package nor home to write to, a model is loaded and predicts."""
    folder = tmp_path / "site" / "dln"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    script = """
import sys, dln, polars
model = dln.load(sys.argv[1])
row = {column.name: [1.0 if column.categories is None else None] for column in model.circuit_.columns}
print(model.predict(polars.DataFrame(row)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, max(FILES.glob("*.dln"))],
        check=False,
        capture_output=True,
        text=True,
        env=environment(folder, **blocked(folder), TMPDIR=str(tmp_path)),
    )
    assert done.returncode == 0, done.stderr


def test_processes_that_compile_at_once(package: Path):
    """Processes that compile the same function for other types at once get their own code each, then and later."""
    expected = {"int": "12", "float": "11.5", "complex": "(11+1j)"}
    orders = [("int", "float", "complex"), ("float", "complex", "int"), ("complex", "int", "float")] * 2
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CALL, *order], stdout=subprocess.PIPE, text=True, env=environment(package)
        )
        for order in orders
    ]
    for process, order in zip(running, orders, strict=True):
        assert process.communicate()[0].split()[:-1] == [expected[kind] for kind in order]
    assert call(package, *expected)[0] == [*expected.values(), "3"]


def test_damaged_code_is_compiled_again(package: Path):
    """What a killed writer or a bad disk leaves of a file is noticed: the code is compiled again, and kept."""
    call(package, "int")
    (path,) = (package / "__pycache__").glob("dln-kernels-*/dln.outer.outer-*")
    whole = path.read_bytes()
    for damaged in (b"", whole[:16], whole[:40], whole[:-1], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:]):
        path.write_bytes(damaged)
        assert call(package, "int")[0] == ["12", "0"]
    assert call(package, "int")[0] == ["12", "1"]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a Unix matter")
def test_killed_while_compiling(package: Path):
    """Processes that are killed while they compile and write leave nothing that harms the next."""
    for moment in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", CALL, "int", "float", "complex"],
            stdout=subprocess.DEVNULL,
            env=environment(package),
        )
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if len(list((package / "__pycache__").glob("dln-kernels-*/*"))) > moment // 2:
                process.send_signal(signal.SIGKILL)
                break
        process.wait()
    assert call(package, "int", "float", "complex")[0][:3] == ["12", "11.5", "(11+1j)"]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are a Unix matter")
def test_a_full_disk(package: Path):
    """Where a file cannot be written to its end, the code runs all the same, and a sentence says why it is not kept."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n" + CALL
    done = subprocess.run(
        [sys.executable, "-c", limited, "int"], check=True, capture_output=True, text=True, env=environment(package)
    )
    assert done.stdout.split() == ["12", "0"]
    assert "could not be kept" in done.stderr
    assert "(File too large): set NUMBA_CACHE_DIR" in done.stderr
    assert not list((package / "__pycache__").glob("dln-kernels-*/*"))


def test_no_kernel_is_in_another_cache():
    """No function is kept by numba's own cache: it would be stale when a file changes that was compiled into it."""
    strays = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if path.name != "_compile.py" and "cache=True" in path.read_text()
    ]
    assert strays == []
