"""Tables of few distinct rows: test R², and whether the frontier promises it.

    python benchmarks/ordinal.py [FOLDER] [--splits 10]

Four tables of ratings (ERA, ESL, LEV, SWD), 44 to 199 distinct inputs in 488 to 1000 rows. FOLDER holds them as
tab-separated files whose column `target` is the target; by default it is `ordinal` beside DLN_DATA_HOME. Prints medians
of R² on a quarter of the rows, of linear regression too, and the mean R² that `frontier_` gives for the chosen size.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from dln import RuleRegressor

TABLES = ("ERA", "ESL", "LEV", "SWD")


def scores(table: pd.DataFrame, split: int) -> tuple[float, float, float, float]:
    """Return test R², the frontier's R², conditions, and linear regression's test R²."""
    X, y = table.drop(columns="target"), table["target"]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=split)
    model = RuleRegressor(random_state=0).fit(X_train, y_train)
    linear = LinearRegression().fit(X_train, y_train).score(X_test, y_test)
    own = model.frontier_.own
    promised = np.nan if own is None or own.r2 is None else own.r2
    return model.score(X_test, y_test), promised, model.rules_.n_conditions, linear


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    home = os.environ.get("DLN_DATA_HOME")
    folder = options.folder or (Path(home).parent / "ordinal" if home else None)
    if folder is None or not all((folder / f"{name}.tsv").is_file() for name in TABLES):
        wanted = ", ".join(f"{name}.tsv" for name in TABLES)
        sys.exit(f"needs a folder with {wanted}: name it, or put it beside DLN_DATA_HOME as 'ordinal'")
    print("| table | test R², median | test R², mean | frontier's R² | conditions | linear, median |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    medians = []
    for name in TABLES:
        table = pd.read_csv(folder / f"{name}.tsv", sep="\t")
        found = np.array([scores(table, split) for split in range(options.splits)])
        test, promised, conditions, _ = found.mean(axis=0)
        median, linear = np.median(found[:, [0, 3]], axis=0)
        medians.append((median, linear))
        print(f"| {name} | {median:.3f} | {test:.3f} | {promised:.3f} | {conditions:.0f} | {linear:.3f} |", flush=True)
    mean = np.mean(medians, axis=0)
    print(f"| mean | {mean[0]:.3f} | | | | {mean[1]:.3f} |")


if __name__ == "__main__":
    main()
