"""Two-level minimisation of small tables: cover the ones with as few products as greed finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit.simplify._domain import column_table

#: Ways of ordering the axes when a product is grown; the best product of these is taken.
_ORDERS: Final = 3

Cube = tuple[tuple[int, ...], ...]


def cover(table: npt.NDArray[np.bool_], most: int) -> list[Cube] | None:
    """Return products that together are the table: for each axis of a product, the classes it admits.

    None where that takes more than `most`.

    >>> cover(np.array([[False, True], [True, True]]), 4)
    [((0, 1), (1,)), ((1,), (0, 1))]
    """
    sizes = table.shape
    ones = int.from_bytes(np.packbits(table.ravel(), bitorder="little").tobytes(), "little")
    zeros = ones ^ ((1 << table.size) - 1)
    masks = [[column_table(sizes, i, 1 << j) for j in range(size)] for i, size in enumerate(sizes)]
    cubes: list[Cube] = []
    rows: list[int] = []
    remaining = ones
    while remaining:
        if len(cubes) == most:
            return None
        seed = np.unravel_index((remaining & -remaining).bit_length() - 1, sizes)
        grown = [_grow([int(j) for j in seed], order, masks, zeros) for order in _axis_orders(len(sizes))]
        cube, held = max(grown, key=lambda pair: ((pair[1] & remaining).bit_count(), sum(map(len, pair[0]))))
        cubes.append(cube)
        rows.append(held)
        remaining &= ~held
    return _irredundant(cubes, rows, ones)


def _axis_orders(n: int) -> list[list[int]]:
    forward = list(range(n))
    return [forward, forward[::-1], forward[n // 2 :] + forward[: n // 2]][:_ORDERS]


def _grow(seed: list[int], order: Sequence[int], masks: list[list[int]], zeros: int) -> tuple[Cube, int]:
    """Return the product around a single combination, widened axis by axis while it holds no zero, and its rows."""
    sides = [masks[i][j] for i, j in enumerate(seed)]
    chosen = [[j] for j in seed]
    for i in order:
        others = intersection(sides[:i] + sides[i + 1 :], zeros)
        if not others:
            chosen[i] = list(range(len(masks[i])))
        else:
            for j in range(len(masks[i])):
                if j != seed[i] and not others & masks[i][j]:
                    chosen[i].append(j)
            chosen[i].sort()
        sides[i] = sum(masks[i][j] for j in chosen[i])
    everything = (1 << math.prod(len(side) for side in masks)) - 1
    return tuple(map(tuple, chosen)), intersection(sides, everything)


def intersection(tables: Sequence[int], start: int) -> int:
    """Return the AND of tables and a start."""
    for table in tables:
        start &= table
    return start


def _irredundant(cubes: list[Cube], rows: list[int], ones: int) -> list[Cube]:
    """Return the products without those that the others cover, the narrowest tried first."""
    keep = list(range(len(cubes)))
    for i in sorted(keep, key=lambda i: (rows[i].bit_count(), -i)):
        others = 0
        for j in keep:
            if j != i:
                others |= rows[j]
        if others == ones:
            keep.remove(i)
    return [cubes[i] for i in keep]
