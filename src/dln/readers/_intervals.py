"""Prediction intervals with guaranteed coverage: conformal, from errors on held-out rows.

`Residuals` are errors of predictions for rows that had no part in making them: neither in choosing rules nor in
weighting them. Errors of rows on which rules were chosen are too small, whatever is refitted afterwards.

- From *rows set aside*, an interval of coverage c covers the target of a new row with probability c or more, whatever
  the model and the distribution, if the new row is drawn like those set aside (split conformal prediction).
- From *folds*, each row predicted by a model of the others, the same holds nearly, for the model is a little better
  than those of the folds; a distribution can be made for which coverage falls short.

Both are averages over rows: for a given kind of row it can be more or less.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dln.data._rows import check_weight
from dln.readers._widths import STEPS, USUAL, Intervals, Source

Floats = npt.NDArray[np.float64]

#: Significant digits to which half-widths are rounded up.
DIGITS: Final = 4

#: Tolerance of shares, for rounding.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Residuals:
    """Absolute errors on held-out rows, and the rows' weights: both ``(n_rows,) float64``."""

    sizes: Floats
    weight: Floats
    source: Source

    @classmethod
    def from_folds(cls, predictions: npt.ArrayLike, y: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> Self:
        """Return the errors of out-of-fold predictions: each row predicted by a model that others were chosen for."""
        return cls(*_sizes(predictions, y, weight), "folds")

    @classmethod
    def set_aside(cls, predictions: npt.ArrayLike, y: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> Self:
        """Return the errors of the model itself, on rows that had no part in it."""
        return cls(*_sizes(predictions, y, weight), "rows set aside")

    def intervals(self) -> Intervals:
        """Return the half-width for every coverage, each with the correction for a finite number of rows.

        The new row counts as one row more, whose error may be of any size: of n rows, coverage c takes the error at
        place ⌈c(n + 1)⌉. A weight of k is the same as the row k times; where weights are below one on average, the new
        row weighs that average.
        """
        order = np.argsort(self.sizes, kind="stable")
        sizes, reached = self.sizes[order], np.cumsum(self.weight[order])
        total = float(reached[-1])
        with_new = total + min(1.0, total / len(sizes))
        needed = np.arange(1, STEPS) / STEPS * with_new
        reached_at = np.searchsorted(reached, needed * (1 - _ROUNDING), side="left")
        return Intervals(tuple(_rounded_up(float(sizes[i])) for i in reached_at if i < len(sizes)), self.source, total)


class PredictsIntervals:
    """Prediction intervals as methods of a fitted model; `fit` may have left its own as ``intervals_``."""

    intervals_: Intervals

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the widths of prediction intervals to held-out rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows that had no part in `fit`, because errors of its rows are too small. 90 % needs 9 rows, 99 % needs 99;
            with a few hundred, intervals are stable.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two rows.

        Returns
        -------
        self

        """
        check_is_fitted(self)
        self.intervals_ = Residuals.set_aside(self._predicted(X), y, sample_weight).intervals()
        return self

    def predict_interval(self, X: Any, coverage: float = USUAL) -> Floats:
        """Return an interval for every row that holds its target with the given probability, on average over rows.

        The guarantee: if new rows are drawn like those that the model was calibrated with (`calibrate`), the share of
        them whose target lies in its interval is expected to be `coverage` or more, whatever the distribution. With
        intervals from the folds of a fit this holds nearly. Wider coverage gives wider intervals: bands never cross.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            The rows to predict.
        coverage : float, default=0.9
            From 0.005 to 0.995.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends; infinite if the calibration rows are too few for the coverage.

        Raises
        ------
        AttributeError
            If the model was not calibrated, and its fit had no held-out rows.

        """
        check_is_fitted(self)
        if not hasattr(self, "intervals_"):
            message = "the model has no prediction intervals: call calibrate(X, y) with rows that were not part of fit"
            raise AttributeError(message)
        half_width = self.intervals_.half_width(coverage)
        predicted = self._predicted(X)
        return np.stack([predicted - half_width, predicted + half_width], axis=1)

    def _predicted(self, X: Any) -> Floats:
        predicted: Floats = self.predict(X)  # type: ignore[attr-defined]
        return predicted


def _sizes(predictions: npt.ArrayLike, y: npt.ArrayLike, weight: npt.ArrayLike | None) -> tuple[Floats, Floats]:
    """Return checked errors and weights; rows of weight zero do not count."""
    predicted, target = np.asarray(predictions, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if predicted.ndim != 1 or predicted.shape != target.shape or not len(target):
        message = f"predictions and y must be one number per row each, got shapes {predicted.shape} and {target.shape}"
        raise ValueError(message)
    sizes = np.abs(target - predicted)
    if not np.isfinite(sizes).all():
        row = int(np.argmin(np.isfinite(sizes)))
        message = f"predictions and y must be finite, but row {row} has {predicted[row]} and {target[row]}"
        raise ValueError(message)
    weights = np.ones(len(sizes)) if weight is None else check_weight(weight, len(sizes))
    return sizes[weights > 0], weights[weights > 0]


def _rounded_up(width: float) -> float:
    """Return the smallest number of few digits that is not below a width.

    >>> _rounded_up(1234.5), _rounded_up(0.00012), _rounded_up(0.0)
    (1235.0, 0.00012, 0.0)
    """
    return float(Context(prec=DIGITS, rounding=ROUND_CEILING).plus(Decimal(repr(width))))
