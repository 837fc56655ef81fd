"""Prediction intervals with guaranteed coverage: conformal, from errors on held-out rows.

Held-out rows had no part in choosing rules or weights. From *rows set aside*, an interval of coverage c covers the
target of a new row with probability c or more, whatever the model and the distribution, if it is drawn like those set
aside (split conformal prediction). From *folds*, each row predicted by a model of the others, the same holds nearly.
Both are averages over rows: for a given kind of row it can be more or less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Source: TypeAlias = Literal["rows set aside", "folds"]

#: Coverages are kept in steps of 1 / STEPS: one in between gets the interval of the next step.
STEPS: Final = 200

#: The coverage of the interval that explanations show.
USUAL: Final = 0.9

#: Significant digits to which half-widths are rounded up.
DIGITS: Final = 4

#: Tolerance of shares, for rounding.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Intervals:
    """Prediction intervals: for each coverage 1/200, 2/200, … the half-width of its interval, ascending.

    `widths` ends at the largest coverage that the rows allow; `weight` is the number of rows.
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


def conformal_intervals(
    predictions: npt.ArrayLike, y: npt.ArrayLike, weight: npt.ArrayLike | None, source: Source
) -> Intervals:
    """Return the intervals from predictions for held-out rows; rows of weight zero do not count.

    The new row counts as one row more, whose error may be of any size: of n rows, coverage c takes the error at place
    ⌈c(n + 1)⌉. A weight of k is the same as the row k times; where weights are below one on average, the new row weighs
    that average.
    """
    from dln.data._rows import check_weight

    predicted, target = np.asarray(predictions, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if predicted.ndim != 1 or predicted.shape != target.shape or not len(target):
        message = f"predictions and y must be one number per row each, got shapes {predicted.shape} and {target.shape}"
        raise ValueError(message)
    errors = np.abs(target - predicted)
    if not np.isfinite(errors).all():
        row = int(np.argmin(np.isfinite(errors)))
        message = f"predictions and y must be finite, but row {row} has {predicted[row]} and {target[row]}"
        raise ValueError(message)
    weights = np.ones(len(errors)) if weight is None else check_weight(weight, len(errors))
    order = np.argsort(errors, kind="stable")
    order = order[weights[order] > 0]
    reached = np.cumsum(weights[order])
    total = float(reached[-1])
    needed = np.arange(1, STEPS) / STEPS * (total + min(1.0, total / len(order)))
    places = np.searchsorted(reached, needed * (1 - _ROUNDING), side="left")
    widths = [_rounded_up(float(errors[order[place]])) for place in places if place < len(order)]
    return Intervals(tuple(widths), source, total)


def _rounded_up(width: float) -> float:
    """Return the smallest number of few digits that is not below a width."""
    return float(Context(prec=DIGITS, rounding=ROUND_CEILING).plus(Decimal(repr(width))))
