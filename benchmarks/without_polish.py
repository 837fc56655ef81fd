"""What polish brings: default models beside models whose rules are selected, recombined and extended, never changed.

    DLN_DATA_HOME=… python benchmarks/without_polish.py [--datasets estate wine] [--splits 0 1]

The other stages can be left out by parameters: ``dln-bench run --models without``. Polish has none, for a model without
it is nobody's wish; here the sweeps of the search are taken away.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any
from unittest import mock

import datasets
import numpy as np
from measure import machine
from sklearn.model_selection import train_test_split

from dln import RuleRegressor
from dln.rules import _search
from dln.rules._polish import extend
from dln.rules._rule_set import RuleSet
from dln.solve._select import Budget


def extended(
    rules: RuleSet, budget: Budget, rng: np.random.Generator, *, sweeps: int, stop: Callable[[], bool]
) -> RuleSet:
    """Spend what is left of the budget, and change nothing."""
    del rng, sweeps
    extend(rules, budget, stop)
    return rules


def score(table: tuple[Any, Any], split: int) -> float:
    """Return R² of a default model on a quarter of the rows."""
    X_train, X_test, y_train, y_test = train_test_split(*table, test_size=0.25, random_state=split)
    return float(RuleRegressor(random_state=split).fit(X_train, y_train).score(X_test, y_test))


def main() -> None:
    """Print R² with and without polish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="*", default=datasets.names())
    parser.add_argument("--splits", nargs="*", type=int, default=[0, 1])
    options = parser.parse_args()
    print(machine(), "\n")
    print("| dataset | with polish | without |")
    print("| --- | ---: | ---: |")
    rows = []
    for name in options.datasets:
        table = datasets.load(name)
        polished = np.mean([score(table, split) for split in options.splits])
        with mock.patch.object(_search, "polish", extended):
            rows.append((polished, np.mean([score(table, split) for split in options.splits])))
        print(f"| {name} | {rows[-1][0]:.3f} | {rows[-1][1]:.3f} |", flush=True)
    mean = np.mean(rows, axis=0)
    print(f"| mean | {mean[0]:.4f} | {mean[1]:.4f} |")


if __name__ == "__main__":
    main()
