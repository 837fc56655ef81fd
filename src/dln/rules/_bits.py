"""Rows as bits, 64 to a word: the rows that two rules share are counted, not added up row by row.

Weights are sums over planes, sets of rows that share a scale: one plane if all rows have the same weight, two where
synthetic rows join them. The weight of some rows is then a sum over planes of scale times count.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.core import types
from numba.extending import intrinsic

from dln._compile import inner
from dln.data._rows import Bools, Floats

Words = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

#: Rows of a word.
WIDTH: Final = 64
#: Up to so many different weights have a plane each.
FEW: Final = 3
#: More are multiples of one unit, in binary: of the smallest weight, or of the largest divided by this number, which
#: takes as many planes as it has digits. The search does not notice the rounding.
FINEST: Final = 2**12 - 1

_intrinsic: Any = intrinsic
_types: Any = types


def pack(rows: Bools) -> Words:
    """Return rows of bits ``(n, n_rows)`` as words ``(n, n_words)``, filled up with zeros.

    >>> pack(np.array([[True, False, True]]))
    array([[5]], dtype=uint64)
    """
    n_words = -(-rows.shape[1] // WIDTH)
    packed = np.zeros((len(rows), n_words * WIDTH // 8), np.uint8)
    packed[:, : -(-rows.shape[1] // 8)] = np.packbits(rows, axis=1, bitorder="little")
    return packed.view("<u8").astype(np.uint64)


class Planes(NamedTuple):
    """Weights of rows, as sums of scales over the planes that a row is in."""

    scales: Floats
    rows: Words
    """(n_planes, n_words)"""
    first: Ints
    """The first word of each plane that is not empty, and the one after its last."""
    end: Ints


def planes_of(weight: Floats) -> tuple[Planes, Floats]:
    """Return the planes of positive weights, and the weights that they stand for.

    >>> planes, weight = planes_of(np.array([1.0, 1.0, 2.5]))
    >>> planes.scales, planes.rows.ravel()
    (array([1. , 2.5]), array([3, 4], dtype=uint64))
    >>> planes_of(np.array([1.0, 2.0, 3.0, 4.0]))[0].scales
    array([1., 1., 2., 4.])
    """
    values, counts = np.unique(weight, return_counts=True)
    if len(values) <= FEW:
        members = [weight == value for value in values]
        scales = values
    else:
        # Most rows of a table that has synthetic ones weigh the same, which need not be a multiple of anything.
        common = values[int(np.argmax(counts))]
        others = np.where(weight == common, 0.0, weight)
        finest = float(others.max()) / FINEST
        units = [float(others[others > 0].min()), float(values[0])]
        unit = next((unit for unit in units if unit >= finest and _are_multiples(others, unit)), finest)
        whole = np.where(others > 0, np.maximum(np.rint(others / unit), 1.0), 0.0).astype(np.int64)
        digits = range(int(whole.max()).bit_length())
        members = [weight == common, *(whole >> digit & 1 == 1 for digit in digits)]
        scales = np.array([common, *(unit * 2.0**digit for digit in digits)])
    rows = pack(np.array(members).reshape(len(members), len(weight)))
    used = [np.flatnonzero(plane) for plane in rows]
    first = np.array([words[0] if len(words) else 0 for words in used], np.int64)
    end = np.array([words[-1] + 1 if len(words) else 0 for words in used], np.int64)
    return Planes(scales, rows, first, end), scales @ np.array(members, np.float64).reshape(len(members), len(weight))


def _are_multiples(numbers: Floats, unit: float) -> bool:
    return np.allclose(numbers / unit, np.rint(numbers / unit), rtol=0.0, atol=1e-9)


@_intrinsic
def count_bits(_context: Any, _word: Any) -> Any:
    """Return how many bits of a word are set."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return _types.uint64(_types.uint64), generate


@_intrinsic
def lowest_bit(_context: Any, _word: Any) -> Any:
    """Return the index of the lowest bit of a word that is set; there must be one."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        one = arguments[0].type
        return builder.cttz(arguments[0], one.__class__(1)(1))

    return _types.uint64(_types.uint64), generate


@inner(nogil=True, error_model="numpy")
def weighted_products(rule: Words, planes: Planes, words: Words, means: Floats, products: Floats) -> float:
    """Write the weighted products of a rule with centred others; return the weight of the rows it fires on.

    `words` ``(n_rules, n_words)`` and `means` ``(n_rules,)`` are those of the others.
    """
    weight_sum = 0.0
    for r in range(means.size):
        products[r] = 0.0
    for plane in range(planes.scales.size):
        scale, count = planes.scales[plane], np.uint64(0)
        first, end = planes.first[plane], planes.end[plane]
        for i in range(first, end):
            count += count_bits(rule[i] & planes.rows[plane, i])
        weight_sum += scale * count
        for r in range(means.size):
            count = np.uint64(0)
            for i in range(first, end):
                count += count_bits(rule[i] & planes.rows[plane, i] & words[r, i])
            products[r] += scale * count
    for r in range(means.size):
        products[r] -= weight_sum * means[r]
    return weight_sum


@inner(nogil=True, error_model="numpy")
def sum_over(rule: Words, values: Floats) -> float:
    """Return the sum of values ``(n_rows,)`` over the rows that a rule fires on."""
    total = 0.0
    for i in range(rule.size):
        word = rule[i]
        while word != 0:
            total += values[i * WIDTH + np.int64(lowest_bit(word))]
            word &= word - np.uint64(1)
    return total
