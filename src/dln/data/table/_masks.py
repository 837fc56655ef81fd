"""Masked arrays: a masked value of X is missing; of the target and the weights there must be none."""

from __future__ import annotations

from typing import Any

import numpy as np

from dln.data.table._numbers import LARGEST_WHOLE


def without_mask(X: Any) -> Any:
    """Return a masked array as a plain one whose masked values are missing; anything else as it is.

    >>> without_mask(np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]]))
    array([[ 1., nan],
           [ 3.,  4.]])
    """
    if not isinstance(X, np.ma.MaskedArray):
        return X
    masked: Any = X  # numpy's own types lose the mask
    if not np.ma.is_masked(X):
        return masked.data
    if X.dtype.kind == "f":
        return masked.filled(np.nan)
    exact = X.dtype.kind in "iub" and not (np.abs(X.compressed().astype(np.float64)) >= LARGEST_WHOLE).any()
    if exact:
        return masked.astype(np.float64).filled(np.nan)
    plain = masked.data.astype(object)  # text, and numbers too large for a float, stay what they are
    plain[np.ma.getmaskarray(masked)] = None
    return plain


def refuse_mask(values: Any, name: str) -> None:
    """Raise if a value of the target or of the weights is masked: it would be taken for known."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.flatnonzero(np.ma.getmaskarray(values).ravel())[0])
        message = f"{name} must be known in every row, but row {row} is masked: leave such rows out"
        raise ValueError(message)
