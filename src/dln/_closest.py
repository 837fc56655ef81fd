"""The name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the most similar of the names, whatever their case, or None where none is similar.

    `cutoff` is how alike they must be, of 1; 0.6 is difflib's own.

    >>> closest("Prise", ["price", "area"]), closest("zzz", ["price", "area"])
    ('price', None)
    """
    by_lower = {other.casefold(): other for other in reversed(list(names))}
    matches = get_close_matches(name.casefold(), by_lower, n=1, cutoff=cutoff)
    return by_lower[matches[0]] if matches else None
