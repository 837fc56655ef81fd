"""The paper's equations as fused Numba loops: what `_reference.py` states, fast.

What they read and write is laid out in `_layout.py`.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._compile import compiled, inlined, inner, is_compiled, spliced
from dln.network import _lanes
from dln.network import _layout as layout
from dln.network._lanes import (
    BYTES,
    LANES,
    absolute,
    add_at,
    add_totals,
    add_wide,
    address_of,
    address_of_bits,
    address_of_doubles,
    address_of_longs,
    any_nonzero,
    columns,
    double_at,
    fma,
    largest,
    load,
    long_at,
    number_at,
    one_over,
    pinned,
    room,
    root,
    splat,
    spread,
    store,
    total,
    where_greater,
    whole_at,
    write,
    write_bit,
    write_double,
)
from dln.network._layout import (
    BLOCK,
    TOGETHER,
    Data,
    Float32,
    Float64,
    Frame,
    Groups,
    Int64,
    Wires,
    Workspace,
    frame_at,
    unrolled_frame_at,
)

Index: TypeAlias = npt.NDArray[np.integer]

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

# Softmaxes are taken of links a, links b and gates.
_GATES: Final = 2

# Adam's constants are PyTorch's defaults: tests compare its steps with these.
_BETA1: Final = 0.9
_BETA2: Final = 0.999
_EPSILON: Final = 1e-8
# Powers take longer to compile than to compute.
_LOG_BETA1: Final = math.log(_BETA1)
_LOG_BETA2: Final = math.log(_BETA2)

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_FAST: Final = {"contract", "reassoc", "nsz", "arcp"}
# Python's caller holds the arrays meanwhile: nothing counts who refers to them.
_options: Any = {"nogil": True, "fastmath": _FAST, "error_model": "numpy", "_nrt": False}
# Numba optimises every function by itself and again inside each that calls it. To compile quickly, what Python calls
# (it is kept on disk) calls what only kernels call, no deeper than once or twice, and that has no arrays as arguments.
_jit: Any = compiled(**_options, no_cfunc_wrapper=True)
_inner: Any = inner(**_options)
_inline: Any = inlined(**_options)
_spliced: Any = spliced(**_options)


class Settings(NamedTuple):
    """What a step is to do, apart from the temperature and the learning rate, which change by the epoch."""

    relaxation: int
    loss: int
    loss_parameter: float
    """The quantile, or Huber's delta."""
    gradient_factor: float
    sum_threshold: float


def are_compiled() -> bool:
    """Whether this process or another one has compiled all that a training calls."""
    return all(is_compiled(kernel) for kernel in (_train_epoch, _hard_outputs, weighted_loss))


@_jit
def exp_nonpositive(values: Float32) -> None:
    """Replace `values` (float32, <= 0, whole `lanes` of them) by their exponentials."""
    for i in range(0, values.size, LANES):
        at = address_of(values) + 4 * i
        store(at, _lanes.exp_nonpositive(load(at)))


@_spliced
def _filled(frame: Int64, wire: Int64, params: Int64, grads: Int64, data: Data) -> int:
    """Return the address of a workspace's frame, filled in with the parts of the others."""
    for i in range(wire.size):
        frame[i] = wire[i]
    at = wire.size
    for i in range(params.size):
        frame[at + i] = params[i]
        frame[at + params.size + i] = grads[i]
    at += 2 * params.size
    frame[at] = address_of(data.numbers)
    frame[at + 1] = address_of(data.bits)
    frame[at + 2] = address_of(data.target)
    frame[at + 3] = address_of(data.weight)
    address: int = address_of_longs(frame)
    return address


# --- before the forward pass ------------------------------------------------------------------------------------------


@_inner
def _copy(source: int, step: int, target: int, to_next: int, n_rows: int, n: int) -> None:
    """Copy rows of n numbers to rows that are another number of bytes apart."""
    for _ in range(n_rows):
        for i in range(0, 4 * n, 4):
            write(target + i, number_at(source + i))
        source += step
        target += to_next


