"""Small fitted models of many kinds, and tables for them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dln import DLNRegressor, RuleRegressor

#: A page that is learned in a blink: all stages but teachers, each in short.
SMALL: dict[str, Any] = {
    "max_conditions": 20,
    "n_grown_rules": 20,
    "n_teachers": 0,
    "n_synthetic_rows": 100,
    "n_generations": 1,
    "random_state": 0,
    "n_jobs": 1,
}
SMALL_NETWORK: dict[str, Any] = {"hidden_layer_sizes": (12, 8), "max_epochs": 5, "random_state": 0, "n_jobs": 1}


def small(**changes: object) -> RuleRegressor:
    """A model that is fitted in a blink."""
    return RuleRegressor(**{**SMALL, **changes})


def network(**changes: object) -> DLNRegressor:
    """The paper's network, fitted in a blink."""
    return DLNRegressor(**{**SMALL_NETWORK, "max_epochs": 15, **changes})


def bytes_of(model: RuleRegressor | DLNRegressor, folder: Path) -> bytes:
    """Return the bytes of a model's file."""
    model.save(folder / "model.dln")
    return (folder / "model.dln").read_bytes()


def frame(n_rows: int = 80, seed: int = 0) -> pd.DataFrame:
    """Return a table of numbers and categories, some of them missing, with names that need care."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows).astype(float),
            'say "bmi"\n': rng.normal(27, 4, n_rows).round(2),
            "région 🏠": rng.choice(["süd", "nord", "o'west"], n_rows),
            "smoker": rng.random(n_rows) < 0.3,
            "rooms": pd.Categorical(rng.integers(1, 5, n_rows)),
        }
    )
    table.loc[::7, "age"] = np.nan
    table.loc[3::11, "région 🏠"] = None
    return table


def target(table: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a target that depends on the table."""
    age = table["age"].fillna(50).to_numpy()
    return np.round(3.0 * age + 40.0 * table["smoker"].to_numpy() + 5.0 * (table.iloc[:, 1].to_numpy() > 27), 2)


def some_table(kind: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table on which the promise of a page might break."""
    rng = np.random.default_rng(7)
    n = {"one row": 1, "25 rows": 25, "wide": 160}.get(kind, 300)
    if kind == "wide":
        X = pd.DataFrame(rng.normal(size=(n, 800))).add_prefix("x")
        return X, X["x3"] * 2.0 + X["x700"] + rng.normal(size=n)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "bmi": rng.normal(27, 4, n).round(2),
            "town": np.char.add("t", rng.integers(0, 60, n).astype(str)),
            "region": rng.choice(["a", "b", "c", "d"], n),
            "smoker": rng.random(n) < 0.3,
        }
    )
    y = 3.0 * X["age"] + 40.0 * X["smoker"] + X["town"].str[1:].astype(int) % 7 * 5.0 + rng.normal(size=n)
    if kind == "missing":
        X = X.mask(rng.random(X.shape) < 0.2).astype({"smoker": object})
        X["smoker"] = X["smoker"].map({True: "yes", False: "no"})
    if kind == "one column":
        X = X[["age"]]
    if kind == "constant":
        y = y * 0 + 4.25
    return X, y


@cache
def models() -> tuple[tuple[RuleRegressor | DLNRegressor, Any], ...]:
    """Return ten fitted models, each with a table to predict."""
    mixed = frame()
    y = target(mixed)
    numbers = mixed[["age", 'say "bmi"\n']].fillna(40)
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(60, 12))
    cases: list[tuple[RuleRegressor | DLNRegressor, Any, Any]] = [
        (RuleRegressor(**{**SMALL, "n_teachers": 2}), mixed, y),
        (RuleRegressor(**{**SMALL, "n_grown_rules": 40}), mixed, y * 1e6),
        (DLNRegressor(**SMALL_NETWORK, max_conditions=30), mixed, y / 1e6),
        (RuleRegressor(**SMALL, loss="quantile", quantile=0.9), mixed, y),
        (DLNRegressor(**SMALL_NETWORK), numbers, y),
        (DLNRegressor(**SMALL_NETWORK, validation_fraction=None, refit=True), numbers.astype(np.float32), y),
        (RuleRegressor(**SMALL), wide, wide[:, 0] * wide[:, 1]),
        (RuleRegressor(**SMALL, categorical_features=[0]), rng.integers(0, 6, (60, 3)).astype(float), wide[:, 2]),
        (RuleRegressor(**SMALL), mixed, np.full(len(y), 3.5)),
        (DLNRegressor(**{**SMALL_NETWORK, "hidden_layer_sizes": (150, 100)}), mixed, y),
    ]
    return tuple((model.fit(X, values), X) for model, X, values in cases)
