"""What a user forbids a model: to fall, or to rise, as a column rises, and columns to meet in one rule."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dln._errors import ConstraintError
from dln.circuit._circuit import Circuit, Column
from dln.circuit._cone import node_columns
from dln.circuit._monotone import violation
from dln.circuit._words import name_text


@dataclass(frozen=True, slots=True)
class Monotone:
    """The prediction never falls as a number column rises (direction 1), or never rises (-1); missing values apart."""

    column: int
    direction: int

    def sentence(self, columns: Sequence[Column], target: str) -> str:
        """Return the constraint in words.

        >>> Monotone(0, -1).sentence((Column("distance"),), "price")
        'price never rises as distance rises'
        """
        verb, name = "fall" if self.direction > 0 else "rise", columns[self.column].name
        return f"{name_text(target)} never {_verb(target, verb)} as {name_text(name)} {_verb(name, 'rise')}"

    def broken_by(self, circuit: Circuit) -> str | None:
        """Return how a circuit breaks the constraint, or that it could not be proved; None: it is proved."""
        return violation(circuit, self.column, self.direction)


@dataclass(frozen=True, slots=True)
class Interactions:
    """The columns that a rule reads lie in at most `most` of these groups, which together name every column."""

    groups: tuple[tuple[int, ...], ...]
    most: int = 1

    def sentence(self, columns: Sequence[Column], _target: str) -> str:
        """Return the constraint in words.

        >>> Interactions(((0,), (1, 2))).sentence((Column("age"), Column("bmi"), Column("region")), "")
        'every rule reads columns of one group only: {age}, {bmi, region}'
        """
        if self.most > 1 or all(len(group) == 1 for group in self.groups):
            return f"no rule reads more than {('one column', 'two columns')[self.most - 1]}"
        groups = ", ".join("{" + ", ".join(name_text(columns[j].name) for j in group) + "}" for group in self.groups)
        return f"every rule reads columns of one group only: {groups}"

    def allows(self, columns: Collection[int]) -> bool:
        """Return whether these columns may meet in one rule.

        >>> Interactions(((0, 1), (1, 2))).allows({0, 2}), Interactions(((0,), (1,), (2,)), most=2).allows({0, 2})
        (False, True)
        """
        if self.most == 1:
            return any(set(group).issuperset(columns) for group in self.groups)
        return sum(not set(group).isdisjoint(columns) for group in self.groups) <= self.most

    def broken_by(self, circuit: Circuit) -> str | None:
        """Return how a circuit breaks the constraint; None: it is proved."""
        for rule in circuit.rules:
            columns = node_columns(circuit, rule.node)
            if not self.allows(columns):
                return f"a rule reads {', '.join(name_text(circuit.columns[j].name) for j in columns)}"
        return None


Constraint: TypeAlias = Monotone | Interactions


def _verb(name: str, verb: str) -> str:
    """Return a verb for a name that may be a plural: price rises, charges rise."""
    return verb if name.endswith("s") and not name.endswith("ss") else f"{verb}s"


def check_constraints(circuit: Circuit, constraints: Sequence[Constraint], target: str = "prediction") -> None:
    """Raise `ConstraintError` unless it is proved that a circuit keeps all constraints, on every input."""
    for constraint in constraints:
        if (reason := constraint.broken_by(circuit)) is not None:
            raise ConstraintError(constraint.sentence(circuit.columns, target), reason)