@_inner
def _choose(frame: int) -> None:
    """Write each neuron's candidates of the largest logit, the first among equals: rows, and the gate's polynomial.

    Thirty-two neurons at a time; the last start so early that they end with the last neuron.
    """
    f: Frame = frame_at(frame)
    n, to_next = f.n_neurons, 4 * f.n_rounded
    link_logits, gate_logits, step = f.link_logits, f.gate_logits, 4 * n
    if n < LANES:
        narrow_gates: int = f.narrow + 2 * f.n_links * BYTES
        wide: Any = np.int64(BYTES)
        _copy(link_logits, step, f.narrow, wide, 2 * f.n_links, n)
        _copy(gate_logits, step, narrow_gates, wide, f.n_gates, n)
        link_logits, gate_logits, step = f.narrow, narrow_gates, wide
    for start in range(0, n, LANES):
        i = 4 * (start if start + LANES <= n or n < LANES else n - LANES)
        for side in range(2):
            at, rows = link_logits + side * f.n_links * step + i, f.links + side * f.n_links * to_next + i
            best, choice = load(at), load(rows)
            for _ in range(1, f.n_links):
                at += step
                rows += to_next
                logit = load(at)
                choice = where_greater(logit, best, load(rows), choice)
                best = largest(best, logit)
            store(f.chosen + side * to_next + i, choice)
        at, c = gate_logits + i, f.coefficients
        best = load(at)
        c0, c1, c2, c3 = spread(c), spread(c + 4), spread(c + 8), spread(c + 12)
        for _ in range(1, f.n_gates):
            at += step
            c += 16
            logit = load(at)
            c0 = where_greater(logit, best, spread(c), c0)
            c1 = where_greater(logit, best, spread(c + 4), c1)
            c2 = where_greater(logit, best, spread(c + 8), c2)
            c3 = where_greater(logit, best, spread(c + 12), c3)
            best = largest(best, logit)
        store(f.hard + i, c0)
        store(f.hard + to_next + i, c1)
        store(f.hard + 2 * to_next + i, c2)
        store(f.hard + 3 * to_next + i, c3)


@_inner
def _mix(frame: int, inverse: float) -> None:
    """Write the probabilities of links and gates, tiny ones as zero, and the polynomials of the mixtures of gates.

    After `_choose`, which has made narrow networks wide.
    """
    f: Frame = frame_at(frame)
    n, to_next = f.n_neurons, 4 * f.n_rounded
    zero, tiny, scale = splat(0.0), splat(_TINY_PROBABILITY), splat(inverse)
    for part in range(3):  # links a, links b, gates
        n_candidates, p_part = f.n_links, f.link_probabilities + part * f.n_links * to_next
        logits, step = f.link_logits + 4 * part * f.n_links * n, 4 * n
        if part == _GATES:
            n_candidates, p_part, logits = f.n_gates, f.gate_probabilities, f.gate_logits
        if n < LANES:
            logits, step = f.narrow + part * f.n_links * BYTES, BYTES
        for start in range(0, n, LANES):
            i = 4 * (start if start + LANES <= n or n < LANES else n - LANES)
            best = load(logits + i)
            for k in range(1, n_candidates):
                best = largest(best, load(logits + k * step + i))
            whole = zero
            for k in range(n_candidates):
                e = _lanes.exp_nonpositive((load(logits + k * step + i) - best) * scale)
                store(p_part + k * to_next + i, e)
                whole = whole + e
            peak = splat(1.0) / whole
            store(f.peaks + part * to_next + i, peak)
            for k in range(n_candidates):
                at = p_part + k * to_next + i
                p = load(at) * peak
                store(at, where_greater(p, tiny, p, zero))
    for i in range(0, 4 * f.n_rounded, BYTES):
        c0 = c1 = c2 = c3 = zero
        for k in range(f.n_gates):
            p, c = load(f.gate_probabilities + k * to_next + i), f.coefficients + 16 * k
            c0 = fma(spread(c), p, c0)
            c1 = fma(spread(c + 4), p, c1)
            c2 = fma(spread(c + 8), p, c2)
            c3 = fma(spread(c + 12), p, c3)
        store(f.mixture + i, c0)
        store(f.mixture + to_next + i, c1)
        store(f.mixture + 2 * to_next + i, c2)
        store(f.mixture + 3 * to_next + i, c3)


