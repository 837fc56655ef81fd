"""The kernels' data: rows, wiring, parameters, and memory for one batch, as plain arrays.

A batch passes forward and backward in blocks of `LANES` rows. A row of the network, the value of a bit, threshold or
neuron for each of them, is one value of type `lanes`. Logits and probabilities are stored ``[candidate, neuron]``, so
that softmaxes vectorise over neurons.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dln.circuit._gates import COEFFICIENTS
from dln.network._lanes import LANES
from dln.network._network import Network, Parameters

Float32: TypeAlias = npt.NDArray[np.float32]
Float64: TypeAlias = npt.NDArray[np.float64]
Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]
#: Bytes of a cache line: a vector that lies across two takes twice as long to read.
_CACHE_LINE: Final = 64


class Data(NamedTuple):
    numbers: Float32  # (n, n_scaled): the encoder's scaled columns
    bits: Float32  # (n, n_bits)
    target: Float32  # (n,), standardised
    weight: Float32  # (n,)


class Arrays(NamedTuple):
    """A network's wiring, parameters, gradients, and memory for one batch.

    Side 0 is a neuron's input a, side 1 its input b. In arrays of the workspace, neurons are rounded up to `n_rounded`.
    """

    # Wiring.
    n_bits: int
    first_neuron: int
    threshold_input: Int32  # (n_thresholds,)
    links: Int32  # (2, n_neurons, n_links): candidate rows
    coefficients: Float32  # (n_gates, 4): polynomials of the candidate gates
    rule_rows: Int32  # (n_rules,)
    sections: Int64  # (8,): where b, s, W, U, V, S, C start in the flat vectors, and their end

    # Parameters: a flat vector and its views b, s, W, U with V, S, C.
    parameters: Float32
    bias: Float32
    slope: Float32
    gate_logits: Float32  # (n_gates, n_neurons)
    link_logits: Float32  # (2, n_links, n_neurons)
    sum_logits: Float32
    weights: Float32

    # Their gradients.
    gradients: Float32
    d_bias: Float32
    d_slope: Float32
    d_gate_logits: Float32
    d_link_logits: Float32
    d_sum_logits: Float32
    d_weights: Float32
    first_moments: Float32  # Adam's, flat
    second_moments: Float32

    # Workspace, row by row of a block.
    inputs: Float32  # (n_scaled, LANES)
    signal: Float32  # (n_rows, LANES): value of every row of the network, hard or soft
    d_signal: Float32  # (n_rows, LANES): derivative of the loss by it
    target: Float32  # (LANES,)
    weight: Float32  # (LANES,)
    output: Float64  # (LANES,): in float64, so that the forward pass equals the circuit's sum bit for bit
    d_output: Float32  # (LANES,)

    # Workspace, neuron by neuron and rule by rule.
    gate_probabilities: Float32  # (n_gates, n_rounded)
    d_gate_probabilities: Float32  # (n_gates, n_rounded)
    link_probabilities: Float32  # (2, n_links, n_rounded)
    d_link_probabilities: Float32  # (2, n_links, n_rounded): sums over the batch of derivative times candidate
    mixture: Float32  # (4, n_rounded): polynomial of the mixture of gates
    moments: Float32  # (4, n_rounded): derivative by it: sums over the batch of dy, dy·a, dy·b, dy·a·b
    choices: Float32  # (3, n_rounded): candidates of the largest logit among links a, links b and gates
    peaks: Float32  # (3, n_rounded): their probabilities; 1 if all others have none
    sum_probabilities: Float32  # (n_rules,)
    sum_open: Float32  # (n_rules,): factors of the forward pass, 0 or 1, or probabilities if nothing is hard


def arrays(network: Network, n_scaled: int) -> Arrays:
    """Return the arrays to train or evaluate a network of `n_scaled` columns; parameters are views of the network's."""
    wiring, parameters = network.wiring, network.parameters
    gradients = network.with_parameters(np.zeros_like(parameters.flat)).parameters
    sections = np.cumsum([0, *(group.size for group in parameters.groups().values())], dtype=np.int64)
    n_links, n_neurons = wiring.links_a.shape
    n_gates, n_rules, n_rows = len(wiring.gates), len(wiring.rule_rows), wiring.n_rows
    # An odd number of lanes: rows a power of two apart would compete for the same few places in the cache.
    n_rounded = (-(-n_neurons // LANES) | 1) * LANES

    def views(p: Parameters) -> tuple[Float32, Float32, Float32, Float32, Float32, Float32, Float32]:
        link_logits = p.flat[sections[3] : sections[5]].reshape(2, n_links, n_neurons)
        return p.flat, p.bias, p.slope, p.gate_logits, link_logits, p.sum_logits, p.weights

    def zeros(*shape: int) -> Float32:
        memory = np.zeros(4 * int(np.prod(shape)) + _CACHE_LINE, dtype=np.uint8)
        start = -memory.ctypes.data % _CACHE_LINE
        return memory[start : start + memory.size - _CACHE_LINE].view(np.float32).reshape(shape)

    return Arrays(
        wiring.n_bits,
        wiring.first_neuron,
        wiring.threshold_input,
        np.ascontiguousarray([wiring.links_a.T, wiring.links_b.T]),
        COEFFICIENTS[wiring.gates],
        wiring.rule_rows,
        sections,
        *views(parameters),
        *views(gradients),
        first_moments=np.zeros_like(parameters.flat),
        second_moments=np.zeros_like(parameters.flat),
        inputs=zeros(n_scaled, LANES),
        signal=zeros(n_rows, LANES),
        d_signal=zeros(n_rows, LANES),
        target=zeros(LANES),
        weight=zeros(LANES),
        output=zeros(2 * LANES).view(np.float64),
        d_output=zeros(LANES),
        gate_probabilities=zeros(n_gates, n_rounded),
        d_gate_probabilities=zeros(n_gates, n_rounded),
        link_probabilities=zeros(2, n_links, n_rounded),
        d_link_probabilities=zeros(2, n_links, n_rounded),
        mixture=zeros(4, n_rounded),
        moments=zeros(4, n_rounded),
        choices=zeros(3, n_rounded),
        peaks=zeros(3, n_rounded),
        sum_probabilities=zeros(n_rules),
        sum_open=zeros(n_rules),
    )
