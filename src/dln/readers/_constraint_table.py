"""The constraints that a model keeps, in words and as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dln.circuit._circuit import Column
from dln.circuit._constraints import Constraint, Monotone
from dln.readers._rules import Records, columns_of


@dataclass(frozen=True, slots=True)
class ConstraintRow:
    """A constraint: its sentence, its columns or groups of columns, and the direction if it is monotone.

    `proved` is True: `fit` raises `ConstraintError` where there is no proof.
    """

    constraint: str
    kind: Literal["monotone", "interactions"]
    columns: tuple[tuple[str, ...], ...]
    direction: int | None
    proved: bool = True


@dataclass(frozen=True, slots=True)
class ConstraintTable(Records[ConstraintRow]):
    """The constraints of a model, each proved to hold on every input.

    >>> constraint_table([Monotone(0, 1)], (Column("age"),), "charges")
    charges never fall as age rises: proved
    """

    rows: tuple[ConstraintRow, ...]

    @property
    def sentences(self) -> list[str]:
        """One sentence for each constraint, with its outcome."""
        return [f"{row.constraint}: {'proved' if row.proved else 'not proved'}" for row in self.rows]

    def __repr__(self) -> str:
        return "\n".join(self.sentences) or "no constraints"

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(self.rows, ("constraint", "kind", "columns", "direction", "proved"))


def constraint_table(constraints: Sequence[Constraint], columns: Sequence[Column], target: str) -> ConstraintTable:
    """Return the table of a model's constraints."""
    rows = []
    for one in constraints:
        groups = ((one.column,),) if isinstance(one, Monotone) else one.groups
        names = tuple(tuple(columns[j].name for j in group) for group in groups)
        is_monotone = isinstance(one, Monotone)
        kind: Literal["monotone", "interactions"] = "monotone" if is_monotone else "interactions"
        direction = one.direction if isinstance(one, Monotone) else None
        rows.append(ConstraintRow(one.sentence(columns, target), kind, names, direction))
    return ConstraintTable(tuple(rows))
