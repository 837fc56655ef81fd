"""Target validation and scaling."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array, column_or_1d

from dln._errors import PrecisionWarning
from dln.circuit._circuit import LARGEST_SUM, MAX_DECIMALS
from dln.data._dates import DATE_TYPES
from dln.data._source import refuse_mask

#: Weights have this many digits below the first digit of the target's spread: the rounding of a hundred
#: weights then moves R² by less than 1e-7.
WEIGHT_DIGITS: Final = 4
#: Weights may be this many times the largest distance from the mean before their sum leaves the exact range.
_HEADROOM: Final = 1e4
#: Steps of the grid that a target's spread must have: with fewer, rounded weights could be worse than the mean alone.
_FEWEST_STEPS: Final = 20
#: Fewer steps than this, of the grid or of float64, are worth a warning.
_ENOUGH_STEPS: Final = 1000
#: Weights that add up to a larger target could overflow.
LARGEST_TARGET: Final = 1e300


@dataclass(frozen=True, slots=True)
class Target:
    """The target's units: predictions are ``mean + spread · output``, in steps of ``10**-decimals``.

    Of a target that is not `varying`, constant or with differences too small for its size, only the mean is learned.
    """

    mean: float
    spread: float
    decimals: int
    varying: bool = True

    @classmethod
    def of(cls, y: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]) -> Target:
        """Return a target's weighted mean and standard deviation; warn where float64 or the grid is coarse for it."""
        size = float(np.abs(y).max())
        if (y == y[0]).all():
            return cls(float(y[0]), 1.0, _exact_decimals(float(y[0])), varying=False)
        # Centred first: the squares of a target far from zero would hide its differences. And scaled by a power of two:
        # the squares of 1e200 would overflow.
        deviation = y / 2 - y[0] / 2
        unit = 2.0 ** math.frexp(float(np.abs(deviation).max()))[1]
        share = weight / weight.max()
        share /= share.sum()
        middle = float(share @ (deviation / unit))
        mean = float(y[0]) + 2 * (middle * unit)
        spread = float(np.sqrt(share @ (deviation / unit - middle) ** 2)) * unit * 2
        decimals = _decimals(spread, mean, float(np.abs(y / 2 - mean / 2).max()) * 2) if spread > 0 else 0
        steps = min(spread * 10.0**decimals, spread / float(np.spacing(size)))
        if steps < _ENOUGH_STEPS:
            what = "so only their mean was learned" if steps < _FEWEST_STEPS else "so predictions are coarse"
            remedy = "subtract a constant from y" if abs(mean) > spread * _ENOUGH_STEPS else "multiply y by a constant"
            message = (
                f"the targets lie around {mean:.4g} and differ by {spread:.2g} only, which float64 can hardly hold, "
                f"{what}: {remedy}"
            )
            warnings.warn(message, PrecisionWarning, stacklevel=2)
        if steps < _FEWEST_STEPS:
            return cls(mean, 1.0, _exact_decimals(mean), varying=False)
        return cls(mean, spread, decimals)

    def standardise(self, y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return a target of mean zero and spread one; zeros where there is nothing to learn."""
        if not self.varying:
            return np.zeros(len(y))
        return (y / 2 - self.mean / 2) / (self.spread / 2)  # halves, whose difference never overflows


def check_target(y: Any, n_rows: int, name: str) -> npt.NDArray[np.float64]:
    """Return a target as float64, or raise what is wrong with it."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    refuse_mask(y, name)
    given = np.asarray(y)
    if given.dtype.kind in "mM" or (given.dtype.kind == "O" and any(isinstance(one, DATE_TYPES) for one in given.flat)):
        raise ValueError(f"{name} must hold numbers, but it holds dates: give the days since a date, or another target")
    with np.errstate(over="ignore", invalid="ignore"):  # it adds y up, to see whether it is finite
        y = check_array(y, ensure_2d=False, dtype="numeric", input_name=name, ensure_all_finite=True)
    y = column_or_1d(y, dtype=np.float64, warn=True, input_name=name)
    if len(y) != n_rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n_rows}, {len(y)}]")
    check_target_size(y, name)
    return np.asarray(y + 0.0)


def check_target_size(y: npt.NDArray[np.float64], name: str) -> None:
    """Raise where a target is so large that weights could not add up to it."""
    if (wrong := np.abs(y) > LARGEST_TARGET).any():
        row = int(wrong.argmax())
        raise ValueError(
            f"{name} must lie between -{LARGEST_TARGET:g} and {LARGEST_TARGET:g}, but row {row} has {y[row]:g}: divide "
            "the target by a constant"
        )


def _decimals(spread: float, mean: float, farthest: float) -> int:
    """Return the decimals of weights: enough for the spread, few enough for a sum of mean and weights to be exact."""
    wanted = WEIGHT_DIGITS - math.floor(math.log10(spread))
    largest = max(abs(mean), farthest * _HEADROOM)
    possible = math.floor(math.log10(LARGEST_SUM / 4) - math.log10(largest))
    return max(-MAX_DECIMALS, min(wanted, possible, MAX_DECIMALS))


def _exact_decimals(value: float) -> int:
    """Return how many decimals a constant needs, as far as the grid can go."""
    if value == 0:
        return 0
    decimals = -int(Decimal(repr(value)).normalize().as_tuple().exponent)
    possible = math.floor(math.log10(LARGEST_SUM) - math.log10(abs(value)))
    return max(-MAX_DECIMALS, min(decimals, possible, MAX_DECIMALS))
