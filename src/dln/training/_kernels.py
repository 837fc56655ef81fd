"""The paper's equations as fused Numba loops: what `_reference.py` states, fast.

What they read and write is laid out in `_layout.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from dln.training import _lanes
from dln.training._lanes import (
    BYTES,
    LANES,
    absolute,
    add_at,
    add_totals,
    add_wide,
    any_nonzero,
    columns,
    fma,
    largest,
    load,
    load_first,
    number_at,
    one_over,
    pinned,
    root,
    splat,
    store,
    store_first,
    total,
    where_greater,
    whole_at,
)
from dln.training._layout import BLOCK, TOGETHER, Data, Float32, Float64, Groups, Wires, Workspace

Index: TypeAlias = npt.NDArray[np.intp]

#: How the discrete choices are relaxed.
SOFT, SEPARATE, NEURON = 0, 1, 2

#: Losses, on the standardised target.
SQUARED_ERROR, HUBER, ABSOLUTE_ERROR, QUANTILE = 0, 1, 2, 3

# Probabilities below this move no parameter that float32 could see, but as denormals they would slow the core down.
_TINY_PROBABILITY: Final = 1e-7
# Adam's moments decay geometrically where gradients have ended, but the core is slow with denormal numbers: the first
# is flushed to zero long before, the second never falls below a thousand times this.
_TINY_MOMENT: Final = 1e-18
_TINY_SQUARE: Final = 1e-34
# Gradients whose squares are above this move nothing.
_HUGE_SQUARE: Final = 3e38

_BETA1: Final = 0.9
_BETA2: Final = 0.999
_EPSILON: Final = 1e-8

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_FAST: Final = {"contract", "reassoc", "nsz", "arcp"}
# What Python calls is cached; what only kernels call is compiled into them. Counting who refers to an array would take
# 420 locked instructions a step: kernels hand arrays to each other, Python's caller holds them meanwhile.
_options: Any = {"nogil": True, "fastmath": _FAST, "error_model": "numpy"}
_uncounted: Any = {**_options, "_nrt": False}
_allocating: Any = njit(cache=True, **_options)
_jit: Any = njit(cache=True, **_uncounted)
_inline: Any = njit(forceinline=True, **_uncounted)


class Settings(NamedTuple):
    """What a step is to do, apart from the temperature and the learning rate, which change by the epoch."""

    relaxation: int
    loss: int
    loss_parameter: float
    """The quantile, or Huber's delta."""
    gradient_factor: float
    sum_threshold: float


def are_compiled() -> bool:
    """Whether this process or an earlier one has compiled the training step."""
    return bool(train_epoch.signatures) or any(Path(train_epoch.stats.cache_path).glob("_kernels.train_epoch-*.nbi"))


@_inline
def _address(array: Any) -> int:
    """Return where an array's memory starts."""
    return np.int64(array.ctypes.data)  # type: ignore[return-value]


@_inline
def _clear(address: int, n: int) -> None:
    """Write zeros over n values of type `lanes`."""
    for i in range(n):
        store(address + i * BYTES, splat(np.float32(0.0)))


@_jit
def exp_nonpositive(values: Float32) -> None:
    """Replace `values` (float32, <= 0) by their exponentials."""
    for i in range(0, values.size, LANES):
        place, n = _address(values) + 4 * i, values.size - i
        store_first(place, n, _lanes.exp_nonpositive(load_first(place, n)))


@_inline
def _choose_links(logits: int, candidates: int, n_candidates: int, n: int, some: int, chosen: int) -> Any:
    """Write each neuron's candidate of the largest logit, the first among equals; return the largest logits."""
    best, choice = load_first(logits, some), load_first(candidates, some)
    for k in range(1, n_candidates):
        logit = load_first(logits + 4 * k * n, some)
        choice = where_greater(logit, best, load_first(candidates + 4 * k * n, some), choice)
        best = largest(best, logit)
    store_first(chosen, some, choice)
    return best


