"""Cut-offs that people can read: the shortest decimal number between two training values."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal, localcontext
from typing import Final

import numpy as np

#: Enough digits for exact arithmetic on any two float64 numbers.
_EXACT: Final = Context(prec=1100, Emax=999_999, Emin=-999_999)
#: No float64 needs a step finer than this below its size.
_MAX_DIGITS: Final = 18


def shortest_between(low: float, high: float) -> float:
    """Return the decimal number c with the fewest digits for which ``low <= c < high``.

    Then ``x > c`` is false for x = low and true for x = high, in float64 and, where the two differ in float32,
    in float32 too. Among numbers of equally many digits, the one nearest to the middle is taken.

    >>> shortest_between(30.004, 30.016), shortest_between(47.0, 48.0), shortest_between(-0.5, 0.25)
    (30.01, 47.0, 0.0)
    """
    with localcontext(_EXACT):
        bottom, top = Decimal(low), Decimal(high)
        middle = (bottom + top) / 2
        largest = max(abs(bottom), abs(top))
        exponent = largest.adjusted() + 1
        for digits in range(_MAX_DIGITS + 3):
            step = Decimal(1).scaleb(exponent - digits)
            nearest = (middle / step).to_integral_value(ROUND_HALF_EVEN) * step
            first = (bottom / step).to_integral_value(ROUND_CEILING) * step
            for candidate in (nearest, first):
                if bottom <= candidate < top:
                    cutoff = float(candidate) + 0.0
                    if _separates(cutoff, low, high):
                        return cutoff
    return low


def _separates(cutoff: float, low: float, high: float) -> bool:
    """Return whether ``x > cutoff`` separates low from high, in float32 too if the two differ there."""
    if not low <= cutoff < high:
        return False
    with np.errstate(over="ignore"):
        low32, cutoff32, high32 = np.float32(low), np.float32(cutoff), np.float32(high)
    if low32 == high32:
        return True
    return bool(low32 <= cutoff32 < high32) and float(low32) <= cutoff < float(high32)
