from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.circuit._circuit import MISSING, UNKNOWN, Column, IsIn, IsMissing, literal_values
from dln.data._encoding import ScaledColumn, learn_encoder, scale
from dln.data._rows import canonical_rows

FINITE = st.floats(allow_nan=False, allow_infinity=False)
LETTERS = tuple("abcdefgh")


def _learn(values, weight=None, column=None, **options):
    values = np.asarray(values)
    column = column or Column("c", None if values.dtype.kind == "f" else LETTERS)
    return learn_encoder((column,), [values], np.ones(len(values)) if weight is None else np.array(weight), **options)


def test_numbers_are_clipped_at_outer_percentiles():
    """The 0.5 and 99.5 percentiles become 0 and 1, and what lies outside is clipped."""
    values = np.arange(1.0, 1001.0)
    encoder = _learn(values)
    assert encoder.scaled == (ScaledColumn(0, 5.0, 995.0),)
    assert encoder.bits == ()
    numbers = encoder.encode([values]).numbers
    assert numbers.dtype == np.float32
    assert numbers.flags.c_contiguous
    assert numbers[[0, 4, 499, 994, 999], 0].tolist() == [0, 0, np.float32(0.5), 1, 1]


def test_rare_numbers_are_not_clipped_away():
    """A column that is nearly constant is scaled from its smallest to its largest number."""
    assert _learn([0.0] * 1000 + [7.0, -1.0]).scaled == (ScaledColumn(0, -1.0, 7.0),)


def test_missing_numbers():
    """A missing number is -1, and a column that had one in training gets a bit for it."""
    encoder = _learn([1.0, np.nan, 3.0])
    assert encoder.bits == (IsMissing(0),)
    encoded = encoder.encode([np.array([np.nan, 3.0, np.nan], dtype=np.float32)])
    assert encoded.numbers.tolist() == [[-1], [1], [-1]]
    assert encoded.bits.tolist() == [[1], [0], [1]]
    without = _learn([1.0, 3.0])
    assert without.bits == ()
    assert without.encode([np.array([np.nan])]).numbers.tolist() == [[-1]]


@pytest.mark.parametrize(
    ("values", "bits"),
    [
        ([2.5, 2.5], ()),
        ([2.5, np.nan], (IsMissing(0),)),
        ([np.nan, np.nan], ()),
        ([0.0, -0.0], ()),
        ([1, 1], ()),
        ([1, MISSING], (IsMissing(0),)),
        ([MISSING, MISSING], ()),
        ([5.0], ()),
        ([3], ()),
    ],
)
def test_constant_columns_are_left_out(values, bits):
    """A constant column is no input; one that is constant but for missing values keeps that bit alone."""
    encoder = _learn(values)
    assert encoder.scaled == ()
    assert encoder.bits == bits
    encoded = encoder.encode([np.asarray(values)])
    assert encoded.numbers.shape == (len(values), 0)
    assert encoded.bits.shape == (len(values), len(bits))


def test_two_categories_are_one_bit():
    """Of two categories in the data, the last in order is the bit; missing and unknown ones are 0."""
    encoder = _learn([1, 4, MISSING, 1])
    assert encoder.bits == (IsIn(0, (4,)), IsMissing(0))
    encoded = encoder.encode([np.array([4, 1, MISSING, UNKNOWN, 0], dtype=np.int32)])
    assert encoded.bits.tolist() == [[1, 0], [0, 0], [0, 1], [0, 0], [0, 0]]


def test_more_categories_are_a_bit_each():
    """Three or more categories have a bit each; categories that are not in the data have none."""
    assert _learn([0, 2, 5]).bits == (IsIn(0, (0,)), IsIn(0, (2,)), IsIn(0, (5,)))


def test_infrequent_categories_share_a_bit():
    """Categories below `min_frequency` or beyond the `max_categories` most frequent share a bit, if two or more."""
    codes = np.repeat([0, 1, 2, 3, 4], [1, 5, 5, 2, 9])
    single = [IsIn(0, (code,)) for code in range(5)]
    assert _learn(codes, min_frequency=2).bits == tuple(single)
    assert _learn(codes, min_frequency=3).bits == (*single[1:3], single[4], IsIn(0, (0, 3)))
    assert _learn(codes, max_categories=2).bits == (single[1], single[4], IsIn(0, (0, 2, 3)))
    assert _learn(codes, max_categories=4).bits == tuple(single)
    assert _learn(codes, max_categories=1).bits == (IsIn(0, (0, 1, 2, 3)),), "the other bit would be its opposite"
    assert _learn(codes, min_frequency=100).bits == (), "one bit over all would be constant"
    assert _learn([0, 1], min_frequency=100, max_categories=1).bits == (IsIn(0, (1,)),)
    assert _learn([0, 1, 2], [1.0, 5.0, 1.0], min_frequency=2).bits == (IsIn(0, (0, 2)),)


