"""Tables of a model: rules in words with weight, support and contribution, importance of columns, constraints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Circuit, Column
from dln.circuit._constraints import Constraint, Monotone
from dln.circuit._cost import count_conditions
from dln.circuit._words import aligned, counted, name_text, node_text, number_text, weight_text
from dln.readers._curves import MIN_RULES, Curve, curves

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: Rules shown by print and in a notebook; `to_pandas` and iteration have them all.
MAX_ROWS: Final = 120
#: A rule that fires, or does not fire, on fewer training rows rests on few: its weight is uncertain.
FEW_ROWS: Final = 20
FEW_NOTE: Final = f"* fires, or does not fire, on fewer than {FEW_ROWS} training rows: its weight is uncertain"

Row = TypeVar("Row")
By: TypeAlias = Literal["rule", "column"]


class Records(Generic[Row]):
    """A sequence of records, also as dictionaries and data frames."""

    __slots__ = ()
    rows: tuple[Row, ...]
    _names: ClassVar[tuple[str, ...]]
    """The attributes of records that are columns of a frame."""

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
        return {name: [getattr(row, name) for row in self.rows] for name in self._names}


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule of a model.

    `support` is the share of (weighted) training rows on which it fires; `contribution` is the standard deviation of
    weight × fires over them, so a rule that always or never fires moves nothing; `conditions` is how many comparisons
    it prints; `index` is its position in ``circuit.rules``; `rests_on_few` is True if it fires, or does not fire, on
    fewer than 20 training rows.
    """

    rule: str
    weight: float
    support: float
    contribution: float
    conditions: int
    index: int
    rests_on_few: bool = False

    @property
    def moved(self) -> float:
        """The contribution, or the absolute weight if the support is unknown."""
        return abs(self.weight) if math.isnan(self.contribution) else self.contribution


@dataclass(frozen=True, slots=True)
class RuleTable(Records[RuleRow]):
    """The rules of a model, those that move the prediction most first."""

    rows: tuple[RuleRow, ...]
    _names: ClassVar = tuple(field.name for field in fields(RuleRow) if field.name != "index")
    intercept: float
    decimals: int
    circuit: Circuit
    target: str = "prediction"
    n_rows: int | None = None
    """Training rows, where they are known."""

    @property
    def n_conditions(self) -> int:
        """Printed comparisons in all rules: the size of the model."""
        return sum(row.conditions for row in self.rows)

    @property
    def size_text(self) -> str:
        """The number of conditions and rules in words."""
        return f"{counted(self.n_conditions, 'condition')} in {counted(len(self.rows), 'rule')}"

    @property
    def title(self) -> str:
        """The intercept, and that weights are added to it."""
        rest = " + the weights of the rules that fire" if self.rows else ""
        return f"{name_text(self.target)} = {number_text(self.intercept)}{rest}"

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self, by: By | None = None) -> str:
        """Return the rules in words, a line each; ``by="column"`` adds up rules that read one column only to bands.

        By default the bands are shown of columns that four rules or more read alone, and with ``by="rule"`` of none.
        """
        shown, read_as_curves = self.split(by)
        cells = [("weight", "fires", "moves", "rule"), *self._cells(shown)] if shown else []
        lines, narrowest = aligned(cells), max((len(row[0]) for row in cells), default=0)
        if (hidden := len(shown) - MAX_ROWS) > 0:
            lines.append(f"… and {hidden} more rules; to_pandas() has them all")
        if any(row.rests_on_few for row in shown):
            lines.append(FEW_NOTE)
        for curve in read_as_curves:
            bands = [(f"{weight_text(band.weight, self.decimals):>{narrowest}}", band.text) for band in curve.bands]
            lines += ["", curve_title(self.circuit, curve), *aligned(bands)]
        return "\n".join([self.title, *lines, *([""] if read_as_curves else []), self.size_text])

    def split(self, by: By | None = None) -> tuple[list[RuleRow], list[Curve]]:
        """Return the rules that are read one by one, and the curves that the others are read as."""
        if by not in ("rule", "column", None):
            raise ValueError(f'by must be "rule", "column" or None, got {by!r}')
        least = {"rule": len(self.rows) + 1, "column": 2}.get(by or "", MIN_RULES)
        chosen = [curve for curve in curves(self.circuit) if len(curve.rules) >= least]
        hidden = {index for curve in chosen for index in curve.rules}
        return [row for row in self.rows if row.index not in hidden], chosen

    def _repr_html_(self) -> str:
        from dln.report import rules_html  # the page imports this module

        return rules_html(self)

    def _columns(self) -> dict[str, list[Any]]:
        return {"number": [*range(len(self))], **super(RuleTable, self)._columns()}

    def support_text(self, row: RuleRow, decimals: int = 0) -> str:
        """Return the share of training rows on which a rule fires, never 0 %, or the rows themselves where few."""
        if math.isnan(row.support):
            return ""
        if row.rests_on_few and self.n_rows is not None:
            rows = counted(round(min(row.support, 1.0 - row.support) * self.n_rows), "row")
            return f"{'all but ' if row.support > 1.0 - row.support else ''}{rows}*"
        percent, least = 100.0 * row.support, 0.1**decimals
        if 0.0 < percent < least or 100.0 - least < percent < 100.0:  # noqa: PLR2004 (percent)
            return f"<{least:g}%" if percent < least else f">{100.0 - least:g}%"
        return f"{row.support:.{decimals}%}"

    def _cells(self, rows: list[RuleRow]) -> list[tuple[str, ...]]:
        digits = max(self.decimals, 0)
        return [
            (
                weight_text(row.weight, self.decimals),
                self.support_text(row, decimals=1) or "?",
                "?" if math.isnan(row.contribution) else f"{row.contribution:.{digits}f}",
                row.rule,
            )
            for row in rows[:MAX_ROWS]
        ]


