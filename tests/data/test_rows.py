from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.data._rows import canonical_rows, check_weight_size, row_hashes, weighted_quantile

#: Few values, so that rows repeat; all the kinds of numbers that could be mistaken for each other.
NUMBERS = st.sampled_from([0.0, 1.0, 2.0, 1.5, np.nan, 5e-324, -5e-324, 1e308, -1e308, 0.1])


@st.composite
def tables(draw):
    """Draw a table of float64, float32 and code columns with its target and whole weights, as few as one row."""
    n = draw(st.integers(1, 12))
    columns = [np.array(draw(st.lists(NUMBERS, min_size=n, max_size=n))) for _ in range(draw(st.integers(1, 3)))]
    with np.errstate(all="ignore"):
        columns.append(columns[0].astype(np.float32))
    columns.append(np.array(draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n)), dtype=np.int32))
    y = np.array(draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n)))
    weight = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(any)), dtype=np.float64)
    return columns, y, weight


def _gathered(columns, y, weight):
    rows = canonical_rows(columns, y, weight)
    return [part.tobytes() for part in (*(column[rows.index] for column in columns), y[rows.index], rows.weight)]


@given(tables(), st.randoms())
def test_order_does_not_matter(table, random):
    """Rows in any order give the same canonical table, bit for bit."""
    columns, y, weight = table
    order = list(range(len(y)))
    random.shuffle(order)
    assert _gathered(columns, y, weight) == _gathered([c[order] for c in columns], y[order], weight[order])


@given(tables())
def test_weights_are_repetition(table):
    """A whole weight is the row that many times; zero is no row."""
    columns, y, weight = table
    often = weight.astype(int)
    repeated = [np.repeat(column, often) for column in columns]
    assert _gathered(columns, y, weight) == _gathered(repeated, np.repeat(y, often), None)


@given(tables())
def test_rows_are_distinct_and_complete(table):
    """Every row of weight above zero is there once, with its whole weight."""
    columns, y, weight = table
    rows = canonical_rows(columns, y, weight)
    # repr: -0.0 does not occur, NaN equals NaN
    keys = [repr([column[i].item() for column in [*columns, y]]) for i in range(len(y))]
    total: dict[str, float] = {}
    for key, w in zip(keys, weight, strict=True):
        if w:
            total[key] = total.get(key, 0.0) + w
    assert {keys[i]: w for i, w in zip(rows.index, rows.weight, strict=True)} == total
    assert len(rows.index) == len(total)


@given(st.lists(st.floats(0, 1e6, exclude_min=True), min_size=1, max_size=40), st.randoms())
def test_fractional_weights_add_up_in_one_order(weights, random):
    """The weights of one row, whatever they are, have the same sum in any order."""
    shuffled = list(weights)
    random.shuffle(shuffled)
    column, y = np.zeros(len(weights)), np.zeros(len(weights))
    sums = [canonical_rows([column], y, np.array(w)).weight.tobytes() for w in (weights, shuffled)]
    assert sums[0] == sums[1]


def test_equal_numbers_hash_alike():
    """0.0 and -0.0, all NaN, and equal numbers of other types are the same; the order of columns is not."""
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000001], dtype=np.uint64).view(np.float64)
    for same in (np.array([0.0, -0.0]), nans):
        first, second = row_hashes([], same)
        assert first[0] == first[1]
        assert second[0] == second[1]
    wide = row_hashes([np.array([0.1, 2.0], dtype=np.float32)], np.array([3, -1]))
    narrow = row_hashes([np.array([0.1, 2.0], dtype=np.float32).astype(np.float64)], np.array([3, -1], dtype=np.int32))
    swapped = row_hashes([np.array([3, -1])], np.array([0.1, 2.0], dtype=np.float32))
    np.testing.assert_array_equal(wide, narrow)
    assert not np.isin(wide[0], swapped[0]).any()


def test_views_and_read_only_columns():
    """Strided and read-only columns are hashed as they are, across more rows than one piece."""
    table = np.random.default_rng(0).normal(size=(70_000, 3)).astype(np.float32)
    table.flags.writeable = False
    y = np.zeros(len(table))
    views = canonical_rows([table[:, 0], table[:, 2]], y)
    copies = canonical_rows([table[:, 0].copy(), table[:, 2].copy()], y)
    np.testing.assert_array_equal(views.index, copies.index)
    assert len(views.index) == len(table)


