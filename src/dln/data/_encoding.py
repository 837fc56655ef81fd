"""The canonical table → the network's inputs: numbers in [0, 1], and bits.

Numbers are clipped at outer percentiles and scaled to [0, 1]; missing ones are -1, so that every ``x > c`` is 0.
Categories and missing values become literals of the circuit, 0 or 1. Constant columns are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, Column, IsIn, IsMissing, Literal, Values, literal_values
from dln.data._rows import weighted_quantile
from dln.data._source import read_together

#: The shares of a column's weight that become 0 and 1: numbers beyond them are clipped.
CLIP_QUANTILES: Final = (0.005, 0.995)
#: The code of a missing number: below every cut-off in [0, 1].
ENCODED_MISSING: Final = np.float32(-1.0)
#: Of two categories, one bit is enough.
TWO: Final = 2
#: Rows that are encoded at once: of an array that is stored row by row, the first column brings the others into the
#: cache, if they are few enough to stay there.
CHUNK: Final = 8192
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
    """The inputs that are made of columns: scaled number columns, and literals as bits."""

    columns: tuple[Column, ...]
    scaled: tuple[ScaledColumn, ...]
    bits: tuple[Literal, ...]

    def encode(self, table_values: Sequence[Values], rows: Rows | None = None) -> Encoded:
        """Return the inputs for a table given column by column, for all its rows or those named.

        Some rows are encoded at a time, in all columns that are in memory: what they read and write stays in the cache.
        """
        rows = np.arange(len(table_values[0])) if rows is None else rows
        numbers = np.empty((len(rows), len(self.scaled)), dtype=np.float32)
        bits = np.empty((len(rows), len(self.bits)), dtype=np.float32)
        scaled_of: dict[int, list[int]] = {}
        bits_of: dict[int, list[int]] = {}
        for of_column, inputs in ((scaled_of, self.scaled), (bits_of, self.bits)):
            for k, source in enumerate(inputs):
                of_column.setdefault(source.column, []).append(k)
        for group in read_together(table_values, sorted(scaled_of.keys() | bits_of.keys())):
            for start in range(0, len(rows), CHUNK):
                chunk = slice(start, start + CHUNK)
                for j, values in group:
                    taken = values[rows[chunk]]
                    for k in scaled_of.get(j, ()):
                        numbers[chunk, k] = scale(self.scaled[k], taken)
                    for k in bits_of.get(j, ()):
                        bits[chunk, k] = literal_values(self.bits[k], taken)
            del group, values  # before the next are read
        return Encoded(numbers, bits)


def scale(scaled: ScaledColumn, values: Values) -> Floats32:
    """Return numbers as float32 in [0, 1], never decreasing in the number; -1 where missing."""
    low, high = scaled.low, scaled.high
    unit = 1.0 if math.isfinite(high - low) else 0.5
    # Clipped first, so that no difference overflows. Adding zero makes -0.0 the 0.0 that it equals.
    share = (np.clip(values.astype(np.float64), low, high) * unit - low * unit) / (high * unit - low * unit) + 0.0
    encoded = share.astype(np.float32)
    encoded[np.isnan(encoded)] = ENCODED_MISSING
    return encoded


def learn_encoder(
    columns: Sequence[Column],
    values: Sequence[Values],
    weight: Floats,
    *,
    rows: Rows | None = None,
    max_categories: int | None = None,
    min_frequency: float = 0.0,
) -> Encoder:
    """Return the encoder of a table given column by column: all its rows, or those named, with weights above zero.

    Of three or more categories, those that weigh less than `min_frequency` and those beyond the `max_categories` most
    frequent share one bit.
    """
    if rows is not None and len(rows) == len(values[0]) and np.all(weight == 1):
        rows = None  # all rows, each once: their order does not matter, and columns are read faster as they stand
    scaled: list[ScaledColumn] = []
    bits: list[Literal] = []
    for j, column in enumerate(columns):
        taken = values[j] if rows is None else values[j][rows]
        if column.categories is None:
            smallest, low, high, largest = weighted_quantile(taken, weight, (0.0, *CLIP_QUANTILES, 1.0)).tolist()
            low, high = (low, high) if low < high else (smallest, largest)
            if low < high:
                scaled.append(ScaledColumn(j, low, high))
        bits += column_literals(j, column, taken, weight, max_categories, min_frequency, shared_bits=True)
    return Encoder(tuple(columns), tuple(scaled), tuple(bits))


def column_literals(
    j: int,
    column: Column,
    values: Values,
    weight: Floats,
    max_categories: int | None,
    min_frequency: float,
    *,
    shared_bits: bool,
) -> list[Literal]:
    """Return the literals of column j: a set of categories each, and "is missing".

    Without `shared_bits`, categories that are too rare for a literal of their own have none: a test on a set of them
    reads as long as it has categories.
    """
    literals: list[Literal] = []
    if column.categories is None:
        missing = np.isnan(values)
    else:
        missing = values == MISSING
        groups = _groups(values, weight, len(column.categories), max_categories, min_frequency, shared_bits=shared_bits)
        literals += [IsIn(j, codes) for codes in groups]
    if missing.any() and not missing.all():
        literals.append(IsMissing(j))
    return literals


def _groups(
    codes: Values, weight: Floats, n: int, max_categories: int | None, min_frequency: float, *, shared_bits: bool
) -> list[tuple[int, ...]]:
    known = codes >= 0
    counts = np.bincount(codes[known], weights=weight[known], minlength=n)
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
