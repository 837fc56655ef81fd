"""Widths of prediction intervals as a model keeps them; `_intervals` computes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Source: TypeAlias = Literal["rows set aside", "folds"]

#: Coverages are kept in steps of 1 / STEPS: one in between gets the interval of the next step.
STEPS: Final = 200

#: The coverage of the interval that explanations show.
USUAL: Final = 0.9

#: Tolerance of shares, for rounding.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Intervals:
    """Prediction intervals: for each coverage 1/200, 2/200, … the half-width of its interval, ascending.

    `widths` ends at the largest coverage that the rows allow; `weight` is the number of rows.

    >>> intervals = Intervals(tuple(range(180)), "rows set aside", 19.0)
    >>> intervals.half_width(0.5), intervals.half_width(0.9), intervals.half_width(0.99)
    (99, 179, inf)
    """

    widths: tuple[float, ...]
    source: Source
    weight: float

    def half_width(self, coverage: float) -> float:
        """Return the half-width of the interval of a coverage; infinity if the rows are too few."""
        smallest, largest = 1 / STEPS, 1 - 1 / STEPS
        if not smallest <= coverage <= largest:
            message = f"coverage must be from {smallest} to {largest}, got {coverage!r}: 0.9 covers nine rows of ten"
            raise ValueError(message)
        step = math.ceil(coverage * STEPS - _ROUNDING)
        return self.widths[step - 1] if step <= len(self.widths) else float("inf")


def check_widths(widths: Sequence[float]) -> str | None:
    """Return the fault in widths from a file, or None."""
    if len(widths) >= STEPS:
        return f"expected at most {STEPS - 1} widths, got {len(widths)}"
    if any(not 0 <= width < float("inf") for width in widths) or list(widths) != sorted(widths):
        return "widths must be finite, not negative, and ascend"
    return None
