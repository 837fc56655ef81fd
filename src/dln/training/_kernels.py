"""The paper's equations as fused Numba loops: what `_reference.py` states, fast.

Signals are stored ``[row, place in batch]`` in blocks of `BLOCK` places, so that the inner loop has a fixed length and
vectorises without a remainder; spare places of a short batch carry weight zero. Logits and probabilities are stored
``[candidate, neuron]``, so that softmaxes vectorise over neurons. A neuron touches only the rows of its candidates.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from dln._gates import COEFFICIENTS
from dln._network import Network, Parameters

Float32: TypeAlias = npt.NDArray[np.float32]
Float64: TypeAlias = npt.NDArray[np.float64]
Int32: TypeAlias = npt.NDArray[np.int32]
Index: TypeAlias = npt.NDArray[np.intp]

#: Places of a batch that one inner loop handles: two cache lines of float32.
BLOCK: Final = 32

#: How the discrete choices are relaxed.
SOFT, SEPARATE, NEURON = 0, 1, 2

#: Losses, on the standardised target.
SQUARED_ERROR, HUBER, ABSOLUTE_ERROR, QUANTILE = 0, 1, 2, 3

# Probabilities below this move no parameter that float32 could see, but as denormals they would slow the core down.
_TINY_PROBABILITY: Final = 1e-7
# Adam's moments decay geometrically where gradients have ended: flushed long before they are denormal.
_TINY_MOMENT: Final = 1e-18
_TINY_SQUARE: Final = 1e-34

_BETA1: Final = 0.9
_BETA2: Final = 0.999
_EPSILON: Final = 1e-8

_LOG2_E: Final = 1.4426950408889634
# Minimax polynomial of 2**f on [0, 1] with relative error below 1e-7: LLVM does not vectorise exp by itself.
_EXP2: Final = (1.0, 0.6931513118294802, 0.24016444987287555, 0.05579991409460651, 0.00901702896815921,
                0.0018671306997685966)  # fmt: skip

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_FAST: Final = {"contract", "reassoc", "nsz", "arcp"}
_jit: Any = njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")


class Settings(NamedTuple):
    """What a step is to do, apart from the temperature and the learning rate, which change by the epoch."""

    relaxation: int
    loss: int
    loss_parameter: float
    """The quantile, or Huber's delta."""
    gradient_factor: float
    sum_threshold: float


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
    coefficients: Float32
    """(n_gates, 4): polynomials of the candidate gates."""
    rule_rows: Int32
    consumers: Int32
    """(n_rows + 1,): the consumers of row j stand at consumers[j] … consumers[j + 1] of the two lists below."""
    consumer_link: Int32
    """Place of the link in the flat ``(2, n_links, n_neurons)`` array."""
    consumer_input: Int32
    """Place of the consuming input in the flat ``(2, n_neurons)`` array."""


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
    """Memory for one batch, allocated once. Places of the batch are ``(n_blocks, BLOCK)``."""

    signal: Float32
    """(n_rows, n_blocks, BLOCK): value of every row, hard or soft."""
    d_signal: Float32
    """(n_rows, n_blocks, BLOCK): derivative of the loss by it."""
    d_input: Float32
    """(2 * n_neurons, n_blocks, BLOCK): derivative of the loss by the inputs a and b of every neuron."""
    inputs: Float32
    """(n_scaled, n_blocks, BLOCK)"""
    target: Float32
    weight: Float32
    output: Float64
    """(n_blocks, BLOCK): summed in float64, so that the forward pass equals the circuit's sum bit for bit."""
    d_output: Float32
    gate_probabilities: Float32
    link_probabilities: Float32
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
    """(4, n_neurons): sums over the batch of dy, dy·a, dy·b, dy·a·b."""
    link_sums: Float32
    """(2, n_links, n_neurons): sums over the batch of derivative times candidate."""
    threshold_exp: Float32
    exponents: Int32
    column: Float32
    """(2, n): scratch of the softmax."""
    block: Float32
    """(3, BLOCK): scratch of one neuron."""


