"""Stability of the rules: fits on bootstrap samples, compared rule by rule as SIRUS does.

    python benchmarks/stability.py --datasets insurance mpg concrete --samples 10

Two rules are the same if they test the same of the same columns with cut-offs in the same tenth of the column's values.
Printed is the mean Dice similarity of two models: twice the rules in common over all rules of both.
"""

from __future__ import annotations

import argparse
import itertools
import re

import numpy as np
import pandas as pd

from dln import RuleRegressor
from dln_bench import datasets

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def coarse(rule: str, deciles: dict[str, np.ndarray]) -> str:
    """Return a rule's text with every cut-off replaced by the tenth of its column that it lies in."""
    parts = re.split(r"( and | or |; |\(|\))", rule)
    return "".join(_coarse_part(part, deciles) for part in parts)


def _coarse_part(part: str, deciles: dict[str, np.ndarray]) -> str:
    column = next((name for name in sorted(deciles, key=len, reverse=True) if name in part), None)
    if column is None:
        return part
    before, _, after = part.partition(column)
    rounded = [
        _NUMBER.sub(lambda match: f"t{int(np.searchsorted(deciles[column], float(match[0])))}", side)
        for side in (before, after)
    ]
    return column.join(rounded)


def dice(one: set[str], other: set[str]) -> float:
    """Return twice what is common over the sum of both."""
    return 2 * len(one & other) / max(len(one) + len(other), 1)


def main() -> None:
    """Print for every dataset the mean Dice similarity, conditions, rules and rules that fire per row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["insurance", "mpg", "concrete"])
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--max-conditions", type=int, default=100)
    arguments = parser.parse_args()
    print("| dataset | conditions | rules | fired per row | Dice of rules | Dice of single conditions |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in arguments.datasets:
        X, y = datasets.load(name)
        numbers = {column: X[column] for column in X if pd.api.types.is_numeric_dtype(X[column])}
        deciles = {column: np.unique(np.quantile(values, np.arange(1, 10) / 10)) for column, values in numbers.items()}
        found, sizes = [], []
        for seed in range(arguments.samples):
            rows = np.random.default_rng(seed).integers(len(y), size=len(y))
            model = RuleRegressor(max_conditions=arguments.max_conditions, random_state=seed)
            model.fit(X.iloc[rows].reset_index(drop=True), y.iloc[rows].reset_index(drop=True))
            found.append({coarse(row.rule, deciles) for row in model.rules_})
            sizes.append((model.rules_.n_conditions, len(model.rules_), sum(model.support_)))
        pairs = list(itertools.combinations(found, 2))
        single = [{rule for rule in rules if " and " not in rule and " or " not in rule} for rules in found]
        of_single = list(itertools.combinations(single, 2))
        conditions, rules, fired = np.mean(sizes, axis=0)
        print(
            f"| {name} | {conditions:.0f} | {rules:.0f} | {fired:.1f} | {np.mean([dice(*pair) for pair in pairs]):.2f} "
            f"| {np.mean([dice(*pair) for pair in of_single]):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
