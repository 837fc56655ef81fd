"""Prediction intervals with guaranteed coverage: conformal, from errors on held-out rows.

Held-out rows had no part in choosing rules or weights. From *rows set aside*, an interval of coverage c covers the
target of a new row with probability c or more, whatever the model and the distribution, if it is drawn like those set
aside (split conformal prediction). From *folds*, each row predicted by a model of the others, the same holds nearly.
Both are averages over rows: for a given kind of row it can be more or less.

Errors often grow with the prediction, so widths follow a *scale*, learned from the errors on the folds of a fit by
fifths of the prediction (normalised conformal prediction). Rows set aside later had no part in it: the guarantee stays.

Ends lie within what the target can be: its range in training and a tenth of it more, up to zero where it never crosses
zero. That costs coverage only of targets beyond: a row drawn like n others is beyond them with probability 2/(n + 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dln.data._rows import check_weight, weighted_quantile

Floats: TypeAlias = npt.NDArray[np.float64]
Source: TypeAlias = Literal["rows set aside", "folds"]
#: Coverages are kept in steps of 1 / STEPS: one in between gets the interval of the next step.
STEPS: Final = 200
#: The coverage of the interval that explanations show.
USUAL: Final = 0.9
#: Significant digits to which half-widths are rounded up.
DIGITS: Final = 4
#: Groups of predictions in which the scale is learned, rows that each needs, and rows' worth of the scale of all in it.
_GROUPS: Final = 5
_GROUP_ROWS: Final = 20
_SHRINKAGE: Final = 10.0
#: Share of the target's range by which the ends may leave it.
_MARGIN: Final = 0.1
#: Tolerance of shares, for rounding.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Scale:
    """How wide intervals are, depending on the prediction: factors of mean one, the first up to the first edge."""

    edges: tuple[float, ...] = ()
    factors: tuple[float, ...] = (1.0,)

    def at(self, predictions: npt.ArrayLike) -> Floats:
        """Return the factor of each prediction, ``(n,)``."""
        return np.array(self.factors)[np.searchsorted(self.edges, predictions, side="left")]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Prediction intervals: for each coverage 1/200, 2/200, … the half-width where the scale is one, ascending.

    `widths` ends at the largest coverage that the rows allow; `weight` is the number of rows. Ends keep to `limits`.
    """

    widths: tuple[float, ...]
    source: Source
    weight: float
    scale: Scale = Scale()
    limits: tuple[float, float] = (-math.inf, math.inf)

    def ends(self, predictions: npt.ArrayLike, coverage: float) -> tuple[Floats, Floats]:
        """Return the lower and the upper ends for predictions, ``(n,)`` each; infinite if the rows are too few."""
        half, predicted = self.half_width(coverage), np.asarray(predictions, dtype=np.float64)
        if half == math.inf:
            return np.full(len(predicted), -math.inf), np.full(len(predicted), math.inf)
        half_widths = half * self.scale.at(predicted)
        return np.clip(predicted - half_widths, *self.limits), np.clip(predicted + half_widths, *self.limits)

    def half_width(self, coverage: float) -> float:
        """Return the half-width of the interval of a coverage, a mean; infinity if the rows are too few."""
        smallest, largest = 1 / STEPS, 1 - 1 / STEPS
        if not smallest <= coverage <= largest:
            raise ValueError(
                f"coverage must be from {smallest} to {largest}, got {coverage!r}: 0.9 covers nine rows of ten"
            )
        step = math.ceil(coverage * STEPS - _ROUNDING)
        return self.widths[step - 1] if step <= len(self.widths) else float("inf")


def target_limits(low: float, high: float) -> tuple[float, float]:
    """Return the limits of what a target can be that was seen from low to high."""
    margin = _MARGIN * (high - low)
    floor, ceiling = low - margin, high + margin
    return max(floor, 0.0) if low >= 0 else floor, min(ceiling, 0.0) if high <= 0 else ceiling


def conformal_intervals(
    predictions: npt.ArrayLike,
    y: npt.ArrayLike,
    weight: npt.ArrayLike | None,
    source: Source,
    *,
    scale: Scale | None = Scale(),
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Intervals:
    """Return the intervals from predictions for held-out rows; rows of weight zero do not count.

    The new row counts as one row more, whose error may be of any size: of n rows, coverage c takes the error at place
    ⌈c(n + 1)⌉. A weight of k is the same as the row k times; where weights are below one on average, the new row weighs
    that average. Errors count in units of the `scale`; None learns it from them, and the guarantee holds nearly.
    """
    predicted, target = np.asarray(predictions, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if predicted.ndim != 1 or predicted.shape != target.shape or not len(target):
        raise ValueError(
            f"predictions and y must be one number per row each, got shapes {predicted.shape} and {target.shape}"
        )
    errors = np.abs(target - predicted)
    if not np.isfinite(errors).all():
        row = int(np.argmin(np.isfinite(errors)))
        raise ValueError(f"predictions and y must be finite, but row {row} has {predicted[row]} and {target[row]}")
    weights = np.ones(len(errors)) if weight is None else check_weight(weight, len(errors))
    used = np.flatnonzero(weights)
    one_row = min(1.0, float(weights.sum()) / len(used))
    if scale is None:
        scale = _learned_scale(predicted[used], errors[used], weights[used], one_row)
    errors = errors / scale.at(predicted)
    order = used[np.argsort(errors[used], kind="stable")]
    reached = np.cumsum(weights[order])
    total = float(reached[-1])
    needed = np.arange(1, STEPS) / STEPS * (total + one_row)
    places = np.searchsorted(reached, needed * (1 - _ROUNDING), side="left")
    widths = [_rounded_up(float(errors[order[place]])) for place in places if place < len(order)]
    return Intervals(tuple(widths), source, total, scale, limits)


def _learned_scale(predicted: Floats, errors: Floats, weight: Floats, one_row: float) -> Scale:
    """Return the usual quantile of the errors by groups of predictions, each drawn a little towards that of all."""
    overall, total = float(weighted_quantile(errors, weight, USUAL)), float(weight.sum())
    n_groups = min(_GROUPS, int(total / one_row / _GROUP_ROWS * (1 + _ROUNDING)))
    if n_groups < 2 or overall == 0:  # noqa: PLR2004 (nothing to compare)
        return Scale()
    edges = np.unique(weighted_quantile(predicted, weight, np.arange(1, n_groups) / n_groups))
    edges = edges[edges < predicted.max()]
    group = np.searchsorted(edges, predicted, side="left")
    size = np.bincount(group, weight) / one_row
    of_groups = [weighted_quantile(errors[group == k], weight[group == k], USUAL) for k in range(len(size))]
    shrunk = (size * of_groups + _SHRINKAGE * overall) / (size + _SHRINKAGE)
    factors = (shrunk / np.average(shrunk, weights=size)).tolist()
    return Scale(tuple(edges.tolist()), tuple(map(_rounded_up, factors)))


def _rounded_up(width: float) -> float:
    """Return the smallest number of few digits that is not below a width."""
    return float(Context(prec=DIGITS, rounding=ROUND_CEILING).plus(Decimal(repr(width))))
