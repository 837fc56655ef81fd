"""Coverage of prediction intervals, over the paper's datasets and several splits.

    python benchmarks/intervals.py --seeds 0 1 2 3 4

A quarter of the rows of every dataset is for testing the intervals that a fit leaves. Beside them stands the coverage
of the band of two quantile models of LightGBM, which is not calibrated.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from lightgbm import LGBMRegressor
from measure import machine
from sklearn.model_selection import train_test_split

from dln import RuleRegressor
from dln_bench import datasets

COVERAGE = 0.9


def covered(low: Any, high: Any, y: Any) -> float:
    """Return the share of targets between the ends."""
    return float(np.mean((low <= y) & (y <= high)))


def ours(X: Any, y: Any, X_test: Any, y_test: Any, seed: int) -> tuple[float, float]:
    """Return the coverage on the test rows and the mean width in spreads of the target."""
    model = RuleRegressor(random_state=seed).fit(X, y)
    low, high = model.predict_interval(X_test, COVERAGE).T
    return covered(low, high, y_test), float(np.mean(high - low) / np.std(y_test))


def band(X: Any, y: Any, X_test: Any, y_test: Any, seed: int) -> float:
    """Return the coverage of two quantile models."""
    names = [f"x{j}" for j in range(X.shape[1])]
    tails = ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)
    low, high = (
        LGBMRegressor(objective="quantile", alpha=tail, random_state=seed, verbose=-1)
        .fit(X.set_axis(names, axis=1), y)
        .predict(X_test.set_axis(names, axis=1))
        for tail in tails
    )
    return covered(low, high, y_test)


def main() -> None:
    """Print a line per dataset, and the mean, the least and the largest of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--datasets", nargs="+", default=datasets.names())
    arguments = parser.parse_args()
    print(machine())
    print(f"\n| dataset | coverage of {COVERAGE:.0%} | width / spread | LightGBM's quantiles |")
    print("| --- | ---: | ---: | ---: |")
    found: list[float] = []
    for name in arguments.datasets:
        X, y = datasets.load(name)
        rows = []
        for seed in arguments.seeds:
            X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
            one = ours(X_fit, y_fit, X_test, y_test, seed)
            rows.append((*one, band(X_fit, y_fit, X_test, y_test, seed)))
        shares, widths, bands = zip(*rows, strict=True)
        found += shares
        print(f"| {name} | {np.mean(shares):.3f} | {np.mean(widths):.2f} | {np.mean(bands):.3f} |", flush=True)
    print(f"\nmean {np.mean(found):.3f}, from {min(found):.3f} to {max(found):.3f} over {len(found)} splits")


if __name__ == "__main__":
    main()
