"""The canonical table: what is learned depends on which rows there are, not on their order or on how they repeat.

Before training, rows of weight zero are dropped, rows that are identical in all columns and in y are merged with their
weights added, and the rest is put in an order that only their content decides. Rows are compared and ordered by two
64-bit hashes, so the order is also as good as shuffled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, Column, Values
from dln.data._categories import are_booleans, fingerprint
from dln.data._column_kinds import LARGEST_WHOLE
from dln.data._dates import WEEKDAYS
from dln.data._source import read_together, refuse_mask

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint64]
#: Rows that are hashed at once: a column is converted to float64 in pieces, never as a whole, and of an array that is
#: stored row by row, the first column brings the others into the cache.
CHUNK: Final = 8192
#: Sums and squares of weights stay finite if the largest weight lies within these.
SMALLEST_WEIGHT: Final = 1e-100
LARGEST_WEIGHT: Final = 1e100
#: Of more categories than this, those that are new are not noticed: too many fingerprints would be equal by chance.
MAX_SEEN: Final = 4096
#: Where the two hashes start: any two different numbers would do (these are digits of pi).
SEEDS: Final = (0x243F6A8885A308D3, 0x13198A2E03707344)


@dataclass(frozen=True, slots=True)
class CanonicalRows:
    """One row of the given table for each distinct row, and their added weights.

    `index`: ``(n_distinct,) intp``, `weight`: ``(n_distinct,) float64``, above zero; a weight that all rows share may
    take no memory, and be read-only.
    """

    index: npt.NDArray[np.intp]
    weight: Floats

    def sample(self, n: int) -> CanonicalRows:
        """Return n of the rows, or all if there are fewer: their order is as good as drawn by lot."""
        return CanonicalRows(self.index[:n].copy(), self.weight[:n].copy())


def canonical_rows(
    values: Sequence[Values], y: Floats, weight: Floats | None = None, labels: Sequence[Values] = ()
) -> CanonicalRows:
    """Return the distinct rows of a table and its target, in canonical order; other labels make rows distinct."""
    if weight is not None:
        weight = check_weight(weight, len(y))
    first, second = row_hashes(values, y, labels)
    order = np.argsort(first)
    if weight is not None and not weight.all():
        order = order[weight[order] > 0]
    first = first[order]
    same = first[1:] == first[:-1]
    # Rows whose first hashes differ are in order now. The others, nearly always repeated rows, are ordered by the
    # second hash, and then by weight so that merged weights are added up in an order of their own.
    tied = np.append(same, False) | np.insert(same, 0, False)
    ties = order[tied]
    keys = (second[ties], first[tied])
    order[tied] = ties[np.lexsort(keys if weight is None else (weight[ties], *keys))]
    # Rows of equal hashes, 128 bits, are taken as equal: among a thousand million different rows, the chance that any
    # two would be merged by mistake is below 2**-68, far below that of a fault in the machine's memory.
    repeats = np.flatnonzero(same)
    same[repeats] = second[order[repeats]] == second[order[repeats + 1]]
    del first, second  # the largest arrays here: tables are large
    if not same.any():
        ones = np.broadcast_to(np.float64(1.0), len(order))  # takes no memory
        return CanonicalRows(order, ones if weight is None else weight[order])
    starts = np.flatnonzero(np.insert(~same, 0, True))
    if weight is None:
        return CanonicalRows(order[starts], np.diff(starts, append=len(order)).astype(np.float64))
    return CanonicalRows(order[starts], np.add.reduceat(weight[order], starts))


def describe(columns: Sequence[Column], values: Sequence[Values], rows: npt.NDArray[np.intp]) -> tuple[Column, ...]:
    """Return columns with what they hold in these rows: the largest of whole numbers from 0 up, categories seen."""
    described = list(columns)
    for j, column in enumerate(columns):
        known = values[j] if len(rows) == len(values[j]) else values[j][rows]
        if column.categories is None:
            high = np.fmax.reduce(known)
            if np.fmin.reduce(known) == 0 and 1 <= high < LARGEST_WHOLE and not (known % 1 > 0).any():
                described[j] = replace(column, whole_to=int(high))
        elif (
            column.categories != WEEKDAYS and len(column.categories) <= MAX_SEEN and not are_booleans(column.categories)
        ):
            seen = {fingerprint(column.categories[code]) for code in np.unique(known).tolist() if code != MISSING}
            described[j] = replace(column, seen=tuple(sorted(seen)))
    return tuple(described)


def check_weight(weight: npt.ArrayLike, n_rows: int) -> Floats:
    """Return sample weights as ``(n_rows,) float64``, or say what is wrong with them."""
    refuse_mask(weight, "sample_weight")
    checked = np.asarray(weight, dtype=np.float64)
    if checked.shape != (n_rows,):
        raise ValueError(f"sample_weight must be one number per row, shape ({n_rows},), got shape {checked.shape}")
    if (wrong := ~np.isfinite(checked)).any():
        row = int(wrong.argmax())
        raise ValueError(
            f"sample_weight must be finite, but row {row} has {checked[row]} (NaN and infinity mean no weight)"
        )
    if (wrong := checked < 0).any():
        row = int(wrong.argmax())
        raise ValueError(
            f"sample_weight must not be negative, but row {row} has {checked[row]}; use 0 to leave a row out"
        )
    if not checked.any():
        raise ValueError("sample_weight must be above zero for at least one row, but all weights are zero")
    return checked


def check_weight_size(weight: Floats) -> Floats:
    """Return the weights of a fit, or raise where sums and squares of them could overflow."""
    row = int(weight.argmax())
    if not SMALLEST_WEIGHT <= weight[row] <= LARGEST_WEIGHT:
        raise ValueError(
            f"the largest sample_weight must lie between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}, but it is that of "
            f"row {row}, {weight[row]:g}: multiply all weights by a constant"
        )
    return weight


def weighted_quantile(values: Values, weight: Floats, q: npt.ArrayLike) -> Floats:
    """Return the smallest values at or below which lies at least a share q of the weight; NaN values do not count.

    A weight of k is the same as the value k times. The result has the shape of `q`; NaN if no value counts.
    """
    shares = np.asarray(q, dtype=np.float64)
    counts = ~np.isnan(values) & (weight > 0)
    if not counts.all():
        values, weight = values[counts], weight[counts]
    if not len(values):
        return np.full(shares.shape, np.nan)
    if np.all(weight == 1):  # no index is needed, which is many times faster
        quantiles = np.sort(values)[np.maximum(np.ceil(shares * len(values)).astype(np.intp) - 1, 0)]
    else:
        order = np.argsort(values, kind="stable")
        values, reached = values[order], np.cumsum(weight[order])
        quantiles = values[np.searchsorted(reached, shares * reached[-1], side="left")]
    return np.asarray(quantiles.astype(np.float64) + 0.0)  # of 0.0 and -0.0, which are equal, always the former


def row_hashes(values: Sequence[Values], y: Values, labels: Sequence[Values] = ()) -> tuple[Hashes, Hashes]:
    """Return two independent hashes of each row and its target, ``(n_rows,) uint64`` each."""
    first, second = (np.full(len(y), seed, dtype=np.uint64) for seed in SEEDS)
    for group in read_together(values):
        _add_columns([column for _, column in group], first, second)
        del group  # before the next are read
    _add_columns([*labels, y], first, second)
    return first, second


def _add_columns(columns: Sequence[Values], first: Hashes, second: Hashes) -> None:
    """Stir columns into the hashes. Equal numbers hash alike: 0.0 and -0.0, any NaN, float32 and float64.

    Each step is one to one in the value, so rows that differ in one column only never have equal hashes.
    """
    for start in range(0, len(first), CHUNK):
        h, k = first[start : start + CHUNK], second[start : start + CHUNK]
        for column in columns:
            piece = column[start : start + CHUNK].astype(np.float64) + 0.0
            piece[np.isnan(piece)] = np.nan
            bits = piece.view(np.uint64)
            # The finalisers of MurmurHash3 and of SplitMix64.
            h ^= bits
            _stir(h, (33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53), 33)
            k += bits + np.uint64(0x9E3779B97F4A7C15)
            _stir(k, (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), 31)


def _stir(hashes: Hashes, first: tuple[int, int], second: tuple[int, int], last: int) -> None:
    for shift, factor in (first, second):
        hashes ^= hashes >> shift
        hashes *= factor
    hashes ^= hashes >> last
