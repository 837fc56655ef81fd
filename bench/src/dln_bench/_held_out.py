"""Data that the defaults of dln were not chosen on: made, or bundled with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.datasets import (
    load_diabetes,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_sparse_uncorrelated,
    make_swiss_roll,
)


def make_wages(n_rows: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return a made table with categories, missing values, interactions, columns that mean nothing and skewed noise."""
    rng = np.random.default_rng(0)
    age, years, hours = rng.uniform(18, 67, n_rows), rng.gamma(2.0, 4.0, n_rows), rng.normal(38, 6, n_rows)
    trade = rng.choice(["office", "workshop", "nursing", "sales"], n_rows, p=[0.4, 0.3, 0.2, 0.1])
    region = rng.choice(["north", "south", "east", "west"], n_rows)
    base = 8 + 4 * np.log1p(years) + 3 * (trade == "office") * (age > 35) - 2 * (region == "east") * (trade == "sales")  # noqa: PLR2004
    wage = base * (1 + 0.01 * np.clip(hours - 38, -10, 10)) * np.exp(0.15 * rng.standard_normal(n_rows))
    table = pd.DataFrame({"age": age, "years": years, "hours": hours, "trade": trade, "region": region})
    table["noise"], table["shoe"] = rng.normal(size=n_rows), rng.integers(36, 47, n_rows)
    table.loc[rng.choice(n_rows, n_rows // 10, replace=False), "years"] = np.nan
    return table.astype({"trade": "category", "region": "category"}), pd.Series(wage)


#: Name -> what makes the table and the target.
HELD_OUT: Final[dict[str, Callable[[], tuple[Any, Any]]]] = {
    "friedman1": lambda: make_friedman1(2000, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(2000, noise=100.0, random_state=0),
    "friedman3": lambda: make_friedman3(2000, noise=0.1, random_state=0),
    "sparse": lambda: make_sparse_uncorrelated(1000, n_features=200, random_state=0),
    "diabetes": lambda: load_diabetes(return_X_y=True, scaled=False),
    "swiss roll": lambda: make_swiss_roll(2000, noise=0.5, random_state=0),
    "wages": lambda: make_wages(1500),
}


def make(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table and its target."""
    values, target = HELD_OUT[name]()
    table = values if isinstance(values, pd.DataFrame) else pd.DataFrame(values).rename(columns=lambda j: f"x{j}")
    return table, pd.Series(target)
