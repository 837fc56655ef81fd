"""From numbers to positions in a chart, and the round numbers beside its axes."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps numbers from `low` to `high` to positions from `start` to `end`, by their logarithms if `log` is set.

    >>> Scale(0.0, 10.0, 100.0, 200.0)(2.5)
    125.0
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the position of a number, to a tenth."""
        low, high, value = map(math.log, (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return about n round numbers between two others.

    >>> ticks(0.0, 10.0), ticks(1122, 63770, 4), ticks(0.71, 0.93, 4)
    ([0.0, 2.0, 4.0, 6.0, 8.0, 10.0], [20000.0, 40000.0, 60000.0], [0.75, 0.8, 0.85, 0.9])
    """
    if not high > low:
        return [low]
    rough = (high - low) / n
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((factor * power for factor in (1, 2, 2.5, 5, 10)), key=lambda size: abs(math.log(size / rough)))
    digits = max(0, 2 - math.floor(math.log10(step)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, digits) + 0.0 for k in range(first, last + 1)]
