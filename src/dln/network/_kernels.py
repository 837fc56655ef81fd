"""The paper's equations as fused Numba loops: what `tests/reference.py` states, fast.

A step chooses and mixes candidates, passes a batch forward, its derivatives backward, and moves the parameters by
Adam. Backward functions add to the gradients. What is read and written is laid out in `_network.py`.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numba
import numpy as np

from dln._compile import compiled, inner
from dln.network._lanes import LANES, any_nonzero, exp_minus_abs, load, splat, store, total, where_greater
from dln.network._network import Arrays, Data, Float32, Float64, Int64

#: How the discrete choices are relaxed.
SOFT, SEPARATE, NEURON = 0, 1, 2
#: Losses, on the standardised target.
SQUARED_ERROR, HUBER, ABSOLUTE_ERROR, QUANTILE = 0, 1, 2, 3
_GATES: Final = 2  # softmaxes are taken of links a, links b and gates
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
# Probabilities below this move no parameter that float32 could represent, but as denormals they would slow the core.
_TINY_PROBABILITY: Final = np.float32(1e-7)
# Adam's moments decay geometrically where gradients have ended, but the core is slow with denormal numbers: the first
# is flushed to zero long before, the second never falls below a thousand times this.
_TINY_MOMENT: Final = np.float32(1e-18)
_TINY_SQUARE: Final = np.float32(1e-34)
_HUGE_SQUARE: Final = np.float32(3e38)  # of gradients that move nothing
# Adam's constants are PyTorch's defaults.
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, np.float32(1e-8)
# Sums may be reordered and fused; NaN and infinity keep their meaning. References are not counted, which would be done
# at every neuron: Python's caller holds the arrays.
_FAST: Final = {"contract", "reassoc", "nsz", "arcp"}
_options: Any = {"nogil": True, "fastmath": _FAST, "error_model": "numpy", "_nrt": False}
_jit: Any = compiled(**_options, no_cfunc_wrapper=True)
_inner: Any = inner(**_options)
_inline: Any = numba.njit(inline="always", **_options)  # before types are inferred


class Settings(NamedTuple):
    """Settings of the steps of an epoch, besides the learning rates."""

    relaxation: int
    temperature: float
    sum_threshold: float
    loss: int
    loss_parameter: float  # the quantile, or Huber's delta
    batch_size: int


@_inner
def _softmax(logits: Float32, temperature: float, probabilities: Float32, peaks: Float32, choices: Float32) -> None:
    """Write each neuron's probabilities, tiny ones as zero, the largest, and its candidate, the first among equals."""
    n_candidates, n_neurons = logits.shape
    inverse, n_vectors = np.float32(1.0 / temperature), peaks.size // LANES
    for k in range(n_candidates):
        for i in range(n_neurons):
            probabilities[k, i] = logits[k, i]
    for v in range(n_vectors):  # neighbouring neurons together
        peak, choice, whole = load(probabilities, v), splat(_ZERO), splat(_ZERO)
        for k in range(1, n_candidates):
            logit = load(probabilities, k * n_vectors + v)
            choice = where_greater(logit, peak, np.float32(k), choice)
            peak = where_greater(logit, peak, logit, peak)
        for k in range(n_candidates):
            e = exp_minus_abs((load(probabilities, k * n_vectors + v) - peak) * inverse)
            store(probabilities, k * n_vectors + v, e)
            whole = whole + e
        peak = _ONE / whole
        for k in range(n_candidates):
            p = load(probabilities, k * n_vectors + v) * peak
            store(probabilities, k * n_vectors + v, where_greater(p, _TINY_PROBABILITY, p, _ZERO))
        store(peaks, v, peak)
        store(choices, v, choice)


@_inner
def _choose(net: Arrays, settings: Settings) -> None:
    """Choose and mix the candidate links and gates of the neurons, open and close the links of the sum."""
    t = settings.temperature
    for side in range(2):
        _softmax(net.link_logits[side], t, net.link_probabilities[side], net.peaks[side], net.choices[side])
    _softmax(net.gate_logits, t, net.gate_probabilities, net.peaks[_GATES], net.choices[_GATES])
    net.mixture[:] = _ZERO
    for k in range(net.coefficients.shape[0]):
        for c in range(4):
            mixture, p, coefficient = net.mixture[c], net.gate_probabilities[k], net.coefficients[k, c]
            for i in range(mixture.size):
                mixture[i] += coefficient * p[i]
    for j in range(net.sum_logits.size):
        share = 1.0 / (1.0 + math.exp(-np.float64(net.sum_logits[j]) / t))
        net.sum_probabilities[j] = share
        net.sum_open[j] = share if settings.relaxation == SOFT else (1.0 if share >= settings.sum_threshold else 0.0)