def test_named_rows_only():
    """Rows are gathered by index, for learning and for encoding, with the same result as a smaller table."""
    rng = np.random.default_rng(0)
    columns = (Column("a"), Column("b", LETTERS), Column("c"))
    values = [rng.normal(size=50), rng.integers(-1, 4, 50), rng.choice([1.0, np.nan], 50)]
    rows, weight = rng.permutation(50)[:20], np.ones(20)
    smaller = [v[rows] for v in values]
    encoder = learn_encoder(columns, values, weight, rows=rows)
    assert encoder == learn_encoder(columns, smaller, weight)
    some, all_of_smaller = encoder.encode(values, rows), encoder.encode(smaller)
    np.testing.assert_array_equal(some.numbers, all_of_smaller.numbers)
    np.testing.assert_array_equal(some.bits, all_of_smaller.bits)


@given(FINITE, FINITE, st.lists(FINITE, min_size=1, max_size=20))
def test_scaling_never_decreases(a, b, values):
    """A larger number is never encoded lower, and never outside [0, 1], for any range of finite numbers."""
    low, high = sorted((a, b))
    if low == high:
        return
    encoded = scale(ScaledColumn(0, low, high), np.sort([*values, low, high]))
    assert np.all(np.diff(encoded) >= 0)
    assert 0 <= encoded[0] <= encoded[-1] <= 1
    assert scale(ScaledColumn(0, low, high), np.array([low, high])).tolist() == [0, 1]


@pytest.mark.parametrize(("low", "high"), [(-1.7e308, 1.7e308), (0.0, 5e-324), (-5e-324, 5e-324), (1.0, 1.0 + 2**-52)])
def test_extreme_ranges(low, high):
    """The widest and the narrowest columns have 0 and 1 at their ends, and no NaN."""
    encoder = _learn([low, high])
    numbers = encoder.encode([np.array([low, high, np.inf, -np.inf])]).numbers
    assert numbers.tolist() == [[0], [1], [1], [0]]


@given(
    st.lists(
        st.tuples(st.sampled_from([1.0, 2.0, 3.5, np.nan, 1e300, -0.0, 0.0]), st.integers(-1, 5), st.integers(0, 30)),
        min_size=1,
        max_size=15,
    ).filter(lambda rows: any(row[2] for row in rows)),
    st.randoms(),
)
def test_weights_are_repetition(rows, random):
    """Whole weights and repeated rows, in any order, give the same encoder and the same inputs, bit for bit."""
    repeated = [row for row in rows for _ in range(row[2])]
    random.shuffle(repeated)
    columns = (Column("a"), Column("b", LETTERS))
    results = []
    for given_rows, weight in ((rows, np.array([float(row[2]) for row in rows])), (repeated, None)):
        values = [np.array([row[0] for row in given_rows]), np.array([row[1] for row in given_rows], dtype=np.int32)]
        canonical = canonical_rows(values, np.zeros(len(given_rows)), weight)
        encoder = learn_encoder(
            columns, values, canonical.weight, rows=canonical.index, max_categories=3, min_frequency=10
        )
        encoded = encoder.encode(values, canonical.index)
        results.append((repr(encoder), encoded.numbers.tobytes(), encoded.bits.tobytes()))
    assert results[0] == results[1]


def test_a_thousand_columns():
    """Wide tables are encoded column by column, each in its place."""
    values = [np.array([0.0, float(j), 2.0 * j]) for j in range(1000)]
    encoder = learn_encoder([Column(f"x{j}") for j in range(1000)], values, np.ones(3))
    assert [scaled.column for scaled in encoder.scaled] == list(range(1, 1000))
    assert np.all(encoder.encode(values).numbers == np.array([[0.0], [0.5], [1.0]]))


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("share", [1.0, 0.9, 0.01])
def test_rows_are_encoded_in_the_given_order(layout, share):
    """However many rows are named, and however the table is stored, row i of the inputs is that of rows[i]."""
    rng = np.random.default_rng(0)
    n = 30_000
    table = np.asarray(rng.normal(size=(n, 3)), order=layout)
    table[rng.uniform(size=table.shape) < 0.1] = np.nan
    codes = rng.integers(-1, 4, n).astype(np.int32)
    values = [table[:, 0], codes, table[:, 1].astype(np.float32), rng.uniform(-1.0, 1.0, n) * 1.7e308]
    columns = [Column("a"), Column("b", ("p", "q", "r", "s")), Column("c"), Column("d")]
    rows = rng.permutation(n)[: round(share * n)]
    encoder = learn_encoder(columns, values, np.ones(len(rows)), rows=rows)
    encoded = encoder.encode(values, rows)
    for k, scaled in enumerate(encoder.scaled):
        np.testing.assert_array_equal(encoded.numbers[:, k], scale(scaled, values[scaled.column][rows]))
    for k, literal in enumerate(encoder.bits):
        np.testing.assert_array_equal(encoded.bits[:, k], literal_values(literal, values[literal.column][rows]))
