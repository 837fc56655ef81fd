"""The encoder's outputs in bins: what trees are grown on, and which cut-offs between bins are worth keeping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.training._trees import MAX_CUTOFFS, Bins, Floats, Ints

Rows = npt.NDArray[np.intp]

#: Places to cut that are looked at, per column, before the best are kept.
FINE_CUTOFFS: Final = 128


@dataclass(frozen=True, slots=True)
class Inputs:
    """Binned inputs: scaled columns first, then bits. Bin b of a scaled column lies above its cut-off b - 1."""

    bins: Bins
    """(n_inputs, n_rows)"""
    n_bins: Ints
    cutoffs: tuple[Floats, ...]
    """Per scaled column, ascending, in scaled units."""
    columns: Rows
    """(n_inputs,): the column of the table that each input is made from."""

    @property
    def n_rows(self) -> int:
        return int(self.bins.shape[1])

    def at(self, rows: Rows) -> Inputs:
        """Return the inputs of the named rows."""
        return replace(self, bins=np.ascontiguousarray(self.bins[:, rows]))

    def mixed(self, rows: Rows) -> Inputs:
        """Return rows put together from others: `rows` ``(n_columns, n)`` says which row gives a column its value."""
        bins = [values[rows[column]] for values, column in zip(self.bins, self.columns, strict=True)]
        return replace(self, bins=np.array(bins, dtype=np.uint8).reshape(len(self.bins), rows.shape[1]))

    def followed_by(self, others: Inputs) -> Inputs:
        """Return these rows and then those of others in the same bins."""
        return replace(self, bins=np.concatenate([self.bins, others.bins], axis=1))


def bin_inputs(
    numbers: npt.NDArray[np.float32],
    bits: npt.NDArray[np.float32],
    max_cutoffs: int,
    columns: Sequence[int] | None = None,
) -> Inputs:
    """Return the encoder's outputs in bins, with at most so many cut-offs per column, at even ranks of the rows.

    `columns` are the table's columns that the outputs are made from; by default each has one of its own.
    """
    most = min(max_cutoffs, MAX_CUTOFFS)
    cutoffs = tuple(_even_cutoffs(numbers[:, k], most) for k in range(numbers.shape[1]))
    bins = np.empty((len(cutoffs) + bits.shape[1], len(numbers)), dtype=np.uint8)
    for k, cuts in enumerate(cutoffs):
        bins[k] = np.searchsorted(cuts, numbers[:, k], side="left")
    bins[len(cutoffs) :] = bits.T
    sizes = [len(cuts) + 1 for cuts in cutoffs] + [2] * bits.shape[1]
    origin = np.arange(len(bins)) if columns is None else np.asarray(columns, dtype=np.intp)
    return Inputs(bins, np.array(sizes, dtype=np.int32), cutoffs, origin)


def _even_cutoffs(values: npt.NDArray[np.float32], most: int) -> Floats:
    """Return cut-offs midway between neighbouring values; a missing value (-1) is below all."""
    known = np.sort(values[values >= 0]).astype(np.float64)
    distinct = np.unique(known)
    places = np.arange(len(distinct) - 1)
    if len(places) > most:
        ranks = (np.arange(1, most + 1) * len(known)) // (most + 1)
        places = np.unique(np.minimum(np.searchsorted(distinct, known[ranks]), len(distinct) - 2))
    return (distinct[places] + distinct[places + 1]) / 2


def set_aside(n_rows: int, share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return rows to learn from and rows set aside, drawn by lot, each in the table's order."""
    order = rng.permutation(n_rows)
    n_aside = max(1, round(share * n_rows))
    return np.sort(order[n_aside:]), np.sort(order[:n_aside])


def keep_cutoffs(inputs: Inputs, gains: Floats, most: int) -> Inputs:
    """Return the inputs with at most so many cut-offs in all: those by which the teachers gained most.

    A column's share goes with the square root of its gain; within a column they lie at even shares of it.
    """
    n_scaled = len(inputs.cutoffs)
    available = np.array([int((gains[k] > 0).sum()) for k in range(n_scaled)], dtype=np.int64)
    pull = np.sqrt(gains[:n_scaled].sum(axis=1))
    counts = np.zeros(n_scaled, dtype=np.int64)
    for _ in range(min(most, int(available.sum()))):
        counts[int(np.argmax(np.where(counts < available, pull / (counts + 1), -1.0)))] += 1
    bins, sizes, cutoffs = inputs.bins.copy(), inputs.n_bins.copy(), []
    for k, count in enumerate(counts):
        share = np.cumsum(np.sqrt(gains[k]))
        places = np.unique(np.searchsorted(share, (np.arange(count) + 0.5) / max(int(count), 1) * share[-1]))
        bins[k] = np.searchsorted(places, inputs.bins[k], side="left")
        sizes[k] = len(places) + 1
        cutoffs.append(inputs.cutoffs[k][places])
    return Inputs(bins, sizes, tuple(cutoffs), inputs.columns)
