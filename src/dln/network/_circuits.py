"""A trained network as a circuit, with exact weights for its rules, and its best neurons within a budget of conditions.

The neurons of all layers are candidates. The whole network with exact weights is what a smaller model follows: its
predictions are a steadier target than y, as those of a teacher are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Above, Circuit, IsMissing, Rule, Values
from dln.circuit._cost import count_conditions
from dln.circuit._cutoffs import shortest_between
from dln.circuit._graph import FALSE_EDGE, TRUE_EDGE, Graph
from dln.circuit._simplify import readable
from dln.data._division import LabelledRows
from dln.data._encoding import ENCODED_MISSING, Encoder, scale
from dln.data._rows import Bools, Floats
from dln.data._target import Target
from dln.network._network import Network, open_links
from dln.solve._select import MAX_ROWS, Budget, Candidates
from dln.solve._weights import (
    PENALTY,
    TYPICAL_VARIANCE,
    Loss,
    centred_products,
    node_values,
    refitted_weights,
    rule_values,
    solve_weights,
    with_weights,
)

#: A neuron must be 1, and 0, on so many rows of mean weight.
MIN_ROWS: Final = 5.0
#: Two rules cancel each other if their terms correlate below the negative of this, and both weights, in standard
#: deviations of the target, are above that: only the difference of such weights counts, and neither can be read alone.
MAX_OPPOSITION: Final = 0.9
LARGE_WEIGHT: Final = 0.3


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
    links = (
        side[logits.argmax(axis=0), neurons] for side, logits in zip(wiring.links, parameters.link_logits, strict=True)
    )
    for kind, a, b in zip(kinds, *links, strict=True):
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


def mean_circuit(circuits: Sequence[Circuit]) -> Circuit:
    """Return the circuit that predicts the mean of several, without nodes that no rule reads."""
    graph, n = Graph(), len(circuits)
    rules = [
        (edge, rule.weight / n)
        for circuit in circuits
        for rule, edge in zip(circuit.rules, graph.add(circuit, [rule.node for rule in circuit.rules]), strict=True)
    ]
    intercept = sum(circuit.intercept for circuit in circuits) / n
    return graph.circuit(circuits[0].columns, intercept, rules, decimals=circuits[0].decimals)


@dataclass(frozen=True)
class Reduction:
    """Trained networks as circuits, and the rows on which weights are solved for and neurons are selected."""

    circuits: Sequence[Circuit]
    rows: LabelledRows
    training: LabelledRows
    """The part of the rows that the networks were trained on."""
    held_out: LabelledRows | None
    loss: Loss
    target: Target

    @cached_property
    def nodes(self) -> Circuit:
        """One circuit with all nodes of all networks; its rules have no meaning."""
        return self.circuits[0] if len(self.circuits) == 1 else _pooled(self.circuits)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """(n_nodes,): conditions that each node prints."""
        every_node = tuple(Rule(node, 1.0) for node in range(len(self.nodes.literals) + len(self.nodes.gates)))
        return np.array(
            count_conditions(replace(self.nodes, rules=every_node, intercept=0.0, decimals=0)), dtype=np.int64
        )

    def on_first_rows(self, n: int) -> Reduction:
        """Return the same networks with at most n of the rows of each kind."""
        held_out = None if self.held_out is None else self.held_out.at(slice(n))
        return replace(self, rows=self.rows.at(slice(n)), training=self.training.at(slice(n)), held_out=held_out)

    def refitted(self, rows: LabelledRows) -> Circuit:
        """Return the mean of the networks with weights solved for on some rows, ridge penalties chosen on folds."""
        return mean_circuit([self._refitted(circuit, rows) for circuit in self.circuits])

    def select(self, sizes: Sequence[int], rows: LabelledRows) -> dict[int, Circuit]:
        """Return for every size the best model found within so many conditions, weights solved for on some rows."""
        if not len(self.sizes):
            return dict.fromkeys(sizes, self.circuits[0])
        followed = self.target.standardise(self.refitted(rows).evaluate(rows.values))
        some = rows.at(slice(MAX_ROWS))
        weight = some.weight / some.weight.mean()
        first = followed[: len(weight)]
        candidates = Candidates.of(
            node_values(self.nodes, range(len(self.sizes)), some.values),
            self.sizes,
            first - float(np.average(first, weights=weight)),
            weight,
            penalty=PENALTY * TYPICAL_VARIANCE * float(weight.sum()),
            min_share=min(MIN_ROWS / len(weight), 0.25),
        )
        return {size: self._within(size, candidates, rows, followed) for size in sizes}

    def r2(self, circuit: Circuit) -> float | None:
        """Return the share of the held-out loss that a model explains, None without held-out rows."""
        if self.held_out is None:
            return None
        predicted = self.target.standardise(circuit.evaluate(self.held_out.values))
        return self.loss.explained(self.held_out.y, predicted, self.held_out.weight)

    def _refitted(self, circuit: Circuit, rows: LabelledRows) -> Circuit:
        solved = refitted_weights(
            rule_values(circuit, rows.values), rows.y, rows.weight, rows.counts, self.loss, division=rows.division
        )
        return with_weights(circuit, [rule.node for rule in circuit.rules], *solved, self.target)

    def _within(self, size: int, candidates: Candidates, rows: LabelledRows, followed: Floats) -> Circuit:
        """Return the model of a size. Printed without the rest of the network, a rule may be longer: then fewer fit.

        Of two rules that cancel each other the weaker goes, and the set is selected anew.
        """
        budget = size
        while True:
            nodes = candidates.select(Budget(budget, budget, budget))
            holds = node_values(self.nodes, nodes, rows.values)
            intercept, weights = solve_weights(holds, followed, rows.weight, PENALTY)
            if (cancelled := weaker_of_cancelling(holds, weights, rows.weight)) is not None:
                sizes = np.where(candidates.index == nodes[cancelled], size + 1, candidates.sizes)  # fits no budget
                candidates = replace(candidates, sizes=sizes)
                continue
            circuit = readable(mean_circuit([with_weights(self.nodes, nodes, intercept, weights, self.target)]))
            excess = sum(count_conditions(circuit)) - size
            if excess <= 0:
                return circuit
            budget -= excess


def weaker_of_cancelling(fires: Bools, weights: Floats, weight: Floats) -> int | None:
    """Return of the two rules ``(n_rules, n)`` that cancel each other most the one of the smaller weight, if any do.

    >>> rule = np.arange(100) < 50
    >>> fires = np.array([rule, np.roll(rule, 1), np.arange(100) % 2 == 0])
    >>> weaker_of_cancelling(fires, np.array([2.0, -1.5, 1.0]), np.ones(100))
    1
    >>> weaker_of_cancelling(fires, np.array([2.0, 1.5, 1.0]), np.ones(100)) is None
    True
    """
    large = np.flatnonzero(np.abs(weights) > LARGE_WEIGHT)
    _, _, gram, _ = centred_products(fires[large], np.zeros(len(weight)), weight)
    deviation = np.sqrt(gram.diagonal()) * np.sign(weights[large])
    correlation = gram / np.outer(deviation, deviation)
    if correlation.min(initial=0.0) >= -MAX_OPPOSITION:
        return None
    pair = large[list(np.unravel_index(int(correlation.argmin()), correlation.shape))]
    return int(min(pair, key=lambda j: abs(weights[j])))


def _pooled(circuits: Sequence[Circuit]) -> Circuit:
    graph = Graph()
    edges = [
        edge
        for circuit in circuits
        for edge in graph.add(circuit, range(len(circuit.literals) + len(circuit.gates)))
        if edge > TRUE_EDGE
    ]
    nodes = list(dict.fromkeys(edge >> 1 for edge in edges))
    step = 10.0 ** -circuits[0].decimals
    rules = [(graph.as_written(node), step) for node in nodes]
    return graph.circuit(circuits[0].columns, 0.0, rules, decimals=circuits[0].decimals)