@_inline
def _choose_gates(logits: int, coefficients: int, n_gates: int, n: int, some: int, hard: int) -> Any:
    """Write the polynomial of each neuron's chosen gate; return the largest logits."""
    best = load_first(logits, some)
    c0, c1 = splat(number_at(coefficients)), splat(number_at(coefficients + 4))
    c2, c3 = splat(number_at(coefficients + 8)), splat(number_at(coefficients + 12))
    for k in range(1, n_gates):
        logit = load_first(logits + 4 * k * n, some)
        c0 = where_greater(logit, best, splat(number_at(coefficients + 16 * k)), c0)
        c1 = where_greater(logit, best, splat(number_at(coefficients + 16 * k + 4)), c1)
        c2 = where_greater(logit, best, splat(number_at(coefficients + 16 * k + 8)), c2)
        c3 = where_greater(logit, best, splat(number_at(coefficients + 16 * k + 12)), c3)
        best = largest(best, logit)
    store_first(hard, some, c0)
    store_first(hard + 4 * n, some, c1)
    store_first(hard + 8 * n, some, c2)
    store_first(hard + 12 * n, some, c3)
    return best


@_inline
def _softmax(
    logits: int, best: Any, n_candidates: int, n: int, some: int, inverse: float, out: int, peaks: int
) -> None:
    """Softmax over the candidates, given the largest logits; tiny probabilities become zero."""
    zero, tiny, scale = splat(np.float32(0.0)), splat(np.float32(_TINY_PROBABILITY)), splat(np.float32(inverse))
    whole = zero
    for k in range(n_candidates):
        e = _lanes.exp_nonpositive((load_first(logits + 4 * k * n, some) - best) * scale)
        store_first(out + 4 * k * n, some, e)
        whole = whole + e
    peak = splat(np.float32(1.0)) / whole
    store_first(peaks, some, peak)
    for k in range(n_candidates):
        p = load_first(out + 4 * k * n, some) * peak
        store_first(out + 4 * k * n, some, where_greater(p, tiny, p, zero))


@_inline
def _mix_gates(probabilities: int, coefficients: int, n_gates: int, n: int, some: int, mixture: int) -> None:
    """Write the polynomial of each neuron's mixture of gates."""
    c0 = c1 = c2 = c3 = splat(np.float32(0.0))
    for k in range(n_gates):
        p = load_first(probabilities + 4 * k * n, some)
        c0 = fma(splat(number_at(coefficients + 16 * k)), p, c0)
        c1 = fma(splat(number_at(coefficients + 16 * k + 4)), p, c1)
        c2 = fma(splat(number_at(coefficients + 16 * k + 8)), p, c2)
        c3 = fma(splat(number_at(coefficients + 16 * k + 12)), p, c3)
    store_first(mixture, some, c0)
    store_first(mixture + 4 * n, some, c1)
    store_first(mixture + 8 * n, some, c2)
    store_first(mixture + 12 * n, some, c3)


@_inline
def open_links(sum_logits: Float32, temperature: float, settings: Settings, work: Workspace) -> None:
    """Write the probability of every link of the sum, and what the forward pass multiplies by."""
    for j in range(sum_logits.size):
        p = 1.0 / (1.0 + np.exp(-np.float64(sum_logits[j]) / temperature))
        work.sum_probabilities[j] = p
        if settings.relaxation == SOFT:
            work.sum_open[j] = p
        else:
            work.sum_open[j] = 1.0 if p >= settings.sum_threshold else 0.0


