"""Rules as pieces of words, so that a page can set names and categories apart, whatever they hold.

A name in Hebrew or Arabic would turn around what stands beside it, were it not isolated; so the page has to know where
names begin and end. The words are those of `_words`, made once with stand-ins for the names, which are then put back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from dln.circuit._circuit import Circuit, Column
from dln.circuit._words import category_text, name_text, node_text
from dln.report._data import Piece, Words


class Phrases:
    """The words of a circuit's nodes, in pieces.

    >>> from dln.circuit._circuit import Above, Rule
    >>> Phrases(Circuit((Column("age"),), (Above(0, 47.5),), (), (Rule(0, 2.5),), 0.0, 1)).of(0)
    (Piece(kind='name', text='age'), Piece(kind='text', text=' > 47.5'))
    """

    def __init__(self, circuit: Circuit) -> None:
        self._columns = circuit.columns
        stand_in = "Q"  # in no word of ours
        while any(stand_in in text for text in _texts(circuit)):
            stand_in += "Q"
        self._circuit = replace(
            circuit, columns=tuple(_disguised(j, column, stand_in) for j, column in enumerate(circuit.columns))
        )
        self._pattern = re.compile(rf'{stand_in}n(\d+)_|"{stand_in}c(\d+)_(\d+)_"')

    def of(self, node: int) -> Words:
        """Return the words of a literal or gate."""
        return tuple(self._pieces(node_text(self._circuit, node)))

    def _pieces(self, text: str) -> Iterator[Piece]:
        end = 0
        for match in self._pattern.finditer(text):
            if match.start() > end:
                yield Piece("text", text[end : match.start()])
            if match[1] is not None:
                yield Piece("name", name_text(self._columns[int(match[1])].name))
            else:
                categories = self._columns[int(match[2])].categories or ()
                yield Piece("value", category_text(categories[int(match[3])]))
            end = match.end()
        if end < len(text):
            yield Piece("text", text[end:])


def _texts(circuit: Circuit) -> Iterator[str]:
    for column in circuit.columns:
        yield column.name
        yield from (category for category in column.categories or () if isinstance(category, str))


def _disguised(j: int, column: Column, stand_in: str) -> Column:
    """Return a column whose name and text categories are stand-ins; numbers and truth values stay."""
    if column.categories is None:
        return Column(f"{stand_in}n{j}_")
    categories = (
        f"{stand_in}c{j}_{k}_" if isinstance(category, str) else category
        for k, category in enumerate(column.categories)
    )
    return Column(f"{stand_in}n{j}_", tuple(categories))
