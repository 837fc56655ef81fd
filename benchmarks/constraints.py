"""What monotone constraints cost: test R² with and without them, beside LightGBM's.

    python benchmarks/constraints.py --datasets insurance mpg --splits 100 101

In every table the two strongest columns of numbers that show a direction in an unconstrained model are constrained to
it: as the column goes through its twentieths, the mean prediction moves by at least --direction of all its steps. With
--direction 0 the two strongest columns are constrained, also those of which it goes up and down, like the hour of the
day. LightGBM has its default parameters; its methods "basic" and "advanced" get the same constraints. Printed are the
means over the splits.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor

from dln import RuleRegressor
from dln_bench import datasets
from dln_bench._split import split

HEADINGS = ("rules", "constrained", "LightGBM", "basic", "advanced")


def directions(model: RuleRegressor, X: pd.DataFrame, least: float, n_columns: int = 2) -> dict[str, int]:
    """Return the strongest columns of numbers that the model follows in one direction, with it."""
    found: dict[str, int] = {}
    for name in (row.column for row in model.importances_ if pd.api.types.is_numeric_dtype(X[row.column])):
        values = np.unique(X[name].quantile(np.arange(0.05, 1.0, 0.05)))
        steps = np.diff([model.predict(X.assign(**{name: value})).mean() for value in values])
        if len(found) < n_columns and steps.any() and abs(steps.sum()) >= least * np.abs(steps).sum():
            found[name] = 1 if steps.sum() > 0 else -1
    return found


def scores(name: str, seed: int, max_conditions: int, least: float) -> tuple[list[float], dict[str, int]]:
    """Return the test R² of each model, and the constraints."""
    rows = split(name, seed)
    free = RuleRegressor(max_conditions=max_conditions, random_state=0).fit(rows.X_train, rows.y_train)
    chosen = directions(free, rows.X_train, least)
    bound = RuleRegressor(max_conditions=max_conditions, random_state=0, monotonic_cst=chosen)
    found = [model.score(rows.X_test, rows.y_test) for model in (free, bound.fit(rows.X_train, rows.y_train))]
    names = [f"x{j}" for j in range(rows.X_train.shape[1])]  # LightGBM forbids some characters
    train, test = (table.set_axis(names, axis=1) for table in (rows.X_train, rows.X_test))
    constraints = [chosen.get(column, 0) for column in rows.X_train]
    for method in (None, "basic", "advanced"):
        limits = {} if method is None else {"monotone_constraints": constraints, "monotone_constraints_method": method}
        booster = LGBMRegressor(verbose=-1, random_state=0, n_jobs=1, **limits).fit(train, rows.y_train)
        found.append(float(booster.score(test, rows.y_test)))
    return found, chosen


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=datasets.names())
    parser.add_argument("--splits", nargs="+", type=int, default=[100])
    parser.add_argument("--max-conditions", type=int, default=100)
    parser.add_argument("--direction", type=float, default=0.8)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(f"| table | {' | '.join(HEADINGS)} | constraints |")
    print("| --- " + "| ---: " * len(HEADINGS) + "| --- |")
    means = []
    for name in options.datasets:
        found = [scores(name, seed, options.max_conditions, options.direction) for seed in options.splits]
        means.append(np.mean([values for values, _ in found], axis=0))
        signs = {1: "+", -1: "-"}
        chosen = ", ".join(f"{column} {signs[sign]}" for column, sign in found[0][1].items())
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in means[-1])} | {chosen} |", flush=True)
    mean = np.mean(means, axis=0)
    print(f"| mean | {' | '.join(f'{value:.3f}' for value in mean)} | |")
    sys.stdout.write(f"constraints cost {mean[0] - mean[1]:.3f} of mean R² in rules\n")


if __name__ == "__main__":
    main()
