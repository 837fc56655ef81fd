"""The paper's preparation of a table for models that need numbers between 0 and 1, as steps of a pipeline.

All of it is learned from the rows that a model is fitted to: in cross-validation, from the training rows of a fold.
"""

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.utils.validation import check_is_fitted, validate_data

from dln_bench.datasets import Facts

#: Percentiles of the training rows at which numbers are clipped.
LOW: Final = 0.5
HIGH: Final = 99.5


class Clip(TransformerMixin, BaseEstimator):
    """Clip each column at two percentiles of what it was fitted to.

    >>> Clip(low=0, high=50).fit([[0.0], [1.0], [2.0]]).transform([[-5.0], [0.5], [9.0]]).ravel().tolist()
    [0.0, 0.5, 1.0]
    """

    def __init__(self, low: float = LOW, high: float = HIGH) -> None:
        self.low = low
        self.high = high

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the percentiles."""
        del y
        X = validate_data(self, X, dtype=np.float64)
        self.lows_, self.highs_ = np.percentile(X, [self.low, self.high], axis=0)
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the clipped table."""
        check_is_fitted(self)
        clipped: npt.NDArray[np.float64] = np.clip(
            validate_data(self, X, dtype=np.float64, reset=False), self.lows_, self.highs_
        )
        return clipped


def prepared(facts: Facts, model: Any) -> Pipeline:
    """Return a pipeline: numbers clipped and put between 0 and 1, categories one-hot, then the model."""
    parts: list[tuple[str, Any, list[str]]] = []
    if facts.continuous:
        parts.append(("numbers", Pipeline([("clip", Clip()), ("scale", MinMaxScaler())]), list(facts.continuous)))
    for column in facts.categorical:
        encoding = facts.encoding[column]
        one_hot = OneHotEncoder(
            categories=[encoding.levels],
            drop="first" if encoding.scheme == "one_hot_drop_first" else None,
            sparse_output=False,
        )
        parts.append((f"categories of {column}", one_hot, [column]))
    return Pipeline([("prepare", ColumnTransformer(parts)), ("model", model)])


def one_hot(model: Any) -> Pipeline:
    """Return a pipeline: the table as it is but for categories, which are one-hot, then the model."""
    encode = (
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        make_column_selector(dtype_include="category"),
    )
    return Pipeline([("prepare", make_column_transformer(encode, remainder="passthrough")), ("model", model)])
