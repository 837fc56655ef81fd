"""Folds of weighted rows: the same for rows in any order, and for integer weights as for repeated rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Values
from dln.data._rows import CanonicalRows, row_hashes

Floats = npt.NDArray[np.float64]

Counts = npt.NDArray[np.int64]

#: Quotients of weights are rounded down with this tolerance: sums of equal weights may be off by rounding.
_ROUNDING: Final = 1e-9
#: A row counts at most so often.
_MOST: Final = 1e6


def repeats_inputs(values: Sequence[Values], rows: CanonicalRows) -> npt.NDArray[np.bool_]:
    """Return for each distinct row whether another one has the same inputs and another target, ``(n_distinct,)``."""
    hashes = row_hashes(values, np.zeros(len(values[0])))[0][rows.index]
    _, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse] > 1)


def row_counts(weight: Floats, repeated: npt.NDArray[np.bool_]) -> Counts:
    """Return how many rows of the table each distinct row stands for when folds are dealt, ``(n,)``.

    One, unless its inputs are `repeated` with other targets. Such a row counts as many times as the smallest weight
    goes into its own: held out whole, it would measure how a model extrapolates to inputs whose targets it lacks.
    """
    counts = np.ones(len(weight), dtype=np.int64)
    whole = np.minimum(weight[repeated] / float(weight.min()) * (1.0 + _ROUNDING), _MOST)
    counts[repeated] = np.maximum(whole.astype(np.int64), 1)
    return counts


def fold_weights(weight: Floats, n_folds: int, counts: Counts) -> Floats:
    """Return the part of each row's weight that every fold holds out, ``(n_folds, n)``; the parts add up to the weight.

    A row that counts once is held out whole, by one fold. The weight of the others is dealt out in equal units, one for
    each count, as evenly as whole units allow. Rows are dealt in turn.
    """
    each, extra = np.divmod(counts, n_folds)
    start = (np.cumsum(extra) - extra) % n_folds
    place = (np.arange(n_folds)[:, np.newaxis] - start) % n_folds
    shares: Floats = (each + (place < extra)) / counts
    return np.asarray(shares * weight)


def held_out_weights(weight: Floats, share: float, counts: Counts, seed: int) -> Floats:
    """Return the part of each row's weight that is held out to validate, about a `share` of all, ``(n,)``.

    A row that counts once is held out whole or not at all; of the others, as many of their equal units as the share is.

    >>> held_out_weights(np.array([1.0, 1.0, 10.0, 1.0]), 0.25, np.array([1, 1, 10, 1]), seed=1)
    array([1., 0., 2., 0.])
    """
    rank = np.random.default_rng([seed, len(weight)]).permutation(len(weight)) / max(len(weight), 1)
    return np.asarray(np.floor(counts * share + rank) / counts * weight)


def group_fold_weights(weight: Floats, n_folds: int, groups: Counts) -> Floats:
    """Return the part of each row's weight that every fold holds out, whole groups together, ``(n_folds, n)``.

    The heaviest groups are dealt first, each to the fold that is the lightest so far; among equals, in the order of
    their first rows.
    """
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    totals = np.bincount(inverse, weight)
    fold_of, filled = np.zeros(len(first), dtype=np.intp), np.zeros(n_folds)
    for group in np.lexsort((first, -totals)):
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += totals[group]
    return np.asarray((fold_of[inverse] == np.arange(n_folds)[:, np.newaxis]) * weight)


def held_out_groups(weight: Floats, share: float, groups: Counts, seed: int) -> Floats:
    """Return the weights of whole groups that are held out, about a share of all but at least one group, ``(n,)``."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    drawn = np.random.default_rng([seed, len(first)]).permutation(np.argsort(first))
    reached = np.cumsum(np.bincount(inverse, weight)[drawn][:-1])
    n_held_out = 1 + int(np.abs(reached - share * weight.sum()).argmin()) if len(reached) else 0
    return np.where(np.isin(inverse, drawn[:n_held_out]), weight, 0.0)
