from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

import dln

SOURCE = Path(dln.__file__).parent
FILES = Path(__file__).parent / "model_files"

#: Two kernel files, one of which inlines the other, a file with a constant, and one in another folder.
KERNELS = {
    "places.py": "STEP = 1\n",
    "inner.py": "from dln._compile import inner\n\n@inner()\ndef plus_ten(x):\n    return x + 10\n",
    "outer.py": (
        "from dln._compile import compiled\nfrom dln.places import STEP\nfrom dln.inner import plus_ten\n\n"
        "@compiled(nogil=True)\ndef outer(x):\n    return plus_ten(x) + STEP\n"
    ),
    "elsewhere/other.py": "UNUSED = 1\n",
}

#: Runs a kernel of those files for numbers of several types, and prints how often code was found in the cache.
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
    for name in ("_compile.py", "_text.py", "_errors.py"):
        shutil.copy(SOURCE / name, folder / name)
    (folder / "__init__.py").touch()
    (folder / "elsewhere").mkdir()
    for name, text in KERNELS.items():
        (folder / name).write_text(text)
    return folder


def environment(package: Path, **settings: str) -> dict[str, str]:
    """Return an environment whose package is this one and that has no other place for compiled code."""
    hidden = {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", **settings}


def call(package: Path, *kinds: str, **settings: str) -> tuple[list[str], str]:
    """Run the kernel in a process of its own; return its output and its warnings."""
    done = subprocess.run(
        [sys.executable, "-c", CALL, *kinds],
        check=True,
        capture_output=True,
        text=True,
        env=environment(package, **settings),
    )
    return done.stdout.split(), done.stderr


def blocked(package: Path) -> dict[str, str]:
    """Make the folders in the package and in the user's home unwritable; return the settings that do so."""
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("a file where a folder would be")
    return {"HOME": "/proc/none"}


def test_compiled_once(package: Path):
    """A second process finds what the first has compiled, beside the package."""
    assert call(package, "int", "float") == (["12", "11.5", "0"], "")
    assert call(package, "int", "float") == (["12", "11.5", "2"], "")
    assert len(kept(package)) == 2


def kept(package: Path) -> list[Path]:
    """Return the files of machine code."""
    return sorted((package / "__pycache__").glob("outer.outer-*.nbc"))


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("inner.py", "10", "20", "22"),  # another kernel file, inlined
        ("places.py", "1", "5", "16"),  # a constant that a kernel file imports
        ("outer.py", "+ STEP", "- STEP", "10"),
    ],
)
def test_no_stale_code(package: Path, name: str, old: str, new: str, expected: str):
    """After a change of any file that compiled code was made from it is compiled again, and the old code removed."""
    call(package, "int")
    (before,) = kept(package)
    (package / name).write_text(KERNELS[name].replace(old, new))
    assert call(package, "int")[0] == [expected, "0"]
    (after,) = kept(package)
    assert after != before


def test_other_changes_keep_the_cache(package: Path):
    """After a change of a file in another folder nothing is compiled again."""
    call(package, "int")
    (package / "elsewhere" / "other.py").write_text("UNUSED = 2\n")
    assert call(package, "int")[0] == ["12", "1"]


def test_a_chosen_folder(package: Path, tmp_path: Path):
    """Compiled code is kept in NUMBA_CACHE_DIR, also where nothing else can be written to."""
    settings = {**blocked(package), "NUMBA_CACHE_DIR": str(tmp_path / "chosen")}
    assert call(package, "int", **settings) == (["12", "0"], "")
    assert call(package, "int", **settings) == (["12", "1"], "")


def test_nowhere_to_keep_it(package: Path):
    """If no folder can be written to, code is compiled anew in every process, with one warning."""
    settings = blocked(package)
    for _ in range(2):
        results, warned = call(package, "int", "float", **settings)
        assert results == ["12", "11.5", "0"]
        assert warned.count("CompileCacheWarning") == 1
        assert "compiled anew in every process: set NUMBA_CACHE_DIR to a folder that can be written to" in warned


def test_a_read_only_machine_predicts(tmp_path: Path):
    """With neither package nor home to write to, a model is loaded and predicts, with one warning."""
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
        env=environment(folder, **blocked(folder)),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("CompileCacheWarning") == 1


def test_processes_that_compile_at_once(package: Path):
    """Processes that compile the same function for other types at once get their own code each, then and later."""
    expected = {"int": "12", "float": "11.5", "complex": "(11+1j)"}
    orders = [("int", "float", "complex"), ("float", "complex", "int"), ("complex", "int", "float")]
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
    """A file that is not whole is ignored: the code is compiled again, and kept."""
    call(package, "int")
    (path,) = kept(package)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1]):
        path.write_bytes(damaged)
        assert call(package, "int")[0] == ["12", "0"]
    assert call(package, "int")[0] == ["12", "1"]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a Unix matter")
def test_killed_while_compiling(package: Path):
    """Processes that are killed while they compile and write leave nothing that harms the next."""
    for moment in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", CALL, "int", "float", "complex"],
            stdout=subprocess.DEVNULL,
            env=environment(package),
        )
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if len(list((package / "__pycache__").glob("*.nbc*"))) > moment:
                process.send_signal(signal.SIGKILL)
                break
        process.wait()
    assert call(package, "int", "float", "complex")[0][:3] == ["12", "11.5", "(11+1j)"]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are a Unix matter")
def test_a_full_disk(package: Path):
    """If a file cannot be written to its end, the code runs all the same, with a warning that it is not kept."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n" + CALL
    done = subprocess.run(
        [sys.executable, "-c", limited, "int"], check=True, capture_output=True, text=True, env=environment(package)
    )
    assert done.stdout.split() == ["12", "0"]
    assert "could not be kept" in done.stderr
    assert "(File too large): set NUMBA_CACHE_DIR" in done.stderr
    assert not list((package / "__pycache__").glob("outer.outer-*"))


def test_no_kernel_is_cached_otherwise():
    """No function has ``cache=True``: it would be stale when a file changes that was compiled into it."""
    strays = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if path.name != "_compile.py" and "cache=True" in path.read_text()
    ]
    assert strays == []


def test_kernels_contain_nothing_of_other_folders():
    """All that a kernel inlines, constants too, comes from its own folder, whose files decide if its code is stale."""
    n_kernels = 0
    for path in SOURCE.rglob("*.py"):
        imports = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
        if any(node.module == "dln._compile" for node in imports):
            module = import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
            of_dln = [node for node in imports if str(node.module).startswith("dln.")]
            own = module.__package__
            others = [node for node in of_dln if own not in {node.module, str(node.module).rpartition(".")[0]}]
            foreign = {alias.asname or alias.name for node in others for alias in node.names}
            for kernel in (value for value in vars(module).values() if hasattr(value, "py_func")):
                assert not foreign & set(kernel.py_func.__code__.co_names), kernel
                n_kernels += 1
    assert n_kernels > 10
