"""The datasets of the benchmarks here: the paper's fifteen, and data that the defaults were not chosen on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3, make_sparse_uncorrelated

from dln_bench import datasets

#: Data that the defaults were not chosen on: made, or bundled with scikit-learn.
HELD_OUT: dict[str, Callable[[], tuple[Any, Any]]] = {
    "friedman1": lambda: make_friedman1(2000, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(2000, noise=100.0, random_state=0),
    "friedman3": lambda: make_friedman3(2000, noise=0.1, random_state=0),
    "sparse": lambda: make_sparse_uncorrelated(1000, n_features=200, random_state=0),
    "diabetes": lambda: load_diabetes(return_X_y=True, scaled=False),
}


def names() -> list[str]:
    """Return the names of the paper's datasets."""
    return sorted(datasets.names())


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a dataset's table and target, prepared as in the paper; categories keep their own dtype."""
    if name in HELD_OUT:
        values, target = HELD_OUT[name]()
        return pd.DataFrame(values).rename(columns=lambda j: f"x{j}"), pd.Series(target)
    return datasets.load(name)