@_inner
def _open_links(frame: int, temperature: float, relaxation: int, threshold: float) -> None:
    """Write the probability of every link of the sum, and what the forward pass multiplies by."""
    f: Frame = frame_at(frame)
    for j in range(0, 4 * f.n_rules, 4):
        p = 1.0 / (1.0 + math.exp(-np.float64(number_at(f.sum_logits + j)) / temperature))
        write(f.sum_probabilities + j, p)
        write(f.sum_open + j, p if relaxation == SOFT else (1.0 if p >= threshold else 0.0))


@_inner
def _load(frame: int, rows: int, first: int, n: int) -> None:
    """Gather a batch of n rows: those named at an address, or, if that is zero, from the first on.

    Spare slots of the last block repeat a row with weight zero.
    """
    f: Frame = frame_at(frame)
    for spot in range(-(-n // BLOCK) * BLOCK):
        which = spot if spot < n else 0
        row = long_at(rows + 8 * which) if rows else first + which
        block, r = spot // BLOCK, 4 * (spot % BLOCK)
        inputs, numbers = f.inputs + block * f.n_scaled * BYTES + r, f.numbers + 4 * row * f.n_scaled
        for k in range(f.n_scaled):
            write(inputs + k * BYTES, number_at(numbers + 4 * k))
        signal, bits = f.signal + block * f.n_rows * BYTES + r, f.bits + 4 * row * f.n_bits
        for k in range(f.n_bits):
            write(signal + k * BYTES, number_at(bits + 4 * k))
        write(f.target + 4 * spot, number_at(f.row_target + 4 * row))
        write(f.weight + 4 * spot, number_at(f.row_weight + 4 * row) if spot < n else np.float32(0.0))


# --- forward ----------------------------------------------------------------------------------------------------------


@_inner
def _forward_thresholds(frame: int, inverse: float, relaxation: int, n_blocks: int) -> None:
    """Steps, or sigmoids where nothing is hard."""
    f: Frame = frame_at(frame)
    zero, one = splat(0.0), splat(1.0)
    for o in range(n_blocks):
        inputs, out = f.inputs + o * f.n_scaled * BYTES, f.signal + (o * f.n_rows + f.n_bits) * BYTES
        for t in range(f.n_thresholds):
            slope, bias = number_at(f.slope + 4 * t), spread(f.bias + 4 * t)
            x = load(inputs + whole_at(f.threshold_input + 4 * t) * BYTES)
            if relaxation == SOFT:
                z = splat(slope * np.float32(inverse)) * (x - bias)
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
def _mix_links(signal: int, offsets: int, p: int, n_links: int, n: int, m: int) -> Any:
    """Return the mixtures of a neuron's candidates for both inputs."""
    a = b = splat(0.0)
    other, to_other = 4 * n_links * n, 4 * n_links * m
    for k in range(n_links):
        at = p + 4 * k * m
        a = fma(spread(at), load(pinned(signal + whole_at(offsets + 4 * k))), a)
        b = fma(spread(at + to_other), load(pinned(signal + whole_at(offsets + other + 4 * k))), b)
    return a, b


@_inner
def _forward_neurons(frame: int, relaxation: int, n_blocks: int) -> None:
    """Compute the neurons, each from rows before it."""
    f: Frame = unrolled_frame_at(frame)
    n_links, n, m = f.n_links, f.n_neurons, f.n_rounded
    gate = f.mixture if relaxation == SOFT else f.hard
    for o in range(n_blocks):
        signal = f.signal + o * f.n_rows * BYTES
        out = signal + f.first_neuron * BYTES
        for i in range(n):
            if relaxation == SOFT:
                a, b = _mix_links(signal, f.offsets + 4 * i * n_links, f.link_probabilities + 4 * i, n_links, n, m)
            else:
                a = load(signal + whole_at(f.chosen + 4 * i) * BYTES)
                b = load(signal + whole_at(f.chosen + 4 * (m + i)) * BYTES)
            c0, c1 = spread(gate + 4 * i), spread(gate + 4 * (m + i))
            c2, c3 = spread(gate + 4 * (2 * m + i)), spread(gate + 4 * (3 * m + i))
            store(out + i * BYTES, fma(fma(c3, a, c2), b, fma(c1, a, c0)))


@_inner
def _forward_sum(frame: int, n_blocks: int) -> None:
    """Add up the rules."""
    f: Frame = frame_at(frame)
    for o in range(n_blocks):
        signal, output = f.signal + o * f.n_rows * BYTES, f.output + 2 * o * BYTES
        store(output, splat(0.0))
        store(output + BYTES, splat(0.0))
        for j in range(0, 4 * f.n_rules, 4):
            weight = np.float64(number_at(f.sum_open + j)) * np.float64(number_at(f.weights + j))
            if weight != 0.0:
                add_wide(output, weight, load(signal + whole_at(f.rule_rows + j) * BYTES))


# --- the loss ---------------------------------------------------------------------------------------------------------


@_inline
def _loss_at(difference: Any, loss: int, parameter: float) -> tuple[Any, Any]:
    """Return the loss of one prediction and its derivative."""
    if loss == SQUARED_ERROR:
        return difference * difference, np.float32(2.0) * difference
    zero, size = np.float32(0.0), abs(difference)
    sign = np.float32(1.0) if difference > zero else (np.float32(-1.0) if difference < zero else zero)
    if loss == HUBER:
        delta = np.float32(parameter)
        if size <= delta:
            return np.float32(0.5) * difference * difference, difference
        return delta * (size - np.float32(0.5) * delta), delta * sign
    if loss == ABSOLUTE_ERROR:
        return size, sign
    q = np.float32(parameter)
    slope = np.float32(1.0) - q if difference > zero else (-q if difference < zero else zero)
    return slope * difference, slope


@_inner
def _loss(frame: int, loss: int, parameter: float, n: int) -> float:
    """Return the weighted sum of losses and write the derivative of their mean by the output."""
    f: Frame = frame_at(frame)
    summed = 0.0
    for spot in range(-(-n // BLOCK) * BLOCK):
        difference = double_at(f.output + 8 * spot) - np.float64(number_at(f.target + 4 * spot))
        value, slope = _loss_at(np.float32(difference), loss, parameter)
        w = number_at(f.weight + 4 * spot)
        summed += np.float64(w) * np.float64(value)
        write(f.d_output + 4 * spot, w * slope / np.float32(n))
    return summed


# --- backward ---------------------------------------------------------------------------------------------------------


@_inner
def _backward_sum(frame: int, inverse: float, relaxation: int, n_blocks: int) -> None:
    """Gradients of the sum's links and weights; starts the derivatives of all rows."""
    f: Frame = frame_at(frame)
    block = f.n_rows * BYTES
    for o in range(n_blocks):
        for b in range(f.n_bits):  # of all other rows, whoever reads the derivative clears it
            store(f.d_signal + o * block + b * BYTES, splat(0.0))
    for j in range(0, 4 * f.n_rules, 4):
        p, c = number_at(f.sum_probabilities + j), number_at(f.weights + j)
        # Relaxed as a whole, a closed link still passes its share back: rules that have closed can come to life again.
        # Its weight has no part in the output and gets none: it would grow without effect until the link opens.
        is_open = number_at(f.sum_open + j)
        link = p if relaxation == NEURON else is_open
        weight = splat(link * c)
        products = splat(0.0)
        at = whole_at(f.rule_rows + j) * BYTES
        for o in range(n_blocks):
            d = load(f.d_output + o * BYTES)
            products = fma(d, load(f.signal + at), products)
            store(f.d_signal + at, fma(weight, d, load(f.d_signal + at)))
            at += block
        s = total(products)
        write(f.d_weights + j, is_open * s)
        slope = p * (np.float32(1.0) - p)
        write(f.d_sum_logits + j, slope * np.float32(inverse) * c * s if slope > _TINY_PROBABILITY else np.float32(0.0))


@_inline
def _send_back(at: int, p: float, d: Any) -> None:
    """Add a neuron's derivative by one input to that of one of its candidates."""
    store(at, fma(splat(p), d, load(at)))


@_inline
def _backward_links(
    d: Any, signal: int, d_signal: int, offsets: int, p: int, sums: int, n_links: int, step: int, group: int
) -> None:
    """Send the derivative by one input back to its candidates; sum up derivative times candidate, four at a time."""
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


@_inner
def _backward_neurons(frame: int, relaxation: int, gradient_factor: float, n_blocks: int) -> None:
    """From the last neuron to the first: pass its derivative to its inputs, sum up what its logits need.

    Where one candidate has all the probability, the logits have no gradient and nothing is summed up for them.
    """
    f: Frame = unrolled_frame_at(frame)
    factor, zero, one = splat(gradient_factor), splat(0.0), np.float32(1.0)
    n_links, n, m = f.n_links, f.n_neurons, f.n_rounded
    gate = f.hard if relaxation == SEPARATE else f.mixture
    to_next, group = 4 * m, 4 * m * TOGETHER
    n_groups = -(-n_links // TOGETHER)
    for k in range(4 * m // LANES):
        store(f.moments + k * BYTES, zero)
    for k in range(2 * n_groups * (TOGETHER * m // LANES)):
        store(f.link_sums + k * BYTES, zero)
    for o in range(n_blocks):
        block = o * f.n_rows * BYTES
        signal, d_signal = f.signal + block, f.d_signal + block
        for i in range(n - 1, -1, -1):
            at_dy = d_signal + (f.first_neuron + i) * BYTES
            dy = load(at_dy)
            if not any_nonzero(dy):
                continue
            store(at_dy, zero)
            peaks = f.peaks + 4 * i
            is_open = relaxation == SOFT or number_at(peaks) < one or number_at(peaks + to_next) < one
            if relaxation != SEPARATE and is_open:
                a, b = _mix_links(signal, f.offsets + 4 * i * n_links, f.link_probabilities + 4 * i, n_links, n, m)
            else:
                a = load(signal + whole_at(f.chosen + 4 * i) * BYTES)
                b = load(signal + whole_at(f.chosen + 4 * (m + i)) * BYTES)
            c1, c2 = spread(gate + 4 * (m + i)), spread(gate + 4 * (2 * m + i))
            c3 = spread(gate + 4 * (3 * m + i))
            d = dy * factor
            d_a, d_b = d * fma(c3, b, c1), d * fma(c3, a, c2)
            if number_at(peaks + 2 * to_next) < one:
                d_times_a = d * a
                add_totals(f.moments + 16 * i, d, d_times_a, d * b, d_times_a * b)
            for side in range(2):
                d = d_b if side else d_a
                if number_at(peaks + side * to_next) < one:
                    offsets = f.offsets + 4 * (side * n + i) * n_links
                    p = f.link_probabilities + 4 * (side * n_links * m + i)
                    sums = f.link_sums + side * n_groups * group + 4 * TOGETHER * i
                    _backward_links(d, signal, d_signal, offsets, p, sums, n_links, to_next, group)
                else:
                    _send_back(d_signal + whole_at(f.chosen + 4 * (side * m + i)) * BYTES, one, d)


@_inner
def _backward_logits(frame: int, inverse: float) -> None:
    """Gradients of the logits from what the backward pass has summed up: p·(dp - Σ p·dp)/τ, as `_mix` goes."""
    f: Frame = frame_at(frame)
    n, to_next = f.n_neurons, 4 * f.n_rounded
    group = to_next * TOGETHER
    n_groups = -(-f.n_links // TOGETHER)
    scale = splat(inverse)
    for part in range(3):  # links a, links b, gates
        n_candidates, p_part = f.n_links, f.link_probabilities + part * f.n_links * to_next
        out, step = f.d_link_logits + 4 * part * f.n_links * n, 4 * n
        if part == _GATES:
            n_candidates, p_part, out = f.n_gates, f.gate_probabilities, f.d_gate_logits
        if n < LANES:
            out, step = f.narrow + part * f.n_links * BYTES, BYTES
        for start in range(0, n, LANES):
            first = start if start + LANES <= n or n < LANES else n - LANES
            i = 4 * first
            if part == _GATES:  # polynomials in the four moments
                m0, m1, m2, m3 = columns(f.moments + 16 * first)
                for k in range(n_candidates):
                    c = f.coefficients + 16 * k
                    d = fma(spread(c), m0, spread(c + 4) * m1)
                    d = fma(spread(c + 8), m2, fma(spread(c + 12), m3, d))
                    store(f.derivatives + k * BYTES, d)
            else:  # the sums, candidate by candidate
                for k in range(n_groups):
                    s0, s1, s2, s3 = columns(f.link_sums + (part * n_groups + k) * group + 4 * TOGETHER * first)
                    at = f.derivatives + k * TOGETHER * BYTES
                    store(at, s0)
                    store(at + BYTES, s1)
                    store(at + 2 * BYTES, s2)
                    store(at + 3 * BYTES, s3)
            mean = splat(0.0)
            for k in range(n_candidates):
                mean = fma(load(p_part + k * to_next + i), load(f.derivatives + k * BYTES), mean)
            for k in range(n_candidates):
                difference = (load(f.derivatives + k * BYTES) - mean) * scale
                store(out + k * step + i, load(p_part + k * to_next + i) * difference)
    if n < LANES:
        wide: Any = np.int64(BYTES)
        _copy(f.narrow, wide, f.d_link_logits, 4 * n, 2 * f.n_links, n)
        _copy(f.narrow + 2 * f.n_links * BYTES, wide, f.d_gate_logits, 4 * n, f.n_gates, n)


@_inner
def _backward_thresholds(frame: int, inverse: float, gradient_factor: float, n_blocks: int) -> None:
    """Gradients of biases and slopes, through the sigmoid's derivative."""
    f: Frame = frame_at(frame)
    scale = np.float32(gradient_factor) * np.float32(inverse)
    zero, one, two = splat(0.0), splat(1.0), splat(2.0)
    tiny = splat(_TINY_PROBABILITY)
    for t in range(f.n_thresholds):
        slope, bias = number_at(f.slope + 4 * t), spread(f.bias + 4 * t)
        steepness = splat(slope * np.float32(inverse))
        s0 = s1 = zero
        for o in range(n_blocks):
            source = f.d_signal + (o * f.n_rows + f.n_bits + t) * BYTES
            dy = load(source)
            if any_nonzero(dy):
                store(source, zero)
                x = load(f.inputs + (o * f.n_scaled + whole_at(f.threshold_input + 4 * t)) * BYTES) - bias
                e = _lanes.exp_nonpositive(zero - absolute(steepness * x))
                e = where_greater(e, tiny, e, zero)
                share = one_over(one + e)
                share = share * (two - (one + e) * share)  # to single precision: a sum over rows may cancel
                d = dy * e * share * share
                s0 = s0 + d
                s1 = fma(d, x, s1)
        write(f.d_bias + 4 * t, -slope * total(s0) * scale)
        write(f.d_slope + 4 * t, total(s1) * scale)


# --- steps ------------------------------------------------------------------------------------------------------------


@_spliced
def _batch(frame: int, rows: int, n: int, temperature: float, settings: Settings) -> float:
    """Return the summed loss of a batch of the n rows named at `rows`, and write the gradients of its mean."""
    n_blocks, inverse, relaxation = -(-n // BLOCK), 1.0 / temperature, settings.relaxation
    _choose(frame)
    _mix(frame, inverse)
    _open_links(frame, temperature, relaxation, settings.sum_threshold)
    _load(frame, rows, np.int64(0), n)
    _forward_thresholds(frame, inverse, relaxation, n_blocks)
    _forward_neurons(frame, relaxation, n_blocks)
    _forward_sum(frame, n_blocks)
    loss: float = _loss(frame, settings.loss, settings.loss_parameter, n)
    _backward_sum(frame, inverse, relaxation, n_blocks)
    _backward_neurons(frame, relaxation, settings.gradient_factor, n_blocks)
    _backward_logits(frame, inverse)
    _backward_thresholds(frame, inverse, settings.gradient_factor, n_blocks)
    return loss


@_jit
def _batch_gradients(
    frame: Int64,
    wire: Int64,
    params: Int64,
    grads: Int64,
    data: Data,
    rows: Int64,
    temperature: float,
    settings: Settings,
) -> float:
    at = _filled(frame, wire, params, grads, data)
    loss: float = _batch(at, address_of_longs(rows), rows.size, temperature, settings)
    return loss


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
    layout.check_columns(wire, data, work)
    frames = (work.frame, wire.frame, params.frame, grads.frame)
    loss: float = _batch_gradients(*frames, data, np.asarray(rows, dtype=np.int64), temperature, settings)
    return loss


@_inner
def _adam(values: int, gradients: int, first: int, second: int, n: int, learning_rate: float, step: float) -> None:
    """One step of Adam on n numbers; moments too small to matter do not become denormal."""
    rate = splat(learning_rate / (1.0 - math.exp(step * _LOG_BETA1)))
    unbias = splat(1.0 / (1.0 - math.exp(step * _LOG_BETA2)))
    zero, spare = splat(0.0), room()
    for i in range(0, n, LANES):
        at, at_g, at_m, at_v = values + 4 * i, gradients + 4 * i, first + 4 * i, second + 4 * i
        remaining = n - i
        if remaining < LANES:  # the last numbers, in memory that has room for whole lanes
            at, at_g, at_m, at_v = spare, spare + BYTES, spare + 2 * BYTES, spare + 3 * BYTES
            for k in range(4):
                store(spare + k * BYTES, zero)
            for k in range(0, 4 * remaining, 4):
                write(at + k, number_at(values + 4 * i + k))
                write(at_g + k, number_at(gradients + 4 * i + k))
                write(at_m + k, number_at(first + 4 * i + k))
                write(at_v + k, number_at(second + 4 * i + k))
        g = load(at_g)
        m = load(at_m) * splat(_BETA1)
        v = fma(load(at_v), splat(_BETA2), splat(_TINY_SQUARE))
        m, v = fma(splat(1.0 - _BETA1), g, m), fma(splat(1.0 - _BETA2), g * g, v)
        m = where_greater(absolute(m), splat(_TINY_MOMENT), m, zero)
        store(at_m, m)
        store(at_v, v)
        square = unbias * v
        change = rate * m * one_over(root(square) + splat(_EPSILON))
        change = where_greater(square, splat(_HUGE_SQUARE), zero, change)
        store(at, load(at) - change)
        if remaining < LANES:
            for k in range(0, 4 * remaining, 4):
                write(values + 4 * i + k, number_at(at + k))
                write(first + 4 * i + k, number_at(at_m + k))
                write(second + 4 * i + k, number_at(at_v + k))


@_jit
def adam(values: Float32, gradients: Float32, first: Float32, second: Float32, learning_rate: float, step: int) -> None:
    """One step of Adam on a flat vector."""
    _adam(
        address_of(values),
        address_of(gradients),
        address_of(first),
        address_of(second),
        values.size,
        learning_rate,
        np.float64(step),
    )


@_jit
def _train_epoch(
    frame: Int64,
    wire: Int64,
    params: Int64,
    grads: Int64,
    data: Data,
    flat: tuple[Float32, Float32, Float32, Float32],
    sections: Int64,
    rates: Float64,
    order: Int64,
    batch_size: int,
    temperature: float,
    settings: Settings,
    step: int,
) -> float:
    values, gradients, first, second = (
        address_of(flat[0]),
        address_of(flat[1]),
        address_of(flat[2]),
        address_of(flat[3]),
    )
    at = _filled(frame, wire, params, grads, data)
    summed = 0.0
    for start in range(0, order.size, batch_size):
        n = batch_size if start + batch_size <= order.size else order.size - start
        summed += _batch(at, address_of_longs(order) + 8 * start, n, temperature, settings)
        step += 1
        for g in range(rates.size):
            if rates[g] > 0.0:
                a, size = 4 * sections[g], sections[g + 1] - sections[g]
                _adam(values + a, gradients + a, first + a, second + a, size, rates[g], np.float64(step))
    return summed


def train_epoch(
    wire: Wires,
    params: Groups,
    grads: Groups,
    flat: tuple[Float32, Float32, Float32, Float32],
    sections: Int64,
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
    layout.check_columns(wire, data, work)
    frames = (work.frame, wire.frame, params.frame, grads.frame)
    longs = np.asarray(order, dtype=np.int64)
    loss: float = _train_epoch(*frames, data, flat, sections, rates, longs, batch_size, temperature, settings, step)
    return loss


@_inner
def _take_out(frame: int, start: int, n: int, out: int, n_out: int, rules: int, n_rules: int) -> None:
    """Write the outputs of a batch, from index `start` on, and the values of rules, row by row of `n_out`."""
    f: Frame = frame_at(frame)
    for r in range(n):
        write_double(out + 8 * (start + r), double_at(f.output + 8 * r))
    for j in range(n_rules):
        row = f.signal + whole_at(f.rule_rows + 4 * j) * BYTES
        for r in range(n):
            value = number_at(row + r // BLOCK * f.n_rows * BYTES + 4 * (r % BLOCK))
            write_bit(rules + j * n_out + start + r, value != np.float32(0.0))


@_jit
def _hard_outputs(
    frame: Int64,
    wire: Int64,
    params: Int64,
    data: Data,
    n_slots: int,
    temperature: float,
    threshold: float,
    out: Float64,
    rules: npt.NDArray[np.bool_],
) -> None:
    at, n = _filled(frame, wire, params, params, data), out.size
    relaxation, rows, inverse = np.int64(NEURON), np.int64(0), 1.0 / temperature
    _choose(at)
    _open_links(at, temperature, relaxation, threshold)
    for start in range(0, n, n_slots):
        some = n_slots if start + n_slots <= n else n - start
        n_blocks = -(-some // BLOCK)
        _load(at, rows, start, some)
        _forward_thresholds(at, inverse, relaxation, n_blocks)
        _forward_neurons(at, relaxation, n_blocks)
        _forward_sum(at, n_blocks)
        _take_out(at, start, some, address_of_doubles(out), n, address_of_bits(rules), rules.shape[0])


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
    layout.check_columns(wire, data, work)
    frames, n_slots = (work.frame, wire.frame, params.frame), work.target.size
    _hard_outputs(*frames, data, n_slots, temperature, settings.sum_threshold, out, rules)


@_jit
def weighted_loss(output: Float64, target: Float32, weight: Float32, settings: Settings) -> float:
    """Return the weighted sum of losses of given outputs."""
    summed = 0.0
    for r in range(output.size):
        value, _ = _loss_at(np.float32(output[r] - target[r]), settings.loss, settings.loss_parameter)
        summed += np.float64(weight[r]) * np.float64(value)
    return summed
