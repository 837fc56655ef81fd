"""How temperature and learning rate go from epoch to epoch."""

from __future__ import annotations

import math
from typing import Final, Literal

Schedule = Literal["constant", "cosine"]

#: The share of the rate at which "cosine" ends.
FINAL_SHARE: Final = 0.02


def temperature_at(epoch: int, start: float, decay: float, minimum: float) -> float:
    """Return τ in an epoch (counted from 0): multiplied by γ after each, not below τ_min.

    >>> temperature_at(0, 1.0, 0.5, 0.2), temperature_at(1, 1.0, 0.5, 0.2), temperature_at(9, 1.0, 0.5, 0.2)
    (1.0, 0.5, 0.2)
    """
    return max(start * decay**epoch, min(start, minimum))


def learning_rate_at(epoch: int, max_epochs: int, base: float, schedule: Schedule) -> float:
    """Return the learning rate in an epoch (counted from 0).

    >>> [round(learning_rate_at(e, 5, 1.0, "cosine"), 2) for e in range(5)]
    [1.0, 0.91, 0.66, 0.36, 0.11]
    """
    if schedule == "constant":
        return base
    progress = epoch / max_epochs
    return base * (FINAL_SHARE + (1 - FINAL_SHARE) * (1 + math.cos(math.pi * progress)) / 2)
