"""Rules as pieces of words, so that a page can set names and categories apart, whatever they hold.

A name in Hebrew or Arabic would turn around what stands beside it, were it not isolated; so the page has to know where
names begin and end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dln.circuit._circuit import Circuit
from dln.circuit._words import WORDS, category_text, name_text, node_text
from dln.report._data import Piece, Words

#: What stands around a name or a category: in no words, for what cannot be printed is spelled out.
_MARK: Final = "\0"
_MARKED: Final = replace(
    WORDS,
    name=lambda name: f"{_MARK}n{name_text(name)}{_MARK}",
    category=lambda value: f"{_MARK}v{category_text(value)}{_MARK}" if isinstance(value, str) else category_text(value),
)


def phrase(circuit: Circuit, node: int) -> Words:
    """Return the words of a literal or gate, in pieces.

    >>> from dln.circuit._circuit import Above, Column, Rule
    >>> phrase(Circuit((Column("age"),), (Above(0, 47.5),), (), (Rule(0, 2.5),), 0.0, 1), 0)
    (Piece(kind='name', text='age'), Piece(kind='text', text=' > 47.5'))
    """
    pieces = []
    for i, part in enumerate(node_text(circuit, node, _MARKED).split(_MARK)):
        if i % 2:
            pieces.append(Piece("name" if part[0] == "n" else "value", part[1:]))
        elif part:
            pieces.append(Piece("text", part))
    return tuple(pieces)
