"""Tables of a model: its rules in words, with weight, support and contribution, and the importance of its columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Circuit
from dln.circuit._conditions import count_conditions
from dln.circuit._words import counted, name_text, node_text, number_text, weight_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: Rules shown by print and in a notebook; `to_pandas` and iteration have them all.
MAX_ROWS: Final = 120
_HEADINGS: Final = ("weight", "fires", "moves", "rule")

Row = TypeVar("Row")


class Records(Generic[Row]):
    """A sequence of records, also as dictionaries and data frames."""

    __slots__ = ()
    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, position: int) -> Row:
        return self.rows[position]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary per row."""
        columns = self._columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a polars DataFrame."""
        import polars as pl

        return pl.DataFrame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule of a model.

    `support` is the share of (weighted) training rows on which it fires; `contribution` is the standard deviation of
    weight × fires over them, so a rule that always or never fires moves nothing; `conditions` is how many comparisons
    it prints; `index` is its position in ``circuit.rules``.
    """

    rule: str
    weight: float
    support: float
    contribution: float
    conditions: int
    index: int


@dataclass(frozen=True, slots=True)
class RuleTable(Records[RuleRow]):
    """The rules of a model, those that move the prediction most first.

    >>> from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, Rule
    >>> circuit = Circuit(
    ...     columns=(Column("bmi"), Column("smoker", ("no", "yes"))),
    ...     literals=(Above(0, 30.0), IsIn(1, (1,))),
    ...     gates=(Gate(1, 0, 1),),
    ...     rules=(Rule(2, 23900.0), Rule(0, -310.5)),
    ...     intercept=8410.0,
    ...     decimals=1,
    ... )
    >>> table = rule_table(circuit, [0.1, 0.5], target="charges")
    >>> print(table)
    charges = 8410 + the weights of the rules that fire
     weight  fires   moves  rule
    23900.0  10.0%  7170.0  bmi > 30 and smoker = "yes"
     -310.5  50.0%   155.2  bmi > 30
    3 conditions in 2 rules
    >>> table[0].rule, len(table), table.n_conditions
    ('bmi > 30 and smoker = "yes"', 2, 3)
    """

    rows: tuple[RuleRow, ...]
    intercept: float
    decimals: int
    target: str = "prediction"

    @property
    def n_conditions(self) -> int:
        """Printed comparisons in all rules: the size of the model."""
        return sum(row.conditions for row in self.rows)

    @property
    def size_text(self) -> str:
        """The number of conditions and rules in words."""
        return f"{counted(self.n_conditions, 'condition')} in {counted(len(self.rows), 'rule')}"

    def __repr__(self) -> str:
        cells = [_HEADINGS, *self._cells()]
        widths = [max(len(row[i]) for row in cells) for i in range(3)]
        lines = [self._title()]
        for row in cells:
            numbers = "  ".join(f"{text:>{width}}" for text, width in zip(row, widths, strict=False))
            lines.append(f"{numbers}  {row[3]}")
        return "\n".join([*lines, *self._rest()])

    def _repr_html_(self) -> str:
        from dln.report import rules_html  # the page imports this module

        return rules_html(self)

    def _columns(self) -> dict[str, list[Any]]:
        named = columns_of(self.rows, [field.name for field in fields(RuleRow) if field.name != "index"])
        return {"number": list(range(len(self))), **named}

    def _title(self) -> str:
        return f"{name_text(self.target)} = {number_text(self.intercept)} + the weights of the rules that fire"

    def _cells(self) -> list[tuple[str, ...]]:
        digits = min(max(self.decimals, 0), 6)
        return [
            (
                weight_text(row.weight, self.decimals),
                "?" if math.isnan(row.support) else f"{row.support:.1%}",
                "?" if math.isnan(row.contribution) else f"{row.contribution:.{digits}f}",
                row.rule,
            )
            for row in self.rows[:MAX_ROWS]
        ]

    def _rest(self) -> list[str]:
        hidden = len(self.rows) - MAX_ROWS
        return [*([f"… and {hidden} more rules; to_pandas() has them all"] if hidden > 0 else []), self.size_text]


@dataclass(frozen=True, slots=True)
class Importance:
    """The importance of a column of the model, and the input column that it is or was made of, if that was a date."""

    input: str
    column: str
    importance: float


@dataclass(frozen=True, slots=True)
class Importances(Records[Importance]):
    """The importance of each column that the model was fitted to, parts of dates one by one, the largest first.

    >>> Importances((Importance("area", "area", 0.75), Importance("sold", "sold (month)", 0.25)))
     75.0%  area
     25.0%  sold (month)
    """

    rows: tuple[Importance, ...]

    def __repr__(self) -> str:
        return "\n".join(f"{row.importance:>6.1%}  {name_text(row.column)}" for row in self.rows)

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(self.rows, [field.name for field in fields(Importance)])


def columns_of(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return some attributes of records, a list of each."""
    return {name: [getattr(row, name) for row in rows] for name in names}


def rule_table(
    circuit: Circuit, support: Sequence[float] | npt.NDArray[np.float64] | None, target: str = "prediction"
) -> RuleTable:
    """Return the table of a circuit's rules; `support` is the share of training rows on which each rule fires.

    If it is None, contributions are unknown too, and the heaviest rules come first.
    """
    rows = []
    if support is None:
        support = [math.nan] * len(circuit.rules)
    conditions = count_conditions(circuit)
    for index, (rule, share) in enumerate(zip(circuit.rules, support, strict=True)):
        contribution = abs(rule.weight) * math.sqrt(float(share) * max(1.0 - float(share), 0.0))
        text = node_text(circuit, rule.node)
        rows.append(RuleRow(text, rule.weight, float(share), contribution, conditions[index], index))

    # Equal contributions in the order of the circuit: the table of a model never changes.
    def order(row: RuleRow) -> tuple[float, float, int]:
        return 0.0 if math.isnan(row.contribution) else -row.contribution, -abs(row.weight), row.index

    ordered = sorted(rows, key=order)
    return RuleTable(tuple(ordered), circuit.intercept, circuit.decimals, target)


def rule_support(fires: Sequence[npt.NDArray[np.bool_]], weight: npt.NDArray[np.float64] | None) -> list[float]:
    """Return the weighted share of rows on which each rule fires.

    >>> rule_support([np.array([True, False]), np.array([True, True])], np.array([3.0, 1.0]))
    [0.75, 1.0]
    """
    return [float(np.average(rule, weights=weight)) for rule in fires]
