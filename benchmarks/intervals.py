"""Coverage of 90 % prediction intervals by fifths of the prediction, over the paper's datasets and several splits.

    python benchmarks/intervals.py --seeds 0 1 2

Of every dataset 60 % of the rows are for the fit, 20 % for `calibrate` and 20 % for the test. "folds" are the intervals
that the fit leaves, "calibrated" those of the same model after `calibrate`, "constant" have one width for all rows, and
"MAPIE" is its normalised conformal regressor with the same model and rows; its scale is LightGBM's. Widths are means in
units of the constant one's.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from lightgbm import LGBMRegressor
from mapie.conformity_scores import ResidualNormalisedScore
from mapie.regression import SplitConformalRegressor
from measure import machine
from sklearn.model_selection import train_test_split

from dln import RuleRegressor
from dln.readers._intervals import conformal_intervals
from dln_bench import datasets

COVERAGE = 0.9
TOLERANCE = 0.04
METHODS = ("folds", "calibrated", "constant", "MAPIE")


def as_array(X: Any) -> Any:
    """Return a table as numbers, categories by their codes: MAPIE's estimators take no others."""
    return np.column_stack([X[name].cat.codes if X[name].dtype == "category" else X[name] for name in X]).astype(float)


def intervals(X: Any, y: Any, categories: list[int], seed: int) -> tuple[Any, Any, dict[str, tuple[Any, Any]]]:
    """Return targets and predictions of the test rows, and the ends of each method's intervals."""
    X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, test_size=0.4, random_state=seed)
    X_set, X_test, y_set, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=seed)
    model = RuleRegressor(random_state=seed, categorical_features=categories).fit(X_fit, y_fit)
    ends = {"folds": model.predict_interval(X_test, COVERAGE).T}
    ends["calibrated"] = model.calibrate(X_set, y_set).predict_interval(X_test, COVERAGE).T
    constant = conformal_intervals(model.predict(X_set), y_set, None, "rows set aside")
    ends["constant"] = constant.ends(model.predict(X_test), COVERAGE)
    score = ResidualNormalisedScore(LGBMRegressor(random_state=seed, verbose=-1), random_state=seed)
    peer = SplitConformalRegressor(model, confidence_level=COVERAGE, conformity_score=score, prefit=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends["MAPIE"] = peer.conformalize(X_set, y_set).predict_interval(X_test)[1][:, :, 0].T
    return y_test, model.predict(X_test), ends


def main() -> None:
    """Print a line per dataset, and the means over them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--datasets", nargs="+", default=datasets.names())
    arguments = parser.parse_args()
    print(machine())
    print(f"\n| dataset | test rows | {' | '.join(f'{name}: coverage by fifths, width' for name in METHODS)} |")
    print(f"| --- | ---: |{' --- |' * len(METHODS)}")
    found: dict[str, list[Any]] = {name: [] for name in METHODS}
    for dataset in arguments.datasets:
        table, y = datasets.load(dataset)
        categories = [j for j, name in enumerate(table) if table[name].dtype == "category"]
        covered: dict[str, list[Any]] = {name: [] for name in METHODS}
        for seed in arguments.seeds:
            y_test, predicted, ends = intervals(as_array(table), np.asarray(y, dtype=float), categories, seed)
            fifth = np.searchsorted(np.quantile(predicted, [0.2, 0.4, 0.6, 0.8]), predicted)
            widths = {name: float(np.mean(high - low)) for name, (low, high) in ends.items()}
            for name, (low, high) in ends.items():
                inside = (low <= y_test) & (y_test <= high)
                shares = [inside[fifth == k].mean() if (fifth == k).any() else np.nan for k in range(5)]
                covered[name].append([*shares, inside.mean(), widths[name] / widths["constant"]])
        cells = []
        for name in METHODS:
            *shares, mean, width = np.nanmean(covered[name], axis=0)
            found[name].append([np.nanmax(np.abs(np.array(shares) - COVERAGE)), mean, width])
            cells.append(f"{' '.join(f'{share:.0%}' for share in shares)}, {width:.2f}")
        print(f"| {dataset} | {len(arguments.seeds) * len(y_test)} | {' | '.join(cells)} |", flush=True)
    for name in METHODS:
        worst, mean, width = np.array(found[name]).T
        print(
            f"\n{name}: coverage {mean.mean():.3f}, width {width.mean():.2f}, the fifth that is farthest from 90 % "
            f"{100 * worst.mean():.1f} points off on average, at most 4 on {(worst <= TOLERANCE).sum()} of {len(worst)}"
        )


if __name__ == "__main__":
    main()
