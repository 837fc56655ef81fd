"""The trainable network: its shape, its candidates and its initial values.

The paper draws layers; here they are laid out flat. Every signal of the network is a *row* of one buffer: first the
category and missing bits, then the thresholds (one copy for every layer that reads the inputs), then the neurons,
layer after layer. A neuron's candidates are rows before its own, so that the order of rows is an order of evaluation
and neither the kernels nor the reference need to know what a layer is.

A batch passes forward and backward in blocks of `LANES` rows. A row of the network, the value of a bit, threshold or
neuron for each of them, is one value of type `lanes`. Logits and probabilities are stored ``[candidate, neuron]``, so
that softmaxes vectorise over neurons.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dln.circuit._gates import CANDIDATE_ORDER, COEFFICIENTS
from dln.network._lanes import LANES

Float32: TypeAlias = npt.NDArray[np.float32]
Float64: TypeAlias = npt.NDArray[np.float64]
Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]
#: Slopes start at 2, as the paper states. It leaves the other initial values open: here gate, link and sum logits start
#: within this distance of their centre, which is 0 for gates and links.
INITIAL_LOGIT: Final = 0.1
INITIAL_SLOPE: Final = 2.0
#: Centre of the sum's logits: all links are open at first. A closed link passes no gradient to its rule.
INITIAL_SUM_LOGIT: Final = 2.0
#: Where a layer has fewer inputs than candidates, the spare candidates carry this logit: probability zero, for ever.
CLOSED_LOGIT: Final = -1e30
#: Bytes of a cache line: a vector that lies across two takes twice as long to read.
_CACHE_LINE: Final = 64


@dataclass(frozen=True, slots=True)
class Wiring:
    """The fixed part of a network: its rows and the candidates of its neurons."""

    n_bits: int
    threshold_input: Int32
    """(n_thresholds,): the scaled column that each threshold row reads, all copies."""
    links: Int32
    """(2, n_links, n_neurons): candidate rows for the inputs a and b."""
    gates: Int32
    """(n_gates,): candidate gates, the same for every neuron."""
    layer_sizes: tuple[int, ...]
    rule_rows: Int32
    """(n_rules,): rows that the sum reads."""

    @property
    def n_thresholds(self) -> int:
        return len(self.threshold_input)

    @property
    def n_neurons(self) -> int:
        return int(self.links.shape[2])

    @property
    def first_neuron(self) -> int:
        return self.n_bits + self.n_thresholds


class Parameters(NamedTuple):
    """The trainable numbers, all float32: b, s, W, U, V, S and C of the paper's table.

    They are views of one flat vector, so that the optimiser sees a single array.
    """

    flat: Float32
    bias: Float32
    slope: Float32
    gate_logits: Float32
    """(n_gates, n_neurons): W."""
    link_logits: Float32
    """(2, n_links, n_neurons): U and V."""
    sum_logits: Float32
    """(n_rules,): S."""
    weights: Float32
    """(n_rules,): C."""

    def groups(self) -> dict[str, Float32]:
        """Return the parameter groups by name, in the order of the flat vector."""
        return {name: values for name, values in self._asdict().items() if name != "flat"}


@dataclass(frozen=True, slots=True)
class Architecture:
    hidden_layer_sizes: tuple[int, ...]
    n_thresholds: int
    n_candidate_links: int
    n_candidate_gates: int
    concatenate_inputs: bool


@dataclass(frozen=True, slots=True)
class Network:
    wiring: Wiring
    parameters: Parameters

    def with_parameters(self, flat: Float32) -> Network:
        return replace(self, parameters=_views(flat, [view.shape for view in self.parameters.groups().values()]))


def build_network(cutoffs: list[Float32], n_bits: int, architecture: Architecture, rng: np.random.Generator) -> Network:
    """Draw candidates and initial values; `cutoffs` are the initial thresholds of each scaled column, in [0, 1]."""
    inputs = np.repeat(np.arange(len(cutoffs), dtype=np.int32), [len(c) for c in cutoffs])
    layer_sizes, n_gates = architecture.hidden_layer_sizes, architecture.n_candidate_gates
    n_copies = len(layer_sizes) if architecture.concatenate_inputs else 1
    n_thresholds = len(inputs) * n_copies
    first_neuron = n_bits + n_thresholds
    links = _draw_links(n_bits, len(inputs), first_neuron, architecture, rng)
    n_neurons = sum(layer_sizes)
    n_rules = layer_sizes[-1]
    wiring = Wiring(
        n_bits=n_bits,
        threshold_input=np.tile(inputs, n_copies),
        links=np.maximum(links, 0),
        gates=np.array(CANDIDATE_ORDER[:n_gates], dtype=np.int32),
        layer_sizes=layer_sizes,
        rule_rows=np.arange(first_neuron + n_neurons - n_rules, first_neuron + n_neurons, dtype=np.int32),
    )
    thresholds, rules = (n_thresholds,), (n_rules,)
    shapes = [thresholds, thresholds, (n_gates, n_neurons), links.shape, rules, rules]
    parameters = _views(np.empty(sum(int(np.prod(s)) for s in shapes), dtype=np.float32), shapes)
    parameters.bias[:] = np.tile(np.concatenate([*cutoffs, np.empty(0, np.float32)]), n_copies)
    parameters.slope[:] = INITIAL_SLOPE
    for logits in (parameters.gate_logits, parameters.link_logits):
        logits[:] = rng.uniform(-INITIAL_LOGIT, INITIAL_LOGIT, logits.shape)
    parameters.sum_logits[:] = INITIAL_SUM_LOGIT + rng.uniform(-INITIAL_LOGIT, INITIAL_LOGIT, n_rules)
    # The paper leaves the start of C open. Zero would leave closed links without a gradient; this keeps the first
    # prediction near the mean of the standardised target.
    parameters.weights[:] = rng.uniform(-1.0, 1.0, n_rules) / np.sqrt(n_rules)
    parameters.link_logits[links < 0] = CLOSED_LOGIT
    return Network(wiring, parameters)


def _draw_links(
    n_bits: int, n_inputs: int, first_neuron: int, architecture: Architecture, rng: np.random.Generator
) -> Int32:
    """Draw distinct candidate rows, ``(2, n_candidates, n_neurons)``; -1 where rows are too few."""
    layer_sizes, n_candidates = architecture.hidden_layer_sizes, architecture.n_candidate_links
    links = np.full((2, n_candidates, sum(layer_sizes)), -1, dtype=np.int32)
    bits, previous = np.arange(n_bits), np.arange(0)
    start = 0
    for layer, size in enumerate(layer_sizes):
        rows = previous
        if layer == 0 or architecture.concatenate_inputs:
            copy = n_bits + layer * n_inputs
            rows = np.concatenate([bits, np.arange(copy, copy + n_inputs), previous])
        n = min(n_candidates, len(rows))
        for side in range(2):
            for i in range(start, start + size):
                links[side, :n, i] = rng.choice(rows, n, replace=False)
        previous = np.arange(first_neuron + start, first_neuron + start + size)
        start += size
    return links


def tree_cutoffs(
    values: Float32, target: npt.NDArray[np.float64], weight: npt.NDArray[np.float64], n_thresholds: int
) -> Float32:
    """Return the split points of a decision tree on one scaled column, ascending; there may be fewer.

    Missing values (encoded as -1) take no part: a cut-off is a place between numbers.
    """
    known = values >= 0
    if n_thresholds < 1 or known.sum() < 2:  # noqa: PLR2004 (a split needs two rows)
        return np.empty(0, dtype=np.float32)
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(max_leaf_nodes=n_thresholds + 1, random_state=0)
    tree.fit(values[known, None], target[known], sample_weight=weight[known])
    splits = tree.tree_.threshold[tree.tree_.feature >= 0]
    return np.unique(splits.astype(np.float32))


def open_links(sum_logits: Float32, temperature: float, threshold: float) -> npt.NDArray[np.bool_]:
    """Return which links of the sum are open: those with Sigmoid(S/τ) ≥ θ."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-sum_logits.astype(np.float64) / temperature)) >= threshold)


