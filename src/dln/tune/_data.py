"""The table of a search: checked, described, thinned and split."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import joblib
import numpy as np
from sklearn.base import is_regressor
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from dln._regressor import CircuitRegressor
from dln.data._reader import learn_table
from dln.data._table import Table
from dln.data._target import check_target
from dln.network._checkpoint import array_digest
from dln.tune._context import Context
from dln.tune._folds import Floats, Rows

#: The paper's: 2 to 4 folds, the more the smaller the data.
_FOLDS: Final = ((1000, 4), (5000, 3))
FEWEST_FOLDS: Final = 2


def check_data(X: Any, y: Any) -> tuple[Any, Floats]:
    """Return X in a form that rows can be taken of, and y as an array of finite numbers."""
    if not hasattr(X, "__getitem__") or isinstance(X, (list, tuple)):
        X = np.asarray(X)
    y = check_target(y, _num_samples(X), "y")
    if len(y) < FEWEST_FOLDS:
        message = f"a search needs at least {FEWEST_FOLDS} rows, to learn from some and test on others; got n_samples=1"
        raise ValueError(message)
    return X, y


def describe(estimator: Any, X: Any, y: Floats) -> tuple[str, Context]:
    """Return a fingerprint of the data, and what a space may know of it."""
    table = _table(estimator, X)
    n_rows = _num_samples(X)
    if table is None:  # sparse, or something that only its estimator understands
        shape = getattr(X, "shape", (n_rows, 0))
        return _digest(joblib.hash(X), array_digest(y)), Context(n_rows, int(shape[1]) if len(shape) > 1 else 0, 0)
    columns = [f"{column.name!r} {column.categories!r} {array_digest(values)}" for column, values in _columns(table)]
    n_categories = sum(column.categories is not None for column in table.columns)
    return _digest(*columns, array_digest(y)), Context(n_rows, len(table.columns) - n_categories, n_categories)


def _columns(table: Table) -> Any:
    return zip(table.columns, table.values, strict=True)


def _table(estimator: Any, X: Any) -> Table | None:
    if isinstance(estimator, CircuitRegressor):
        return learn_table(X, estimator.categorical_features)
    try:
        return learn_table(X)
    except (TypeError, ValueError):
        return None


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def thin(X: Any, y: Floats, max_rows: int | None, seed: int) -> tuple[Any, Floats]:
    """Return at most so many rows, drawn by the seed, in their order."""
    if max_rows is None or max_rows >= len(y):
        return X, y
    rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:max_rows])
    return _safe_indexing(X, rows), y[rows]


def choose_folds(n_rows: int, asked: int | None = None) -> int:
    """Return the number of folds for so many rows.

    >>> choose_folds(300), choose_folds(3000), choose_folds(30_000), choose_folds(3)
    (4, 3, 2, 3)
    """
    if asked is not None:
        if asked > n_rows:
            message = f"folds must be at most the number of rows, {n_rows}, got {asked}"
            raise ValueError(message)
        return asked
    return min(next((folds for rows, folds in _FOLDS if n_rows <= rows), FEWEST_FOLDS), n_rows)


def split(n_rows: int, folds: int, seed: int) -> tuple[tuple[Rows, Rows], ...]:
    """Return the rows to train on and to test on of each fold, shuffled by the seed."""
    return tuple(KFold(folds, shuffle=True, random_state=seed).split(np.zeros(n_rows)))


def check_estimator_kind(estimator: Any) -> None:
    """Refuse what is no regressor."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        message = f"estimator must be a scikit-learn regressor like RuleRegressor(), got {estimator!r}"
        raise ValueError(message)
    if not is_regressor(estimator):
        message = f"estimator must be a regressor: a search minimises the squared error; got {estimator!r}"
        raise ValueError(message)
