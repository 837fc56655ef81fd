"""Neurons of trained networks as candidate rules: those of every layer whose expression is short enough."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from dln.learning._expression import AND, OR, XOR, Expression, Join, Test, length, negation
from dln.network._network import Network

#: What a neuron computes: an expression, a constant, or None where it is too long.
_Signal: TypeAlias = Expression | bool | None


def neuron_expressions(network: Network, n_scaled: int, max_length: int) -> list[Expression]:
    """Return what the neurons of a network compute in its hard forward pass, once each, up to a length.

    A neuron of layer k has at most 2^k tests: depth bounds length.
    """
    wiring, parameters = network.wiring, network.parameters
    signals: list[_Signal] = [Test(n_scaled + bit, 0.5, negated=False) for bit in range(wiring.n_bits)]
    for k, bias, slope in zip(wiring.threshold_input, parameters.bias, parameters.slope, strict=True):
        signals.append(_threshold(int(k), bias, float(slope)))
    kinds = wiring.gates[parameters.gate_logits.argmax(axis=0)]
    neurons = np.arange(wiring.n_neurons)
    links_a = wiring.links_a[parameters.link_a_logits.argmax(axis=0), neurons]
    links_b = wiring.links_b[parameters.link_b_logits.argmax(axis=0), neurons]
    found: dict[Expression, None] = {}
    for kind, a, b in zip(kinds.tolist(), links_a.tolist(), links_b.tolist(), strict=True):
        signal = gate(kind, signals[a], signals[b])
        if signal is not None and not isinstance(signal, bool):
            if length(signal) > max_length:
                signal = None
            else:
                found.setdefault(signal)
        signals.append(signal)
    return list(found)


def _threshold(k: int, bias: np.float32, slope: float) -> _Signal:
    """Return ``x > bias``, or ``bias > x``: not above the number just below it."""
    if slope == 0.0:
        return False
    if slope > 0:
        return Test(k, float(bias), negated=False)
    return Test(k, float(np.nextafter(bias, np.float32(-np.inf))), negated=True)


def gate(kind: int, a: _Signal, b: _Signal) -> _Signal:
    """Return one of the 16 gates of two signals, constants folded.

    >>> x, y = Test(0, 0.5, False), Test(1, 0.5, False)
    >>> gate(11, x, y) == Join(OR, x, negation(y)), gate(1, x, True) == x, gate(6, x, x)
    (True, True, False)
    """
    table = [kind >> 3 & 1, kind >> 2 & 1, kind >> 1 & 1, kind & 1]  # for ab = 00, 01, 10, 11
    if isinstance(a, bool):
        table = table[2 * a : 2 * a + 2]
        return _of_one(table[0], table[1], b)
    if isinstance(b, bool) or (a == b and a is not None):
        return _of_one(table[0] if b is not True else table[1], table[3] if b is not False else table[2], a)
    if table[0] == table[1] and table[2] == table[3]:
        return _of_one(table[0], table[2], a)
    if table[0] == table[2] and table[1] == table[3]:
        return _of_one(table[0], table[1], b)
    if a is None or b is None:
        return None
    if sum(table) == 2:  # noqa: PLR2004 (true for two of four: exclusive or, or its opposite)
        return Join(XOR, a if table[1] else negation(a), b)
    lone = table.index(1 if sum(table) == 1 else 0)
    if sum(table) == 1:
        return Join(AND, a if lone & 2 else negation(a), b if lone & 1 else negation(b))
    return Join(OR, negation(a) if lone & 2 else a, negation(b) if lone & 1 else b)


def _of_one(when_false: int, when_true: int, signal: _Signal) -> _Signal:
    """Return the signal, its opposite or a constant."""
    if when_false == when_true:
        return bool(when_true)
    if signal is None or when_true:
        return signal
    return (not signal) if isinstance(signal, bool) else negation(signal)