@_inline
def _gate(net: Arrays, i: int, is_hard: bool) -> tuple[Any, Any, Any, Any]:  # noqa: FBT001 (compiled)
    """Return the polynomial of a neuron's gate, or of its mixture of gates."""
    if is_hard:
        c = net.coefficients[int(net.choices[_GATES, i])]
        return c[0], c[1], c[2], c[3]
    return net.mixture[0, i], net.mixture[1, i], net.mixture[2, i], net.mixture[3, i]


@_inline
def _inputs(net: Arrays, i: int, is_hard: bool) -> tuple[Any, Any]:  # noqa: FBT001 (compiled)
    """Return both inputs of a neuron: the chosen rows, or the mixtures of its candidates."""
    a = b = splat(_ZERO)
    if is_hard:
        a = load(net.signal, net.links[0, i, int(net.choices[0, i])])
        b = load(net.signal, net.links[1, i, int(net.choices[1, i])])
    else:
        for k in range(net.links.shape[2]):
            a = a + net.link_probabilities[0, k, i] * load(net.signal, net.links[0, i, k])
            b = b + net.link_probabilities[1, k, i] * load(net.signal, net.links[1, i, k])
    return a, b


@_inner
def _load_rows(net: Arrays, data: Data, rows: Int64) -> None:
    """Gather the named rows; spare lanes repeat the first with weight zero."""
    if data.numbers.shape[1] != net.inputs.shape[0] or data.bits.shape[1] != net.n_bits:
        raise ValueError("the columns are not those of the network")
    for r in range(LANES):
        row = rows[r if r < rows.size else 0]
        for k in range(net.inputs.shape[0]):
            net.inputs[k, r] = data.numbers[row, k]
        for k in range(net.n_bits):
            net.signal[k, r] = data.bits[row, k]
        net.target[r] = data.target[row]
        net.weight[r] = data.weight[row] if r < rows.size else _ZERO


@_inner
def _forward_thresholds(net: Arrays, settings: Settings) -> None:
    """Steps, or sigmoids where nothing is hard."""
    inverse = np.float32(1.0 / settings.temperature)
    for t in range(net.threshold_input.size):
        slope, bias, x = net.slope[t], net.bias[t], load(net.inputs, net.threshold_input[t])
        if settings.relaxation == SOFT:
            z = slope * inverse * (x - bias)
            e = exp_minus_abs(z)
            y = where_greater(z, _ZERO, _ONE, e) / (_ONE + e)
        elif slope > 0:  # compared, not multiplied: rounding must not move a row across its cut-off
            y = where_greater(x, bias, _ONE, _ZERO)
        elif slope < 0:
            y = where_greater(bias, x, _ONE, _ZERO)
        else:
            y = splat(_ZERO)
        store(net.signal, net.n_bits + t, y)


@_inner
def _forward_neurons(net: Arrays, settings: Settings) -> None:
    """Compute the neurons, each from rows before it."""
    is_hard = settings.relaxation != SOFT
    for i in range(net.links.shape[1]):
        a, b = _inputs(net, i, is_hard)
        c0, c1, c2, c3 = _gate(net, i, is_hard)
        store(net.signal, net.first_neuron + i, (c3 * a + c2) * b + (c1 * a + c0))


@_inner
def _forward_sum(net: Arrays) -> None:
    net.output[:] = 0.0
    for j in range(net.rule_rows.size):
        weight = np.float64(net.sum_open[j]) * np.float64(net.weights[j])
        if weight != 0.0:
            signal = net.signal[net.rule_rows[j]]
            for r in range(LANES):
                net.output[r] += weight * np.float64(signal[r])


