"""The canonical table: what is learned depends on which rows there are, not on their order or on how they repeat.

Before training, rows of weight zero are dropped, rows that are identical in all columns and in y are merged with their
weights added, and the rest is put in an order that only their content decides. Rows are compared and ordered by two
64-bit hashes, so the order is also as good as shuffled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import uint64

from dln._compile import compiled
from dln.circuit._circuit import Values
from dln.data._source import refuse_mask
from dln.data._table import read_together

Floats = npt.NDArray[np.float64]
Hashes = npt.NDArray[np.uint64]

#: Rows that are hashed at once: a column is converted to float64 in pieces, never as a whole, and of an array that is
#: stored row by row, the first column brings the others into the cache.
CHUNK: Final = 8192

#: Rows that are sorted at once, about: few enough for their hashes to stay in the cache.
SORTED_AT_ONCE: Final = 4096

#: Sums and squares of weights stay finite if the largest weight lies within these.
SMALLEST_WEIGHT: Final = 1e-100
LARGEST_WEIGHT: Final = 1e100

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


def canonical_rows(values: Sequence[Values], y: Floats, weight: Floats | None = None) -> CanonicalRows:
    """Return the distinct rows of a table and its target, in canonical order.

    >>> age = np.array([47.0, 52.0, 47.0, 33.0])
    >>> rows = canonical_rows([age], np.zeros(4), np.array([1.0, 1.0, 2.0, 0.0]))
    >>> sorted(zip(age[rows.index].tolist(), rows.weight.tolist()))
    [(47.0, 3.0), (52.0, 1.0)]
    """
    if weight is not None:
        weight = check_weight(weight, len(y))
    first, second = _hashes(values, y)
    kept = None if weight is None or weight.all() else np.flatnonzero(weight)
    order, first = _sorted(first) if kept is None else _sorted(first[kept])
    if kept is not None:
        order = kept[order]
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
        return CanonicalRows(order, _ones(len(order)) if weight is None else weight[order])
    starts = np.flatnonzero(np.insert(~same, 0, True))
    if weight is None:
        return CanonicalRows(order[starts], np.diff(starts, append=len(order)).astype(np.float64))
    return CanonicalRows(order[starts], np.add.reduceat(weight[order], starts))


def _ones(n: int) -> Floats:
    """Return n ones that take no memory."""
    return np.broadcast_to(np.float64(1.0), n)


def _sorted(hashes: Hashes) -> tuple[npt.NDArray[np.intp], Hashes]:
    """Return the order that sorts hashes, and the sorted hashes, in a time that grows as their number does.

    Hashes are even, so their first digits part them into pieces of about the same size.
    """
    digits = max(0, (len(hashes) // SORTED_AT_ONCE).bit_length())
    if not digits:
        order = np.argsort(hashes)
        return order, hashes[order]
    order, parted = np.empty(len(hashes), dtype=np.intp), np.empty_like(hashes)
    ends = _part(hashes, digits, order, parted)
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        piece, indices = parted[start:end], order[start:end]
        by_hash = np.argsort(piece)
        parted[start:end], order[start:end] = piece[by_hash], indices[by_hash]
    return order, parted


@compiled(nogil=True)
def _part(hashes: Hashes, digits: int, order: npt.NDArray[np.intp], parted: Hashes) -> npt.NDArray[np.intp]:
    """Write hashes and their indices in the order of their first binary digits; return where each piece ends."""
    shift = uint64(64 - digits)
    ends = np.zeros((1 << digits) + 1, dtype=np.intp)
    for i in range(len(hashes)):
        ends[np.intp(hashes[i] >> shift) + 1] += 1
    for before in range(len(ends) - 1):
        ends[before + 1] += ends[before]
    for i in range(len(hashes)):
        piece = np.intp(hashes[i] >> shift)
        position = ends[piece]
        order[position], parted[position] = i, hashes[i]
        ends[piece] = position + 1
    return ends[:-1]


def check_weight(weight: npt.ArrayLike, n_rows: int) -> Floats:
    """Return sample weights as ``(n_rows,) float64``, or say what is wrong with them."""
    refuse_mask(weight, "sample_weight")
    checked = np.asarray(weight, dtype=np.float64)
    if checked.shape != (n_rows,):
        message = f"sample_weight must be one number per row, shape ({n_rows},), got shape {checked.shape}"
        raise ValueError(message)
    wrong = ~np.isfinite(checked)
    if wrong.any():
        row = int(wrong.argmax())
        message = f"sample_weight must be finite, but row {row} has {checked[row]} (NaN and infinity mean no weight)"
        raise ValueError(message)
    wrong = checked < 0
    if wrong.any():
        row = int(wrong.argmax())
        message = f"sample_weight must not be negative, but row {row} has {checked[row]}; use 0 to leave a row out"
        raise ValueError(message)
    if not checked.any():
        message = "sample_weight must be above zero for at least one row, but all weights are zero"
        raise ValueError(message)
    return checked


def check_weight_size(weight: Floats) -> Floats:
    """Return the weights of a fit, or raise where sums and squares of them could overflow."""
    row = int(weight.argmax())
    if not SMALLEST_WEIGHT <= weight[row] <= LARGEST_WEIGHT:
        message = (
            f"the largest sample_weight must lie between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}, but it is that of "
            f"row {row}, {weight[row]:g}: multiply all weights by a constant"
        )
        raise ValueError(message)
    return weight


def weighted_quantile(values: Values, weight: Floats, q: npt.ArrayLike) -> Floats:
    """Return the smallest values at or below which lies at least a share q of the weight; NaN values do not count.

    A weight of k is the same as the value k times. The result has the shape of `q`; NaN if no value counts.

    >>> weighted_quantile(np.array([3.0, 1.0, np.nan, 2.0]), np.array([1.0, 1.0, 5.0, 2.0]), [0.0, 0.5, 0.8])
    array([1., 2., 3.])
    """
    shares = np.asarray(q, dtype=np.float64)
    counts = ~np.isnan(values) & (weight > 0)
    if not counts.all():
        values, weight = values[counts], weight[counts]
    if not len(values):
        return np.full(shares.shape, np.nan)
    if np.all(weight == 1):  # no index is needed, which is many times faster
        ranks = np.maximum(np.ceil(shares * len(values)).astype(np.intp) - 1, 0)
        quantiles = _at_ranks(values, ranks.ravel()).reshape(ranks.shape)
    else:
        order = np.argsort(values, kind="stable")
        values, reached = values[order], np.cumsum(weight[order])
        quantiles = values[np.searchsorted(reached, shares * reached[-1], side="left")]
    return np.asarray(quantiles.astype(np.float64) + 0.0)  # of 0.0 and -0.0, which are equal, always the former


def _at_ranks(values: Values, ranks: npt.NDArray[np.intp]) -> Values:
    """Return what stands at the given ranks of the sorted values: a few are found faster than all are sorted."""
    ends = {0: values.min(), len(values) - 1: values.max()}
    parted, start = values.copy(), 0
    for rank in np.unique(ranks):
        if rank not in ends:  # one at a time: for several, numpy has no vector instructions
            parted[start:].partition(rank - start)
            start = rank + 1  # what stands there now must stay there
    return np.array([ends.get(rank, parted[rank]) for rank in ranks], dtype=values.dtype)


def row_hashes(values: Sequence[Values], n_rows: int) -> Hashes:
    """Return a hash of the inputs of each row, ``(n_rows,) uint64``: equal for rows of equal inputs."""
    return _input_hashes(values, n_rows)[0]


def _hashes(values: Sequence[Values], y: Values) -> tuple[Hashes, Hashes]:
    """Return two independent hashes of each row, ``(n_rows,) uint64`` each."""
    first, second = _input_hashes(values, len(y))
    _add_columns([y], first, second)
    return first, second


def _input_hashes(values: Sequence[Values], n_rows: int) -> tuple[Hashes, Hashes]:
    first, second = (np.full(n_rows, seed, dtype=np.uint64) for seed in SEEDS)
    for group in read_together(values):
        _add_columns([column for _, column in group], first, second)
        del group  # before the next are read
    return first, second


def _add_columns(columns: Sequence[Values], first: Hashes, second: Hashes) -> None:
    for start in range(0, len(first), CHUNK):
        for column in columns:
            piece = np.array(column[start : start + CHUNK], dtype=np.float64)  # a copy: one type for the kernel
            # Both views: numba would take longer to compile one of them than all the rest.
            _add_column(piece, piece.view(np.uint64), first[start : start + CHUNK], second[start : start + CHUNK])


@compiled(nogil=True)
def _add_column(values: Floats, bits: Hashes, first: Hashes, second: Hashes) -> None:
    """Stir a column into the hashes. Equal numbers hash alike: 0.0 and -0.0, any NaN, float32 and float64.

    `bits` are those of the values. Each step is one to one in the value, so rows that differ in one column only never
    have equal hashes.
    """
    for i in range(len(values)):
        value = bits[i]
        if values[i] == 0.0:
            value = uint64(0)
        elif values[i] != values[i]:
            value = uint64(0x7FF8000000000000)
        # The finalisers of MurmurHash3 and of SplitMix64.
        h = first[i] ^ value
        h = (h ^ (h >> uint64(33))) * uint64(0xFF51AFD7ED558CCD)
        h = (h ^ (h >> uint64(33))) * uint64(0xC4CEB9FE1A85EC53)
        first[i] = h ^ (h >> uint64(33))
        h = second[i] + value + uint64(0x9E3779B97F4A7C15)
        h = (h ^ (h >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> uint64(27))) * uint64(0x94D049BB133111EB)
        second[i] = h ^ (h >> uint64(31))
