"""For mkdocstrings: examples in docstrings become blocks of code.

Markdown takes three ``>`` for a quotation in a quotation in a quotation.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

#: A line that begins with the prompt, and all lines up to the next blank one.
EXAMPLE = re.compile(r"^(?P<indent> *)>>> .*\n?(?:(?P=indent).*\S.*\n?)*", re.MULTILINE)


class DoctestBlocks(griffe.Extension):
    """Fences every example of a docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(_fenced, obj.docstring.value)


def _fenced(example: re.Match[str]) -> str:
    indent, text = example["indent"], example[0].rstrip("\n")
    return f"{indent}```pycon\n{text}\n{indent}```\n"
