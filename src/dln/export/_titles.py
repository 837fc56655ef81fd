"""What every exported file says of itself, for people and for `dln verify`."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from dln._version import __version__

_MARK: Final = re.compile(r"Written by dln \S+ as (\{.*?\})\.")


def exported_by(target: str, **options: Any) -> str:
    r"""Return the sentence that names the maker and how it was asked; equal models give equal files, so it has no date.

    >>> exported_by("sql", table="a*/b")
    'Written by dln 0.1.0 as {"format": "sql", "table": "a*\\u002fb"}.'
    """
    facts = {"format": target, **{name: value for name, value in options.items() if value not in (None, False)}}
    # What could end a comment, or start something in a web page, is escaped.
    text = json.dumps(facts)
    for sign in "/<>?}":
        text = text[:-1].replace(sign, f"\\u{ord(sign):04x}") + text[-1]
    return f"Written by dln {__version__} as {text}."


def export_facts(text: str) -> dict[str, Any] | None:
    """Return what an exported text says it is, or None if it says nothing.

    >>> export_facts(exported_by("sql", table="a}*/b"))
    {'format': 'sql', 'table': 'a}*/b'}
    """
    match = _MARK.search(text)
    if match is None:
        return None
    try:
        facts = json.loads(match[1])
    except ValueError:
        return None
    return facts if isinstance(facts, dict) else None