def curve_title(circuit: Circuit, curve: Curve) -> str:
    """Return the heading of a curve."""
    return f"{name_text(circuit.columns[curve.column].name)}, {counted(len(curve.rules), 'rule')} added up"


@dataclass(frozen=True, slots=True)
class Importance:
    """The importance of a column of the model, and the input column that it is or was made of, if that was a date."""

    input: str
    column: str
    importance: float


@dataclass(frozen=True, slots=True)
class Importances(Records[Importance]):
    """The importance of each column that the model was fitted to, parts of dates one by one, the largest first."""

    rows: tuple[Importance, ...]
    _names: ClassVar = ("input", "column", "importance")

    def __repr__(self) -> str:
        return "\n".join(f"{row.importance:>6.1%}  {name_text(row.column)}" for row in self.rows)


def rule_table(
    circuit: Circuit,
    support: Sequence[float] | npt.NDArray[np.float64] | None,
    target: str = "prediction",
    n_rows: int | None = None,
) -> RuleTable:
    """Return the table of a circuit's rules; without their `support`, the heaviest rules come first."""
    rows = []
    shares = [math.nan] * len(circuit.rules) if support is None else map(float, support)
    conditions = count_conditions(circuit)
    for index, (rule, share) in enumerate(zip(circuit.rules, shares, strict=True)):
        contribution = abs(rule.weight) * math.sqrt(share * max(1.0 - share, 0.0))
        text, few = node_text(circuit, rule.node), n_rows is not None and rests_on_few(share, n_rows)
        rows.append(RuleRow(text, rule.weight, share, contribution, conditions[index], index, few))

    # Equal contributions in the order of the circuit: the table of a model never changes.
    def order(row: RuleRow) -> tuple[float, float, int]:
        return 0.0 if math.isnan(row.contribution) else -row.contribution, -abs(row.weight), row.index

    ordered = sorted(rows, key=order)
    return RuleTable(tuple(ordered), circuit.intercept, circuit.decimals, circuit, target, n_rows)


def rests_on_few(share: float, n_rows: int) -> bool:
    """Return True if a rule that fires on a share of the training rows fires, or does not, on few of them."""
    return share < 1.0 and round(min(share, 1.0 - share) * n_rows) < FEW_ROWS


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
    """The constraints of a model, each proved to hold on every input."""

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