@_inline
def _prepare_neurons(
    i: int,
    some: int,
    wire: Wires,
    params: Groups,
    inverse: float,
    mixed: bool,  # noqa: FBT001
    work: Workspace,
) -> None:
    """Compute the choices of `some` neurons from the i-th on, and, if `mixed`, the probabilities.

    What is known when the kernels are compiled, such as that all lanes are in use, leaves no trace in the loops.
    """
    n_gates, n = params.gate_logits.shape
    n_links = wire.links.shape[1]
    for side in range(2):
        place, row = 4 * (side * n_links * n + i), 4 * (side * n + i)
        logits = _address(params.link_logits) + place
        best = _choose_links(logits, _address(wire.links) + place, n_links, n, some, _address(work.chosen) + row)
        if mixed:
            p, peaks = _address(work.link_probabilities) + place, _address(work.peaks) + row
            _softmax(logits, best, n_links, n, some, inverse, p, peaks)
    logits, coefficients = _address(params.gate_logits) + 4 * i, _address(wire.coefficients)
    best = _choose_gates(logits, coefficients, n_gates, n, some, _address(work.hard) + 4 * i)
    if mixed:
        p, peaks = _address(work.gate_probabilities) + 4 * i, _address(work.peaks) + 4 * (2 * n + i)
        _softmax(logits, best, n_gates, n, some, inverse, p, peaks)
        _mix_gates(p, coefficients, n_gates, n, some, _address(work.mixture) + 4 * i)


@_inline
def _prepare(wire: Wires, params: Groups, temperature: float, settings: Settings, work: Workspace) -> None:
    """Compute what depends on the parameters only: probabilities and choices."""
    inverse = np.float32(1.0 / temperature)
    n = params.gate_logits.shape[1]
    full = n - n % LANES
    for i in range(0, full, LANES):
        _prepare_neurons(i, LANES, wire, params, inverse, mixed=True, work=work)
    if full < n:
        _prepare_neurons(full, n - full, wire, params, inverse, mixed=True, work=work)
    open_links(params.sum_logits, temperature, settings, work)


@_inline
def _prepare_hard(wire: Wires, params: Groups, temperature: float, settings: Settings, work: Workspace) -> None:
    """Compute the choices only."""
    n = params.gate_logits.shape[1]
    for i in range(0, n, LANES):
        _prepare_neurons(i, n - i, wire, params, inverse=np.float32(1.0), mixed=False, work=work)
    open_links(params.sum_logits, temperature, settings, work)


