"""Lengths of time as people write them."""

from __future__ import annotations

import re
from typing import Final

from dln.cli._mistakes import Mistake

_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_LENGTH: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|)")


def seconds(text: str | None) -> float | None:
    """Return a length of time in seconds; None, where none was given, stays None.

    >>> seconds("90"), seconds("1.5m"), seconds("2 h")
    (90.0, 90.0, 7200.0)
    """
    if text is None:
        return None
    match = _LENGTH.fullmatch(text.strip().lower())
    if match is None or float(match[1]) == 0:
        message = f"--time-limit must be a length of time above zero like 90s, 10m or 1h, got {text!r}"
        raise Mistake(message)
    return float(match[1]) * _UNITS[match[2]]
