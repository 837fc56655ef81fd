"""Neurons of trained networks as candidate rules: those of every layer whose expression is short enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from dln.circuit import _gates as gates
from dln.circuit._gates import GATES
from dln.network._network import Network
from dln.rules._expression import XOR, Expression, Join, Test, length, negation
from dln.solve._products import Floats

#: What a neuron computes: an expression, a constant, or None where it is too long.
_Signal: TypeAlias = Expression | bool | None


def neuron_expressions(network: Network, cutoffs: Sequence[Floats], max_length: int) -> list[Expression]:
    """Return what the neurons of a network compute in its hard forward pass, once each, up to a length.

    A neuron of layer k has at most 2^k tests: depth bounds length. Thresholds move to the nearest of the cut-offs that
    rules are made of; polish would move them there anyway.
    """
    wiring, parameters = network.wiring, network.parameters
    n_scaled = len(cutoffs)
    signals: list[_Signal] = [Test(n_scaled + bit, 0, negated=False) for bit in range(wiring.n_bits)]
    for k, bias, slope in zip(wiring.threshold_input, parameters.bias, parameters.slope, strict=True):
        signals.append(_threshold(int(k), float(bias), float(slope), cutoffs[k]))
    kinds = wiring.gates[parameters.gate_logits.argmax(axis=0)]
    neurons = np.arange(wiring.n_neurons)
    links_a = wiring.links_a[parameters.link_a_logits.argmax(axis=0), neurons]
    links_b = wiring.links_b[parameters.link_b_logits.argmax(axis=0), neurons]
    expressions: dict[Expression, None] = {}
    for kind, a, b in zip(kinds.tolist(), links_a.tolist(), links_b.tolist(), strict=True):
        signal = gate(kind, signals[a], signals[b])
        if signal is not None and not isinstance(signal, bool):
            if length(signal) > max_length:
                signal = None
            else:
                expressions.setdefault(signal)
        signals.append(signal)
    return list(expressions)


def _threshold(k: int, bias: float, slope: float, cutoffs: Floats) -> _Signal:
    """Return ``x > bias``, or where the slope is negative ``x < bias``, at the cut-off nearest to it."""
    if slope == 0.0 or not len(cutoffs):
        return False
    return Test(k, int(np.argmin(np.abs(cutoffs - bias))), negated=slope < 0)


def gate(kind: int, a: _Signal, b: _Signal) -> _Signal:
    """Return one of the 16 gates of two signals, constants folded.

    >>> x, y = Test(0, 5, False), Test(1, 5, False)
    >>> gate(11, x, y) == Join(gates.OR, x, negation(y)), gate(1, x, True) == x, gate(6, x, x)
    (True, True, False)
    """
    if a is not None and a == b:
        when_false, _, _, when_true = GATES[kind].truth
        return bool(when_true) if when_false == when_true else _negated(a, negated=bool(when_false))
    join, not_a, not_b = GATES[kind].form
    a, b = _negated(a, negated=not_a), _negated(b, negated=not_b)
    match join:
        case gates.A | gates.B:
            return a if join == gates.A else b
        case gates.AND | gates.OR:
            return _and_or(join, a, b)
        case gates.XOR:
            return _xor(a, b)
        case _:
            return join == gates.TRUE


def _and_or(join: int, a: _Signal, b: _Signal) -> _Signal:
    decides = join == gates.OR  # the constant that settles it, whatever the other signal is; the other one has no say
    if a is decides or b is decides:
        return decides
    if isinstance(a, bool) or isinstance(b, bool):
        return b if isinstance(a, bool) else a
    return None if a is None or b is None else Join(join, a, b)


def _xor(a: _Signal, b: _Signal) -> _Signal:
    if isinstance(a, bool):
        return _negated(b, negated=a)
    if isinstance(b, bool):
        return _negated(a, negated=b)
    return None if a is None or b is None else Join(XOR, a, b)


def _negated(signal: _Signal, *, negated: bool) -> _Signal:
    """Return the signal, or its opposite where it is `negated`."""
    if signal is None or not negated:
        return signal
    return (not signal) if isinstance(signal, bool) else negation(signal)