@_inline
def _load(data: Data, rows: Index, n_bits: int, work: Workspace) -> int:
    """Gather a batch, return its number of blocks; spare places of the last block repeat a row with weight zero."""
    n_blocks = -(-rows.size // BLOCK)
    for o in range(n_blocks):
        for r in range(BLOCK):
            place = o * BLOCK + r
            row = rows[place] if place < rows.size else rows[0]
            for f in range(data.numbers.shape[1]):
                work.inputs[o, f, r] = data.numbers[row, f]
            for b in range(n_bits):
                work.signal[o, b, r] = data.bits[row, b]
            work.target[o, r] = data.target[row]
            work.weight[o, r] = data.weight[row] if place < rows.size else np.float32(0.0)
    return n_blocks


@_inline
def _forward(
    wire: Wires, params: Groups, temperature: float, settings: Settings, work: Workspace, n_blocks: int
) -> None:
    """Compute every signal and the output from the loaded batch."""
    soft = settings.relaxation == SOFT
    _forward_thresholds(wire, params, temperature, soft, work, n_blocks)
    n = work.chosen.shape[1]
    gate, chosen = _address(work.mixture if soft else work.hard), _address(work.chosen)
    offsets, p, n_links = _address(wire.offsets), _address(work.link_probabilities), wire.links.shape[1]
    for o in range(n_blocks):
        signal = _address(work.signal) + o * work.signal.shape[1] * BYTES
        out = signal + wire.first_neuron * BYTES
        for i in range(n):
            c0, c1 = splat(number_at(gate + 4 * i)), splat(number_at(gate + 4 * (n + i)))
            c2, c3 = splat(number_at(gate + 4 * (2 * n + i))), splat(number_at(gate + 4 * (3 * n + i)))
            if soft:
                a, b = _mix_links(signal, offsets + 4 * i * n_links, p + 4 * i, n_links, n)
            else:
                a = load(signal + whole_at(chosen + 4 * i) * BYTES)
                b = load(signal + whole_at(chosen + 4 * (n + i)) * BYTES)
            store(out + i * BYTES, fma(fma(c3, a, c2), b, fma(c1, a, c0)))
    _forward_sum(wire, params, work, n_blocks)


@_inline
def _forward_sum(wire: Wires, params: Groups, work: Workspace, n_blocks: int) -> None:
    """Add up the rules."""
    _clear(_address(work.output), 2 * n_blocks)
    for o in range(n_blocks):
        signal = _address(work.signal) + o * work.signal.shape[1] * BYTES
        output = _address(work.output) + 2 * o * BYTES
        for j in range(wire.rule_rows.size):
            weight = np.float64(work.sum_open[j]) * np.float64(params.weights[j])
            if weight != 0.0:
                add_wide(output, weight, load(signal + wire.rule_rows[j] * BYTES))


@_inline
def _forward_thresholds(
    wire: Wires,
    params: Groups,
    temperature: float,
    soft: bool,  # noqa: FBT001
    work: Workspace,
    n_blocks: int,
) -> None:
    """Steps, or sigmoids where nothing is hard."""
    inverse = np.float32(1.0 / temperature)
    zero, one = splat(np.float32(0.0)), splat(np.float32(1.0))
    for o in range(n_blocks):
        inputs = _address(work.inputs) + o * work.inputs.shape[1] * BYTES
        out = _address(work.signal) + (o * work.signal.shape[1] + wire.n_bits) * BYTES
        for t in range(wire.threshold_input.size):
            slope, bias = params.slope[t], splat(params.bias[t])
            x = load(inputs + wire.threshold_input[t] * BYTES)
            if soft:
                z = splat(slope * inverse) * (x - bias)
                e = _lanes.exp_nonpositive(zero - absolute(z))
                y = where_greater(z, zero, one, e) / (one + e)
            elif slope > 0:  # compared, not multiplied: what a cut-off separates must not hang on rounding
                y = where_greater(x, bias, one, zero)
            elif slope < 0:
                y = where_greater(bias, x, one, zero)
            else:
                y = zero
            store(out + t * BYTES, y)


@_inline
def _mix_links(signal: int, offsets: int, p: int, n_links: int, n: int) -> Any:
    """Return the mixtures of a neuron's candidates for both inputs."""
    a = b = splat(np.float32(0.0))
    other = 4 * n_links * n
    for k in range(n_links):
        row = 4 * k * n
        a = fma(splat(number_at(p + row)), load(pinned(signal + whole_at(offsets + 4 * k))), a)
        b = fma(splat(number_at(p + row + other)), load(pinned(signal + whole_at(offsets + other + 4 * k))), b)
    return a, b


@_inline
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


@_inline
def _loss_at(difference: Any, settings: Settings) -> tuple[Any, Any]:
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


@_inline
def _backward(
    wire: Wires, params: Groups, grads: Groups, temperature: float, settings: Settings, work: Workspace, n_blocks: int
) -> None:
    """Compute the gradients of the mean loss by all parameters."""
    inverse = np.float32(1.0 / temperature)
    _backward_sum(wire, params, grads, inverse, settings.relaxation, work, n_blocks)
    _backward_neurons(wire, settings, work, n_blocks)
    n = params.gate_logits.shape[1]
    full = n - n % LANES
    for i in range(0, full, LANES):
        _backward_logits(i, LANES, wire, grads, inverse, work)
    if full < n:
        _backward_logits(full, n - full, wire, grads, inverse, work)
    _backward_thresholds(wire, params, grads, inverse, settings, work, n_blocks)


@_inline
def _backward_sum(
    wire: Wires, params: Groups, grads: Groups, inverse: float, relaxation: int, work: Workspace, n_blocks: int
) -> None:
    """Gradients of the sum's links and weights; starts the derivatives of all rows."""
    signal, d_signal, d_output = _address(work.signal), _address(work.d_signal), _address(work.d_output)
    block = work.signal.shape[1] * BYTES
    for o in range(n_blocks):
        _clear(d_signal + o * block, wire.n_bits)  # of all other rows, whoever reads the derivative clears it
    for j in range(wire.rule_rows.size):
        p = work.sum_probabilities[j]
        # Relaxed as a whole, a closed link still passes its share back: rules that have closed can come to life again.
        link = p if relaxation == NEURON else work.sum_open[j]
        weight = splat(link * params.weights[j])
        products = splat(np.float32(0.0))
        for o in range(n_blocks):
            at = o * block + wire.rule_rows[j] * BYTES
            d = load(d_output + o * BYTES)
            products = fma(d, load(signal + at), products)
            store(d_signal + at, fma(weight, d, load(d_signal + at)))
        s = total(products)
        grads.weights[j] = link * s
        slope = p * (np.float32(1.0) - p)
        grads.sum_logits[j] = slope * inverse * params.weights[j] * s if slope > _TINY_PROBABILITY else 0.0


@_inline
def _send_back(at: int, p: float, d: Any) -> None:
    """Add a neuron's derivative by one input to that of one of its candidates."""
    store(at, fma(splat(p), d, load(at)))


@_inline
def _backward_links(
    d: Any, signal: int, d_signal: int, offsets: int, p: int, sums: int, n_links: int, n: int, group: int
) -> None:
    """Send the derivative by one input back to its candidates; sum up derivative times candidate, four at a time."""
    step = 4 * n
    for k in range(0, n_links - 3, 4):
        j0, j1 = whole_at(offsets + 4 * k), whole_at(offsets + 4 * k + 4)
        j2, j3 = whole_at(offsets + 4 * k + 8), whole_at(offsets + 4 * k + 12)
        s0, s1 = d * load(pinned(signal + j0)), d * load(pinned(signal + j1))
        s2, s3 = d * load(pinned(signal + j2)), d * load(pinned(signal + j3))
        add_totals(sums, s0, s1, s2, s3)
        sums += group
        at = p + k * step
        _send_back(pinned(d_signal + j0), number_at(at), d)
        _send_back(pinned(d_signal + j1), number_at(at + step), d)
        _send_back(pinned(d_signal + j2), number_at(at + 2 * step), d)
        _send_back(pinned(d_signal + j3), number_at(at + 3 * step), d)
    for k in range(n_links - n_links % 4, n_links):
        j0 = whole_at(offsets + 4 * k)
        add_at(sums + 4 * (k % 4), total(d * load(signal + j0)))
        _send_back(d_signal + j0, number_at(p + k * step), d)


@_inline
def _backward_neurons(wire: Wires, settings: Settings, work: Workspace, n_blocks: int) -> None:
    """From the last neuron to the first: pass its derivative to its inputs, sum up what its logits need.

    Where one candidate has all the probability, the logits have no gradient and nothing is summed up for them.
    """
    separate = settings.relaxation == SEPARATE
    soft = settings.relaxation == SOFT
    factor, zero, one = splat(np.float32(settings.gradient_factor)), splat(np.float32(0.0)), np.float32(1.0)
    gate = _address(work.hard if separate else work.mixture)
    offsets, p, n_links = _address(wire.offsets), _address(work.link_probabilities), wire.links.shape[1]
    chosen, moments, sums = _address(work.chosen), _address(work.moments), _address(work.link_sums)
    n = work.chosen.shape[1]
    n_groups, n_rounded = work.link_sums.shape[1:3]
    group = 4 * n_rounded * TOGETHER
    _clear(moments, work.moments.size // LANES)
    _clear(sums, work.link_sums.size // LANES)
    for o in range(n_blocks):
        block = o * work.signal.shape[1] * BYTES
        signal, d_signal = _address(work.signal) + block, _address(work.d_signal) + block
        for i in range(n - 1, -1, -1):
            place = d_signal + (wire.first_neuron + i) * BYTES
            dy = load(place)
            if not any_nonzero(dy):
                continue
            store(place, zero)
            at_a, at_b = 4 * i, 4 * (n_links * n + i)
            sums_a = sums + 4 * TOGETHER * i
            sums_b = sums_a + n_groups * group
            open_a, open_b = work.peaks[0, i] < one, work.peaks[1, i] < one
            first, second = whole_at(chosen + 4 * i) * BYTES, whole_at(chosen + 4 * (n + i)) * BYTES
            if separate or not (soft or open_a or open_b):
                a, b = load(signal + first), load(signal + second)
            else:
                a, b = _mix_links(signal, offsets + 4 * i * n_links, p + at_a, n_links, n)
            c1, c2 = splat(number_at(gate + 4 * (n + i))), splat(number_at(gate + 4 * (2 * n + i)))
            c3 = splat(number_at(gate + 4 * (3 * n + i)))
            d = dy * factor
            d_a, d_b = d * fma(c3, b, c1), d * fma(c3, a, c2)
            if work.peaks[2, i] < one:
                d_times_a = d * a
                add_totals(moments + 16 * i, d, d_times_a, d * b, d_times_a * b)
            if open_a:
                _backward_links(d_a, signal, d_signal, offsets + 4 * i * n_links, p + at_a, sums_a, n_links, n, group)
            else:
                _send_back(d_signal + first, one, d_a)
            if open_b:
                _backward_links(
                    d_b, signal, d_signal, offsets + 4 * (n + i) * n_links, p + at_b, sums_b, n_links, n, group
                )
            else:
                _send_back(d_signal + second, one, d_b)


@_inline
def _gate_derivatives(coefficients: int, moments: int, n_gates: int, n: int, some: int, out: int) -> None:
    """Write the derivatives by the gates' probabilities, which are polynomials in the four moments."""
    m0, m1, m2, m3 = columns(moments)
    for k in range(n_gates):
        c = coefficients + 16 * k
        d = fma(splat(number_at(c)), m0, splat(number_at(c + 4)) * m1)
        d = fma(splat(number_at(c + 8)), m2, fma(splat(number_at(c + 12)), m3, d))
        store_first(out + 4 * k * n, some, d)


@_inline
def _link_derivatives(sums: int, group: int, n_links: int, n: int, some: int, out: int) -> None:
    """Write the derivatives by the links' probabilities: the sums, candidate by candidate."""
    for k in range(0, n_links, TOGETHER):
        s0, s1, s2, s3 = columns(sums + k // TOGETHER * group)
        row, step = out + 4 * k * n, 4 * n
        store_first(row, some, s0)
        if k + 1 < n_links:
            store_first(row + step, some, s1)
        if k + 2 < n_links:
            store_first(row + 2 * step, some, s2)
        if k + 3 < n_links:
            store_first(row + 3 * step, some, s3)


@_inline
def _softmax_gradient(p: int, d: int, n_candidates: int, n: int, some: int, inverse: float) -> None:
    """Turn derivatives by probabilities, where they stand, into derivatives by logits: p·(dp - Σ p·dp)/τ."""
    scale = splat(np.float32(inverse))
    mean = splat(np.float32(0.0))
    for k in range(n_candidates):
        mean = fma(load_first(p + 4 * k * n, some), load_first(d + 4 * k * n, some), mean)
    for k in range(n_candidates):
        difference = (load_first(d + 4 * k * n, some) - mean) * scale
        store_first(d + 4 * k * n, some, load_first(p + 4 * k * n, some) * difference)


@_inline
def _backward_logits(i: int, some: int, wire: Wires, grads: Groups, inverse: float, work: Workspace) -> None:
    """Gradients of the logits of `some` neurons from the i-th on, from what the backward pass has summed up."""
    n_gates, n = grads.gate_logits.shape
    n_links = wire.links.shape[1]
    n_groups, n_rounded = work.link_sums.shape[1:3]
    group = 4 * n_rounded * TOGETHER
    out = _address(grads.gate_logits) + 4 * i
    _gate_derivatives(_address(wire.coefficients), _address(work.moments) + 16 * i, n_gates, n, some, out)
    _softmax_gradient(_address(work.gate_probabilities) + 4 * i, out, n_gates, n, some, inverse)
    for side in range(2):
        place = 4 * (side * n_links * n + i)
        out = _address(grads.link_logits) + place
        sums = _address(work.link_sums) + side * n_groups * group + 4 * TOGETHER * i
        _link_derivatives(sums, group, n_links, n, some, out)
        _softmax_gradient(_address(work.link_probabilities) + place, out, n_links, n, some, inverse)


@_inline
def _backward_thresholds(
    wire: Wires, params: Groups, grads: Groups, inverse: float, settings: Settings, work: Workspace, n_blocks: int
) -> None:
    """Gradients of biases and slopes, through the sigmoid's derivative."""
    scale = np.float32(settings.gradient_factor) * np.float32(inverse)
    zero, one, two = splat(np.float32(0.0)), splat(np.float32(1.0)), splat(np.float32(2.0))
    tiny = splat(np.float32(_TINY_PROBABILITY))
    for t in range(wire.threshold_input.size):
        slope, bias = params.slope[t], splat(params.bias[t])
        s0 = s1 = zero
        for o in range(n_blocks):
            source = _address(work.d_signal) + (o * work.d_signal.shape[1] + wire.n_bits + t) * BYTES
            dy = load(source)
            if any_nonzero(dy):
                store(source, zero)
                place = o * work.inputs.shape[1] + wire.threshold_input[t]
                x = load(_address(work.inputs) + place * BYTES) - bias
                e = _lanes.exp_nonpositive(zero - absolute(splat(slope * np.float32(inverse)) * x))
                e = where_greater(e, tiny, e, zero)
                share = one_over(one + e)
                share = share * (two - (one + e) * share)  # to single precision: a sum over rows may cancel
                d = dy * e * share * share
                s0 = s0 + d
                s1 = fma(d, x, s1)
        grads.bias[t] = -slope * total(s0) * scale
        grads.slope[t] = total(s1) * scale


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
    loss: float = _loss(work, settings, rows.size, n_blocks)
    _backward(wire, params, grads, temperature, settings, work, n_blocks)
    return loss


@_inline
def _adam_at(
    at: int, some: int, values: Float32, gradients: Float32, first: Float32, second: Float32, rate: float, unbias: float
) -> None:
    """Adam's step for `some` numbers from a place on."""
    zero = splat(np.float32(0.0))
    g = load_first(_address(gradients) + at, some)
    m = load_first(_address(first) + at, some) * splat(np.float32(_BETA1))
    v = fma(load_first(_address(second) + at, some), splat(np.float32(_BETA2)), splat(np.float32(_TINY_SQUARE)))
    m, v = fma(splat(np.float32(1.0 - _BETA1)), g, m), fma(splat(np.float32(1.0 - _BETA2)), g * g, v)
    m = where_greater(absolute(m), splat(np.float32(_TINY_MOMENT)), m, zero)
    store_first(_address(first) + at, some, m)
    store_first(_address(second) + at, some, v)
    square = splat(unbias) * v
    step = splat(rate) * m * one_over(root(square) + splat(np.float32(_EPSILON)))
    step = where_greater(square, splat(np.float32(_HUGE_SQUARE)), zero, step)
    store_first(_address(values) + at, some, load_first(_address(values) + at, some) - step)


@_jit
def adam(values: Float32, gradients: Float32, first: Float32, second: Float32, learning_rate: float, step: int) -> None:
    """One step of Adam on a flat vector; moments too small to matter do not become denormal."""
    rate = np.float32(learning_rate / (1.0 - _BETA1**step))
    unbias = np.float32(1.0 / (1.0 - _BETA2**step))
    full = values.size - values.size % LANES
    for i in range(0, full, LANES):
        _adam_at(4 * i, LANES, values, gradients, first, second, rate, unbias)
    if full < values.size:
        _adam_at(4 * full, values.size - full, values, gradients, first, second, rate, unbias)


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


@_allocating
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
            for r in range(rows.size):
                rules[j, start + r] = work.signal[r // BLOCK, wire.rule_rows[j], r % BLOCK] != 0.0


@_jit
def weighted_loss(output: Float64, target: Float32, weight: Float32, settings: Settings) -> float:
    """Return the weighted sum of losses of given outputs."""
    total = 0.0
    for r in range(output.size):
        value, _ = _loss_at(np.float32(output[r] - target[r]), settings)
        total += np.float64(weight[r]) * np.float64(value)
    return total
