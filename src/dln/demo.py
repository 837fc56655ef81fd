"""The main job in one go: `make demo`, or ``python -m dln.demo``.

Trains on the diabetes data that comes with scikit-learn, compares with linear regression and a random forest, and
prints the ten strongest rules.
"""

from __future__ import annotations

import time

import polars as pl
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from dln import DLNRegressor
from dln._words import circuit_text

#: The data's columns, by their full names.
COLUMNS = ["age", "sex", "bmi", "blood_pressure", "cholesterol", "ldl", "hdl", "cholesterol_by_hdl",
           "log_triglycerides", "glucose"]  # fmt: skip
N_RULES = 10


def main() -> None:
    """Train, compare, and show the strongest rules."""
    console = Console()
    values, y = load_diabetes(return_X_y=True, scaled=False)
    X = pl.DataFrame(values, schema=COLUMNS)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    console.print(f"Diabetes: {len(X_train)} patients to learn from, {len(X_test)} to test on, {X.shape[1]} columns.")
    console.print("Training (the first run compiles for some seconds) …")
    results = []
    for name, model in (
        ("dln", DLNRegressor(random_state=0, verbose=1)),
        ("linear regression", LinearRegression()),
        ("random forest", RandomForestRegressor(random_state=0)),
    ):
        start = time.perf_counter()
        model.fit(X_train, y_train)
        results.append((name, model, model.score(X_test, y_test), time.perf_counter() - start))
    table = Table("model", "test R²", "seconds")
    for name, _, score, seconds in results:
        table.add_row(name, f"{score:.3f}", f"{seconds:.1f}")
    console.print(table)
    circuit = results[0][1].circuit_
    console.print(f"The {N_RULES} strongest of {len(circuit.rules)} rules:")
    lines = circuit_text(circuit, "progression").splitlines()
    console.print("\n".join(lines[: N_RULES + 1]), highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
