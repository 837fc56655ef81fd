"""Formats of numbers in a page: all digits of weights and predictions, the significant ones of the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from dln.circuit._words import thousands

#: Largest number of digits after the point.
_MOST_DECIMALS: Final = 15


def points(value: float, decimals: int) -> str:
    """Return a weight or a prediction with all the digits of its grid."""
    if decimals > _MOST_DECIMALS or abs(value) >= 1e15:  # noqa: PLR2004 (digits that float64 has)
        return repr(value).replace("-", "−")
    return f"{value:,.{max(decimals, 0)}f}".replace("-", "−")


def signed(value: float, decimals: int) -> str:
    return points(value, decimals) if value < 0 else f"+{points(value, decimals)}"


def percent(share: float) -> str:
    """Return a share in percent, exact enough for rare things too."""
    hundredths = 100 * share
    if 0 < hundredths < 1 or 99 < hundredths < 100:  # noqa: PLR2004 (percent)
        return f"{min(max(hundredths, 0.1), 99.9):.1f} %"
    return f"{hundredths:.0f} %"


def plain(number: float) -> str:
    """Return a value of a column as rules print it: without a thousands separator, because it may be a year."""
    return thousands(number).replace(",", "")


def alike(value: float, size: float) -> str:
    """Return a number with the decimals that `size` has at three digits, so that columns of numbers align."""
    digits = max(0, 2 - math.floor(math.log10(size))) if 0 < size < math.inf else 0
    return f"{value:,.{min(digits, _MOST_DECIMALS)}f}".replace("-", "−")


def bar(value: float, ends: Sequence[float]) -> tuple[float, float, float]:
    """Return the start and the width of a bar and the position of zero, in percent of the range of `ends`."""
    low, high = ends
    span = (high - low) or 1.0
    zero, end = 100 * (0.0 - low) / span, 100 * (value - low) / span
    if math.isclose(zero, end):
        return round(zero, 1), 0.0, round(zero, 1)
    return round(min(zero, end), 1), round(abs(end - zero), 1), round(zero, 1)
