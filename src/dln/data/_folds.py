"""Folds of weighted rows: the same for rows in any order, and for integer weights as for repeated rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Values
from dln.data._rows import CanonicalRows, row_hashes

Floats = npt.NDArray[np.float64]

#: Whole units of a weight are counted with this tolerance: sums of equal weights may be off by rounding.
_ROUNDING: Final = 1e-9


def repeats_inputs(values: Sequence[Values], rows: CanonicalRows) -> npt.NDArray[np.bool_]:
    """Return for each distinct row whether another one has the same inputs and a different target, ``(n_distinct,)``.

    >>> x = np.array([1.0, 1.0, 2.0])
    >>> repeats_inputs([x], CanonicalRows(np.arange(3), np.ones(3)))
    array([ True,  True, False])
    """
    hashes = row_hashes([column[rows.index] for column in values], len(rows.index))
    _, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse] > 1)


def fold_weights(
    weight: Floats,
    n_folds: int,
    repeated: npt.NDArray[np.bool_] | None = None,
    start: npt.NDArray[np.intp] | None = None,
) -> Floats:
    """Return the part of each row's weight that every fold holds out, ``(n_folds, n)``; the parts add up to the weight.

    A row is held out whole, by one fold. Only rows whose inputs are `repeated` with other targets are divided: held
    out whole, they would measure how the model extrapolates to the targets that training lacks. Their weight is dealt
    out in units of the smallest weight, as evenly as whole units allow, and what is left of a unit goes with the first.
    Rows are dealt in turn, or begin with the folds `start` ``(n,)``.

    >>> fold_weights(np.array([1.0, 7.0, 2.5]), 3, np.array([False, True, True]))
    array([[1. , 2. , 1. ],
           [0. , 3. , 0. ],
           [0. , 2. , 1.5]])
    """
    n = len(weight)
    units = np.ones(n, dtype=np.int64)
    unit = weight.copy()
    if repeated is not None and repeated.any():
        smallest = float(weight.min())
        units[repeated] = np.maximum((weight[repeated] / smallest * (1.0 + _ROUNDING)).astype(np.int64), 1)
        unit[repeated] = smallest
    each, extra = np.divmod(units, n_folds)
    if start is None:
        start = (np.cumsum(extra) - extra) % n_folds
    fold = np.arange(n_folds)[:, np.newaxis]
    place = (fold - start) % n_folds
    parts = (each + (place < extra)) * unit
    remainder = np.maximum(weight - parts.sum(axis=0), 0.0)
    return np.where(place == 0, parts + remainder, parts)
