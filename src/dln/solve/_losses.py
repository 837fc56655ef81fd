"""The loss that the user chose, as a share of that of the best constant."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dln.data._rows import Floats, weighted_quantile

#: Huber's loss turns from square to line at one standard deviation of the target, which is one here.
HUBER_DELTA: Final = 1.0


class Loss(NamedTuple):
    """A loss by name, and the quantile where that is to be predicted."""

    name: str = "squared_error"
    quantile: float = 0.5

    def each(self, residual: Floats) -> Floats:
        """Return the losses of residuals ``(n,)``: the target less the prediction."""
        size = np.abs(residual)
        if self.name == "squared_error":
            return np.asarray(residual**2)
        if self.name == "huber":
            return np.where(size <= HUBER_DELTA, 0.5 * residual**2, HUBER_DELTA * (size - 0.5 * HUBER_DELTA))
        if self.name == "quantile":
            return np.asarray(np.where(residual > 0, self.quantile, 1.0 - self.quantile) * size)
        return size

    def explained(self, y: Floats, predicted: Floats, weight: Floats) -> float:
        """Return 1 less the loss as a share of that of the best constant: R² where the loss is the square.

        >>> y = np.array([0.0, 1.0, 2.0])
        >>> Loss().explained(y, np.array([0.0, 1.0, 1.0]), np.ones(3))
        0.5
        """
        is_mean = self.name in {"squared_error", "huber"}
        constant = np.average(y, weights=weight) if is_mean else weighted_quantile(y, weight, self.quantile)
        whole, left = (float(weight @ self.each(y - one)) for one in (constant, predicted))
        return 1.0 - left / whole if whole > 0 else 0.0


#: The default.
SQUARED_ERROR: Final = Loss()
