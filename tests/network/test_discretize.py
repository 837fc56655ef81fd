"""From the trained network to the circuit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dln.circuit._circuit import Column, from_grid, to_grid
from dln.data._encoding import learn_encoder
from dln.data._target import Target
from dln.network._circuits import discretize
from dln.network._network import Architecture, Data, build_network, open_links, tree_cutoffs
from dln.network._train import Plan, Trained, train
from plans import PLAN, outputs


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
        [tree_cutoffs(encoded.numbers[:, k], data.target, weight, 5) for k in range(encoded.numbers.shape[1])],
        encoded.bits.shape[1],
        Architecture((12, 8), 5, 6, 16, concatenate_inputs=True),
        rng,
    )
    # Slopes of both signs and of zero, biases outside the data: all of what training can lead to.
    network.parameters.slope[:] *= rng.choice([-1.0, 0.0, 1.0, 1.0], network.parameters.slope.shape)
    network.parameters.bias[:] += rng.choice([0.0, 0.0, 0.0, -3.0, -0.5, 2.0], network.parameters.bias.shape)
    plan = PLAN if straight_through == "neuron" else Plan(**{**_fields(PLAN), "straight_through": straight_through})
    return train(network, data, np.arange(n), None, plan, seed=seed), data, encoder, values, target


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
    _, fires = outputs(trained.network, data, trained.temperature)
    is_open = open_links(trained.network.parameters.sum_logits, trained.temperature, 0.8)
    steps = np.array([to_grid(float(w) * target.spread, target.decimals) for w in trained.network.parameters.weights])
    total = to_grid(target.mean, target.decimals) + (steps * is_open).astype(np.float64) @ fires
    np.testing.assert_array_equal(circuit.evaluate(values), from_grid(total, target.decimals))
