"""Limits that a user sets a model: not to fall, or to rise, as a column rises, and columns that may meet in a rule."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dln._errors import ConstraintError
from dln.circuit._circuit import Circuit, Column
from dln.circuit._cone import node_columns
from dln.circuit._monotone import violation, weight_sign
from dln.circuit._words import name_text

#: Columns of a group that are listed by name.
MAX_NAMES: Final = 20


@dataclass(frozen=True, slots=True)
class Monotone:
    """The prediction never falls as a number column rises (1), or never rises (-1); missing values apart."""

    column: int
    direction: Literal[-1, 1]

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
    most: Literal[1, 2] = 1

    def sentence(self, columns: Sequence[Column], _target: str) -> str:
        """Return the constraint in words.

        >>> Interactions(((0,), (1, 2))).sentence((Column("age"), Column("bmi"), Column("region")), "")
        'every rule reads columns of one group only: {age}, {bmi, region}'
        """
        if self.most > 1 or all(len(group) == 1 for group in self.groups):
            return f"no rule reads more than {'two columns' if self.most > 1 else 'one column'}"
        groups = (", ".join([name_text(columns[j].name) for j in group[:MAX_NAMES]]) for group in self.groups)
        more = (f", … ({len(group)} in all)" * (len(group) > MAX_NAMES) for group in self.groups)
        texts = (f"{{{names}{rest}}}" for names, rest in zip(groups, more, strict=True))
        return f"every rule reads columns of one group only: {', '.join(texts)}"

    def broken_by(self, circuit: Circuit) -> str | None:
        """Return how a circuit breaks the constraint; None: it is proved."""
        for rule in circuit.rules:
            columns = node_columns(circuit, rule.node)
            if not self._allows(columns):
                return f"a rule reads {', '.join(name_text(circuit.columns[j].name) for j in columns)}"
        return None

    def _allows(self, columns: Collection[int]) -> bool:
        if self.most == 1:
            return any(set(group).issuperset(columns) for group in self.groups)
        return sum(not set(group).isdisjoint(columns) for group in self.groups) <= self.most


Constraint: TypeAlias = Monotone | Interactions


def _verb(name: str, verb: str) -> str:
    """Return a verb for a name that may be a plural: price rises, charges rise."""
    return verb if name.endswith("s") and not name.endswith("ss") else f"{verb}s"


def weight_signs(circuit: Circuit, constraints: Sequence[Constraint]) -> list[int] | None:
    """Return for every rule the sign that keeps its term monotone, 0 for any; None without such constraints."""
    monotone = [one for one in constraints if isinstance(one, Monotone)]
    found = [[weight_sign(circuit, rule.node, one.column, one.direction) for one in monotone] for rule in circuit.rules]
    return [next(filter(None, signs), 0) for signs in found] if monotone else None


def check_constraints(circuit: Circuit, constraints: Sequence[Constraint], target: str = "prediction") -> None:
    """Raise `ConstraintError` unless it is proved that a circuit keeps all constraints, on every input."""
    for constraint in constraints:
        if (reason := constraint.broken_by(circuit)) is not None:
            raise ConstraintError(f"not proved: {constraint.sentence(circuit.columns, target)}: {reason}")
