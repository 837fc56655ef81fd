"""Tables of text, and how numbers are written in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

NOTHING: Final = "–"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    #: Whether all columns but the first are numbers, which stand on the right.
    is_numeric: bool = True


def score(value: float, digits: int = 3) -> str:
    """Return a number with decimals.

    >>> score(0.80151), score(-0.25)
    ('0.802', '−0.250')
    """
    return f"{value:.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """Return a difference with its sign.

    >>> signed(0.0123), signed(-0.5), signed(0.0001)
    ('+0.012', '−0.500', '0.000')
    """
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text[1:] if float(text[1:]) == 0 else text


def amount(value: float) -> str:
    """Return a number with three digits, thousands and millions by letter.

    >>> amount(0.00452), amount(1546), amount(29_783), amount(128_450_066), amount(7.97), amount(999.7)
    ('0.00452', '1.55K', '29.8K', '128M', '7.97', '1.00K')
    """
    rounded = float(f"{value:.3g}")
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if abs(rounded) >= size:
            return f"{_three(rounded / size)}{letter}"
    return _three(rounded)


def _three(value: float) -> str:
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}" if value else "0"


def number(metric: str) -> Callable[[float], str]:
    """Return the way a metric is written."""
    return score if metric == "r2" else amount