def _views(flat: Float32, shapes: list[tuple[int, ...]]) -> Parameters:
    """Return parameter groups as views of one flat vector."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = np.split(flat, ends[:-1])
    return Parameters(flat, *(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))


# --- arrays of the kernels --------------------------------------------------------------------------------------------


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
    sections: Int64  # (7,): where b, s, W, U with V, S, C start in the flat vectors, and their end

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


def kernel_arrays(network: Network, n_scaled: int) -> Arrays:
    """Return the arrays to train or evaluate a network of `n_scaled` columns; parameters are views of the network's."""
    wiring, parameters = network.wiring, network.parameters
    gradients = network.with_parameters(np.zeros_like(parameters.flat)).parameters
    sections = np.cumsum([0, *(group.size for group in parameters.groups().values())], dtype=np.int64)
    _, n_links, n_neurons = wiring.links.shape
    n_gates, n_rules, n_rows = len(wiring.gates), len(wiring.rule_rows), wiring.first_neuron + n_neurons
    # An odd number of lanes: rows a power of two apart would compete for the same few places in the cache.
    n_rounded = (-(-n_neurons // LANES) | 1) * LANES

    def zeros(*shape: int) -> Float32:
        memory = np.zeros(4 * int(np.prod(shape)) + _CACHE_LINE, dtype=np.uint8)
        start = -memory.ctypes.data % _CACHE_LINE
        return memory[start : start + memory.size - _CACHE_LINE].view(np.float32).reshape(shape)

    return Arrays(
        wiring.n_bits,
        wiring.first_neuron,
        wiring.threshold_input,
        np.ascontiguousarray(wiring.links.transpose(0, 2, 1)),
        COEFFICIENTS[wiring.gates],
        wiring.rule_rows,
        sections,
        *parameters,
        *gradients,
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
