"""Cut-offs between training values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.circuit._cutoffs import shortest_between

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (47.0, 48.0, 47.0),
        (30.004, 30.016, 30.01),
        (0.1234, 0.5678, 0.3),
        (-3.7, -3.2, -3.5),
        (99.0, 101.0, 100.0),
        (1.2e-7, 3.4e-7, 2e-7),
        (123456.0, 123999.0, 123700.0),
        (-1.0, 1.0, 0.0),
        (0.0, 5e-324, 0.0),
        (1.0, np.nextafter(1.0, 2.0), 1.0),
        (-1.7e308, 1.7e308, 0.0),
    ],
)
def test_the_shortest_decimal_is_taken(low, high, expected):
    """The cut-off has as few digits as can be, near the middle."""
    assert shortest_between(low, high) == expected


@given(finite, finite)
def test_the_cutoff_separates_the_two_values(a, b):
    """The test x > c is false for the lower and true for the upper value, whatever they are."""
    low, high = sorted((a, b))
    if low == high:
        return
    cutoff = shortest_between(low, high)
    assert low <= cutoff < high
    assert not (low == 0 and str(cutoff) == "-0.0")


@given(
    st.floats(-1e6, 1e6, allow_nan=False, width=32),
    st.floats(-1e6, 1e6, allow_nan=False, width=32),
)
def test_float32_values_are_separated_in_float32_too(a, b):
    """If the values differ in float32, the cut-off rounded to float32 separates them as well."""
    low, high = sorted((a, b))
    if low == high:
        return
    cutoff = np.float32(shortest_between(low, high))
    assert np.float32(low) <= cutoff < np.float32(high)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_between_whole_numbers_the_cutoff_is_whole(a, b):
    """Between whole numbers no decimals are printed."""
    low, high = sorted((a, b))
    if low == high:
        return
    assert shortest_between(float(low), float(high)).is_integer()
