"""The content of a page as plain frozen values: numbers, names and words, no markup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from dln.readers._intervals import Intervals


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a rule's words: a column's name, a category, or the text between them."""

    kind: Literal["text", "name", "value"]
    text: str


Words: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class CardRule:
    """A rule of the scorecard; `support` is the share of rows on which it fires, None if unknown."""

    index: int
    words: Words
    weight: float
    support: float | None
    shared: Words = ()
    """The words before `words` that all rules of a group share."""


@dataclass(frozen=True, slots=True)
class CardBand:
    """Values of a column and the weights of its rules added up; `ends` of an interval, None for other bands."""

    words: Words
    weight: float
    ends: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class CardGroup:
    """Rules that use the same columns or share a condition, and their share of the sum of contributions."""

    columns: tuple[str, ...]
    rules: tuple[CardRule, ...]
    share: float
    shared: Words = ()
    bands: tuple[CardBand, ...] = ()
    """The curve of the column, if the rules are read as one."""


@dataclass(frozen=True, slots=True)
class Scorecard:
    """The whole model: the intercept, and the rules with their weights."""

    target: str
    intercept: float
    decimals: int
    groups: tuple[CardGroup, ...]
    n_rules: int
    n_conditions: int
    lines: int
    """Approximate number of lines of the rules in two columns on a sheet."""

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest weight, zero included: the range of the bars."""
        weights = [rule.weight for group in self.groups for rule in group.rules]
        weights += [band.weight for group in self.groups for band in group.bands]
        return min([0.0, *weights]), max([0.0, *weights])


@dataclass(frozen=True, slots=True)
class ErrorBin:
    """Rows that are alike in a column: bias, mean absolute error, and the share inside the 90 % interval."""

    label: str
    n_rows: int
    bias: float
    mean_absolute_error: float
    covered: float | None


@dataclass(frozen=True, slots=True)
class ErrorsByColumn:
    name: str
    bins: tuple[ErrorBin, ...]


@dataclass(frozen=True, slots=True)
class Tenth:
    """Rows whose predictions are nearest to each other: calibrated where both means agree."""

    n_rows: int
    predicted: float
    true: float


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores on the rows of the data: errors are predicted minus true."""

    n_rows: int
    r2: float | None
    mean_absolute_error: float
    bias: float
    covered: float | None
    """The share of rows whose target lies in the 90 % interval."""
    ends: tuple[float, float]
    cells: tuple[tuple[float, float, int], ...]
    """The middle, true and predicted, of each small square that rows fall into, and their number."""
    by_column: tuple[ErrorsByColumn, ...]
    calibration: tuple[Tenth, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """Scores that the model has from its fit, on held-out rows."""

    n_rows: int
    target_ends: tuple[float, float]
    r2: float | None
    intervals: Intervals | None
    """None if the 90 % interval has no end."""
    half_width: float | None
    """The mean half-width of the 90 % interval."""
    middle_error: float | None
    """The half-width of the 50 % interval: about the median of the absolute errors."""


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers that rules read.

    `ends` are those of its slider and chart, `learned` those of the training data, `typical` is the first position of
    the slider. `averages` has one mean prediction more than there are cut-offs: up to the first, between
    them, beyond the last. `counts` are rows in equal steps between the ends, of the data if there are any.
    """

    name: str
    importance: float
    cutoffs: tuple[float, ...]
    ends: tuple[float, float]
    step: float
    typical: float
    learned: tuple[float, float] | None
    counts: tuple[int, ...]
    missing: float | None
    """The share of the data's rows in which it is missing."""
    averages: tuple[float, ...]
    average_missing: float


@dataclass(frozen=True, slots=True)
class CategoryOption:
    """A category, or the choice of a missing or unknown one, with `code` `MISSING` or `UNKNOWN`."""

    code: int
    label: str
    share: float | None
    average: float


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """A column of categories that rules read; `typical` is a code."""

    name: str
    importance: float
    options: tuple[CategoryOption, ...]
    typical: int
    missing: float | None


InputColumn: TypeAlias = NumberColumn | CategoryColumn


@dataclass(frozen=True, slots=True)
class ReportData:
    """A whole page."""

    title: str
    source: str | None
    """Name of the data, None if there is none."""
    known: Known
    scores: Scores | None
    card: Scorecard
    columns: tuple[InputColumn, ...]
    """In the order in which the page's code takes them."""
    n_averaged: int | None
    """Number of rows that effects are averages over; None for the effects of the typical row alone."""
    sizes: dict[str, Any] | None
    """The chart of held-out R² of other sizes."""
    picture: str | None
    """SVG, made of known elements only."""
    picture_note: str
    warnings: tuple[str, ...]
    constraints: tuple[str, ...]
    """Constraints that were set and hold for every input, a line each."""
    facts: dict[str, str]
    commands: dict[str, str]
    """Facts that are code."""
    rows: dict[str, Any] | None
    """Rows as the page's code takes them: their numbers, counted from 1, values or codes by column, and targets."""
    n_rows: int
    script: str
    """The exported model."""
    category_constants: tuple[str | None, ...]
    """Name of each column's categories in the exported model; None for numbers."""
