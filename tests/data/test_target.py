"""The units of a target."""

from __future__ import annotations

import numpy as np
import pytest

from dln import PrecisionWarning
from dln.circuit._circuit import from_grid, to_grid
from dln.data._target import Target, check_target_size


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e300])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6])
def test_targets_of_any_scale_have_a_grid(scale, offset):
    """The grid is fine enough for the target's spread and coarse enough for its size."""
    unscaled = np.array([1.0, 2.0, 3.5]) + offset
    target = Target.of(unscaled * scale, np.ones(3))
    assert target.mean == pytest.approx(unscaled.mean() * scale)
    assert target.spread == pytest.approx(unscaled.std() * scale, rel=1e-6)
    step = 10.0**-target.decimals
    assert step <= max(target.spread * 1e-3, abs(target.mean) * 1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e8, 1e10, -1e11])
def test_targets_far_from_zero_are_centred_first(offset):
    """However far a target lies from zero, its differences are standardised as exactly as float64 holds them."""
    y = np.arange(200.0) / 8 + offset  # exact in float64, as are its differences
    target = Target.of(y, np.ones(200))
    np.testing.assert_allclose(target.standardise(y), (np.arange(200.0) - 99.5) / np.arange(200.0).std(), rtol=1e-9)
    assert target.spread == pytest.approx(np.arange(200.0).std() / 8, rel=1e-12)
    assert 10.0**-target.decimals <= target.spread * 1e-3


@pytest.mark.parametrize(("offset", "varying"), [(1e13, True), (1e15, False), (-4e17, False)])
def test_differences_too_small_for_float64_are_warned_of(offset, varying):
    """If float64 can hardly hold the differences, there is a warning; if it cannot, only the mean is learned."""
    y = np.arange(200.0) / 4 * max(1, abs(offset) / 1e16) + offset
    with pytest.warns(PrecisionWarning, match="which float64 can hardly hold.*: subtract a constant from y"):
        target = Target.of(y, np.ones(200))
    assert target.varying is varying
    assert target.standardise(y).any() == varying
    with pytest.warns(PrecisionWarning, match="only their mean was learned: multiply y by a constant"):
        assert not Target.of(np.array([1e-310, 2e-310]), np.ones(2)).varying


def test_targets_that_no_weights_add_up_to():
    """A target beyond 1e300 is refused with its row."""
    check_target_size(np.array([1e300, -1e300]), "y")
    with pytest.raises(ValueError, match=r"y must lie between -1e\+300 and 1e\+300, but row 1 has -1.7e\+308: divide"):
        check_target_size(np.array([0.0, -1.7e308]), "y")


@pytest.mark.parametrize("value", [0.0, 3.0, -2.5, 0.1, 1234567.875, 1e-20, 6.02e23])
def test_a_constant_target_is_met_exactly(value):
    """The grid of a constant target holds that constant."""
    target = Target.of(np.full(4, value), np.ones(4))
    assert from_grid(np.float64(to_grid(target.mean, target.decimals)), target.decimals) == value
