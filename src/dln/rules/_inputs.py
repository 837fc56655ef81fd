"""What rules are searched on: the encoder's outputs, as values and in bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln.solve._products import Bools, Floats

Rows = npt.NDArray[np.intp]

#: Cut-offs that are looked at per column. 255 instead of 100 brought nothing on the large tables and doubles the time.
MAX_CUTOFFS: Final = 100

_PER_ROW: Final = ("numbers", "bits", "bins")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of some rows: scaled columns first, then bits. Bin b of a scaled column lies above its cut-off b - 1."""

    numbers: npt.NDArray[np.float32]
    """(n_scaled, n_rows): scaled to [0, 1], -1 where missing."""
    bits: Bools
    """(n_bits, n_rows)"""
    bins: npt.NDArray[np.uint8]
    """(n_inputs, n_rows)"""
    n_bins: npt.NDArray[np.int32]
    cutoffs: tuple[Floats, ...]
    """Per scaled column, ascending, in scaled units."""
    columns: Rows
    """(n_inputs,): the column of the table that each input is made from."""

    @property
    def n_rows(self) -> int:
        return int(self.bins.shape[1])

    @property
    def n_inputs(self) -> int:
        return len(self.n_bins)

    def at(self, rows: Rows) -> Inputs:
        """Return the inputs of the named rows."""
        parts: dict[str, Any] = {name: np.ascontiguousarray(getattr(self, name)[:, rows]) for name in _PER_ROW}
        return replace(self, **parts)

    def keep(self, kept: Rows) -> Inputs:
        """Return some of the inputs, ascending, for all rows."""
        n_scaled = len(self.cutoffs)
        scaled, bits = kept[kept < n_scaled], kept[kept >= n_scaled] - n_scaled
        return Inputs(
            self.numbers[scaled],
            self.bits[bits],
            self.bins[kept],
            self.n_bins[kept],
            tuple(self.cutoffs[k] for k in scaled.tolist()),
            self.columns[kept],
        )

    def mixed(self, rows: Rows) -> Inputs:
        """Return rows put together from others: `rows` ``(n_columns, n)`` says which row gives a column its value."""
        n_scaled = len(self.cutoffs)
        origin = rows[self.columns]
        take = np.take_along_axis
        return replace(
            self,
            numbers=take(self.numbers, origin[:n_scaled], axis=1),
            bits=take(self.bits, origin[n_scaled:], axis=1),
            bins=take(self.bins, origin, axis=1),
        )

    def followed_by(self, others: Inputs) -> Inputs:
        """Return these rows and then those of others in the same bins."""
        both = {name: (getattr(self, name), getattr(others, name)) for name in _PER_ROW}
        parts: dict[str, Any] = {name: np.concatenate(pair, axis=1) for name, pair in both.items()}
        return replace(self, **parts)

    def as_table(self) -> Floats:
        """Return the inputs as other libraries want them, ``(n_rows, n_inputs)``, missing numbers as NaN."""
        numbers = np.where(self.numbers < 0, np.nan, self.numbers.astype(np.float64))
        return np.concatenate([numbers, self.bits.astype(np.float64)]).T


def bin_inputs(
    numbers: npt.NDArray[np.float32],
    bits: npt.NDArray[np.float32],
    columns: Sequence[int],
    cutoffs: tuple[Floats, ...] | None = None,
) -> Inputs:
    """Return the encoder's outputs ``(n_rows, …)`` in bins, between given cut-offs or those at even ranks of the rows.

    `columns` are the table's columns that the outputs are made from.
    """
    if cutoffs is None:
        cutoffs = tuple(even_cutoffs(numbers[:, k], MAX_CUTOFFS) for k in range(numbers.shape[1]))
    bins = np.empty((len(cutoffs) + bits.shape[1], len(numbers)), dtype=np.uint8)
    for k, cuts in enumerate(cutoffs):
        # Compared as float32, as the numbers are: what a cut-off separates must not hang on rounding.
        bins[k] = np.searchsorted(cuts.astype(np.float32), numbers[:, k], side="left")
    bins[len(cutoffs) :] = bits.T
    sizes = [len(cuts) + 1 for cuts in cutoffs] + [2] * bits.shape[1]
    return Inputs(
        np.ascontiguousarray(numbers.T),
        np.ascontiguousarray(bits.T > 0),
        bins,
        np.array(sizes, dtype=np.int32),
        cutoffs,
        np.asarray(columns, dtype=np.intp),
    )


def even_cutoffs(values: npt.NDArray[np.float32], most: int) -> Floats:
    """Return cut-offs midway between neighbouring values; a missing value (-1) is below all."""
    known = np.sort(values[values >= 0])
    distinct = np.unique(known)
    lower = np.arange(len(distinct) - 1)
    if len(lower) > most:
        ranks = (np.arange(1, most + 1) * len(known)) // (most + 1)
        lower = np.unique(np.minimum(np.searchsorted(distinct, known[ranks]), len(distinct) - 2))
    middle = (distinct[lower].astype(np.float64) + distinct[lower + 1]) / 2
    # In float32 the middle of neighbours may round up to the upper one: then the lower one separates as well.
    rounded = middle.astype(np.float32)
    return np.where(rounded < distinct[lower + 1], rounded, distinct[lower]).astype(np.float64)
