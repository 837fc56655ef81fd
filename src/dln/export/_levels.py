"""In which order parts can be computed together: a part stands one level above all parts that it names."""

from __future__ import annotations

from collections.abc import Sequence

from dln.export._form import Expression, Part, leaves


def part_levels(parts: Sequence[Expression]) -> list[int]:
    """Return the level of each part, counted from 1.

    >>> part_levels([True, Part(0, negated=True)])
    [1, 2]
    """
    levels: list[int] = []
    for part in parts:
        named = [leaf.number for leaf in leaves(part) if isinstance(leaf, Part)]
        levels.append(1 + max((levels[number] for number in named), default=0))
    return levels
