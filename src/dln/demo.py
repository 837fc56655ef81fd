"""The main job in one go: `make demo`, or ``python -m dln.demo``.

Makes a table with scikit-learn, trains both learners on it, compares them with other models and prints both models.
Nothing is downloaded.
"""

from __future__ import annotations

import time
from typing import Final

import polars as pl
from rich.console import Console
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

from dln import DLNRegressor, RuleRegressor
from dln.circuit._cost import count_conditions
from dln.circuit._words import thousands
from dln.cli._printing import table

N_ROWS: Final = 400
SEED: Final = 0
MAX_CONDITIONS: Final = 100


def main() -> None:
    """Train both learners, compare, and print the models."""
    console = Console(highlight=False, markup=False)
    numbers, y = make_friedman1(N_ROWS, noise=1.0, random_state=SEED)
    X = pl.DataFrame(numbers.round(3), schema=[f"x{i + 1}" for i in range(numbers.shape[1])])
    X_train, X_test, y_train, y_test = train_test_split(X, pl.Series("y", y), test_size=0.25, random_state=SEED)
    console.print(f"Friedman's first problem, made by scikit-learn: {N_ROWS} rows, {X.width} columns.\n")
    console.print("  y = 10 sin(π x1 x2) + 20 (x3 - 0.5)² + 10 x4 + 5 x5 + noise\n  (x6 to x10 have no part in it)\n")
    console.print(f"1. Train both learners on {len(X_train)} rows; {len(X_test)} others are the test set.")
    network = DLNRegressor(max_conditions=MAX_CONDITIONS, random_state=SEED, verbose=1)
    rules = RuleRegressor(random_state=SEED, verbose=1)
    seconds = []
    for learner in (network, rules):
        start = time.perf_counter()
        learner.fit(X_train, y_train)
        seconds.append(time.perf_counter() - start)
    console.print(f"   DLNRegressor {seconds[0]:.1f} s, RuleRegressor {seconds[1]:.1f} s\n")

    console.print("2. Compare with other models on the same rows.\n")
    rows = []
    boosted = HistGradientBoostingRegressor(random_state=SEED)
    tree = DecisionTreeRegressor(max_leaf_nodes=MAX_CONDITIONS + 1, random_state=SEED)  # as many splits as conditions
    for name, other, size in (
        ("linear regression", LinearRegression(), "10 coefficients"),
        ("decision tree", tree, str(MAX_CONDITIONS)),
        ("boosted trees (scikit-learn)", boosted, "thousands"),
    ):
        other.fit(X_train.to_numpy(), y_train.to_numpy())
        rows.append((name, f"{other.score(X_test.to_numpy(), y_test.to_numpy()):.3f}", size))
    whole = network.network_circuit_
    whole_r2 = r2_score(y_test, whole.evaluate([column.to_numpy() for column in X_test]))
    rows.append(("DLNRegressor, whole network", f"{whole_r2:.3f}", thousands(sum(count_conditions(whole)))))
    for name, model in (("DLNRegressor, max_conditions=100", network), ("RuleRegressor", rules)):
        rows.append((name, f"{model.score(X_test, y_test):.3f}", str(model.rules_.n_conditions)))
    console.print(table(("model", "test R²", "conditions"), rows, left="model"))

    console.print("\n3. Read the network: what was trained, and the rules that it was reduced to.\n")
    console.print(network.summary(), soft_wrap=True)
    console.print(f"\n{network.rules_}", soft_wrap=True)
    console.print("\n4. Read the rules of RuleRegressor: this is the whole model, digit for digit.\n")
    console.print(str(rules.rules_), soft_wrap=True)
    console.print("\n5. Choose another size: R² on held-out rows.\n")
    console.print(str(rules.frontier_))
    console.print("\nrules.prune(max_conditions=20) is the model of that line of the table.", soft_wrap=True)


if __name__ == "__main__":
    main()
