"""Tables as columns: plain arrays, or conversions that are repeated at every use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dln.circuit._circuit import Column, Values

#: Converted columns that are in memory at the same time.
CONVERTED_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and their values.

    A number column's values are float32 or float64, NaN where missing. A category column's values are int32 codes:
    an index into `Column.categories`, or `MISSING`, or `UNKNOWN`.
    """

    columns: tuple[Column, ...]
    values: Sequence[Values]
    n_rows: int


class Columns(Sequence[Values]):
    """The values of columns, some of them converted at every use: together they might not fit in memory."""

    def __init__(self, columns: Sequence[Values | Callable[[], Values]]) -> None:
        self._columns = tuple(columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, index: int) -> Values:  # type: ignore[override]  # no slices
        column = self._columns[index]
        return column() if callable(column) else column

    def is_converted(self, index: int) -> bool:
        """Return whether a column is converted at every use."""
        return callable(self._columns[index])


def read_together(values: Sequence[Values], indices: Iterable[int] | None = None) -> Iterator[list[tuple[int, Values]]]:
    """Yield columns with their indices, in order, in groups to read together, some rows at a time.

    All columns in memory make one group, for those of an array that is stored row by row come into the cache together.
    Of columns that are converted there are few in a group; drop them before the next group is made.
    """
    group: list[tuple[int, Values]] = []
    n_converted = 0
    for j in range(len(values)) if indices is None else indices:
        is_converted = isinstance(values, Columns) and values.is_converted(j)
        if group and n_converted + is_converted > CONVERTED_AT_ONCE:
            yield group
            group, n_converted = [], 0  # a new list: the caller may still hold the old one
        group.append((j, values[j]))
        n_converted += is_converted
    if group:
        yield group
