"""A trained network and its encoder → a circuit in the user's units."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array, column_or_1d

from dln._errors import PrecisionWarning
from dln.circuit._circuit import LARGEST_SUM, MAX_DECIMALS, Above, Circuit, IsMissing, Values
from dln.circuit._cutoffs import shortest_between
from dln.circuit._graph import FALSE_EDGE, TRUE_EDGE, Graph
from dln.data._encoding import ENCODED_MISSING, Encoder, scale
from dln.data.table import refuse_mask
from dln.network._network import Network

#: Weights are told to this many digits below the first digit of the target's spread: the rounding of a hundred
#: weights then moves R² by less than 1e-7.
WEIGHT_DIGITS: Final = 4
#: Weights may be this many times the largest distance from the mean before their sum leaves the exact range.
_HEADROOM: Final = 1e4
#: Steps of the grid that a target's spread must have: with fewer, rounded weights could be worse than the mean alone.
_FEWEST_STEPS: Final = 20
#: Fewer steps than this, of the grid or of float64, are worth a warning.
_ENOUGH_STEPS: Final = 1000
#: Larger targets leave no room for weights that add up to them.
LARGEST_TARGET: Final = 1e300


@dataclass(frozen=True, slots=True)
class Target:
    """The target's units: predictions are ``mean + spread · output``, in steps of ``10**-decimals``.

    Of a target that is not `varying`, constant or with differences too small for its size, only the mean is learned.
    """

    mean: float
    spread: float
    decimals: int
    varying: bool = True

    @classmethod
    def of(cls, y: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]) -> Target:
        """Return the units of a target: its weighted mean and standard deviation.

        A target that varies by so little that float64 or the grid can hardly tell is warned of.
        """
        size = float(np.abs(y).max())
        if (y == y[0]).all():
            return cls(float(y[0]), 1.0, _exact_decimals(float(y[0])), varying=False)
        # Centred first: the squares of a target far from zero would hide its differences. And scaled by a power of two:
        # the squares of 1e200 would overflow.
        deviation = y / 2 - y[0] / 2
        unit = 2.0 ** math.frexp(float(np.abs(deviation).max()))[1]
        share = weight / weight.max()
        share /= share.sum()
        middle = float(share @ (deviation / unit))
        mean = float(y[0]) + 2 * (middle * unit)
        spread = float(np.sqrt(share @ (deviation / unit - middle) ** 2)) * unit * 2
        decimals = _decimals(spread, mean, float(np.abs(y / 2 - mean / 2).max()) * 2) if spread > 0 else 0
        steps = min(spread * 10.0**decimals, spread / float(np.spacing(size)))
        if steps < _ENOUGH_STEPS:
            _warn_of_small_differences(mean, spread, is_hopeless=steps < _FEWEST_STEPS)
        if steps < _FEWEST_STEPS:
            return cls(mean, 1.0, _exact_decimals(mean), varying=False)
        return cls(mean, spread, decimals)

    def standardise(self, y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return a target of mean zero and spread one; zeros where there is nothing to learn."""
        if not self.varying:
            return np.zeros(len(y))
        return (y / 2 - self.mean / 2) / (self.spread / 2)  # halves, whose difference never overflows


def check_target(y: Any, n_rows: int, name: str) -> npt.NDArray[np.float64]:
    """Return a target as float64, or raise what is wrong with it."""
    if y is None:
        message = "requires y to be passed, but the target y is None"
        raise ValueError(message)
    refuse_mask(y, name)
    with np.errstate(over="ignore", invalid="ignore"):  # it adds y up, to see whether it is finite
        y = check_array(y, ensure_2d=False, dtype="numeric", input_name=name, ensure_all_finite=True)
    y = column_or_1d(y, dtype=np.float64, warn=True, input_name=name)
    if len(y) != n_rows:
        message = f"Found input variables with inconsistent numbers of samples: [{n_rows}, {len(y)}]"
        raise ValueError(message)
    check_target_size(y, name)
    return np.asarray(y + 0.0)


def check_target_size(y: npt.NDArray[np.float64], name: str) -> None:
    """Raise where a target is so large that weights could not add up to it."""
    wrong = np.abs(y) > LARGEST_TARGET
    if wrong.any():
        row = int(wrong.argmax())
        message = (
            f"{name} must lie between -{LARGEST_TARGET:g} and {LARGEST_TARGET:g}, but row {row} has {y[row]:g}: divide "
            "the target by a constant"
        )
        raise ValueError(message)


def _warn_of_small_differences(mean: float, spread: float, *, is_hopeless: bool) -> None:
    what = "so only their mean was learned" if is_hopeless else "so predictions are coarse"
    remedy = "subtract a constant from y" if abs(mean) > spread * _ENOUGH_STEPS else "multiply y by a constant"
    message = (
        f"the targets lie around {mean:.4g} and differ by {spread:.2g} only, which float64 can hardly tell apart, "
        f"{what}: {remedy}"
    )
    warnings.warn(message, PrecisionWarning, stacklevel=3)


