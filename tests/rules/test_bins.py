"""The table in bins: what a cut-off separates is what a rule separates."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dln.circuit._circuit import Column, IsMissing, literal_values
from dln.rules import _bins
from dln.rules._bins import NumberInput, bin_rows, bin_table, synthetic_rows
from learned import seeds, some_inputs

#: Numbers that neighbour each other in either precision, extreme and missing ones among them.
neighbours = [float(np.nextafter(np.float32(0.5), np.float32(end))) for end in (0, 1)]
close = st.sampled_from([*neighbours, np.nan, 0.0, -0.0, 1.0, 0.5, -1e300, 1e300, 5e-324, 0.1, 0.3])
columns = st.one_of(
    arrays(np.float64, st.integers(1, 40), elements=close),
    arrays(np.float32, st.integers(1, 40), elements=st.floats(width=32, allow_infinity=False)),
)


def table_of(*values, weight=None):
    """Return number columns in bins."""
    weight = np.ones(len(values[0])) if weight is None else weight
    return bin_table([Column(f"x{k}") for k in range(len(values))], values, weight, None, 1)


@given(columns, columns)
def test_bins_are_what_literals_separate(values, others):
    """A row is above cut-off b exactly where its bin is above b, also between neighbouring numbers.

    So are other rows in the same bins, of which cut-offs may separate more.
    """
    table = table_of(values)
    new = bin_rows(table.inputs, [others])
    for k, one in enumerate(table.inputs):
        for b in range(table.n_bins[k] - 1):
            literal = one.literal(b) if isinstance(one, NumberInput) else one
            np.testing.assert_array_equal(literal_values(literal, values), table.bins[k] > b)
            np.testing.assert_array_equal(literal_values(literal, others), new.bins[k] > b)
        assert table.bins[k].max() < table.n_bins[k]


@given(columns, st.integers(1, 5))
def test_cut_offs_are_few_and_each_separates_something(values, most):
    """At most so many cut-offs, ascending, with known values on both sides of each; all places where few suffice."""
    with patched_max_cutoffs(most):
        table = table_of(values)
    known = np.unique(values[~np.isnan(values)])
    numbers = [one for one in table.inputs if isinstance(one, NumberInput)]
    assert len(numbers) == (len(known) > 1)
    for one in numbers:
        cuts = one.cutoffs
        assert len(cuts) <= most
        assert len(cuts) == len(known) - 1 or len(known) - 1 > most
        assert (np.diff(cuts) > 0).all()
        assert (np.diff(one.levels) >= 0).all()
        assert one.levels[0] == 0.0
        assert len(one.levels) == len(cuts) + 1
        for cut in cuts:
            assert (known > cut).any()
            assert (known <= cut).any()


def patched_max_cutoffs(most):
    """Limit the number of cut-offs."""
    return mock.patch.object(_bins, "MAX_CUTOFFS", most)


def test_missing_numbers_are_below_every_cut_off():
    """A missing number fires nowhere but in "is missing", and is NaN for teachers."""
    table = table_of(np.array([np.nan, 0.0, 0.5, 1.0]))
    assert table.bins[0, 0] == 0
    assert table.inputs[1] == IsMissing(0)
    assert table.bins[1].tolist() == [1, 0, 0, 0]
    for numbers in table.scaled():
        assert np.isnan(numbers[0, 0])
        assert numbers[1:, 0].tolist() == [0.0, 0.5, 1.0]


@given(seeds)
def test_some_rows_and_some_inputs_are_those_of_the_whole(seed):
    """`at` and `keep` give what taking rows and inputs from the whole gives."""
    rng = np.random.default_rng(seed)
    inputs = some_inputs(rng, 30, 3, 4)
    table = inputs.scaled()[0]
    rows = rng.permutation(30)[:11]
    np.testing.assert_array_equal(inputs.at(rows).scaled()[0], table[rows])
    kept = np.flatnonzero(rng.random(7) < 0.6)
    fewer = inputs.keep(kept)
    np.testing.assert_array_equal(fewer.scaled()[0], table[:, kept])
    np.testing.assert_array_equal(fewer.bins, inputs.bins[kept])


@given(seeds)
def test_synthetic_rows_mix_values_that_exist(seed):
    """Every column of a synthetic row has the value of one and the same real row: categories stay consistent."""
    rng = np.random.default_rng(seed)
    names = (Column("x"), Column("c", ("a", "b", "c", "d")), Column("z"))
    values = [np.where(rng.random(40) < 0.2, np.nan, rng.random(40)), rng.integers(-1, 4, 40), rng.random(40)]
    table = bin_table(names, values, np.ones(40), None, 1)
    synthetic = synthetic_rows(table, rng.integers(1, 3, 40).astype(float), 60, rng)
    assert synthetic.bins.shape[1] == 60
    for column in range(3):
        own = [k for k, one in enumerate(table.inputs) if one.column == column]
        real = {row.tobytes() for row in table.bins[own].T}
        assert {row.tobytes() for row in synthetic.bins[own].T} <= real


def test_synthetic_rows_are_new_and_none_is_none():
    """Some synthetic rows are in no table, rows of weight zero have no part in them, and there may be none."""
    inputs = some_inputs(np.random.default_rng(0), 50, 4, 2)
    weight, rng = np.where(np.arange(50) < 25, 1.0, 0.0), np.random.default_rng(0)
    synthetic = synthetic_rows(inputs, weight, 200, rng)
    real = {row.tobytes() for row in inputs.bins.T}
    assert any(row.tobytes() not in real for row in synthetic.bins.T)
    used = {row.tobytes() for row in inputs.bins[:1, :25].T}
    assert {row.tobytes() for row in synthetic.bins[:1].T} <= used
    assert synthetic_rows(inputs, weight, 0, rng).bins.shape == (6, 0)
