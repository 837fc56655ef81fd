"""Numbers and strings as C reads them."""

from __future__ import annotations

import math
from typing import Final

#: What needs no escape in a C string; a question mark does, for two of them may spell another sign.
_PLAIN: Final = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 !#$%&'()*+,-./:;<=>@[]^_`{|}~"
)


def c_string(text: str) -> str:
    r"""Return a string literal of the text in UTF-8, in ASCII: three octal digits cannot swallow what follows.

    >>> print(c_string('a"b?\n'), c_string("é1"))
    "a\042b\077\012" "\303\2511"
    """
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in text.encode()) + '"'


def cutoff_text(number: float, suffix: str = "") -> str:
    """Return a floating-point literal with all the digits that matter.

    >>> cutoff_text(30.0), cutoff_text(1e22), cutoff_text(0.5, "F")
    ('30.0', '1e+22', '0.5F')
    """
    if math.isinf(number):  # of a cut-off beyond float, for float rows
        return f"({'-' if number < 0 else ''}1.0{suffix} / 0.0{suffix})"
    return f"{float(number)!r}{suffix}"


def steps_text(steps: int, bits: int = 64) -> str:
    """Return a whole number of so many bits; C has no negative literals, and the least one needs two.

    >>> steps_text(-5), steps_text(7, 32)
    ('-INT64_C(5)', 'INT32_C(7)')
    """
    return f"{'-' if steps < 0 else ''}INT{bits}_C({abs(steps)})"
