"""A trained network and its encoder → a circuit in the user's units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Above, Circuit, IsMissing, Values
from dln.circuit._cutoffs import shortest_between
from dln.circuit._graph import FALSE_EDGE, TRUE_EDGE, Graph
from dln.data._encoding import ENCODED_MISSING, Encoder, scale
from dln.data._target import Target
from dln.network._network import Network, open_links


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
    """Return an edge for every threshold row: above its cut-off on the training rows, or at it too.

    Above a place below all known numbers is what is not missing; above one that no number is above is nothing.
    """
    inputs, bias, slope = network.wiring.threshold_input, network.parameters.bias, network.parameters.slope
    # The set of numbers does not depend on the order of rows, and columns are read faster from top to bottom.
    some = None if len(rows) == len(values[0]) else np.sort(rows)
    found: dict[int, Above | int] = {}
    for k in np.unique(inputs[slope != 0]).tolist():
        column = encoder.scaled[k].column
        known = np.unique(values[column] if some is None else values[column][some])
        has_missing = bool(np.isnan(known[-1]))
        known = known[: len(known) - has_missing] + known.dtype.type(0)  # 0.0, never -0.0
        missing = graph.literal(IsMissing(column)) if has_missing else FALSE_EDGE
        encoded = scale(encoder.scaled[k], known)
        for t in np.flatnonzero((inputs == k) & (slope != 0)).tolist():
            n_below = int(np.searchsorted(encoded, float(bias[t]), "left" if slope[t] < 0 else "right"))
            if n_below == 0:
                found[t] = TRUE_EDGE if bias[t] < ENCODED_MISSING else missing ^ 1
            elif n_below == len(known):
                found[t] = FALSE_EDGE
            else:
                found[t] = Above(column, shortest_between(float(known[n_below - 1]), float(known[n_below])))
    edges = []
    for t, is_below in enumerate((slope < 0).tolist()):
        above = found.get(t, FALSE_EDGE)
        edges.append((graph.literal(above) if isinstance(above, Above) else above) ^ is_below)
    return edges
