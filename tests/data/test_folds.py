"""Folds of weighted rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.data._division import fold_weights, repeats_inputs, row_counts
from dln.data._rows import canonical_rows


@given(
    weight=st.lists(st.floats(0.01, 1e4), min_size=1, max_size=30),
    n_folds=st.integers(2, 7),
    seed=st.integers(0, 99),
)
def test_parts_add_up(weight, n_folds, seed):
    """Every part is at least zero, and the parts of a row add up to its weight."""
    weight = np.array(weight)
    repeated = np.random.default_rng(seed).random(len(weight)) < 0.5
    parts = fold_weights(weight, n_folds, row_counts(weight, repeated))
    assert parts.shape == (n_folds, len(weight))
    assert (parts >= 0).all()
    np.testing.assert_allclose(parts.sum(axis=0), weight, rtol=1e-9)


def test_units_are_dealt_evenly():
    """A repeated row of weight 10 is held out as 3, 3, 2, 2; a row whose inputs are its own is held out whole."""
    weight = np.array([10.0, 10.0, 1.0])
    parts = fold_weights(weight, 4, row_counts(weight, np.array([True, False, True])))
    assert sorted(parts[:, 0]) == [2, 2, 3, 3]
    assert sorted(parts[:, 1]) == [0, 0, 0, 10]
    assert sorted(parts[:, 2]) == [0, 0, 0, 1]


def test_plain_rows_take_turns():
    """Rows whose inputs are their own are dealt out in turn."""
    parts = fold_weights(np.ones(7), 3, np.ones(7, dtype=np.int64))
    assert parts.argmax(axis=0).tolist() == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_scale_of_weights_does_not_matter(scale):
    """Weights multiplied by a constant give the same folds."""
    weight = np.array([1.0, 3.0, 8.0, 2.0])
    repeated = np.array([True, True, False, True])
    expected = scale * fold_weights(weight, 3, row_counts(weight, repeated))
    scaled = scale * weight
    np.testing.assert_allclose(fold_weights(scaled, 3, row_counts(scaled, repeated)), expected)


def test_repeated_inputs_are_found_by_raw_values():
    """Rows of equal inputs and different targets are repeated, missing values and categories included."""
    x = np.array([1.0, 1.0, np.nan, np.nan, 2.0, 2.0])
    code = np.array([0, 0, 1, 1, 0, 1], dtype=np.int32)
    rows = canonical_rows([x, code], np.arange(6.0))
    repeated = repeats_inputs([x, code], rows)
    assert dict(zip(rows.index.tolist(), repeated.tolist(), strict=True)) == {
        0: True, 1: True, 2: True, 3: True, 4: False, 5: False,
    }  # fmt: skip
