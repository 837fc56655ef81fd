"""A trained network and its encoder → a circuit in the user's units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dln._builder import FALSE_SIGNAL, TRUE_SIGNAL, CircuitBuilder, Signal
from dln._circuit import LARGEST_SUM, MAX_DECIMALS, Above, Circuit, IsMissing, Values
from dln._cutoffs import shortest_between
from dln._encoding import ENCODED_MISSING, Encoder, scale
from dln._network import Network
from dln.training._grow import GrownRule

#: Weights are told to this many digits below the first digit of the target's spread: the rounding of a hundred
#: weights then moves R² by less than 1e-7.
WEIGHT_DIGITS: Final = 4
#: Weights may be this many times the largest target before their sum leaves the exact range.
_HEADROOM: Final = 1e4


@dataclass(frozen=True, slots=True)
class Target:
    """The target's units: predictions are ``mean + spread · output``, in steps of ``10**-decimals``."""

    mean: float
    spread: float
    decimals: int

    @classmethod
    def of(cls, y: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]) -> Target:
        """Return the units of a target: its weighted mean and standard deviation."""
        size = float(np.abs(y).max())
        if size == 0.0:
            return cls(0.0, 1.0, 0)
        # Scaled by a power of two first: squares of 1e200 would overflow.
        unit = 2.0 ** math.frexp(size)[1]
        share = weight / weight.sum()
        mean = float(share @ (y / unit))
        spread = float(np.sqrt(share @ (y / unit - mean) ** 2)) * unit
        constant = bool((y == y[0]).all())
        mean = float(y[0]) if constant else mean * unit
        if constant or spread <= size * np.finfo(np.float64).eps:
            return cls(mean, 1.0, _exact_decimals(mean))
        return cls(mean, spread, _decimals(spread, size))

    def standardise(self, y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return a target of mean zero and spread one."""
        return y / self.spread - self.mean / self.spread


def _decimals(spread: float, size: float) -> int:
    wanted = WEIGHT_DIGITS - math.floor(math.log10(spread))
    possible = math.floor(math.log10(LARGEST_SUM / _HEADROOM) - math.log10(size))
    return max(-MAX_DECIMALS, min(wanted, possible, MAX_DECIMALS))


def _exact_decimals(value: float) -> int:
    """Return how many decimals a constant needs, as far as the grid can go."""
    digits = repr(value)
    mantissa, _, exponent = digits.partition("e")
    decimals = len(mantissa.partition(".")[2].rstrip("0")) - int(exponent or 0)
    possible = math.floor(math.log10(LARGEST_SUM) - math.log10(abs(value)))
    return max(-MAX_DECIMALS, min(decimals, possible, MAX_DECIMALS))


def discretize(
    network: Network,
    *,
    temperature: float,
    sum_threshold: float,
    encoder: Encoder,
    values: Sequence[Values],
    rows: npt.NDArray[np.intp],
    target: Target,
) -> Circuit:
    """Return the circuit of a trained network: what its hard forward pass computes, in the user's units.

    Each cut-off is moved to the shortest decimal number that separates the same training rows (`values` at `rows`), so
    no training prediction changes.
    """
    builder = CircuitBuilder(encoder.columns)
    wiring, parameters = network.wiring, network.parameters
    signals = [builder.literal(literal) for literal in encoder.bits]
    signals += _threshold_signals(network, Cutter(builder, encoder, values, rows))
    kinds = wiring.gates[parameters.gate_logits.argmax(axis=0)]
    neurons = np.arange(wiring.n_neurons)
    links_a = wiring.links_a[parameters.link_a_logits.argmax(axis=0), neurons]
    links_b = wiring.links_b[parameters.link_b_logits.argmax(axis=0), neurons]
    for kind, a, b in zip(kinds, links_a, links_b, strict=True):
        signals.append(builder.gate(int(kind), signals[a], signals[b]))
    is_open = open_links(parameters.sum_logits, temperature, sum_threshold)
    rules = [
        (signals[row], float(weight) * target.spread)
        for row, weight, link in zip(wiring.rule_rows, parameters.weights, is_open, strict=True)
        if link
    ]
    return builder.circuit(target.mean, rules, decimals=target.decimals)


def open_links(sum_logits: npt.NDArray[np.float32], temperature: float, sum_threshold: float) -> npt.NDArray[np.bool_]:
    """Return which links of the sum are open: those with Sigmoid(S/τ) ≥ θ."""
    with np.errstate(over="ignore"):
        is_open: npt.NDArray[np.bool_] = (
            1.0 / (1.0 + np.exp(-sum_logits.astype(np.float64) / temperature)) >= sum_threshold
        )
    return is_open


class Cutter:
    """Turns places between scaled values into literals with cut-offs in the user's units."""

    def __init__(
        self, builder: CircuitBuilder, encoder: Encoder, values: Sequence[Values], rows: npt.NDArray[np.intp]
    ) -> None:
        self.builder, self._encoder, self._values, self._rows = builder, encoder, values, rows
        self._known: dict[int, tuple[npt.NDArray[np.float64], npt.NDArray[np.float32], Signal]] = {}

    def above(self, k: int, cutoff: float, *, or_equal: bool = False) -> Signal:
        """Return the signal of "scaled column k is above (or at) the cut-off" on the training rows.

        Where that holds for all known numbers, the rest is missing; where it holds for none, it is never.
        """
        known, encoded, missing = self._column(k)
        n_below = int(np.searchsorted(encoded, cutoff, "left" if or_equal else "right"))
        if n_below == 0:
            return TRUE_SIGNAL if cutoff < ENCODED_MISSING else ~missing
        if n_below == len(known):
            return FALSE_SIGNAL
        shortest = shortest_between(float(known[n_below - 1]), float(known[n_below]))
        return self.builder.literal(Above(self._encoder.scaled[k].column, shortest))

    def _column(self, k: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float32], Signal]:
        """Return the distinct known numbers of a scaled column, the same scaled, and the signal of "is missing"."""
        if k not in self._known:
            scaled = self._encoder.scaled[k]
            known = np.unique(self._values[scaled.column][self._rows])
            has_missing = bool(np.isnan(known[-1]))
            known = known[~np.isnan(known)]
            missing = self.builder.literal(IsMissing(scaled.column)) if has_missing else FALSE_SIGNAL
            self._known[k] = (known, scale(scaled, known), missing)
        return self._known[k]


