"""What the kernels read and write: rows, wiring, parameters, and memory for one batch, as plain arrays.

A batch is cut into blocks of `BLOCK` slots; spare slots of the last carry weight zero. Signals are stored
``[block, row, slot]``: a row of a block is one value of type `lanes`, and the rows of a block stay in the cache.
Logits and probabilities are stored ``[candidate, neuron]``, so that softmaxes take neighbouring neurons together. A
neuron touches only the rows of its candidates.

`Data`, `Wires`, `Groups` and `Workspace` are what Python hands over; what the kernels get is one `Frame`, because to
take fifty arrays from Python is a good part of what there would be to compile.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dln.circuit._gates import COEFFICIENTS
from dln.network._lanes import BYTES, LANES, record_at
from dln.network._network import Network, Parameters

Float32: TypeAlias = npt.NDArray[np.float32]
Float64: TypeAlias = npt.NDArray[np.float64]
Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]

#: Slots of a batch that are computed together.
BLOCK: Final = LANES
#: Candidates whose sums over the batch are computed and stored together.
TOGETHER: Final = 4

#: Bytes of a cache line, which vectors are not to lie across (see `workspace`).
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
    """(2, n_links, n_rounded): candidate rows. Neurons are rounded up to whole `lanes`."""
    offsets: Int32
    """(2, n_neurons, n_links): where in a block the candidate rows stand, in bytes."""
    coefficients: Float32
    """(n_gates, 4): polynomials of the candidate gates."""
    rule_rows: Int32
    frame: Int64
    """Its part of a `Frame`."""


class Groups(NamedTuple):
    """The parameters, or their gradients: b, s, W, U with V, S, C."""

    bias: Float32
    slope: Float32
    gate_logits: Float32
    link_logits: Float32
    """(2, n_links, n_neurons): U, then V."""
    sum_logits: Float32
    weights: Float32
    frame: Int64
    """Its part of a `Frame`."""


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
    """(n_gates, n_rounded): neurons are rounded up to whole `lanes`, here and below."""
    link_probabilities: Float32
    """(2, n_links, n_rounded)"""
    peaks: Float32
    """(3, n_rounded): largest probability among a neuron's links a, links b and gates; 1 if it is the only one."""
    sum_probabilities: Float32
    sum_open: Float32
    """(n_rules,): what the forward pass multiplies by: 0 or 1, or the probability where nothing is hard."""
    mixture: Float32
    """(4, n_rounded): polynomial of the mixture of gates."""
    hard: Float32
    """(4, n_rounded): polynomial of the chosen gate."""
    chosen: Int32
    """(2, n_rounded): rows chosen for the inputs."""
    moments: Float32
    """(n_rounded, 4): sums over the batch of dy, dy·a, dy·b, dy·a·b."""
    link_sums: Float32
    """(2, n_links / 4, n_rounded, 4): sums over the batch of derivative times candidate. Links are rounded up too."""
    derivatives: Float32
    """(n_candidates, LANES): derivatives by the probabilities of neighbouring neurons' candidates, links or gates."""
    narrow: Float32
    """(2 * n_links + n_gates, LANES): logits, then their gradients, of a network that has fewer neurons than lanes."""
    frame: Int64
    """A whole `Frame`, of which all but its own part is still to be filled in."""


class Frame(NamedTuple):
    """All that a step reads and writes, as the kernels see it: sizes, and addresses of what the others hold."""

    n_bits: int
    n_thresholds: int
    n_neurons: int
    n_rounded: int
    n_links: int
    n_gates: int
    n_rules: int
    first_neuron: int
    threshold_input: int
    links: int
    offsets: int
    coefficients: int
    rule_rows: int

    bias: int
    slope: int
    gate_logits: int
    link_logits: int
    sum_logits: int
    weights: int

    d_bias: int
    d_slope: int
    d_gate_logits: int
    d_link_logits: int
    d_sum_logits: int
    d_weights: int

    numbers: int
    bits: int
    row_target: int
    row_weight: int

    n_scaled: int
    n_rows: int
    """Of a block: bits, thresholds and neurons."""
    signal: int
    d_signal: int
    inputs: int
    target: int
    weight: int
    output: int
    d_output: int
    gate_probabilities: int
    link_probabilities: int
    peaks: int
    sum_probabilities: int
    sum_open: int
    mixture: int
    hard: int
    chosen: int
    moments: int
    link_sums: int
    derivatives: int
    narrow: int


frame_at = record_at(Frame)
unrolled_frame_at = record_at(Frame, unrolled=True)


