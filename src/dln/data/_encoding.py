"""The canonical table → what the network sees: numbers in [0, 1], and bits.

A number column is clipped at outer percentiles and scaled to [0, 1]; a missing number is -1, below everything, so that
every ``x > c`` is 0. Categories and missing values become literals of the circuit, 0 or 1, as they are. Columns that
are constant tell nothing and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from dln._compile import compiled
from dln.circuit._circuit import MISSING, Column, IsIn, IsMissing, Literal, Values, literal_values
from dln.data._rows import weighted_quantile
from dln.data._table import read_together

#: The shares of a column's weight below and above which numbers are told apart no more: 0 and 1 are these.
CLIP_QUANTILES: Final = (0.005, 0.995)

#: What a missing number is encoded as: below every cut-off in [0, 1].
ENCODED_MISSING: Final = np.float32(-1.0)

#: Of two categories, one bit tells both.
TWO: Final = 2

#: Rows that are encoded at once: of an array that is stored row by row, the first column brings the others into the
#: cache, if they are few enough to stay there.
CHUNK: Final = 8192

#: Rows of which fewer than one in so many are asked for are sorted; otherwise they are counted.
SPARSE: Final = 8

#: Columns that an encoder is learned from at once: copied together, an array that is stored row by row is read seldom.
COLUMNS_AT_ONCE: Final = 8

T = TypeVar("T")
Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ScaledColumn:
    """A number column whose values from low to high become 0 to 1."""

    column: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Encoded:
    """The network's inputs: `numbers` ``(n_rows, n_scaled) float32`` and `bits` ``(n_rows, n_bits) float32``."""

    numbers: Floats32
    bits: Floats32


@dataclass(frozen=True, slots=True)
class Encoder:
    """How columns become inputs: number columns that are scaled, and literals that are bits as they are."""

    columns: tuple[Column, ...]
    scaled: tuple[ScaledColumn, ...]
    bits: tuple[Literal, ...]

    def encode(self, table_values: Sequence[Values], rows: Rows | None = None) -> Encoded:
        """Return the inputs for a table given column by column, for all its rows or those named."""
        rows = np.arange(len(table_values[0])) if rows is None else rows
        numbers = np.empty((len(rows), len(self.scaled)), dtype=np.float32)
        bits = np.empty((len(rows), len(self.bits)), dtype=np.float32)
        order = _in_table_order(rows)
        for items, inputs, encode in ((self.scaled, numbers, _scale_rows), (self.bits, bits, _literal_rows)):
            of_column: dict[int, list[Any]] = {}  # the bits of one column stand together, as do the columns
            for item in items:
                of_column.setdefault(item.column, []).append(item)
            first = 0
            for group in read_together(table_values, of_column):
                columns = [(read_only(values), of_column[j]) for j, values in group]
                last = first + sum(len(some) for _, some in columns)
                _fill(inputs[:, first:last], columns, rows, order, encode)
                first = last
                del group, columns  # before the next are read
        return Encoded(numbers, bits)


def _in_table_order(rows: Rows) -> Rows:
    """Return the indices into `rows` that sort them."""
    n_rows = int(rows.max()) + 1 if len(rows) else 0
    if n_rows > SPARSE * len(rows):
        return np.argsort(rows)
    index_of = np.full(n_rows, -1, dtype=np.intp)
    index_of[rows] = np.arange(len(rows))
    return index_of if n_rows == len(rows) else index_of[index_of >= 0]


def _fill(
    inputs: Floats32,
    columns: Sequence[tuple[Values, Sequence[T]]],
    rows: Rows,
    order: Rows,
    encode: Callable[[Sequence[T], Values, Rows, Floats32], None],
) -> None:
    """Write the inputs of some columns, for some rows at a time.

    The table is read from its first row to its last, whatever the order of the rows that were named: it may be larger
    than the caches, or lie on a disk. A row's inputs stand together and are written together.
    """
    buffer = np.empty((min(CHUNK, len(rows)), inputs.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), CHUNK):
        chunk = order[start : start + CHUNK]
        table_rows, encoded = rows[chunk], buffer[: len(chunk)]
        first = 0
        for values, items in columns:
            last = first + len(items)
            encode(items, values, table_rows, encoded[:, first:last])
            first = last
        inputs[chunk] = encoded


def scale(scaled: ScaledColumn, values: Values) -> Floats32:
    """Return numbers as float32 in [0, 1], never decreasing in the number; -1 where missing.

    >>> scale(ScaledColumn(0, low=10.0, high=20.0), np.array([0.0, 10.0, 12.5, 99.0, np.nan]))
    array([ 0.  ,  0.  ,  0.25,  1.  , -1.  ], dtype=float32)
    """
    low, high = scaled.low, scaled.high
    if math.isfinite(high - low):
        # Clipped first, so that no difference overflows. Adding zero makes -0.0 the 0.0 that it equals.
        share = (np.clip(values.astype(np.float64), low, high) - low) / (high - low) + 0.0
    else:
        share = (np.clip(values.astype(np.float64), low, high) / 2 - low / 2) / (high / 2 - low / 2) + 0.0
    encoded = share.astype(np.float32)
    encoded[np.isnan(encoded)] = ENCODED_MISSING
    return encoded