def test_hashes_are_independent_and_even():
    """Close numbers do not share hashes, and every bit of a hash is set half of the time."""
    first, second = row_hashes([], np.arange(100_000.0))
    for hashes in (first, second, first ^ second):
        assert len(np.unique(hashes)) == len(hashes)
        shares = [((hashes >> np.uint64(bit)) & np.uint64(1)).mean() for bit in range(64)]
        assert 0.49 < min(shares) < max(shares) < 0.51


def test_many_rows_repeat():
    """Many rows, each several times with weights, are merged as few are."""
    rng = np.random.default_rng(0)
    column, weight = rng.integers(0, 9000, 40_000).astype(np.float64), rng.integers(0, 3, 40_000).astype(np.float64)
    rows = canonical_rows([column], np.zeros(40_000), weight)
    expected = np.bincount(column.astype(int), weight, minlength=9000)
    np.testing.assert_array_equal(np.sort(column[rows.index]), np.flatnonzero(expected))
    np.testing.assert_array_equal(rows.weight, expected[column[rows.index].astype(int)])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], "must not be negative, but row 1 has -1.0"),
        ([np.nan, 1.0], "must be finite, but row 0 has nan"),
        ([1.0, np.inf], "must be finite, but row 1 has inf"),
        ([0.0, 0.0], "all weights are zero"),
        ([1.0], r"one number per row, shape \(2,\), got shape \(1,\)"),
    ],
)
def test_weights_that_cannot_be(weight, message):
    """Negative, NaN, infinite and all-zero weights get one clear sentence."""
    with pytest.raises(ValueError, match=message):
        canonical_rows([np.zeros(2)], np.zeros(2), np.array(weight))


@given(
    st.lists(st.tuples(NUMBERS, st.integers(0, 5)), min_size=1, max_size=20),
    st.lists(st.floats(0, 1), min_size=1, max_size=3),
)
def test_weighted_quantile_is_the_quantile_of_repeated_values(pairs, q):
    """Whole weights equal repetition exactly, NaN left out; numpy's inverted CDF agrees."""
    values, weight = np.array([p[0] for p in pairs]), np.array([float(p[1]) for p in pairs])
    repeated = np.repeat(values, weight.astype(int))
    found = weighted_quantile(values, weight, q)
    np.testing.assert_array_equal(found, weighted_quantile(repeated, np.ones(len(repeated)), q))
    repeated = np.sort(repeated[~np.isnan(repeated)])
    if len(repeated):
        place = [max(int(np.ceil(share * len(repeated))) - 1, 0) for share in q]
        np.testing.assert_array_equal(found, repeated[place])
    else:
        assert np.isnan(found).all()


def test_weighted_quantile_keeps_the_shape_of_q():
    """One share gives one number, as an array without dimensions."""
    assert weighted_quantile(np.array([1.0, 2.0, 3.0], dtype=np.float32), np.ones(3), 0.5).shape == ()
    assert float(weighted_quantile(np.array([1.0, 2.0, 3.0]), np.ones(3), 0.5)) == 2.0


@given(
    st.lists(st.sampled_from([-2.0, 0.0, 0.5, 3.0]) | st.floats(-9, 9), min_size=1, max_size=60),
    st.lists(st.floats(0, 1), max_size=5),
)
def test_weighted_quantile_is_found_without_sorting(values, q):
    """Of rows that weigh one, the values at any ranks are those of the sorted values."""
    found = weighted_quantile(np.array(values), np.ones(len(values)), q)
    places = [max(int(np.ceil(share * len(values))) - 1, 0) for share in q]
    np.testing.assert_array_equal(found, np.sort(values)[places])


@pytest.mark.parametrize("n", [1000, 4406, 50_000])
def test_weighted_quantile_is_found_in_many_rows(n):
    """In many rows too, the values at any ranks are those of the sorted values."""
    for values in (np.random.default_rng(n).normal(size=n), np.random.default_rng(n).integers(0, 50, n) / 7):
        shares = [0.0, 0.005, 0.0051, 0.5, 0.995, 1.0]
        found = weighted_quantile(values, np.ones(n), shares)
        places = [max(int(np.ceil(share * n)) - 1, 0) for share in shares]
        np.testing.assert_array_equal(found, np.sort(values)[places])


@pytest.mark.parametrize("weight", [1e308, 5e-324])
def test_weights_that_leave_no_room(weight):
    """Weights whose sums float64 cannot hold are refused with their row; small ones among others are not."""
    with pytest.raises(ValueError, match=r"between 1e-100 and 1e\+100, but it is that of row 1, .* by a constant"):
        check_weight_size(np.array([0.0, weight]))
    assert check_weight_size(np.array([5e-324, 0.0, 1.0])).tolist() == [5e-324, 0.0, 1.0]
