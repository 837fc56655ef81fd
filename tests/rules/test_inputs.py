"""Inputs in bins: what a cut-off separates is what a rule will separate."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dln.rules._inputs import bin_inputs, even_cutoffs
from learned import seeds, some_inputs

#: Numbers that neighbour each other in float32, missing ones among them.
close = st.sampled_from(
    [-1.0, 0.0, 1.0, 0.5, *(float(np.nextafter(np.float32(0.5), np.float32(end))) for end in (0, 1)), 1e-45, 0.1, 0.3]
)
columns = arrays(np.float32, st.integers(1, 40), elements=close)


@given(columns, columns)
def test_bins_are_what_cut_offs_separate(values, others):
    """A row lies above cut-off b exactly where its bin is above b, also between neighbours in float32.

    So do other rows in bins between the same cut-offs.
    """
    none = np.zeros((40, 0), np.float32)
    inputs = bin_inputs(values[:, np.newaxis], none[: len(values)], [0])
    new = bin_inputs(others[:, np.newaxis], none[: len(others)], [0], inputs.cutoffs)
    for b, cutoff in enumerate(inputs.cutoffs[0].astype(np.float32)):
        np.testing.assert_array_equal(values > cutoff, inputs.bins[0] > b)
        np.testing.assert_array_equal(others > cutoff, new.bins[0] > b)
    assert inputs.n_bins[0] == len(inputs.cutoffs[0]) + 1
    assert inputs.bins[0].max() < inputs.n_bins[0]


@given(columns, st.integers(1, 5))
def test_cut_offs_are_few_and_each_separates_something(values, most):
    """At most so many cut-offs, ascending, with known values on both sides of each; all places where few suffice."""
    cuts = even_cutoffs(values, most)
    known = np.unique(values[values >= 0])
    assert len(cuts) <= most
    assert len(cuts) == len(known) - 1 or len(known) - 1 > most or not len(known)
    assert (np.diff(cuts) > 0).all()
    for cut in cuts:
        assert (known > np.float32(cut)).any()
        assert (known <= np.float32(cut)).any()


def test_missing_numbers_are_below_every_cut_off():
    """A missing number fires nowhere, and is NaN for other libraries."""
    numbers = np.array([[-1.0], [0.0], [0.5], [1.0]], np.float32)
    inputs = bin_inputs(numbers, np.zeros((4, 0), np.float32), [0])
    assert inputs.bins[0, 0] == 0
    assert np.isnan(inputs.as_table()[0, 0])


@given(seeds)
def test_some_rows_and_some_inputs_are_those_of_the_whole(seed):
    """`at`, `keep` and `followed_by` give what taking rows and inputs from the whole gives."""
    rng = np.random.default_rng(seed)
    inputs = some_inputs(rng, 30, 3, 4)
    table = inputs.as_table()
    rows = rng.permutation(30)[:11]
    np.testing.assert_array_equal(inputs.at(rows).as_table(), table[rows])
    kept = np.flatnonzero(rng.random(7) < 0.6)
    fewer = inputs.keep(kept)
    np.testing.assert_array_equal(fewer.as_table(), table[:, kept])
    np.testing.assert_array_equal(fewer.bins, inputs.bins[kept])
    np.testing.assert_array_equal(fewer.columns, inputs.columns[kept])
    both = inputs.followed_by(inputs.at(rows))
    np.testing.assert_array_equal(both.as_table(), np.concatenate([table, table[rows]]))
    assert both.n_rows == 41