def _decimals(spread: float, mean: float, farthest: float) -> int:
    """Return the decimals of weights: enough for the spread, few enough for a sum of mean and weights to be exact."""
    wanted = WEIGHT_DIGITS - math.floor(math.log10(spread))
    largest = max(abs(mean), farthest * _HEADROOM)
    possible = math.floor(math.log10(LARGEST_SUM / 4) - math.log10(largest))
    return max(-MAX_DECIMALS, min(wanted, possible, MAX_DECIMALS))


def _exact_decimals(value: float) -> int:
    """Return how many decimals a constant needs, as far as the grid can go."""
    if value == 0:
        return 0
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
    graph = Graph()
    wiring, parameters = network.wiring, network.parameters
    edges = [graph.literal(literal) for literal in encoder.bits]
    edges += _threshold_edges(network, Cutter(graph, encoder, values, rows))
    kinds = wiring.gates[parameters.gate_logits.argmax(axis=0)]
    neurons = np.arange(wiring.n_neurons)
    links_a = wiring.links_a[parameters.link_a_logits.argmax(axis=0), neurons]
    links_b = wiring.links_b[parameters.link_b_logits.argmax(axis=0), neurons]
    for kind, a, b in zip(kinds, links_a, links_b, strict=True):
        edges.append(graph.gate(int(kind), edges[a], edges[b]))
    is_open = open_links(parameters.sum_logits, temperature, sum_threshold)
    rules = [
        (edges[row], float(weight) * target.spread)
        for row, weight, link in zip(wiring.rule_rows, parameters.weights, is_open, strict=True)
        if link
    ]
    return graph.circuit(encoder.columns, target.mean, rules, decimals=target.decimals)


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

    def __init__(self, graph: Graph, encoder: Encoder, values: Sequence[Values], rows: npt.NDArray[np.intp]) -> None:
        self.graph, self._encoder, self._values = graph, encoder, values
        # What numbers there are does not depend on the order of rows, and columns are read faster from top to bottom.
        self._rows = None if len(rows) == len(values[0]) else np.sort(rows)
        self._found: dict[Cut, Above | int] = {}

    def look_up(self, cuts: Iterable[Cut]) -> None:
        """Find the cut-offs of many places at once: a column's numbers are sorted once, and forgotten.

        Above a place below all known numbers is what is not missing; above one that no number is above is nothing.
        """
        for k, of_column in itertools.groupby(sorted(set(cuts) - self._found.keys()), key=lambda cut: cut.k):
            scaled = self._encoder.scaled[k]
            known, has_missing = self._known(scaled.column)
            missing = self.graph.literal(IsMissing(scaled.column)) if has_missing else FALSE_EDGE
            encoded, places = scale(scaled, known), list(of_column)
            for or_equal in (False, True):
                some = [cut for cut in places if cut.or_equal is or_equal]
                numbers_below = np.searchsorted(encoded, [cut.cutoff for cut in some], "left" if or_equal else "right")
                for cut, n_below in zip(some, numbers_below.tolist(), strict=True):
                    if n_below == 0:
                        self._found[cut] = TRUE_EDGE if cut.cutoff < ENCODED_MISSING else missing ^ 1
                    elif n_below == len(known):
                        self._found[cut] = FALSE_EDGE
                    else:
                        shortest = shortest_between(float(known[n_below - 1]), float(known[n_below]))
                        self._found[cut] = Above(scaled.column, shortest)

    def above(self, cut: Cut) -> int:
        """Return the edge of "a scaled column is above (or at) the cut-off" on the training rows."""
        if cut not in self._found:
            self.look_up([cut])
        found = self._found[cut]
        return self.graph.literal(found) if isinstance(found, Above) else found

    def _known(self, column: int) -> tuple[Values, bool]:
        """Return the distinct known numbers of a column, ascending, and whether some are missing."""
        values = self._values[column]
        known = np.unique(values if self._rows is None else values[self._rows])
        has_missing = bool(np.isnan(known[-1]))
        return known[: len(known) - has_missing] + known.dtype.type(0), has_missing  # 0.0, never -0.0


def _threshold_edges(network: Network, cutter: Cutter) -> list[int]:
    """Return an edge for every threshold row."""
    parameters = network.parameters
    cuts = [
        Cut(int(k), float(bias), bool(slope < 0))
        for k, bias, slope in zip(network.wiring.threshold_input, parameters.bias, parameters.slope, strict=True)
    ]
    cutter.look_up(cut for cut, slope in zip(cuts, parameters.slope, strict=True) if slope != 0)
    edges = []
    for cut, slope in zip(cuts, parameters.slope, strict=True):
        if slope == 0:
            edges.append(FALSE_EDGE)
        else:
            above = cutter.above(cut)
            edges.append(above if slope > 0 else above ^ 1)
    return edges
