"""A trained network and its encoder → a circuit in the user's units."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

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


class Cut(NamedTuple):
    """A place between the values of a scaled column: above a cut-off, or at it too."""

    k: int
    cutoff: float
    or_equal: bool = False


class Cutter:
    """Turns places between scaled values into literals with cut-offs in the user's units."""

    def __init__(
        self, builder: CircuitBuilder, encoder: Encoder, values: Sequence[Values], rows: npt.NDArray[np.intp]
    ) -> None:
        self.builder, self._encoder, self._values = builder, encoder, values
        # What numbers there are does not depend on the order of rows, and columns are read faster from top to bottom.
        self._rows = None if len(rows) == len(values[0]) else np.sort(rows)
        self._found: dict[Cut, Above | Signal] = {}

    def look_up(self, cuts: Iterable[Cut]) -> None:
        """Find the cut-offs of many places at once: a column's numbers are sorted once, and forgotten.

        Above a place below all known numbers is what is not missing; above one that no number is above is nothing.
        """
        for k, of_column in itertools.groupby(sorted(set(cuts) - self._found.keys()), key=lambda cut: cut.k):
            scaled = self._encoder.scaled[k]
            known, has_missing = self._known(scaled.column)
            missing = self.builder.literal(IsMissing(scaled.column)) if has_missing else FALSE_SIGNAL
            encoded, places = scale(scaled, known), list(of_column)
            for or_equal in (False, True):
                some = [cut for cut in places if cut.or_equal is or_equal]
                numbers_below = np.searchsorted(encoded, [cut.cutoff for cut in some], "left" if or_equal else "right")
                for cut, n_below in zip(some, numbers_below.tolist(), strict=True):
                    if n_below == 0:
                        self._found[cut] = TRUE_SIGNAL if cut.cutoff < ENCODED_MISSING else ~missing
                    elif n_below == len(known):
                        self._found[cut] = FALSE_SIGNAL
                    else:
                        shortest = shortest_between(float(known[n_below - 1]), float(known[n_below]))
                        self._found[cut] = Above(scaled.column, shortest)

    def above(self, cut: Cut) -> Signal:
        """Return the signal of "a scaled column is above (or at) the cut-off" on the training rows."""
        if cut not in self._found:
            self.look_up([cut])
        found = self._found[cut]
        return self.builder.literal(found) if isinstance(found, Above) else found

    def _known(self, column: int) -> tuple[Values, bool]:
        """Return the distinct known numbers of a column, ascending, and whether some are missing."""
        values = self._values[column]
        known = np.unique(values if self._rows is None else values[self._rows])
        has_missing = bool(np.isnan(known[-1]))
        return known[: len(known) - has_missing] + known.dtype.type(0), has_missing  # 0.0, never -0.0


def _threshold_signals(network: Network, cutter: Cutter) -> list[Signal]:
    """Return a signal for every threshold row."""
    parameters = network.parameters
    cuts = [
        Cut(int(k), float(bias), bool(slope < 0))
        for k, bias, slope in zip(network.wiring.threshold_input, parameters.bias, parameters.slope, strict=True)
    ]
    cutter.look_up(cut for cut, slope in zip(cuts, parameters.slope, strict=True) if slope != 0)
    signals = []
    for cut, slope in zip(cuts, parameters.slope, strict=True):
        if slope == 0:
            signals.append(FALSE_SIGNAL)
        else:
            above = cutter.above(cut)
            signals.append(above if slope > 0 else ~above)
    return signals


def tree_cuts(rule: GrownRule, cutoffs: Sequence[npt.NDArray[np.float64]]) -> Iterator[Cut]:
    """Yield where a grown rule's tree cuts scaled columns."""
    for k, threshold in zip(rule.tree.feature.tolist(), rule.tree.threshold.tolist(), strict=True):
        if 0 <= k < len(cutoffs):
            yield Cut(k, float(cutoffs[k][threshold]))


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
        if k < len(cutoffs):
            test = cutter.above(Cut(k, float(cutoffs[k][tree.threshold[node]])))
        else:
            test = bits[k - len(cutoffs)]
        right, left = signals[tree.right[node]], signals[tree.left[node]]
        signals[node] = builder.choice(test, right, left)
    return signals[0]
