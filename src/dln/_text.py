"""Text of files, tables and users: made harmless for a terminal, and the name that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

#: Control characters (escape sequences begin with one), and marks that turn the direction of writing; not line ends.
_UNSAFE: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    r"""Return text in which nothing can move the cursor, change colours or turn what is read around: it is spelled out.

    >>> print(clean("a\x1b[31mb\u202e"))
    a\u001b[31mb\u202e
    """
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def closest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the most similar of the names, whatever their case, or None where none is similar.

    `cutoff` is how alike they must be, of 1; 0.6 is difflib's own.

    >>> closest("Prise", ["price", "area"]), closest("zzz", ["price", "area"])
    ('price', None)
    """
    by_lower = {other.casefold(): other for other in reversed(list(names))}
    matches = get_close_matches(name.casefold(), by_lower, n=1, cutoff=cutoff)
    return by_lower[matches[0]] if matches else None
