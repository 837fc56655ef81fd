"""Rows as bits: counts by planes are sums of weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln._compile import compiled
from dln.rules._bits import count_bits, lowest_bit, pack, planes_of
from learned import seeds


def unpacked(words, n):
    """Return the first n bits of words, one by one."""
    return np.array([[int(word) >> bit & 1 for word in row for bit in range(64)] for row in words], bool)[:, :n]


@given(seeds, st.integers(0, 200))
def test_packed_rows_are_the_rows(seed, n):
    """Bit i of the words is row i, and what fills the last word up is zero."""
    rows = np.random.default_rng(seed).random((3, n)) < 0.5
    words = pack(rows)
    assert words.shape == (3, -(-n // 64))
    np.testing.assert_array_equal(unpacked(words, n), rows)
    assert sum(int(word).bit_count() for word in words.ravel()) == rows.sum()


@pytest.mark.parametrize(
    "draw",
    [
        lambda _, n: np.ones(n),
        lambda rng, n: rng.integers(1, 4, n).astype(float),
        lambda rng, n: rng.integers(1, 60, n) * 0.25,
        lambda rng, n: np.where(rng.random(n) < 0.6, 0.37, rng.integers(1, 9, n)),
        lambda rng, n: rng.random(n) + 0.01,
        lambda rng, n: 10.0 ** rng.uniform(-300, 300, n),
    ],
)
@given(seed=seeds)
def test_planes_add_up_to_the_weights(draw, seed):
    """Scales of the planes that a row is in add up to its weight, exactly unless weights have no common unit."""
    rng = np.random.default_rng(seed)
    weight = draw(rng, 130)
    planes, stood_for = planes_of(weight)
    added = planes.scales @ unpacked(planes.rows, 130)
    np.testing.assert_allclose(added, stood_for, rtol=1e-12)
    np.testing.assert_allclose(stood_for, weight, rtol=1e-9, atol=weight.max() / 4000)
    assert (stood_for > 0).all()
    for rows, first, end in zip(planes.rows, planes.first, planes.end, strict=True):
        assert not rows[:first].any()
        assert not rows[end:].any()


def test_few_different_weights_are_few_planes():
    """A table in which all rows weigh the same has one plane, with synthetic rows two."""
    assert len(planes_of(np.ones(500))[0].scales) == 1
    assert len(planes_of(np.repeat([1.0, 0.123], 300))[0].scales) == 2


@compiled()
def _counted(word):
    return count_bits(word), lowest_bit(word)


@given(st.integers(1, 2**64 - 1))
def test_compiled_counts(word):
    """The two compiled operations on a word are what their names say."""
    assert _counted(np.uint64(word)) == (word.bit_count(), (word & -word).bit_length() - 1)
