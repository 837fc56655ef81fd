"""A trained network and its encoder → a circuit in the user's units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Circuit, Values
from dln.circuit._graph import FALSE_EDGE, Graph
from dln.data._cutter import Cut, Cutter
from dln.data._encoding import Encoder
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


def _threshold_edges(network: Network, cutter: Cutter) -> list[int]:
    """Return an edge for every threshold row."""
    slopes = network.parameters.slope
    cuts = [
        Cut(int(k), float(bias), bool(slope < 0))
        for k, bias, slope in zip(network.wiring.threshold_input, network.parameters.bias, slopes, strict=True)
    ]
    cutter.look_up(cut for cut, slope in zip(cuts, slopes, strict=True) if slope != 0)
    return [
        FALSE_EDGE if slope == 0 else cutter.above(cut) ^ int(slope < 0)
        for cut, slope in zip(cuts, slopes, strict=True)
    ]
