"""What the kernels read and write: rows, wiring, parameters, and memory for one batch, as plain arrays.

A batch is cut into blocks of `BLOCK` places; spare places of the last carry weight zero. Signals are stored
``[block, row, place]``: a row of a block is one value of type `lanes`, and the rows of a block stay in the cache.
Logits and probabilities are stored ``[candidate, neuron]``, so that softmaxes take neighbouring neurons together. A
neuron touches only the rows of its candidates.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._gates import COEFFICIENTS
from dln._network import Network, Parameters
from dln.training._lanes import BYTES, LANES

Float32: TypeAlias = npt.NDArray[np.float32]
Float64: TypeAlias = npt.NDArray[np.float64]
Int32: TypeAlias = npt.NDArray[np.int32]

#: Places of a batch that are computed together.
BLOCK: Final = LANES
#: Candidates whose sums over the batch are computed and stored together.
TOGETHER: Final = 4

_CACHE_LINE: Final = 64


class Data(NamedTuple):
    """Rows to train on: the encoder's numbers and bits, the standardised target and the rows' weights."""

    numbers: Float32
    """(n, n_scaled)"""
    bits: Float32
    """(n, n_bits)"""
    target: Float32
    weight: Float32


class Wires(NamedTuple):
    """A network's wiring as the kernels read it. Side 0 is input a, side 1 is input b."""

    n_bits: int
    first_neuron: int
    threshold_input: Int32
    links: Int32
    """(2, n_links, n_neurons): candidate rows."""
    offsets: Int32
    """(2, n_neurons, n_links): where in a block the candidate rows stand, in bytes."""
    coefficients: Float32
    """(n_gates, 4): polynomials of the candidate gates."""
    rule_rows: Int32


class Groups(NamedTuple):
    """The parameters, or their gradients: b, s, W, U with V, S, C."""

    bias: Float32
    slope: Float32
    gate_logits: Float32
    link_logits: Float32
    """(2, n_links, n_neurons): U, then V."""
    sum_logits: Float32
    weights: Float32


class Workspace(NamedTuple):
    """Memory for one batch, allocated once."""

    signal: Float32
    """(n_blocks, n_rows, BLOCK): value of every row, hard or soft."""
    d_signal: Float32
    """(n_blocks, n_rows, BLOCK): derivative of the loss by it."""
    inputs: Float32
    """(n_blocks, n_scaled, BLOCK)"""
    target: Float32
    weight: Float32
    output: Float64
    """(n_blocks, BLOCK): summed in float64, so that the forward pass equals the circuit's sum bit for bit."""
    d_output: Float32
    gate_probabilities: Float32
    link_probabilities: Float32
    peaks: Float32
    """(3, n_neurons): largest probability among a neuron's links a, links b and gates; 1 if it is the only one."""
    sum_probabilities: Float32
    sum_open: Float32
    """(n_rules,): what the forward pass multiplies by: 0 or 1, or the probability where nothing is hard."""
    mixture: Float32
    """(4, n_neurons): polynomial of the mixture of gates."""
    hard: Float32
    """(4, n_neurons): polynomial of the chosen gate."""
    chosen: Int32
    """(2, n_neurons): rows chosen for the inputs."""
    moments: Float32
    """(n_neurons, 4): sums over the batch of dy, dy·a, dy·b, dy·a·b. Neurons are rounded up to whole `lanes`."""
    link_sums: Float32
    """(2, n_links / 4, n_neurons, 4): sums over the batch of derivative times candidate. Both are rounded up."""


def wires(network: Network) -> Wires:
    """Return the wiring as plain arrays."""
    w = network.wiring
    links = np.stack([w.links_a, w.links_b])
    return Wires(
        n_bits=w.n_bits,
        first_neuron=w.first_neuron,
        threshold_input=w.threshold_input,
        links=links,
        offsets=np.ascontiguousarray(links.transpose(0, 2, 1)) * np.int32(BYTES),
        coefficients=COEFFICIENTS[w.gates],
        rule_rows=w.rule_rows,
    )


def groups(parameters: Parameters) -> Groups:
    """Return the parameter groups as plain arrays; they are views."""
    p = parameters
    a = p.bias.size + p.slope.size + p.gate_logits.size
    link_logits = p.flat[a : a + 2 * p.link_a_logits.size].reshape(2, *p.link_a_logits.shape)
    return Groups(p.bias, p.slope, p.gate_logits, link_logits, p.sum_logits, p.weights)


def workspace(network: Network, n_scaled: int, batch_size: int) -> Workspace:
    """Allocate the memory that training or evaluating a network in batches of `batch_size` needs."""
    w = network.wiring
    n_blocks = -(-batch_size // BLOCK)
    n_links, n_neurons = w.links_a.shape
    n_gates, n_rules = len(w.gates), len(w.rule_rows)
    n_rounded = -(-n_neurons // LANES) * LANES

    def zeros(*shape: int) -> Float32:
        """Zeros that start at the start of a cache line: a vector that lies across two takes twice as long to read."""
        n_bytes = 4 * int(np.prod(shape))
        memory = np.zeros(n_bytes + _CACHE_LINE, dtype=np.uint8)
        start = -memory.ctypes.data % _CACHE_LINE
        return memory[start : start + n_bytes].view(np.float32).reshape(shape)

    return Workspace(
        signal=zeros(n_blocks, w.n_rows, BLOCK),
        d_signal=zeros(n_blocks, w.n_rows, BLOCK),
        inputs=zeros(n_blocks, n_scaled, BLOCK),
        target=zeros(n_blocks, BLOCK),
        weight=zeros(n_blocks, BLOCK),
        output=np.zeros((n_blocks, BLOCK)),
        d_output=zeros(n_blocks, BLOCK),
        gate_probabilities=zeros(n_gates, n_neurons),
        link_probabilities=zeros(2, n_links, n_neurons),
        peaks=zeros(3, n_neurons),
        sum_probabilities=zeros(n_rules),
        sum_open=zeros(n_rules),
        mixture=zeros(4, n_neurons),
        hard=zeros(4, n_neurons),
        chosen=np.zeros((2, n_neurons), dtype=np.int32),
        moments=zeros(n_rounded, 4),
        link_sums=zeros(2, -(-n_links // TOGETHER), n_rounded, TOGETHER),
    )
