"""The constraints that a model keeps, in words and as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dln.circuit._circuit import Column
from dln.circuit._constraints import Constraint, Monotone
from dln.readers._rules import Records


@dataclass(frozen=True, slots=True)
class ConstraintRow:
    """A constraint: its sentence, its groups of columns, and its direction, 0 if it is about columns that meet.

    `proved` is True: `fit` raises `ConstraintError` where there is no proof.
    """

    constraint: str
    columns: tuple[tuple[str, ...], ...]
    direction: int
    proved: bool = True


@dataclass(frozen=True, slots=True)
class ConstraintTable(Records[ConstraintRow]):
    """The constraints of a model, each proved to hold on every input.

    >>> constraint_table([Monotone(0, 1)], (Column("age"),), "charges")
    charges never fall as age rises: proved
    """

    _names: ClassVar = ("constraint", "columns", "direction", "proved")
    rows: tuple[ConstraintRow, ...]

    @property
    def sentences(self) -> list[str]:
        """One sentence for each constraint, with its outcome."""
        return [f"{row.constraint}: proved" for row in self.rows]

    def __repr__(self) -> str:
        return "\n".join(self.sentences) or "no constraints"


def constraint_table(constraints: Sequence[Constraint], columns: Sequence[Column], target: str) -> ConstraintTable:
    """Return the table of a model's constraints."""
    rows = []
    for one in constraints:
        groups, direction = (((one.column,),), one.direction) if isinstance(one, Monotone) else (one.groups, 0)
        names = tuple(tuple(columns[j].name for j in group) for group in groups)
        rows.append(ConstraintRow(one.sentence(columns, target), names, direction))
    return ConstraintTable(tuple(rows))
