"""A trained network and its encoder → a circuit in the user's units."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Above, Circuit, IsMissing, Values
from dln.circuit._cutoffs import shortest_between
from dln.circuit._graph import FALSE_EDGE, TRUE_EDGE, Graph
from dln.data._encoding import ENCODED_MISSING, Encoder, scale
from dln.data._target import Target
from dln.network._network import Network, open_links


class Cut(NamedTuple):
    """A place between the values of a scaled column: above a cut-off, or at it too."""

    k: int
    cutoff: float
    or_equal: bool


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
    edges += _threshold_edges(network, graph, encoder, values, rows)
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


def _threshold_edges(
    network: Network, graph: Graph, encoder: Encoder, values: Sequence[Values], rows: npt.NDArray[np.intp]
) -> list[int]:
    """Return an edge for every threshold row."""
    parameters = network.parameters
    cuts = [
        Cut(int(k), float(bias), bool(slope < 0))
        for k, bias, slope in zip(network.wiring.threshold_input, parameters.bias, parameters.slope, strict=True)
    ]
    slopes = parameters.slope.tolist()
    # The set of numbers does not depend on the order of rows, and columns are read faster from top to bottom.
    some = None if len(rows) == len(values[0]) else np.sort(rows)
    found = _literals((cut for cut, slope in zip(cuts, slopes, strict=True) if slope), graph, encoder, values, some)
    edges = []
    for cut, slope in zip(cuts, slopes, strict=True):
        above = found[cut] if slope else FALSE_EDGE
        edge = graph.literal(above) if isinstance(above, Above) else above
        edges.append(edge ^ (slope < 0))
    return edges


def _literals(
    cuts: Iterable[Cut], graph: Graph, encoder: Encoder, values: Sequence[Values], rows: npt.NDArray[np.intp] | None
) -> dict[Cut, Above | int]:
    """Return for each cut the literal of "the column is above (or at) the cut-off" on the training rows, or an edge.

    Above a place below all known numbers is what is not missing; above one that no number is above is nothing.
    """
    found: dict[Cut, Above | int] = {}
    for k, group in itertools.groupby(sorted(set(cuts)), key=lambda cut: cut.k):
        column = encoder.scaled[k].column
        known = np.unique(values[column] if rows is None else values[column][rows])
        has_missing = bool(np.isnan(known[-1]))
        known = known[: len(known) - has_missing] + known.dtype.type(0)  # 0.0, never -0.0
        missing = graph.literal(IsMissing(column)) if has_missing else FALSE_EDGE
        encoded = scale(encoder.scaled[k], known)
        for cut in group:
            n_below = int(np.searchsorted(encoded, cut.cutoff, "left" if cut.or_equal else "right"))
            if n_below == 0:
                found[cut] = TRUE_EDGE if cut.cutoff < ENCODED_MISSING else missing ^ 1
            elif n_below == len(known):
                found[cut] = FALSE_EDGE
            else:
                found[cut] = Above(column, shortest_between(float(known[n_below - 1]), float(known[n_below])))
    return found