@_inner
def _loss(net: Arrays, settings: Settings, n: int) -> float:
    """Return the weighted sum of losses and write the derivative of their mean over n rows by the output."""
    summed, parameter = 0.0, np.float32(settings.loss_parameter)
    for r in range(LANES):
        difference = np.float32(net.output[r] - np.float64(net.target[r]))
        if settings.loss == SQUARED_ERROR:
            value, slope = difference * difference, np.float32(2.0) * difference
        elif settings.loss == HUBER and abs(difference) <= parameter:
            value, slope = np.float32(0.5) * difference * difference, difference
        elif settings.loss == HUBER:
            value = parameter * (abs(difference) - np.float32(0.5) * parameter)
            slope = parameter if difference > _ZERO else -parameter
        else:  # a slope on either side
            above, below = (_ONE - parameter, -parameter) if settings.loss == QUANTILE else (_ONE, -_ONE)
            slope = above if difference > _ZERO else (below if difference < _ZERO else _ZERO)
            value = slope * difference
        summed += np.float64(net.weight[r]) * np.float64(value)
        net.d_output[r] = net.weight[r] * slope / np.float32(n)
    return summed


@_inline
def _forward(net: Arrays, data: Data, rows: Int64, settings: Settings, n: int) -> float:
    """Compute the outputs of up to `LANES` rows of a batch of n, after `_choose`; return their summed loss."""
    _load_rows(net, data, rows)
    _forward_thresholds(net, settings)
    _forward_neurons(net, settings)
    _forward_sum(net)
    loss: float = _loss(net, settings, n)
    return loss


@_inner
def _backward_sum(net: Arrays, settings: Settings) -> None:
    """Gradients of the sum's links and weights; starts the derivatives of all rows."""
    inverse, d = np.float32(1.0 / settings.temperature), load(net.d_output, 0)
    net.d_signal[:] = _ZERO
    for j in range(net.rule_rows.size):
        # Relaxed as a whole, a closed link still passes its share back: rules that have closed can open again.
        # Its weight has no part in the output and gets none: it would grow without effect until the link opens.
        p, is_open, weight, row = net.sum_probabilities[j], net.sum_open[j], net.weights[j], net.rule_rows[j]
        share = p if settings.relaxation == NEURON else is_open
        store(net.d_signal, row, load(net.d_signal, row) + share * weight * d)
        s, slope = total(d * load(net.signal, row)), p * (_ONE - p)
        net.d_weights[j] += is_open * s
        net.d_sum_logits[j] += slope * inverse * weight * s if slope > _TINY_PROBABILITY else _ZERO


@_inline
def _backward_links(net: Arrays, side: int, i: int, d: Any) -> None:
    """Send the derivative by one input of a neuron back to its candidates, or to the only one that has a share."""
    if net.peaks[side, i] < _ONE:
        for k in range(net.links.shape[2]):
            row = net.links[side, i, k]
            net.d_link_probabilities[side, k, i] += total(d * load(net.signal, row))
            store(net.d_signal, row, load(net.d_signal, row) + net.link_probabilities[side, k, i] * d)
    else:
        row = net.links[side, i, int(net.choices[side, i])]
        store(net.d_signal, row, load(net.d_signal, row) + d)


@_inner
def _backward_neurons(net: Arrays, settings: Settings) -> None:
    """From the last neuron to the first: pass its derivative to its inputs, sum up what its logits need.

    Where one candidate has all the probability, the logits have no gradient and nothing is summed up for them.
    """
    is_hard = settings.relaxation == SEPARATE
    for i in range(net.links.shape[1] - 1, -1, -1):
        d = load(net.d_signal, net.first_neuron + i)
        if any_nonzero(d):
            is_chosen = net.peaks[0, i] == _ONE and net.peaks[1, i] == _ONE
            a, b = _inputs(net, i, is_hard or is_chosen)
            _, c1, c2, c3 = _gate(net, i, is_hard)
            if net.peaks[_GATES, i] < _ONE:
                d_a = d * a
                net.moments[0, i] += total(d)
                net.moments[1, i] += total(d_a)
                net.moments[2, i] += total(d * b)
                net.moments[3, i] += total(d_a * b)
            _backward_links(net, 0, i, d * (c3 * b + c1))
            _backward_links(net, 1, i, d * (c3 * a + c2))


@_inner
def _backward_thresholds(net: Arrays, settings: Settings) -> None:
    """Gradients of biases and slopes, through the sigmoid's derivative."""
    inverse = np.float32(1.0 / settings.temperature)
    for t in range(net.threshold_input.size):
        d = load(net.d_signal, net.n_bits + t)
        if any_nonzero(d):
            slope, x = net.slope[t] * inverse, load(net.inputs, net.threshold_input[t]) - net.bias[t]
            e = exp_minus_abs(slope * x)
            d = d * where_greater(e, _TINY_PROBABILITY, e, _ZERO) / ((_ONE + e) * (_ONE + e))
            net.d_bias[t] -= slope * total(d)
            net.d_slope[t] += inverse * total(d * x)


