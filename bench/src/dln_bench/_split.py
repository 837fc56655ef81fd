"""Training and test rows of a split, prepared as one of the two protocols has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np

from dln_bench import datasets

if TYPE_CHECKING:
    import pandas as pd

#: "paper": targets are clipped as the paper's must have been; "plain": scores are of the targets as they are.
Protocol: TypeAlias = Literal["paper", "plain"]
PROTOCOLS: Final[tuple[Protocol, ...]] = get_args(Protocol)

#: Share of the rows that a model is tested on.
TEST_SHARE: Final = 0.25
#: Percentiles of the training rows at which numbers are clipped.
CLIP: Final = (0.5, 99.5)


@dataclass(frozen=True, slots=True)
class Split:
    """Training and test rows; columns of categories have the category dtype, numbers are clipped."""

    X_train: pd.DataFrame
    X_test: pd.DataFrame
    y_train: pd.Series
    y_test: pd.Series


def split(name: str, seed: int, protocol: Protocol = "paper") -> Split:
    """Return a dataset's split of a seed: seeds 0 to 9 are the paper's own ten.

    The paper states neither its splits nor a clipping; both are recovered from its scores of linear regression.
    Numeric features are clipped at percentiles of the training rows for all models alike, under both protocols. Models
    that clip by themselves (`dln.DLNRegressor`) find nothing left to clip beyond the next order statistic. The target
    is clipped at its own percentiles, in training and test rows, under ``"paper"`` alone.
    """
    from sklearn.model_selection import train_test_split

    X, y = datasets.load(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=TEST_SHARE, random_state=seed)
    limits = {column: _limits(X_train[column]) for column in X.select_dtypes("number").columns}
    X_train, X_test = (
        rows.assign(**{column: rows[column].clip(*limits[column]) for column in limits}) for rows in (X_train, X_test)
    )
    if protocol == "paper":
        low, high = _limits(y_train)
        y_train, y_test = y_train.clip(low, high), y_test.clip(low, high)
    return Split(X_train, X_test, y_train, y_test)


def _limits(values: Any) -> tuple[float, float]:
    low, high = np.nanpercentile(values, CLIP)
    return float(low), float(high)
