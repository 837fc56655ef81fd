"""The time of predictions, against LightGBM.

    python benchmarks/prediction_speed.py [--rows 1000000]

A page of 100 conditions over all 20 columns and LightGBM's 100 trees predict the same rows by their public `predict`,
with one thread each: a float32 and a float64 array, stored row after row, and a pandas frame of float64 columns. Times
are the processor's; the calls of both take turns.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from measure import machine, seconds

from dln import RuleRegressor
from dln.circuit._circuit import Above, Circuit, Column, Gate, Rule, on_grid

N_COLUMNS = 20
N_CONDITIONS = 100
TRAINING_ROWS = 20_000
SIZES = (1, 100, 10_000, 1_000_000)
ROUNDS = 5


def table(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's first problem, with columns that do not matter beside those that do."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, N_COLUMNS)).astype(np.float32)
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + rng.normal(size=n_rows)


def page_of_rules(n_conditions: int = N_CONDITIONS, seed: int = 0) -> Circuit:
    """Rules of one to five conditions on different columns, over ten cut-offs of every column."""
    rng = np.random.default_rng(seed)
    literals = [Above(j, cut) for j in range(N_COLUMNS) for cut in np.linspace(0.05, 0.95, 10).round(2).tolist()]
    gates: list[Gate] = []
    rules: list[Rule] = []
    while n_conditions:
        length = min(n_conditions, int(rng.integers(1, 6)))
        node, *others = (10 * rng.choice(N_COLUMNS, length, replace=False) + rng.integers(10, size=length)).tolist()
        for other in others:
            gates.append(Gate(int(rng.choice([1, 2, 4, 7, 8, 11])), node, other))
            node = len(literals) + len(gates) - 1
        rules.append(Rule(node, on_grid(float(rng.normal()), 4)))
        n_conditions -= length
    columns = tuple(Column(f"x{j}") for j in range(N_COLUMNS))
    return Circuit(columns, tuple(literals), tuple(gates), tuple(rules), on_grid(14.4, 4), 4)


def with_circuit(circuit: Circuit) -> RuleRegressor:
    """Return an estimator whose model is this circuit, on one thread."""
    model = RuleRegressor(n_jobs=1)
    model.circuit_, model.n_features_in_ = circuit, len(circuit.columns)
    return model


def medians(*functions: Callable[[], object]) -> list[float]:
    """Return the median time of each function, which take turns."""
    rounds = [[seconds(one, budget=0.2, clock=time.thread_time) for one in functions] for _ in range(ROUNDS)]
    return np.median(rounds, axis=0).tolist()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=SIZES[-1], help="the largest number of rows")
    largest = parser.parse_args().rows
    print(machine())
    print(f"\nmicroseconds on one thread, {N_CONDITIONS} conditions\n")
    print("| table | rows | dln | LightGBM | ratio |\n| --- | ---: | ---: | ---: | ---: |")
    lightgbm = LGBMRegressor(verbose=-1, n_jobs=1).fit(*table(TRAINING_ROWS, seed=0))
    X, _ = table(largest, seed=1)
    dln = with_circuit(page_of_rules())
    named = with_circuit(dln.circuit_)
    names = [f"x{j}" for j in range(N_COLUMNS)]
    named.feature_names_in_ = np.array(names, dtype=object)
    frame = pd.DataFrame({name: X[:, j].astype(np.float64) for j, name in enumerate(names)})
    for what, model, rows in (("float32", dln, X), ("float64", dln, X.astype(np.float64)), ("frame", named, frame)):
        for n in (n for n in SIZES if n <= largest):
            part = rows[:n]
            ours, theirs = medians(
                lambda m=model, p=part: m.predict(p),  # type: ignore[misc]
                lambda p=part: lightgbm.predict(p, num_threads=1, validate_features=False),  # type: ignore[misc]
            )
            ratio = f"{theirs / ours:,.0f}"
            print(f"| {what} | {n:,} | {ours * 1e6:,.1f} | {theirs * 1e6:,.0f} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
