"""Columns of a table: plain arrays, or what reads them when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, overload

from dln.circuit._circuit import Column, Values

#: Converted columns that are in memory at the same time.
CONVERTED_AT_ONCE: Final = 4


class Columns(Sequence[Values]):
    """The values of columns, some of them read anew each time they are asked for: a conversion of all would be large.

    >>> import numpy as np
    >>> columns = Columns([np.zeros(2), lambda: np.ones(2)])
    >>> columns[1], columns.is_read_anew(0), columns.is_read_anew(1)
    (array([1., 1.]), False, True)
    """

    def __init__(self, columns: Sequence[Values | Callable[[], Values]]) -> None:
        self._columns = tuple(columns)

    def __len__(self) -> int:
        return len(self._columns)

    @overload
    def __getitem__(self, index: int) -> Values: ...
    @overload
    def __getitem__(self, index: slice) -> Columns: ...
    def __getitem__(self, index: int | slice) -> Values | Columns:
        if isinstance(index, slice):
            return Columns(self._columns[index])
        column = self._columns[index]
        return column() if callable(column) else column

    def is_read_anew(self, index: int) -> bool:
        """Whether a column is not in memory before it is asked for."""
        return callable(self._columns[index])


def read_together(
    values: Sequence[Values], indices: Iterable[int] | None = None, most: int | None = None
) -> Iterator[list[tuple[int, Values]]]:
    """Yield columns with their indices, in order, in groups that are read row by row: at most so many, if given.

    All columns that are in memory make one group, for those of an array that is stored row by row come into the cache
    together. Of columns that are read anew there are few in a group; forget them before you ask for the next.
    """
    group: list[tuple[int, Values]] = []
    n_anew = 0
    for j in range(len(values)) if indices is None else indices:
        anew = isinstance(values, Columns) and values.is_read_anew(j)
        if group and (len(group) == most or n_anew + anew > CONVERTED_AT_ONCE):
            yield group
            group, n_anew = [], 0  # a new list: whoever keeps the old one keeps its columns
        group.append((j, values[j]))
        n_anew += anew
    if group:
        yield group


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and their values.

    A number column's values are float32 or float64, NaN where missing. A category column's values are int32 codes:
    an index into `Column.categories`, or `MISSING`, or `UNKNOWN`.
    """

    columns: tuple[Column, ...]
    values: Sequence[Values]
    n_rows: int
