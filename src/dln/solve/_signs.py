"""Least squares where some weights must be at least, or at most, zero."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from dln.solve._products import Floats

#: 1 where a weight must be at least zero, -1 where at most, 0 where it is free.
Signs = npt.NDArray[np.int64]

#: Exchanges of whole blocks without progress, before weights are exchanged one by one.
_PATIENCE: Final = 5
#: Rounds at most, besides one for each weight: rounding errors must not keep a fit from ending.
_MAX_ROUNDS: Final = 100
#: A gradient below this share of the right side is zero.
_ZERO: Final = 1e-12


def solve_with_signs(matrix: Floats, right: Floats, signs: Signs | None) -> Floats:
    """Return the weights that minimise ``w' matrix w / 2 - right' w`` among those with these signs, ``(n,)``.

    Block principal pivoting (Portugal, Judice and Vicente 1994): solve for the weights thought not to be zero, then
    exchange those of the wrong sign for those whose gradient would give them the right one. Single exchanges, once
    blocks do not help, end: the matrix is positive definite.

    >>> solve_with_signs(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0]), np.array([0, 1]))
    array([1., 0.])
    """
    if signs is None:
        return np.asarray(np.linalg.solve(matrix, right), np.float64)
    weights = np.zeros(len(right))
    positive = np.ones(len(right), np.bool_)
    fewest, patience = len(right) + 1, _PATIENCE
    tolerance = _ZERO * float(np.abs(right).max(initial=0.0))
    for _ in range(_MAX_ROUNDS + len(right)):
        kept = np.flatnonzero(positive)
        weights[:] = 0.0
        weights[kept] = np.linalg.solve(matrix[np.ix_(kept, kept)], right[kept])
        gradient = right - matrix @ weights
        wrong = np.flatnonzero(np.where(positive, signs * weights < 0.0, signs * gradient > tolerance))
        if not len(wrong):
            return weights
        if len(wrong) < fewest:
            fewest, patience = len(wrong), _PATIENCE
        else:
            patience -= 1
        exchanged = wrong if patience > 0 else wrong[-1:]
        positive[exchanged] = ~positive[exchanged]
    return np.where(signs * weights < 0.0, 0.0, weights)
