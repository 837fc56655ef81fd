"""A fit on more rows than one would like to copy: time, memory, and prediction.

    python benchmarks/large_fit.py                                        # a memory map of 2.5, 5 and 10 million rows
    python benchmarks/large_fit.py --source parquet --rows 1000000 2000000

Each fit runs in a process of its own, on a table of float32 numbers in a temporary folder: a numpy memory map, stored
row by row, or a Parquet file that polars reads. Memory is the process's own (``RssAnon``; pages of the memory map
belong to the system): its peak above that before the fit, as a multiple of the float32 table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measure import machine

#: Rows that are made at a time.
CHUNK = 500_000
N_COLUMNS = 20


def main() -> None:
    """Print the table, or run one fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_500_000, 5_000_000, 10_000_000])
    parser.add_argument("--source", choices=("memmap", "parquet"), default="memmap")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder is not None:
        print(json.dumps(fit(options.folder, options.source)))
        return
    print(machine(), "\n")
    print("| rows | fit, s | peak of fit / table | predict, rows/s | peak of predict / table |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for n_rows in options.rows:
        with tempfile.TemporaryDirectory() as folder:
            make_table(Path(folder), n_rows, options.source)
            command = [sys.executable, __file__, "--folder", folder, "--source", options.source]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this script)
        found = json.loads(done.stdout)
        table = 4 * n_rows * N_COLUMNS
        peaks = (f"{found[name] / table:.2f}" for name in ("fit_peak", "predict_peak"))
        print(
            f"| {n_rows:,} | {found['fit']:.0f} | {next(peaks)} | {n_rows / found['predict']:,.0f} | {next(peaks)} |",
            flush=True,
        )


def make_table(folder: Path, n_rows: int, source: str) -> None:
    """Write a table that a few rules explain, and its target, without ever holding the whole."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(n_rows, N_COLUMNS))
    y = np.lib.format.open_memmap(folder / "y.npy", mode="w+", dtype=np.float32, shape=(n_rows,))
    for start in range(0, n_rows, CHUNK):
        numbers = rng.normal(size=(min(CHUNK, n_rows - start), N_COLUMNS)).astype(np.float32)
        X[start : start + CHUNK] = numbers
        rules = (numbers[:, 0] > 0.3) * numbers[:, 1] + ((numbers[:, 2] > 0) & (numbers[:, 3] < 0.5))  # noqa: PLR2004
        y[start : start + CHUNK] = rules + 0.1 * rng.normal(size=len(numbers))
    X.flush()
    y.flush()
    if source == "parquet":
        import polars as pl

        pl.DataFrame({f"x{j}": X[:, j] for j in range(N_COLUMNS)}).write_parquet(folder / "X.parquet")


def fit(folder: Path, source: str) -> dict[str, float]:
    """Fit on the table in the folder; return seconds and bytes."""
    from dln import RuleRegressor

    RuleRegressor(n_grown_rules=5).fit(np.arange(300.0).reshape(100, 3), np.arange(100.0))  # compiled now
    X: Any
    if source == "parquet":
        import polars as pl

        X = pl.read_parquet(folder / "X.parquet")
    else:
        X = np.load(folder / "X.npy", mmap_mode="r")
    y = np.load(folder / "y.npy", mmap_mode="r")
    model = RuleRegressor(random_state=0)
    start = time.perf_counter()
    with peak_memory() as during_fit:
        model.fit(X, y)
    fitted = time.perf_counter()
    with peak_memory() as during_predict:
        model.predict(X)
    end = time.perf_counter()
    return {
        "fit": fitted - start,
        "predict": end - fitted,
        "fit_peak": during_fit[0],
        "predict_peak": during_predict[0],
    }


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """Yield a list whose only number is, in the end, the peak growth of the process's own memory in bytes."""
    before, done = own_memory(), threading.Event()
    peak = [0.0]

    def watch() -> None:
        while not done.wait(0.005):
            peak[0] = max(peak[0], own_memory() - before)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def own_memory() -> float:
    """Return the process's anonymous memory in bytes: without files that are mapped, and so without X."""
    for line in Path("/proc/self/status").read_text(encoding="utf8").splitlines():
        if line.startswith("RssAnon"):
            return 1024.0 * int(line.split()[1])
    message = "this benchmark reads RssAnon from /proc/self/status, which this system lacks: run it on Linux"
    raise SystemExit(message)


if __name__ == "__main__":
    main()