@_inner
def _backward_softmax(p: Float32, d_p: Float32, temperature: float, mean: Float32, d_logits: Float32) -> None:
    """Write the gradients of logits, p·(dp - Σ p·dp)/τ; `mean` is workspace."""
    n_candidates, n_neurons = d_logits.shape
    inverse = np.float32(1.0 / temperature)
    mean[:] = _ZERO
    for k in range(n_candidates):
        for i in range(n_neurons):
            mean[i] += p[k, i] * d_p[k, i]
    for k in range(n_candidates):
        for i in range(n_neurons):
            d_logits[k, i] = p[k, i] * (d_p[k, i] - mean[i]) * inverse


@_inner
def _backward_logits(net: Arrays, settings: Settings) -> None:
    """Gradients of the logits, when all rows of a batch have been summed up."""
    t, links = settings.temperature, net.link_probabilities
    for side in range(2):
        _backward_softmax(links[side], net.d_link_probabilities[side], t, net.peaks[side], net.d_link_logits[side])
    for k in range(net.coefficients.shape[0]):
        c, moments, d = net.coefficients[k], net.moments, net.d_gate_probabilities[k]
        for i in range(d.size):
            d[i] = c[0] * moments[0, i] + c[1] * moments[1, i] + c[2] * moments[2, i] + c[3] * moments[3, i]
    _backward_softmax(net.gate_probabilities, net.d_gate_probabilities, t, net.peaks[_GATES], net.d_gate_logits)


@_jit
def adam(values: Float32, gradients: Float32, first: Float32, second: Float32, learning_rate: float, step: int) -> None:
    """One step of Adam on a flat vector; moments too small to matter do not become denormal."""
    rate = np.float32(learning_rate / (1.0 - _BETA1**step))
    unbias = np.float32(1.0 / (1.0 - _BETA2**step))
    for i in range(values.size):
        g = gradients[i]
        m = np.float32(_BETA1) * first[i] + np.float32(1.0 - _BETA1) * g
        v = np.float32(_BETA2) * second[i] + np.float32(1.0 - _BETA2) * g * g + _TINY_SQUARE
        m = m if abs(m) > _TINY_MOMENT else _ZERO
        square = unbias * v
        change = rate * m / (np.sqrt(square) + _EPSILON)
        values[i] -= _ZERO if square > _HUGE_SQUARE else change
        first[i], second[i] = m, v


@_jit
def train_epoch(net: Arrays, data: Data, rows: Int64, settings: Settings, rates: Float64, step: int) -> float:
    """Train on the named rows once, in batches; return the summed loss.

    Parameter group g, in the order of the flat vector, is updated with learning rate ``rates[g]``, or not at all where
    that is 0. The gradients of the last batch remain. `step` counts the batches of earlier epochs.
    """
    summed = 0.0
    for start in range(0, rows.size, settings.batch_size):
        batch = rows[start : start + settings.batch_size]
        _choose(net, settings)
        net.gradients[:] = net.d_link_probabilities[:] = net.moments[:] = _ZERO
        for block in range(0, batch.size, LANES):
            summed += _forward(net, data, batch[block : block + LANES], settings, batch.size)
            _backward_sum(net, settings)
            _backward_neurons(net, settings)
            _backward_thresholds(net, settings)
        _backward_logits(net, settings)
        step += 1
        for g in range(rates.size):
            if rates[g] > 0.0:
                a, b = net.sections[g], net.sections[g + 1]
                first, second = net.first_moments[a:b], net.second_moments[a:b]
                adam(net.parameters[a:b], net.gradients[a:b], first, second, rates[g], step)
    return summed


@_jit
def evaluate(net: Arrays, data: Data, rows: Int64, settings: Settings, out: Float64) -> float:
    """Write the outputs of the named rows, ``(n,)``; return their summed loss."""
    summed = 0.0
    _choose(net, settings)
    for start in range(0, rows.size, LANES):
        block = rows[start : start + LANES]
        summed += _forward(net, data, block, settings, rows.size)
        for r in range(block.size):
            out[start + r] = net.output[r]
    return summed
