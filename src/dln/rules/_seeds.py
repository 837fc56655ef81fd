"""The random streams of a fit: one table, so that no two stages share numbers and threads do not matter."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """Purposes of random numbers; further keys, like the fold, make streams of their own."""

    SYNTHETIC_ROWS = 0
    TEACHERS = 1
    TARGET_TRIAL = 2
    SEARCH = 3
    MEMBER = 4
    VALIDATION = 5


def generator(seed: int, stream: Stream, *keys: int) -> np.random.Generator:
    """Return the generator of a stream of the fit with this seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream, *keys)))
