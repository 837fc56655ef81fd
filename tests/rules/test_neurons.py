"""Neurons as expressions: what the network computes, where its thresholds are cut-offs bit for bit."""

import itertools

import numpy as np
import pytest
from hypothesis import given

from dln.circuit._gates import GATES
from dln.network._layout import Data
from dln.network._loop import outputs
from dln.network._network import build_network
from dln.rules._expression import Signals, length
from dln.rules._expression import Test as OneTest
from dln.rules._inputs import bin_inputs
from dln.rules._neurons import gate, neuron_expressions
from learned import seeds


def network_of(seed, n_scaled=3, n_bits=2, sizes=(9, 7, 5)):
    """Return an untrained network, its slopes of either sign, and rows for it."""
    rng = np.random.default_rng(seed)
    cutoffs = [np.sort(rng.random(4)).astype(np.float32) for _ in range(n_scaled)]
    network = build_network(
        cutoffs,
        n_bits,
        layer_sizes=sizes,
        n_candidate_links=4,
        n_candidate_gates=16,
        concatenate_inputs=True,
        initial_sum_logit=2.0,
        rng=rng,
    )
    parameters = network.parameters
    for values in (parameters.gate_logits, parameters.link_a_logits, parameters.link_b_logits):
        values[...] = rng.normal(size=values.shape)
    parameters.slope[...] *= rng.choice([-1.0, 1.0, 0.0], parameters.slope.shape, p=[0.45, 0.45, 0.1])
    numbers = rng.random((50, n_scaled)).astype(np.float32)
    numbers[rng.random(numbers.shape) < 0.1] = -1.0
    bits = (rng.random((50, n_bits)) < 0.5).astype(np.float32)
    return network, numbers, bits, bin_inputs(numbers, bits, range(n_scaled + n_bits), own_cutoffs(network, n_scaled))


def own_cutoffs(network, n_scaled):
    """Return the network's own thresholds, as cut-offs of each column."""
    column, bias = network.wiring.threshold_input, network.parameters.bias.astype(np.float64)
    return tuple(np.unique(bias[column == k]) for k in range(n_scaled))


def hard_neurons(network, numbers, bits):
    """Return what every neuron computes in the hard forward pass, by its definition alone."""
    wiring, parameters = network.wiring, network.parameters
    signals = [bits[:, k] > 0 for k in range(wiring.n_bits)]
    for k, bias, slope in zip(wiring.threshold_input, parameters.bias, parameters.slope, strict=True):
        signals.append(slope * (numbers[:, k] - bias) > 0)
    kinds = wiring.gates[parameters.gate_logits.argmax(axis=0)]
    first = len(signals)
    for i, kind in enumerate(kinds):
        a = signals[wiring.links_a[parameters.link_a_logits[:, i].argmax(), i]]
        b = signals[wiring.links_b[parameters.link_b_logits[:, i].argmax(), i]]
        signals.append(np.array(GATES[kind].truth)[2 * a + b] == 1)
    return signals[first:]


@given(seeds)
def test_expressions_are_the_hard_forward_pass(seed):
    """Every neuron that is not constant and not too long has an expression that fires where the neuron does."""
    network, numbers, bits, inputs = network_of(seed)
    signals = Signals(inputs)
    computed = {neuron.tobytes() for neuron in hard_neurons(network, numbers, bits)}
    expressions = neuron_expressions(network, inputs.cutoffs, max_length=8)
    assert {signals(one).tobytes() for one in expressions} <= computed
    constants = {np.full(50, value).tobytes() for value in (False, True)}
    assert computed - constants <= {signals(one).tobytes() for one in expressions}
    assert len(set(expressions)) == len(expressions)


def test_rules_of_the_compiled_forward_pass_have_expressions():
    """What the compiled kernel computes for the last layer, some neuron's expression computes, bit for bit."""
    for seed in range(5):
        network, numbers, bits, inputs = network_of(seed)
        data = Data(numbers, bits, np.zeros(50, np.float32), np.ones(50, np.float32))
        _, rules = outputs(network, data, 0.1, 0.8)
        signals = Signals(inputs)
        found = {signals(one).tobytes() for one in neuron_expressions(network, inputs.cutoffs, max_length=8)}
        assert {rule.tobytes() for rule in rules if 0 < rule.sum() < 50} <= found


@pytest.mark.parametrize("max_length", [1, 2, 4])
def test_depth_bounds_length(max_length):
    """No expression is longer than asked for, and a neuron of layer k never longer than 2^k."""
    network, _, _, inputs = network_of(0, sizes=(30, 30))
    lengths = [length(one) for one in neuron_expressions(network, inputs.cutoffs, max_length)]
    assert max(lengths) <= min(max_length, 4)
    assert max(lengths) == max_length


def test_thresholds_move_to_the_nearest_cut_off():
    """Between cut-offs a threshold becomes the nearer one; a column without any tells nothing."""
    network, _, _, inputs = network_of(1)
    cutoffs = (np.array([0.1, 0.5]), np.array([0.3]), np.empty(0))
    column, bias = network.wiring.threshold_input, network.parameters.bias
    nearest = {(0, int(b > 0.3)) for b in bias[column == 0]} | {(1, 0)}
    tests = [one for one in neuron_expressions(network, cutoffs, max_length=1) if one.input < 3]
    assert tests
    assert {(one.input, one.cutoff) for one in tests} <= nearest
    assert len(inputs.cutoffs[2])


X, Y = OneTest(0, 0, negated=False), OneTest(1, 0, negated=True)
TABLE = bin_inputs(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32), np.zeros((4, 0), np.float32), [0, 1])


@pytest.mark.parametrize("kind", range(16))
def test_gates_and_constants(kind):
    """Each of the 16 gates, of two tests, of a test and itself, and of constants, is what its table says."""
    signals = Signals(TABLE)

    def values(signal):
        return np.full(4, signal) if isinstance(signal, bool) else signals(signal)

    for a, b in itertools.product([X, Y, True, False], repeat=2):
        expected = np.array(GATES[kind].truth)[2 * values(a).astype(int) + values(b)] == 1
        np.testing.assert_array_equal(values(gate(kind, a, b)), expected)


@pytest.mark.parametrize("kind", range(16))
def test_gates_of_what_is_too_long(kind):
    """A gate that needs an input that is too long is too long; one that ignores it is not."""
    t00, t01, t10, t11 = GATES[kind].truth
    depends_on_a, depends_on_b = (t00, t01) != (t10, t11), (t00, t10) != (t01, t11)
    assert (gate(kind, None, Y) is None) == depends_on_a
    assert (gate(kind, X, None) is None) == depends_on_b
