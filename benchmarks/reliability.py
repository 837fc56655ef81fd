"""Reliability beside LightGBM, XGBoost and EBM, in one run.

    python benchmarks/reliability.py --files 300

Every library is put through the same tests, in child processes: damaged model files, a machine where nothing can be
written, SIGTERM in a fit, many threads that predict, fits with other numbers of threads.
XGBoost is not among our extras: pip install xgboost-cpu.
"""

from __future__ import annotations

import argparse
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from damaged_files import damage_all, lightgbm_files, ours, peers_table, xgboost_files
from measure import machine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from mutations import Case, count, verdicts

LIBRARIES = ("dln", "lightgbm", "xgboost", "ebm")
ROWS = 3000


def table(n_rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Return a problem that every library takes some seconds for."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n_rows, 12))
    return X, 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 10 * X[:, 3] + rng.normal(size=n_rows)


def regressor(name: str, n_threads: int, size: int = 1) -> Any:
    """Return an estimator with a seed; `size` makes its fit longer. Ours and EBM are smaller than by default."""
    if name == "dln":
        from dln import RuleRegressor

        settings = {"n_grown_rules": 40 * size, "n_teachers": 0, "n_generations": 1}
        return RuleRegressor(**settings, random_state=0, n_jobs=n_threads)
    if name == "lightgbm":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(random_state=0, n_jobs=n_threads, verbose=-1, n_estimators=100 * size)
    if name == "xgboost":
        from xgboost import XGBRegressor

        return XGBRegressor(random_state=0, n_jobs=n_threads, n_estimators=100 * size)
    from interpret.glassbox import ExplainableBoostingRegressor

    return ExplainableBoostingRegressor(random_state=0, n_jobs=n_threads, outer_bags=4 * size)


def ebm_files(_folder: Path) -> list[Case]:
    """Return the files of EBM models: pickles, for it has no format of its own."""
    cases = []
    for seed in range(2):
        X, y = peers_table(seed)
        model = regressor("ebm", 1).fit(X, y)
        cases.append(Case(pickle.dumps(model), X, model.predict(X)))
    return cases


def damaged_files(name: str, folder: Path, n_files: int) -> str:
    """Load and use damaged files, each in a process of its own."""
    make = {"dln": ours, "lightgbm": lightgbm_files, "xgboost": xgboost_files, "ebm": ebm_files}[name]
    whole = make(folder)
    cases = list(damage_all(whole, n_files, np.random.default_rng(0)))
    found = count(verdicts(name, folder, cases, whole=whole if name == "dln" else ()))
    bad = {what: n for what, n in found.items() if what not in ("clean error", "harmless") and n}
    return ", ".join(f"{n} {what}" for what, n in bad.items()) or f"{n_files} clean errors or harmless"


def child(name: str, code: str, **settings: str) -> subprocess.Popen[str]:
    """Start Python with a library, the table and code."""
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    script += f"from reliability import *\nX, y = table()\nname = {name!r}\n{code}"
    return subprocess.Popen(  # noqa: S603 (our own code)
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **settings},
    )


def read_only(name: str, folder: Path) -> str:
    """Import, fit and predict with no home, and no folder for caches."""
    blocked = folder / "file"
    blocked.touch()
    settings = {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none", "PYTHONDONTWRITEBYTECODE": "1"}
    if name == "dln":
        settings["NUMBA_CACHE_DIR"] = str(blocked / "none")  # a folder that cannot be made
    process = child(name, "print(regressor(name, 1).fit(X[:300], y[:300]).predict(X[:2]).shape)", **settings)
    _, errors = process.communicate()
    return "works" if process.returncode == 0 else errors.strip().splitlines()[-1][:80]


def sigterm(name: str) -> str:
    """Send SIGTERM in the middle of a fit."""
    code = "print('begin', flush=True); regressor(name, 2, 40).fit(X, y); print('went on', flush=True)"
    process = child(name, code)
    assert process.stdout is not None  # noqa: S101 (a pipe)
    process.stdout.readline()
    time.sleep(1.5)
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    code = process.wait()  # workers that outlive the process hold its pipes: they are not read to their end
    return {-signal.SIGTERM: "the process ends", 0: "the script goes on"}.get(code, f"exit code {code}")


def concurrency(name: str) -> str:
    """Predict with one model from eight threads at once."""
    X, y = table(600)
    model = regressor(name, 1).fit(X, y)
    expected = model.predict(X).tobytes()
    barrier = threading.Barrier(8)

    def predict(_: int) -> bool:
        barrier.wait()
        return all(model.predict(X).tobytes() == expected for _ in range(20))

    with ThreadPoolExecutor(8) as pool:
        return "the same bits" if all(pool.map(predict, range(8))) else "other bits"


def threads(name: str) -> str:
    """Fit with one thread and with two, and compare predictions."""
    X, y = table(1500)
    one, two = (regressor(name, n).fit(X, y).predict(X) for n in (1, 2))
    return "the same bits" if one.tobytes() == two.tobytes() else f"differ by {np.abs(one - two).max():.1g}"


def broken_pipe(name: str, folder: Path) -> str:
    """Read one line of a command line's predictions, and go."""
    if name != "dln":
        return "no command line in Python"
    X, y = table()
    model = regressor(name, 1).fit(X[:200], y[:200])
    model.save(folder / "m.dln")
    rows = "\n".join([",".join(f"x{j}" for j in range(12)), *(",".join(map(str, row)) for row in np.tile(X, (20, 1)))])
    (folder / "t.csv").write_text(rows)
    command = [sys.executable, "-m", "dln.cli", "predict", str(folder / "m.dln"), str(folder / "t.csv")]
    process = subprocess.Popen(  # noqa: S603 (our own command)
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None  # noqa: S101 (a pipe)
    assert process.stderr is not None  # noqa: S101
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    return f"silence, exit code {process.wait()}" if not errors else errors.splitlines()[-1]


def main() -> None:
    """Print one line per test, one column per library."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=300, help="damaged files a library; 0 leaves that test out")
    n_files = parser.parse_args().files
    print(machine())
    print("\n| test | " + " | ".join(LIBRARIES) + " |\n| --- |" + " --- |" * len(LIBRARIES))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        tests = {
            f"{n_files} damaged model files": lambda name: damaged_files(name, folder, n_files),
            "no folder can be written to": lambda name: read_only(name, folder),
            "SIGTERM in a fit": sigterm,
            "eight threads predict": concurrency,
            "fit with one thread and with two": threads,
            "`predict` into `head -1`": lambda name: broken_pipe(name, folder),
        }
        for what, test in list(tests.items())[n_files == 0 :]:
            print(f"| {what} | " + " | ".join(_cell(test, name) for name in LIBRARIES) + " |", flush=True)


def _cell(test: Any, name: str) -> str:
    try:
        return str(test(name))
    except ImportError as error:
        return f"not installed: {error.name}"


if __name__ == "__main__":
    main()