def rounded(n: int) -> int:
    """Return a number of neurons rounded up to whole `lanes`, an odd number of them.

    Rows a power of two apart would compete for the same few places in the cache.
    """
    return (-(-n // LANES) | 1) * LANES


def address_of(array: npt.NDArray[Any], kind: type[np.generic] = np.float32) -> int:
    """Return where the memory of an array starts, which must be as the kernels take it to be: they do not look."""
    if array.dtype != kind or not array.flags.c_contiguous:
        msg = f"kernels take elements of {kind.__name__} that stand one after the other, not {array.dtype}"
        raise TypeError(msg)
    return array.ctypes.data


def check_columns(wire: Wires, data: Data, work: Workspace) -> None:
    """Raise an error if rows have other columns than the network: kernels would read beyond them."""
    if (data.numbers.shape[1], data.bits.shape[1]) != (work.inputs.shape[1], wire.n_bits):
        msg = f"rows of {data.numbers.shape[1]} numbers and {data.bits.shape[1]} bits are not those of the network"
        raise ValueError(msg)


def wires(network: Network) -> Wires:
    """Return the wiring as plain arrays."""
    w = network.wiring
    n_links, n_neurons = w.links_a.shape
    links = np.zeros((2, n_links, rounded(n_neurons)), dtype=np.int32)
    links[0, :, :n_neurons], links[1, :, :n_neurons] = w.links_a, w.links_b
    offsets = np.multiply(links[:, :, :n_neurons].transpose(0, 2, 1), np.int32(BYTES), order="C")
    coefficients = COEFFICIENTS[w.gates]
    frame = (
        w.n_bits,
        w.threshold_input.size,
        n_neurons,
        links.shape[2],
        n_links,
        len(w.gates),
        w.rule_rows.size,
        w.first_neuron,
        address_of(w.threshold_input, np.int32),
        address_of(links, np.int32),
        address_of(offsets, np.int32),
        address_of(coefficients),
        address_of(w.rule_rows, np.int32),
    )
    return Wires(
        n_bits=w.n_bits,
        first_neuron=w.first_neuron,
        threshold_input=w.threshold_input,
        links=links,
        offsets=offsets,
        coefficients=coefficients,
        rule_rows=w.rule_rows,
        frame=np.array(frame, dtype=np.int64),
    )


def groups(parameters: Parameters) -> Groups:
    """Return the parameter groups as plain arrays; they are views."""
    p = parameters
    a = p.bias.size + p.slope.size + p.gate_logits.size
    link_logits = p.flat[a : a + 2 * p.link_a_logits.size].reshape(2, *p.link_a_logits.shape)
    arrays = (p.bias, p.slope, p.gate_logits, link_logits, p.sum_logits, p.weights)
    starts = accumulate((array.nbytes for array in arrays[:-1]), initial=address_of(p.flat))  # they follow each other
    return Groups(*arrays, frame=np.array(list(starts), dtype=np.int64))


def workspace(network: Network, n_scaled: int, batch_size: int) -> Workspace:
    """Allocate the memory that training or evaluating a network in batches of `batch_size` needs."""
    w = network.wiring
    n_blocks = -(-batch_size // BLOCK)
    n_links, n_neurons = w.links_a.shape
    n_gates, n_rules = len(w.gates), len(w.rule_rows)
    n_rounded = rounded(n_neurons)
    n_groups = -(-n_links // TOGETHER)

    def zeros(*shape: int) -> Float32:
        """Zeros that start at the start of a cache line: a vector that lies across two takes twice as long to read."""
        n_bytes = 4 * int(np.prod(shape))
        memory = np.zeros(n_bytes + _CACHE_LINE, dtype=np.uint8)
        start = -memory.ctypes.data % _CACHE_LINE
        return memory[start : start + n_bytes].view(np.float32).reshape(shape)

    arrays: dict[str, npt.NDArray[Any]] = {
        "signal": zeros(n_blocks, w.n_rows, BLOCK),
        "d_signal": zeros(n_blocks, w.n_rows, BLOCK),
        "inputs": zeros(n_blocks, n_scaled, BLOCK),
        "target": zeros(n_blocks, BLOCK),
        "weight": zeros(n_blocks, BLOCK),
        "output": zeros(n_blocks, 2 * BLOCK).view(np.float64),
        "d_output": zeros(n_blocks, BLOCK),
        "gate_probabilities": zeros(n_gates, n_rounded),
        "link_probabilities": zeros(2, n_links, n_rounded),
        "peaks": zeros(3, n_rounded),
        "sum_probabilities": zeros(n_rules),
        "sum_open": zeros(n_rules),
        "mixture": zeros(4, n_rounded),
        "hard": zeros(4, n_rounded),
        "chosen": np.zeros((2, n_rounded), dtype=np.int32),
        "moments": zeros(n_rounded, 4),
        "link_sums": zeros(2, n_groups, n_rounded, TOGETHER),
        "derivatives": zeros(max(n_groups * TOGETHER, n_gates), LANES),
        "narrow": zeros(2 * n_links + n_gates, LANES),
    }
    sizes = (n_scaled, w.n_rows)
    kinds: dict[str, type[np.generic]] = {"output": np.float64, "chosen": np.int32}
    addresses = (address_of(array, kinds.get(name, np.float32)) for name, array in arrays.items())
    frame = np.zeros(len(Frame._fields), dtype=np.int64)
    frame[len(frame) - len(sizes) - len(arrays) :] = [*sizes, *addresses]
    return Workspace(**arrays, frame=frame)
