"""From the trained network to the circuit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln import PrecisionWarning
from dln.circuit._circuit import Column, from_grid, to_grid
from dln.data._encoding import learn_encoder
from dln.network._discretize import Target, check_target_size, discretize, open_links
from dln.network._layout import Data
from dln.network._loop import Plan, Trained, outputs, train
from dln.network._network import build_network
from dln.network._networks import initial_cutoffs
from plans import PLAN


def trained_on_random_table(seed: int, straight_through: str) -> tuple[Trained, Data, object, list, Target]:
    """A network trained for a few epochs on a table with numbers, categories and missing values."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 120))
    columns = (Column("a"), Column("b"), Column("c", ("u", "v", "w")), Column("d"))
    a = rng.normal(0, 10, n).round(int(rng.integers(0, 4)))
    b = rng.integers(0, 5, n).astype(np.float32)
    b[rng.uniform(size=n) < 0.2] = np.nan
    c = rng.integers(-1, 3, n).astype(np.int32)
    values = [a, b, c, np.full(n, 3.0)]
    y = a * (b > 2) + 5 * (c == 1) + rng.normal(0, 1, n)
    weight = np.ones(n)
    encoder = learn_encoder(columns, values, weight)
    target = Target.of(y, weight)
    encoded = encoder.encode(values)
    data = Data(
        encoded.numbers,
        encoded.bits,
        ((y - target.mean) / target.spread).astype(np.float32),
        weight.astype(np.float32),
    )
    network = build_network(
        initial_cutoffs(data, 5),
        encoded.bits.shape[1],
        layer_sizes=(12, 8),
        n_candidate_links=6,
        n_candidate_gates=16,
        concatenate_inputs=True,
        initial_sum_logit=1.5,
        rng=rng,
    )
    # Slopes of both signs and of zero, biases outside the data: all of what training can lead to.
    network.parameters.slope[:] *= rng.choice([-1.0, 0.0, 1.0, 1.0], network.parameters.slope.shape)
    network.parameters.bias[:] += rng.choice([0.0, 0.0, 0.0, -3.0, -0.5, 2.0], network.parameters.bias.shape)
    plan = PLAN if straight_through == "neuron" else Plan(**{**_fields(PLAN), "straight_through": straight_through})
    return train(network, data, None, plan, seed=seed), data, encoder, values, target


def _fields(plan: Plan) -> dict[str, object]:
    return {name: getattr(plan, name) for name in plan.__slots__}


@given(seed=st.integers(0, 2**32 - 1), straight_through=st.sampled_from(["neuron", "separate"]))
def test_the_circuit_is_the_networks_hard_forward_pass_bit_for_bit(seed, straight_through):
    """Rules fire on the same training rows and predictions have the same bits, after cut-offs were moved."""
    trained, data, encoder, values, target = trained_on_random_table(seed, straight_through)
    circuit = discretize(
        trained.network,
        temperature=trained.temperature,
        sum_threshold=0.8,
        encoder=encoder,
        values=values,
        rows=np.arange(len(data.target)),
        target=target,
    )
    _, fires = outputs(trained.network, data, trained.temperature, 0.8)
    is_open = open_links(trained.network.parameters.sum_logits, trained.temperature, 0.8)
    steps = np.array([to_grid(float(w) * target.spread, target.decimals) for w in trained.network.parameters.weights])
    total = to_grid(target.mean, target.decimals) + (steps * is_open).astype(np.float64) @ fires
    np.testing.assert_array_equal(circuit.evaluate(values), from_grid(total, target.decimals))


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
def test_differences_too_small_for_float64_are_told(offset, varying):
    """Where float64 can hardly hold the differences, a warning says so; where it cannot, only the mean is learned."""
    y = np.arange(200.0) / 4 * max(1, abs(offset) / 1e16) + offset
    with pytest.warns(PrecisionWarning, match="which float64 can hardly tell apart.*: subtract a constant from y"):
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