def wires(network: Network) -> Wires:
    """Return the wiring as plain arrays, with the list of consumers of every row."""
    w = network.wiring
    links = np.stack([w.links_a, w.links_b])
    n_neurons = w.n_neurons
    by_row = np.argsort(links, axis=None, kind="stable").astype(np.int32)
    counts = np.bincount(links.ravel(), minlength=w.n_rows)
    return Wires(
        n_bits=w.n_bits,
        first_neuron=w.first_neuron,
        threshold_input=w.threshold_input,
        links=links,
        coefficients=COEFFICIENTS[w.gates],
        rule_rows=w.rule_rows,
        consumers=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        consumer_link=by_row,
        consumer_input=by_row // np.int32(w.links_a.size) * np.int32(n_neurons) + by_row % np.int32(n_neurons),
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

    def zeros(*shape: int) -> Float32:
        return np.zeros(shape, dtype=np.float32)

    largest = max(2 * n_links * n_neurons, n_gates * n_neurons, w.n_thresholds * n_blocks * BLOCK)
    return Workspace(
        signal=zeros(w.n_rows, n_blocks, BLOCK),
        d_signal=zeros(w.n_rows, n_blocks, BLOCK),
        d_input=zeros(2 * n_neurons, n_blocks, BLOCK),
        inputs=zeros(n_scaled, n_blocks, BLOCK),
        target=zeros(n_blocks, BLOCK),
        weight=zeros(n_blocks, BLOCK),
        output=np.zeros((n_blocks, BLOCK)),
        d_output=zeros(n_blocks, BLOCK),
        gate_probabilities=zeros(n_gates, n_neurons),
        link_probabilities=zeros(2, n_links, n_neurons),
        sum_probabilities=zeros(n_rules),
        sum_open=zeros(n_rules),
        mixture=zeros(4, n_neurons),
        hard=zeros(4, n_neurons),
        chosen=np.zeros((2, n_neurons), dtype=np.int32),
        moments=zeros(4, n_neurons),
        link_sums=zeros(2, n_links, n_neurons),
        threshold_exp=zeros(w.n_thresholds, n_blocks, BLOCK),
        exponents=np.zeros(largest, dtype=np.int32),
        column=zeros(2, n_neurons),
        block=zeros(3, BLOCK),
    )


@_jit
def exp_nonpositive(values: Float32, exponents: Int32) -> None:
    """Replace `values` (float32, <= 0) by their exponentials; `exponents` is int32 scratch of the same length."""
    for i in range(values.size):
        t = max(values[i] * np.float32(_LOG2_E), np.float32(-126.0))
        whole = np.floor(t)
        f = t - whole
        p = np.float32(_EXP2[5])
        p = p * f + np.float32(_EXP2[4])
        p = p * f + np.float32(_EXP2[3])
        p = p * f + np.float32(_EXP2[2])
        p = p * f + np.float32(_EXP2[1])
        values[i] = p * f + np.float32(_EXP2[0])
        exponents[i] = np.int32(whole) << np.int32(23)
    bits = values.view(np.int32)
    for i in range(values.size):
        bits[i] += exponents[i]


@_jit
def _softmax(logits: Float32, temperature: float, out: Float32, exponents: Int32, column: Float32) -> None:
    """Softmax over the first axis, ``(n_candidates, n_neurons)``; tiny probabilities become zero."""
    n_candidates, n_neurons = logits.shape
    inverse = np.float32(1.0 / temperature)
    best, total = column[0], column[1]
    for i in range(n_neurons):
        best[i] = logits[0, i]
        total[i] = 0.0
    for k in range(1, n_candidates):
        for i in range(n_neurons):
            best[i] = max(best[i], logits[k, i])
    for k in range(n_candidates):
        for i in range(n_neurons):
            out[k, i] = (logits[k, i] - best[i]) * inverse
    exp_nonpositive(out.reshape(out.size), exponents)
    for k in range(n_candidates):
        for i in range(n_neurons):
            total[i] += out[k, i]
    for i in range(n_neurons):
        total[i] = np.float32(1.0) / total[i]
    for k in range(n_candidates):
        for i in range(n_neurons):
            p = out[k, i] * total[i]
            out[k, i] = p if p >= np.float32(_TINY_PROBABILITY) else np.float32(0.0)


@_jit
def _choose(logits: Float32, candidates: Int32, chosen: Int32, column: Float32) -> None:
    """Write each neuron's candidate of the largest logit, the first among equals."""
    n_candidates, n_neurons = logits.shape
    best = column[0]
    for i in range(n_neurons):
        best[i] = logits[0, i]
        chosen[i] = candidates[0, i]
    for k in range(1, n_candidates):
        for i in range(n_neurons):
            better = logits[k, i] > best[i]
            best[i] = logits[k, i] if better else best[i]
            chosen[i] = candidates[k, i] if better else chosen[i]


@_jit
def _mix_gates(probabilities: Float32, coefficients: Float32, mixture: Float32) -> None:
    """Write the polynomial of each neuron's mixture of gates."""
    mixture[:] = 0.0
    for m in range(4):
        for k in range(probabilities.shape[0]):
            c = coefficients[k, m]
            if c != 0.0:
                for i in range(probabilities.shape[1]):
                    mixture[m, i] += c * probabilities[k, i]


@_jit
def _choose_gates(logits: Float32, coefficients: Float32, hard: Float32, column: Float32) -> None:
    """Write the polynomial of each neuron's chosen gate."""
    n_gates, n_neurons = logits.shape
    best = column[0]
    for i in range(n_neurons):
        best[i] = logits[0, i]
    for m in range(4):
        hard[m, :] = coefficients[0, m]
    for k in range(1, n_gates):
        for i in range(n_neurons):
            better = logits[k, i] > best[i]
            best[i] = logits[k, i] if better else best[i]
            for m in range(4):
                hard[m, i] = coefficients[k, m] if better else hard[m, i]


@_jit
def open_links(sum_logits: Float32, temperature: float, settings: Settings, work: Workspace) -> None:
    """Write the probability of every link of the sum, and what the forward pass multiplies by."""
    for j in range(sum_logits.size):
        p = 1.0 / (1.0 + np.exp(-np.float64(sum_logits[j]) / temperature))
        work.sum_probabilities[j] = p
        if settings.relaxation == SOFT:
            work.sum_open[j] = p
        else:
            work.sum_open[j] = 1.0 if p >= settings.sum_threshold else 0.0


@_jit
def _prepare(wire: Wires, params: Groups, temperature: float, settings: Settings, work: Workspace) -> None:
    """Compute what depends on the parameters only: probabilities and choices."""
    _softmax(params.gate_logits, temperature, work.gate_probabilities, work.exponents, work.column)
    for side in range(2):
        _softmax(params.link_logits[side], temperature, work.link_probabilities[side], work.exponents, work.column)
    _mix_gates(work.gate_probabilities, wire.coefficients, work.mixture)
    _prepare_hard(wire, params, temperature, settings, work)


@_jit
def _prepare_hard(wire: Wires, params: Groups, temperature: float, settings: Settings, work: Workspace) -> None:
    """Compute the choices only."""
    for side in range(2):
        _choose(params.link_logits[side], wire.links[side], work.chosen[side], work.column)
    _choose_gates(params.gate_logits, wire.coefficients, work.hard, work.column)
    open_links(params.sum_logits, temperature, settings, work)


@_jit
def _load(data: Data, rows: Index, n_bits: int, work: Workspace) -> int:
    """Gather a batch, return its number of blocks; spare places of the last block repeat a row with weight zero."""
    n_blocks = -(-rows.size // BLOCK)
    for o in range(n_blocks):
        for r in range(BLOCK):
            place = o * BLOCK + r
            row = rows[place] if place < rows.size else rows[0]
            for f in range(data.numbers.shape[1]):
                work.inputs[f, o, r] = data.numbers[row, f]
            for b in range(n_bits):
                work.signal[b, o, r] = data.bits[row, b]
            work.target[o, r] = data.target[row]
            work.weight[o, r] = data.weight[row] if place < rows.size else np.float32(0.0)
    return n_blocks


@_jit
def _forward(
    wire: Wires, params: Groups, temperature: float, settings: Settings, work: Workspace, n_blocks: int
) -> None:
    """Compute every signal and the output from the loaded batch."""
    soft = settings.relaxation == SOFT
    _forward_thresholds(wire, params, temperature, soft, work, n_blocks)
    signal, hard, chosen = work.signal, work.hard, work.chosen
    for i in range(chosen.shape[1]):
        row = wire.first_neuron + i
        if soft:
            _soft_neuron(wire, work, i, n_blocks)
        else:
            a, b = chosen[0, i], chosen[1, i]
            c0, c1, c2, c3 = hard[0, i], hard[1, i], hard[2, i], hard[3, i]
            for o in range(n_blocks):
                for r in range(BLOCK):
                    signal[row, o, r] = c0 + c1 * signal[a, o, r] + (c2 + c3 * signal[a, o, r]) * signal[b, o, r]
    output = work.output
    output[:n_blocks] = 0.0
    for j in range(wire.rule_rows.size):
        weight = np.float64(work.sum_open[j]) * np.float64(params.weights[j])
        if weight != 0.0:
            row = wire.rule_rows[j]
            for o in range(n_blocks):
                for r in range(BLOCK):
                    output[o, r] += weight * signal[row, o, r]


@_jit
def _forward_thresholds(
    wire: Wires,
    params: Groups,
    temperature: float,
    soft: bool,
    work: Workspace,
    n_blocks: int,  # noqa: FBT001
) -> None:
    """Steps, or sigmoids where nothing is hard."""
    inverse = np.float32(1.0 / temperature)
    inputs, signal = work.inputs, work.signal
    for t in range(wire.threshold_input.size):
        f, row = wire.threshold_input[t], wire.n_bits + t
        slope, bias = params.slope[t], params.bias[t]
        for o in range(n_blocks):
            if soft:
                for r in range(BLOCK):
                    signal[row, o, r] = 1.0 / (1.0 + np.exp(-slope * (inputs[f, o, r] - bias) * inverse))
            elif slope > 0:  # compared, not multiplied: what a cut-off separates must not hang on rounding
                for r in range(BLOCK):
                    signal[row, o, r] = np.float32(1.0) if inputs[f, o, r] > bias else np.float32(0.0)
            else:
                for r in range(BLOCK):
                    below = inputs[f, o, r] < bias and slope < 0
                    signal[row, o, r] = np.float32(1.0) if below else np.float32(0.0)


@_jit
def _soft_neuron(wire: Wires, work: Workspace, i: int, n_blocks: int) -> None:
    """The paper's training equation of one neuron: soft inputs, soft gate."""
    signal, mixture, a, b = work.signal, work.mixture, work.block[0], work.block[1]
    c0, c1, c2, c3 = mixture[0, i], mixture[1, i], mixture[2, i], mixture[3, i]
    row = wire.first_neuron + i
    for o in range(n_blocks):
        _mix_links(signal, wire.links, work.link_probabilities, 0, i, o, a)
        _mix_links(signal, wire.links, work.link_probabilities, 1, i, o, b)
        for r in range(BLOCK):
            signal[row, o, r] = c0 + c1 * a[r] + (c2 + c3 * a[r]) * b[r]


@_jit
def _mix_links(signal: Float32, links: Int32, p: Float32, side: int, i: int, o: int, out: Float32) -> None:
    """Write the mixture of a neuron's candidates for one block.

    Here and below rows are addressed by index: a view of a row would be counted by Numba, which costs more than the
    loop. Four candidates at a time, so that the result stays in registers.
    """
    n = links.shape[1]
    for r in range(BLOCK):
        out[r] = 0.0
    for k in range(0, n - n % 4, 4):
        p0, p1, p2, p3 = p[side, k, i], p[side, k + 1, i], p[side, k + 2, i], p[side, k + 3, i]
        if p0 + p1 + p2 + p3 > 0.0:
            j0, j1, j2, j3 = links[side, k, i], links[side, k + 1, i], links[side, k + 2, i], links[side, k + 3, i]
            for r in range(BLOCK):
                out[r] += (p0 * signal[j0, o, r] + p1 * signal[j1, o, r]) + (
                    p2 * signal[j2, o, r] + p3 * signal[j3, o, r]
                )
    for k in range(n - n % 4, n):
        p0, j0 = p[side, k, i], links[side, k, i]
        for r in range(BLOCK):
            out[r] += p0 * signal[j0, o, r]


@_jit
def _loss(work: Workspace, settings: Settings, n: int, n_blocks: int) -> float:
    """Return the weighted sum of losses and write the derivative of their mean by the output."""
    total = 0.0
    for o in range(n_blocks):
        for r in range(BLOCK):
            value, slope = _loss_at(np.float32(work.output[o, r] - work.target[o, r]), settings)
            w = work.weight[o, r]
            total += np.float64(w) * np.float64(value)
            work.d_output[o, r] = w * slope / np.float32(n)
    return total


@_jit
def _loss_at(difference: float, settings: Settings) -> tuple[float, float]:
    """Return the loss of one prediction and its derivative."""
    if settings.loss == SQUARED_ERROR:
        return difference * difference, np.float32(2.0) * difference
    if settings.loss == HUBER:
        delta = np.float32(settings.loss_parameter)
        if abs(difference) <= delta:
            return np.float32(0.5) * difference * difference, difference
        return delta * (abs(difference) - np.float32(0.5) * delta), delta * np.sign(difference)
    if settings.loss == ABSOLUTE_ERROR:
        return abs(difference), np.sign(difference)
    q = np.float32(settings.loss_parameter)
    slope = np.float32(1.0) - q if difference > 0 else (-q if difference < 0 else np.float32(0.0))
    return slope * difference, slope


@_jit
def _backward(
    wire: Wires, params: Groups, grads: Groups, temperature: float, settings: Settings, work: Workspace, n_blocks: int
) -> None:
    """Compute the gradients of the mean loss by all parameters."""
    inverse = np.float32(1.0 / temperature)
    _backward_sum(wire, params, grads, inverse, settings.relaxation, work, n_blocks)
    _backward_neurons(wire, settings, work, n_blocks)
    _softmax_gradient_of_gates(wire.coefficients, work, inverse, grads.gate_logits)
    for side in range(2):
        _softmax_gradient(
            work.link_probabilities[side], work.link_sums[side], inverse, grads.link_logits[side], work.column
        )
    _backward_thresholds(wire, params, grads, inverse, settings, work, n_blocks)


@_jit
def _backward_sum(
    wire: Wires, params: Groups, grads: Groups, inverse: float, relaxation: int, work: Workspace, n_blocks: int
) -> None:
    """Gradients of the sum's links and weights; starts the derivatives of the rules' rows."""
    signal, d_signal, d_output = work.signal, work.d_signal, work.d_output
    d_signal[wire.n_bits :] = 0.0
    for j in range(wire.rule_rows.size):
        row = wire.rule_rows[j]
        # Relaxed as a whole, a closed link still passes its share back: rules that have closed can come to life again.
        link = work.sum_probabilities[j] if relaxation == NEURON else work.sum_open[j]
        weight = link * params.weights[j]
        s = np.float32(0.0)
        for o in range(n_blocks):
            for r in range(BLOCK):
                s += d_output[o, r] * signal[row, o, r]
            for r in range(BLOCK):
                d_signal[row, o, r] += weight * d_output[o, r]
        p = work.sum_probabilities[j]
        grads.weights[j] = link * s
        slope = p * (np.float32(1.0) - p)
        grads.sum_logits[j] = slope * inverse * params.weights[j] * s if slope > _TINY_PROBABILITY else 0.0


@_jit
def _gather_derivative(wire: Wires, p: Float32, d_input: Float32, row: int, o: int, out: Float32) -> None:
    """Add up what the consumers of a row send back, for one block, four consumers at a time."""
    start, end = wire.consumers[row], wire.consumers[row + 1]
    links, inputs = wire.consumer_link, wire.consumer_input
    n = (end - start) % 4
    for c in range(start, end - n, 4):
        p0, p1, p2, p3 = p[links[c]], p[links[c + 1]], p[links[c + 2]], p[links[c + 3]]
        if p0 + p1 + p2 + p3 > 0.0:
            i0, i1, i2, i3 = inputs[c], inputs[c + 1], inputs[c + 2], inputs[c + 3]
            for r in range(BLOCK):
                out[r] += (p0 * d_input[i0, o, r] + p1 * d_input[i1, o, r]) + (
                    p2 * d_input[i2, o, r] + p3 * d_input[i3, o, r]
                )
    for c in range(end - n, end):
        p0, i0 = p[links[c]], inputs[c]
        for r in range(BLOCK):
            out[r] += p0 * d_input[i0, o, r]


@_jit
def _sum_products(
    links: Int32, p: Float32, sums: Float32, d_input: Float32, signal: Float32, side: int, i: int, o: int
) -> None:
    """Add up derivative times candidate over one block, four candidates at a time."""
    n = links.shape[1]
    row = side * links.shape[2] + i
    for k in range(0, n - n % 4, 4):
        if p[side, k, i] + p[side, k + 1, i] + p[side, k + 2, i] + p[side, k + 3, i] > 0.0:
            j0, j1, j2, j3 = links[side, k, i], links[side, k + 1, i], links[side, k + 2, i], links[side, k + 3, i]
            s0, s1, s2, s3 = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for r in range(BLOCK):
                d = d_input[row, o, r]
                s0 += d * signal[j0, o, r]
                s1 += d * signal[j1, o, r]
                s2 += d * signal[j2, o, r]
                s3 += d * signal[j3, o, r]
            sums[side, k, i] += s0
            sums[side, k + 1, i] += s1
            sums[side, k + 2, i] += s2
            sums[side, k + 3, i] += s3
    for k in range(n - n % 4, n):
        j0 = links[side, k, i]
        s0 = np.float32(0.0)
        for r in range(BLOCK):
            s0 += d_input[row, o, r] * signal[j0, o, r]
        sums[side, k, i] += s0


@_jit
def _backward_neurons(wire: Wires, settings: Settings, work: Workspace, n_blocks: int) -> None:
    """From the last neuron to the first: gather its derivative, pass it to its inputs, sum up what its logits need."""
    factor = np.float32(settings.gradient_factor)
    separate = settings.relaxation == SEPARATE
    gate = work.hard if separate else work.mixture
    signal, d_signal, d_input, moments = work.signal, work.d_signal, work.d_input, work.moments
    links, p, flat = wire.links, work.link_probabilities, work.link_probabilities.reshape(work.link_probabilities.size)
    a, b, dy = work.block[0], work.block[1], work.block[2]
    n_neurons = work.chosen.shape[1]
    moments[:] = 0.0
    work.link_sums[:] = 0.0
    for i in range(n_neurons - 1, -1, -1):
        row = wire.first_neuron + i
        ja, jb = work.chosen[0, i], work.chosen[1, i]
        c1, c2, c3 = gate[1, i], gate[2, i], gate[3, i]
        for o in range(n_blocks):
            for r in range(BLOCK):
                dy[r] = d_signal[row, o, r]
            _gather_derivative(wire, flat, d_input, row, o, dy)
            size = np.float32(0.0)
            for r in range(BLOCK):
                size += abs(dy[r])
            if size == 0.0:
                d_input[i, o] = 0.0
                d_input[n_neurons + i, o] = 0.0
                continue
            if separate:
                for r in range(BLOCK):
                    a[r] = signal[ja, o, r]
                    b[r] = signal[jb, o, r]
            else:
                _mix_links(signal, links, p, 0, i, o, a)
                _mix_links(signal, links, p, 1, i, o, b)
            m0, m1, m2, m3 = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for r in range(BLOCK):
                d = dy[r] * factor
                m0 += d
                m1 += d * a[r]
                m2 += d * b[r]
                m3 += d * a[r] * b[r]
                d_input[i, o, r] = d * (c1 + c3 * b[r])
                d_input[n_neurons + i, o, r] = d * (c2 + c3 * a[r])
            moments[0, i] += m0
            moments[1, i] += m1
            moments[2, i] += m2
            moments[3, i] += m3
            _sum_products(links, p, work.link_sums, d_input, signal, 0, i, o)
            _sum_products(links, p, work.link_sums, d_input, signal, 1, i, o)


@_jit
def _softmax_gradient(p: Float32, d_p: Float32, inverse: float, out: Float32, column: Float32) -> None:
    """Turn derivatives by probabilities into derivatives by logits: p·(dp - Σ p·dp)/τ."""
    n_candidates, n_neurons = p.shape
    mean = column[0]
    for i in range(n_neurons):
        mean[i] = 0.0
    for k in range(n_candidates):
        for i in range(n_neurons):
            mean[i] += p[k, i] * d_p[k, i]
    for k in range(n_candidates):
        for i in range(n_neurons):
            out[k, i] = p[k, i] * (d_p[k, i] - mean[i]) * np.float32(inverse)


@_jit
def _softmax_gradient_of_gates(coefficients: Float32, work: Workspace, inverse: float, out: Float32) -> None:
    """The same for gates, whose derivatives are polynomials in the four moments."""
    n_gates, n_neurons = out.shape
    moments = work.moments
    for k in range(n_gates):
        c0, c1, c2, c3 = coefficients[k, 0], coefficients[k, 1], coefficients[k, 2], coefficients[k, 3]
        for i in range(n_neurons):
            out[k, i] = c0 * moments[0, i] + c1 * moments[1, i] + c2 * moments[2, i] + c3 * moments[3, i]
    _softmax_gradient(work.gate_probabilities, out, inverse, out, work.column)


@_jit
def _backward_thresholds(
    wire: Wires, params: Groups, grads: Groups, inverse: float, settings: Settings, work: Workspace, n_blocks: int
) -> None:
    """Gradients of biases and slopes, through the sigmoid's derivative."""
    scale = np.float32(settings.gradient_factor) * np.float32(inverse)
    n = wire.threshold_input.size
    inputs, dy, d_input, exps = work.inputs, work.block[0], work.d_input, work.threshold_exp
    flat = work.link_probabilities.reshape(work.link_probabilities.size)
    for t in range(n):
        f, slope, bias = wire.threshold_input[t], params.slope[t], params.bias[t]
        for o in range(n_blocks):
            for r in range(BLOCK):
                exps[t, o, r] = -abs(slope * (inputs[f, o, r] - bias)) * np.float32(inverse)
    exp_nonpositive(exps.reshape(exps.size), work.exponents)
    for t in range(n):
        f, slope, bias = wire.threshold_input[t], params.slope[t], params.bias[t]
        s0, s1 = np.float32(0.0), np.float32(0.0)
        for o in range(n_blocks):
            for r in range(BLOCK):
                dy[r] = 0.0
            _gather_derivative(wire, flat, d_input, wire.n_bits + t, o, dy)
            for r in range(BLOCK):
                e = exps[t, o, r] if exps[t, o, r] > np.float32(_TINY_PROBABILITY) else np.float32(0.0)
                dz = dy[r] * e / ((np.float32(1.0) + e) * (np.float32(1.0) + e))
                s0 += dz
                s1 += dz * (inputs[f, o, r] - bias)
        grads.bias[t] = -slope * s0 * scale
        grads.slope[t] = s1 * scale


@_jit
def batch_gradients(
    wire: Wires,
    params: Groups,
    grads: Groups,
    data: Data,
    rows: Index,
    temperature: float,
    settings: Settings,
    work: Workspace,
) -> float:
    """Return the summed loss of a batch and write the gradients of its mean."""
    _prepare(wire, params, temperature, settings, work)
    n_blocks = _load(data, rows, wire.n_bits, work)
    _forward(wire, params, temperature, settings, work, n_blocks)
    loss = _loss(work, settings, rows.size, n_blocks)
    _backward(wire, params, grads, temperature, settings, work, n_blocks)
    return loss


@_jit
def adam(values: Float32, gradients: Float32, first: Float32, second: Float32, learning_rate: float, step: int) -> None:
    """One step of Adam on a flat vector; moments too small to matter become zero, not denormal."""
    b1, b2 = np.float32(_BETA1), np.float32(_BETA2)
    r1, r2 = np.float32(1.0 - _BETA1), np.float32(1.0 - _BETA2)
    rate = np.float32(learning_rate / (1.0 - _BETA1**step))
    unbias = np.float32(1.0 / (1.0 - _BETA2**step))
    for i in range(values.size):
        g = gradients[i]
        m = b1 * first[i] + r1 * g
        v = b2 * second[i] + r2 * g * g
        m = m if abs(m) > np.float32(_TINY_MOMENT) else np.float32(0.0)
        v = v if v > np.float32(_TINY_SQUARE) else np.float32(0.0)
        first[i] = m
        second[i] = v
        values[i] -= rate * m / (np.sqrt(v * unbias) + np.float32(_EPSILON))


@_jit
def train_epoch(
    wire: Wires,
    params: Groups,
    grads: Groups,
    flat: tuple[Float32, Float32, Float32, Float32],
    sections: npt.NDArray[np.int64],
    rates: Float64,
    data: Data,
    order: Index,
    batch_size: int,
    temperature: float,
    settings: Settings,
    step: int,
    work: Workspace,
) -> float:
    """Train on all rows once, in batches of `batch_size` in the given order; return the summed loss.

    `flat` holds parameters, gradients and Adam's two moments as flat vectors; section g of them, from
    ``sections[g]`` to ``sections[g + 1]``, is updated with learning rate ``rates[g]``, or not at all where that is 0.
    """
    values, gradients, first, second = flat
    total = 0.0
    for start in range(0, order.size, batch_size):
        rows = order[start : min(start + batch_size, order.size)]
        total += batch_gradients(wire, params, grads, data, rows, temperature, settings, work)
        step += 1
        for g in range(rates.size):
            if rates[g] > 0.0:
                a, b = sections[g], sections[g + 1]
                adam(values[a:b], gradients[a:b], first[a:b], second[a:b], rates[g], step)
    return total


@_jit
def hard_outputs(
    wire: Wires,
    params: Groups,
    data: Data,
    temperature: float,
    settings: Settings,
    work: Workspace,
    out: Float64,
    rules: npt.NDArray[np.bool_],
) -> None:
    """Inference: write the output of every row, and the rules' values where ``rules`` is ``(n_rules, n)``."""
    n = data.target.size
    size = work.target.size
    hard = Settings(NEURON, settings.loss, settings.loss_parameter, settings.gradient_factor, settings.sum_threshold)
    _prepare_hard(wire, params, temperature, hard, work)
    flat = work.output.reshape(size)
    for start in range(0, n, size):
        rows = np.arange(start, min(start + size, n))
        n_blocks = _load(data, rows, wire.n_bits, work)
        _forward(wire, params, temperature, hard, work, n_blocks)
        out[start : start + rows.size] = flat[: rows.size]
        for j in range(rules.shape[0]):
            values = work.signal[wire.rule_rows[j]].reshape(size)
            for r in range(rows.size):
                rules[j, start + r] = values[r] > 0.5


@_jit
def weighted_loss(output: Float64, target: Float32, weight: Float32, settings: Settings) -> float:
    """Return the weighted sum of losses of given outputs."""
    total = 0.0
    for r in range(output.size):
        value, _ = _loss_at(np.float32(output[r] - target[r]), settings)
        total += np.float64(weight[r]) * np.float64(value)
    return total
