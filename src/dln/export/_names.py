"""Column names made legal: the same name in C, JavaScript, Python and Verilog."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Final

#: Words with a meaning in C and C++, JavaScript, Python, Verilog, and in the exported texts themselves.
_WORDS: Final = (files("dln.export") / "templates" / "reserved.txt").read_text(encoding="ascii")
RESERVED: Final = frozenset(_WORDS.split())
_OURS: Final = re.compile(r"(part|rule|codes|stage)_?\d+", re.IGNORECASE)

#: Longest name in code: C99 guarantees that 63 characters are significant, and suffixes follow.
_LONGEST: Final = 40


def identifiers(names: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """Return names that are legal in all target languages, and that differ in more than case.

    >>> identifiers(["Größe (m²)", "size", "SIZE", "2nd", "class", "🏠", "'; DROP TABLE x"])
    ['Gro_e_m2', 'size', 'SIZE_2', 'c2nd', 'class_', 'c5', 'DROP_TABLE_x']
    """
    seen = {name.casefold() for name in taken}
    chosen = []
    for j, name in enumerate(names):
        plain = _plain(name) or f"c{j}"
        base = f"{plain}_" if plain.casefold() in RESERVED or _OURS.fullmatch(plain) else plain
        candidate, n = base, 2
        while candidate.casefold() in seen:
            candidate, n = f"{base.rstrip('_')}_{n}", n + 1
        seen.add(candidate.casefold())
        chosen.append(candidate)
    return chosen


def _plain(name: str) -> str:
    """Return the letters, digits and underscores of a name, as far as ASCII has them."""
    decomposed = unicodedata.normalize("NFKD", name)
    kept = "".join(
        char if char.isascii() and char.isalnum() else "_" for char in decomposed if not unicodedata.combining(char)
    )
    words = "_".join(filter(None, kept.split("_")))[:_LONGEST].strip("_")
    return f"c{words}" if words[:1].isdigit() else words