def _scale_rows(items: Sequence[ScaledColumn], values: Values, rows: Rows, out: Floats32) -> None:
    """Write what `scale` returns for the named rows of a column."""
    (scaled,) = items
    if math.isfinite(scaled.high - scaled.low):
        _gather_scaled(values, rows, scaled.low, scaled.high, out[:, 0])
    else:
        out[:, 0] = scale(scaled, values[rows])


def _literal_rows(items: Sequence[Literal], values: Values, rows: Rows, out: Floats32) -> None:
    """Write 1 where a literal of a column holds for the named rows, 0 elsewhere."""
    taken = values[rows]
    for k, literal in enumerate(items):
        out[:, k] = literal_values(literal, taken)


@compiled(nogil=True)
def _gather_scaled(values: Values, rows: Rows, low: float, high: float, out: Floats32) -> None:
    """Gather and scale in one pass: the machine then waits for many rows of a large table at the same time."""
    width = high - low
    for i in range(len(rows)):
        value = np.float64(values[np.uintp(rows[i])])
        if math.isnan(value):
            out[i] = ENCODED_MISSING
        else:
            out[i] = np.float32((min(max(value, low), high) - low) / width + 0.0)


def read_only(values: Values) -> Values:
    """Return a plain view that cannot be written to: kernels are compiled once for arrays of either kind."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view


def learn_encoder(
    columns: Sequence[Column],
    values: Sequence[Values],
    weight: Floats,
    *,
    rows: Rows | None = None,
    max_categories: int | None = None,
    min_frequency: float = 0.0,
    shared_bits: bool = True,
) -> Encoder:
    """Return the encoder of a table given column by column: all its rows, or those named, with weights above zero.

    Of three or more categories, those that weigh less than `min_frequency` and those beyond the `max_categories` most
    frequent share one bit; without `shared_bits` they have none: a test on it reads as long as it has categories.

    >>> encoder = learn_encoder(
    ...     (Column("bmi"), Column("smoker", ("no", "yes"))),
    ...     [np.array([20.0, np.nan, 30.0]), np.array([0, 1, 0])],
    ...     np.ones(3),
    ... )
    >>> encoder.scaled
    (ScaledColumn(column=0, low=20.0, high=30.0),)
    >>> encoder.bits
    (IsMissing(column=0), IsIn(column=1, codes=(1,)))
    """
    if rows is not None and len(rows) == len(values[0]) and np.all(weight == 1):
        rows = None  # all rows, each once: their order does not matter, and columns are read faster as they stand
    scaled: list[ScaledColumn] = []
    bits: list[Literal] = []
    for group in read_together(values, most=COLUMNS_AT_ONCE):
        all_taken = _take([column for _, column in group], rows)
        for (j, _), taken in zip(group, all_taken, strict=True):
            categories = columns[j].categories
            if categories is None:
                missing = np.isnan(taken)
                if (limits := _limits(taken, weight)) is not None:
                    scaled.append(ScaledColumn(j, *limits))
            else:
                missing = taken == MISSING
                groups = _groups(taken, weight, len(categories), max_categories, min_frequency, shared_bits)
                bits.extend(IsIn(j, codes) for codes in groups)
            if missing.any() and not missing.all():
                bits.append(IsMissing(j))
        del group, all_taken, taken  # before the next are read
    return Encoder(tuple(columns), tuple(scaled), tuple(bits))


def _take(columns: Sequence[Values], rows: Rows | None) -> list[Values]:
    """Return columns' values one after the other: of an array that is stored row by row, they are far apart."""
    if rows is None and all(column.flags.c_contiguous for column in columns):
        return list(columns)
    n_rows = len(columns[0]) if rows is None else len(rows)
    taken = [np.empty(n_rows, dtype=column.dtype) for column in columns]
    for start in range(0, n_rows, CHUNK):
        part = slice(start, start + CHUNK)
        chunk = part if rows is None else rows[part]
        for column, target in zip(columns, taken, strict=True):
            target[part] = column[chunk]
    return taken


def _limits(values: Values, weight: Floats) -> tuple[float, float] | None:
    """Return the numbers that become 0 and 1, or None if the column is constant."""
    smallest, low, high, largest = weighted_quantile(values, weight, (0.0, *CLIP_QUANTILES, 1.0)).tolist()
    if low < high:
        return low, high
    return (smallest, largest) if smallest < largest else None


def _groups(
    codes: Values,
    weight: Floats,
    n_categories: int,
    max_categories: int | None,
    min_frequency: float,
    shared_bits: bool,  # noqa: FBT001 (as given to `learn_encoder`)
) -> list[tuple[int, ...]]:
    """Return the sets of categories that get a bit each."""
    known = codes >= 0
    counts = np.bincount(codes[known], weights=weight[known], minlength=n_categories)
    observed = [int(code) for code in np.flatnonzero(counts)]
    groups: list[tuple[int, ...]] = [(code,) for code in observed]
    if len(observed) > TWO:
        by_frequency = sorted(observed, key=lambda code: (-counts[code], code))
        frequent = {code for code in by_frequency[:max_categories] if counts[code] >= min_frequency}
        infrequent = tuple(code for code in observed if code not in frequent)
        if len(infrequent) > 1:
            groups = [(code,) for code in observed if code in frequent]
            if not shared_bits:
                return groups
            groups.append(infrequent)
    # Of one set alone the bit is constant, of two each is the other's opposite.
    return groups if len(groups) > TWO else groups[1:]
