"""Scaling and one-hot columns for models that need them, as steps of a pipeline fitted with the model."""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from dln_bench.datasets import Facts


def prepared(facts: Facts, model: Any) -> Pipeline:
    """Return a pipeline: numbers scaled to [0, 1], categories one-hot, then the model."""
    parts: list[tuple[str, Any, list[str]]] = []
    if facts.continuous:
        parts.append(("numbers", MinMaxScaler(), list(facts.continuous)))
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
