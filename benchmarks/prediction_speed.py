"""Rows predicted per second, against LightGBM, a random forest, EBM and linear regression.

    python benchmarks/prediction_speed.py [--rows 1000000]

Every model predicts the same rows by its public `predict`: a float32 array, row after row, and a pandas frame of
float32 columns; with one thread, and with two; and one row of a frame with columns of text. The limit is printed
beside: how fast the same core reads memory.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from measure import machine, read_bandwidth, seconds
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from dln import RuleRegressor
from dln.circuit._circuit import Above, Circuit, Column, Gate, Rule, on_grid

N_COLUMNS = 20
N_RULES = 60
TRAINING_ROWS = 20_000
SIZES = (1, 100, 10_000, 1_000_000)


def table(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's first problem, with columns that do not matter beside those that do."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, N_COLUMNS)).astype(np.float32)
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + rng.normal(size=n_rows)


def circuit_of_trained_shape(seed: int = 0, n_rules: int = N_RULES) -> Circuit:
    """Rules of two to six literals each, over ten cut-offs of every column."""
    rng = np.random.default_rng(seed)
    literals = [Above(j, cut) for j in range(N_COLUMNS) for cut in np.linspace(0.05, 0.95, 10).round(2).tolist()]
    gates: list[Gate] = []
    rules: list[Rule] = []
    for _ in range(n_rules):
        node = int(rng.integers(len(literals)))
        for _ in range(int(rng.integers(1, 6))):
            gates.append(Gate(int(rng.choice([1, 2, 4, 6, 7, 8, 11, 13, 14])), node, int(rng.integers(len(literals)))))
            node = len(literals) + len(gates) - 1
        rules.append(Rule(node, on_grid(float(rng.normal()), 4)))
    columns = tuple(Column(f"x{j}") for j in range(N_COLUMNS))
    return Circuit(columns, tuple(literals), tuple(gates), tuple(rules), on_grid(14.4, 4), 4)


def models(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[Any, int], np.ndarray]]:
    """Return predict functions of an array or a frame and a number of threads."""
    dln = with_circuit(circuit_of_trained_shape())
    lightgbm = LGBMRegressor(verbose=-1).fit(X, y)
    forest = RandomForestRegressor(n_jobs=2, random_state=0).fit(X, y)
    linear = LinearRegression().fit(X, y)

    def predict_forest(rows: Any, n_threads: int) -> np.ndarray:
        forest.n_jobs = n_threads
        return forest.predict(np.asarray(rows))

    found: dict[str, Callable[[Any, int], np.ndarray]] = {
        "dln, 60 rules": lambda rows, n_threads: dln.set_params(n_jobs=n_threads).predict(rows),
        "LightGBM": lambda rows, n_threads: lightgbm.predict(rows, num_threads=n_threads, validate_features=False),
        "random forest": predict_forest,
        "linear regression": lambda rows, _: linear.predict(np.asarray(rows)),
    }
    try:
        from interpret.glassbox import ExplainableBoostingRegressor
    except ImportError:
        return found
    ebm = ExplainableBoostingRegressor(n_jobs=2).fit(X, y)
    return found | {"EBM": lambda rows, _: ebm.predict(rows)}


def with_circuit(circuit: Circuit) -> RuleRegressor:
    """Return an estimator whose model is this circuit; its columns have no names but x0, x1 and so on."""
    model = RuleRegressor()
    model.circuit_, model.n_features_in_ = circuit, len(circuit.columns)
    return model


def text_row() -> None:
    """Print how long one row of a frame with text takes, by both public predicts."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=400) for j in range(3)})
    for j in range(3, 6):
        frame[f"x{j}"] = rng.choice(["a", "b", "c"], 400)
    y = frame["x0"] + (frame["x3"] == "a") + 2 * (frame["x4"] == "b") + 3 * (frame["x5"] == "c")
    ours = RuleRegressor(n_grown_rules=20, n_teachers=0, random_state=0, n_jobs=1).fit(frame, y)
    coded = frame.astype({f"x{j}": "category" for j in range(3, 6)})
    theirs = LGBMRegressor(verbose=-1, n_jobs=1).fit(coded, y)
    mine = seconds(lambda: ours.predict(frame.iloc[:1]))
    other = seconds(lambda: theirs.predict(coded.iloc[:1]))
    print(f"\none pandas row with three columns of text: dln {mine * 1e3:.2f} ms, LightGBM {other * 1e3:.2f} ms")


def main() -> None:
    """Print the tables and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=SIZES[-1], help="the largest number of rows")
    largest = parser.parse_args().rows
    print(machine())
    X, _ = table(largest, seed=1)
    predictors = models(*table(TRAINING_ROWS, seed=0))
    bandwidth = read_bandwidth()
    rates: dict[tuple[str, int, str, int], float] = {}
    for n_threads in (1, 2):
        for kind in ("array", "frame"):
            print(f"\nrows per second, float32 {kind}, {n_threads} thread{'s' * (n_threads > 1)}")
            print("| model | " + " | ".join(f"{n:,} rows" for n in SIZES if n <= largest) + " |")
            print("| --- |" + " ---: |" * sum(n <= largest for n in SIZES))
            for name, predictor in predictors.items():
                cells = []
                for n in (n for n in SIZES if n <= largest):
                    rows = (
                        X[:n] if kind == "array" else pd.DataFrame(X[:n], columns=[f"x{j}" for j in range(N_COLUMNS)])
                    )
                    time = seconds(lambda p=predictor, r=rows, t=n_threads: p(r, t), budget=1.0)  # type: ignore[misc]
                    rates[name, n, kind, n_threads] = n / time
                    cells.append(f"{n / time:,.0f}" if n > 1 else f"{n / time:,.0f} ({time * 1e6:,.0f} µs)")
                print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    text_row()
    ours = rates["dln, 60 rules", largest, "array", 1]
    print(f"\n{largest:,} rows, one thread, array:")
    for name in list(predictors)[1:]:
        print(f"  dln / {name}: {ours / rates[name, largest, 'array', 1]:.1f}")
    used = ours * N_COLUMNS * 4 / 1e9
    limit = bandwidth / 1e9
    print(f"  table read at {used:.1f} GB/s of the {limit:.1f} GB/s at which one core reads: {used / limit:.0%}")


if __name__ == "__main__":
    main()
