"""The table in bins: number columns between cut-offs, and yes-no inputs for categories and missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Above, Column, IsIn, IsMissing, Literal, Values, literal_values
from dln.circuit._constraints import Constraint
from dln.circuit._cutoffs import shortest_between
from dln.data._encoding import column_literals
from dln.data._rows import Floats
from dln.rules._constants import MAX_CUTOFFS, N_DRAWN_ROWS, SECOND_ROW_SHARE

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class NumberInput:
    """A number column as an input. Cut-off c lies between two neighbouring training values.

    Bin b holds what is above cut-off b - 1 and not above cut-off b; a missing number is in bin 0.
    """

    column: int
    lower: Floats
    """(n_cutoffs,): the training value just below each cut-off, ascending."""
    upper: Floats
    """(n_cutoffs,): the training value just above each cut-off."""
    levels: Floats
    """(n_cutoffs + 1,): the median training value of each bin, on a scale from 0 to 1."""

    @cached_property
    def cutoffs(self) -> Floats:
        """(n_cutoffs,): the shortest decimals between the training values."""
        pairs = zip(self.lower.tolist(), self.upper.tolist(), strict=True)
        return np.array([shortest_between(low, high) for low, high in pairs])

    def literal(self, cutoff: int) -> Literal:
        """Return the literal of a cut-off."""
        return Above(self.column, shortest_between(float(self.lower[cutoff]), float(self.upper[cutoff])))


#: A number column, or a category or "is missing": the bin of these is 1 where the literal is true.
Input: TypeAlias = NumberInput | IsIn | IsMissing


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Some rows in bins."""

    inputs: tuple[Input, ...]
    bins: npt.NDArray[np.uint8]
    """(n_inputs, n_rows)"""
    n_bins: npt.NDArray[np.int32]
    """(n_inputs,)"""
    constraints: tuple[Constraint, ...] = ()
    """Constraints on the columns, which rules must keep."""

    def at(self, rows: Rows) -> Inputs:
        """Return some of the rows."""
        return replace(self, bins=np.ascontiguousarray(self.bins[:, rows]))

    def keep(self, kept: Rows) -> Inputs:
        """Return some of the inputs."""
        inputs = tuple(self.inputs[k] for k in kept.tolist())
        return replace(self, inputs=inputs, bins=self.bins[kept], n_bins=self.n_bins[kept])

    def scaled(self) -> tuple[Floats, Floats]:
        """Return the rows as numbers from 0 to 1, on the scale of the values and on that of the bins.

        Both are ``(n_rows, n_inputs)``, NaN where a number is missing.
        """
        scales = [one.levels if isinstance(one, NumberInput) else np.arange(2.0) for one in self.inputs]
        levels = np.empty(self.bins.shape)
        for row, scale, bins in zip(levels, scales, self.bins, strict=True):
            row[:] = scale[bins]
        ranks = self.bins / np.maximum(self.n_bins - 1, 1)[:, np.newaxis]
        missing = {one.column: self.bins[k] == 1 for k, one in enumerate(self.inputs) if isinstance(one, IsMissing)}
        for k, one in enumerate(self.inputs):
            if isinstance(one, NumberInput) and one.column in missing:
                levels[k, missing[one.column]] = ranks[k, missing[one.column]] = np.nan
        return levels.T, ranks.T


def bin_table(
    columns: Sequence[Column],
    values: Sequence[Values],
    weight: Floats,
    max_categories: int | None,
    min_frequency: float,
) -> Inputs:
    """Return a table of training rows, given column by column, in bins.

    >>> table = bin_table((Column("age"), Column("town", ("a", "b"))), [np.array([3.0, 1.0, 2.0]), np.array([0, 1, 0])],
    ...                   np.ones(3), None, 1)
    >>> table.inputs[0].cutoffs, table.bins[0], table.inputs[1]
    (array([1., 2.]), array([2, 0, 1], dtype=uint8), IsIn(column=1, codes=(1,)))
    """
    inputs: list[Input] = []
    for j, column in enumerate(columns):
        if column.categories is None:
            known = np.sort(values[j][~np.isnan(values[j])].astype(np.float64)) + 0.0  # 0.0, never -0.0
            if len(known) and known[0] < known[-1]:
                inputs.append(_number_input(j, known))
        for literal in column_literals(j, column, values[j], weight, max_categories, min_frequency, shared_bits=False):
            assert not isinstance(literal, Above)  # noqa: S101 (for the type checker)
            inputs.append(literal)
    return bin_rows(inputs, values, are_training_values=True)


def bin_rows(inputs: Sequence[Input], values: Sequence[Values], *, are_training_values: bool = False) -> Inputs:
    """Return rows of the table in the bins of inputs.

    Training values are separated by the lower ends just as by the cut-offs, which take longer to compute.
    """
    bins = np.empty((len(inputs), len(values[0])), dtype=np.uint8)
    for one, row in zip(inputs, bins, strict=True):
        column = values[one.column]
        if isinstance(one, NumberInput):
            cutoffs = one.lower if are_training_values else one.cutoffs
            row[:] = np.where(np.isnan(column), 0, np.searchsorted(cutoffs, column, side="left"))
        else:
            row[:] = literal_values(one, column)
    n_bins = [len(one.levels) if isinstance(one, NumberInput) else 2 for one in inputs]
    return Inputs(tuple(inputs), bins, np.array(n_bins, dtype=np.int32))


def _number_input(column: int, known: Floats) -> NumberInput:
    """Return a number column as an input, from its sorted training values."""
    distinct = np.unique(known)
    below = np.arange(len(distinct) - 1)
    if len(below) > MAX_CUTOFFS:
        ranks = (np.arange(1, MAX_CUTOFFS + 1) * len(known)) // (MAX_CUTOFFS + 1)
        below = np.unique(np.minimum(np.searchsorted(distinct, known[ranks]), len(distinct) - 2))
    lower, upper = distinct[below], distinct[below + 1]
    ends = np.searchsorted(known, lower, side="right")
    medians = known[(np.append(0, ends) + np.append(ends, len(known)) - 1) // 2] / 2  # halves never overflow
    span = float(medians[-1] - medians[0]) or 1.0
    return NumberInput(column, lower, upper, (medians - medians[0]) / span)


def synthetic_rows(inputs: Inputs, weight: Floats, n: int, rng: np.random.Generator) -> Inputs:
    """Return n rows for teachers to label, each column's value from one of two rows that are not far apart.

    Rules that learn from such rows too stay closer to their teachers between the rows of the table.
    """
    share = weight / weight.sum()
    width = np.maximum(inputs.n_bins - 1, 1)[:, np.newaxis].astype(np.float32)
    first, second = rng.choice(len(weight), size=(2, n), p=share)
    position = inputs.bins[:, first] / width
    nearest = np.full(n, np.inf)
    for drawn in rng.choice(len(weight), size=(N_DRAWN_ROWS, n), p=share):
        distance = np.abs(position - inputs.bins[:, drawn] / width).sum(axis=0)
        is_nearer = (distance < nearest) & (drawn != first)
        nearest[is_nearer], second[is_nearer] = distance[is_nearer], drawn[is_nearer]
    # The inputs of one column change together, so that no row is in two categories of it.
    columns = np.array([one.column for one in inputs.inputs], dtype=np.intp)
    from_second = rng.random((int(columns.max(initial=-1)) + 1, n)) < SECOND_ROW_SHARE
    rows: Rows = np.where(from_second, second, first)[columns]
    return replace(inputs, bins=np.take_along_axis(inputs.bins, rows, axis=1))