def _threshold_signals(network: Network, cutter: Cutter) -> list[Signal]:
    """Return a signal for every threshold row."""
    parameters, signals = network.parameters, []
    for k, bias, slope in zip(network.wiring.threshold_input, parameters.bias, parameters.slope, strict=True):
        if slope == 0:
            signals.append(FALSE_SIGNAL)
        else:
            above = cutter.above(int(k), bias, or_equal=bool(slope < 0))
            signals.append(above if slope > 0 else ~above)
    return signals


def tree_signal(
    rule: GrownRule, cutoffs: Sequence[npt.NDArray[np.float64]], bits: list[Signal], cutter: Cutter
) -> Signal:
    """Return the signal of a grown rule: its tree read from the leaves up, each split a choice between two signals."""
    tree, builder = rule.tree, cutter.builder
    signals = [TRUE_SIGNAL if upper else FALSE_SIGNAL for upper in rule.upper]
    for node in range(len(tree.feature) - 1, -1, -1):
        k = int(tree.feature[node])
        if k < 0:
            continue
        test = cutter.above(k, cutoffs[k][tree.threshold[node]]) if k < len(cutoffs) else bits[k - len(cutoffs)]
        right, left = signals[tree.right[node]], signals[tree.left[node]]
        signals[node] = builder.choice(test, right, left)
    return signals[0]
