"""A table as data: cells for people, records for machines; and how numbers are written in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dln_bench.report._statistics import Spread

#: Stands beside a number that the reader should look at; the table's notes say why.
MARK: Final = "◆"
#: Stands where there is no number.
NOTHING: Final = "–"
MINUS: Final = "−"
#: A narrow blank at which no line is broken.
NARROW: Final = "\u202f"

Record = Mapping[str, "str | int | float | None"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: a text, smaller lines below it, and whether it is the best of its row or one to look at."""

    text: str
    below: tuple[str, ...] = ()
    best: bool = False
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table for the page, and the records behind it by the name of the CSV file that they go to."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    #: Rows at the end that sum up.
    summary: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()
    files: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    #: Its cells are words, which are set to the left and wrap.
    words: bool = False


def score(value: float) -> str:
    """Return an R² or a p-value with three decimals.

    >>> score(0.80151), score(-0.25), score(-1234.5)
    ('0.802', '−0.250', '−1.23e+03')
    """
    if not math.isfinite(value):
        return NOTHING
    return _minus(f"{value:.3f}" if abs(value) < 100 else f"{value:.3g}")  # noqa: PLR2004 (wider than a column)


def deviation(value: float) -> str:
    """Return a standard deviation of R² with three decimals, or one digit where three decimals would be zero.

    >>> deviation(0.0123), deviation(0.00031), deviation(0.00002)
    ('0.012', '0.0003', '0.000')
    """
    return f"{value:.4f}" if 5e-5 <= value < 5e-4 else score(value)  # noqa: PLR2004 (digits that are there)


def change(value: float) -> str:
    """Return a difference of R², with its sign.

    >>> change(0.0123), change(-0.5), change(0.0001), change(-0.0001)
    ('+0.012', '−0.500', '0.000', '0.000')
    """
    text = score(abs(value))
    if text in {"0.000", NOTHING}:
        return text
    return f"{'+' if value > 0 else MINUS}{text}"


def amount(value: float) -> str:
    """Return an error with three digits, as the paper has it.

    >>> amount(0.00452), amount(48912.3), amount(105.4), amount(0.0)
    ('0.00452', '48,900', '105', '0')
    """
    if not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    if abs(rounded) >= 1e9:  # noqa: PLR2004 (wider than a column)
        return f"{rounded:.3g}"
    return f"{rounded:,.{max(digits, 0)}f}" if abs(rounded) >= 1e-5 else f"{rounded:.3g}"  # noqa: PLR2004 (too many zeros)


def count(value: float) -> str:
    """Return a number of operations with three digits, as the paper has it.

    >>> count(1546), count(29_783), count(128_450_066), count(183), count(9.996e5)
    ('1.55K', '29.8K', '128M', '183', '1.00M')
    """
    if not math.isfinite(value):
        return NOTHING
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if float(f"{value:.3g}") >= size:
            scaled = value / size
            digits = max(0, 2 - math.floor(math.log10(float(f"{scaled:.3g}"))))
            return f"{scaled:.{digits}f}{letter}"
    return f"{value:.0f}"


def percent(value: float, reference: float) -> str:
    """Return by how much a value differs from a reference, in percent; beyond a factor of two, as a factor.

    >>> [percent(value, 100).replace(NARROW, "_") for value in (103, 95, 99.9, 100, 700, 1)]
    ['+3_%', '−5_%', '−0.1_%', '0_%', '×7.0', '×0.01']
    >>> percent(1, 0)
    '–'
    """
    if not (reference > 0 and math.isfinite(value)):
        return NOTHING
    ratio = value / reference
    if 0.5 <= ratio <= 2:  # noqa: PLR2004 (a factor says more than +600 %)
        share = 100 * (ratio - 1)
        text = f"{abs(share):.0f}" if abs(share) >= 1 else f"{abs(share):.1f}"
        return f"0{NARROW}%" if text == "0.0" else f"{'+' if share > 0 else MINUS}{text}{NARROW}%"
    return f"×{ratio:.1f}" if ratio > 1 else f"×{ratio:.2g}"


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> plural(1, "unit"), plural(3, "unit")
    ('1 unit', '3 units')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def with_spread(value: Spread, number: str, std: str) -> str:
    """Return a mean with its standard deviation, where there is one."""
    return number if value.std is None else f"{number} ± {std}"


def _minus(text: str) -> str:
    return text.replace("-", MINUS, 1) if text.startswith("-") else text
