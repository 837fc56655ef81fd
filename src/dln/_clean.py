"""Text that comes from files and tables, made harmless for a terminal."""

from __future__ import annotations

import re
from typing import Final

#: Control characters (escape sequences begin with one), and marks that turn the direction of writing; not line ends.
_UNSAFE: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    r"""Return text in which nothing can move the cursor, change colours or turn what is read around: it is spelled out.

    >>> print(clean("a\x1b[31mb\u202e"))
    a\u001b[31mb\u202e
    """
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
