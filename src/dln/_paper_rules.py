"""Which of a network's rules stay in the model, and with what weights: after training, and for each smaller size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Circuit, Rule, Values, on_grid
from dln.circuit._conditions import count_conditions
from dln.circuit._graph import TRUE_EDGE, Graph
from dln.data._target import Target
from dln.readers._frontier import Point
from dln.readers._rules import rule_support
from dln.rules._imitate import Imitation
from dln.rules._settle import settle
from dln.rules._subsets import best_subsets
from dln.rules._task import PENALTY
from dln.solve._losses import Loss
from dln.solve._products import Floats
from dln.solve._weights import cross_validated_penalty, solve_weights

#: Numbers of rules of which the best subsets are kept.
SIZES: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 75, 100, 150)
#: Numbers of rules that are tried for `rule_tolerance`: on few rows one or two may look good by luck.
TRIED_SIZES: Final = (3, 5, 7, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150)
#: Of what is explained, the share that may be given up is this much of `rule_tolerance`. Where most of the target is
#: noise, a fifth of the error is most of what is explained. By the error alone, at equal operations, R² is 0.002 lower
#: over 15 tables of three splits: wine 0.03, abalone 0.015.
EXPLAINED: Final = 0.1
#: Rows that rules are chosen on; the weights of those that are kept are solved for on all.
IMITATED_ROWS: Final = 25_000
#: Rows whose nodes are worked out at once: of a thousand nodes, 25 megabytes.
ROWS_AT_ONCE: Final = 25_000
#: How far from the predictions of all rules those of a few may be, on average of the squares, in units of what the
#: error may rise by. On few rows set aside, three rules may look as good as all by luck: mpg, which has 29, fell to R²
#: 0.72 without a limit (two splits) and had 0.80 with one of 3. From 2.5 to 5 it makes no difference in the mean.
APART: Final = 4.0
#: Of fewer rules than this, how far; and so few are tried only because there are tables that need no more. By luck they
#: look good more easily the fewer they are: insurance had 3 rules of R² 0.84 where 7 have 0.85, estate 0.67 and 0.68
#: (eight tables, seven splits, at the operations of these on the same line as the others).
FEW: Final = 7
FEW_APART: Final = 1.0


@dataclass(frozen=True, slots=True)
class Labelled:
    """Columns of some rows, the standardised target there ``(n,)``, and weights."""

    values: Sequence[Values]
    target: Floats
    weight: Floats

    def first(self, n: int) -> Labelled:
        """Return the first n rows: those of a table are in canonical order, as good as drawn by lot."""
        return Labelled([column[:n] for column in self.values], self.target[:n], self.weight[:n])


@dataclass(frozen=True, slots=True)
class NodeValues:
    """The values of nodes on some rows, ``(n_nodes, n)``, what is to be predicted there, and weights."""

    fires: npt.NDArray[np.bool_]
    target: Floats
    weight: Floats

    @classmethod
    def of(cls, circuit: Circuit, nodes: Sequence[int], rows: Labelled) -> NodeValues:
        """Return the values of some nodes of a circuit, block by block: those of all on all rows would fill memory."""
        fires = np.empty((len(nodes), len(rows.target)), dtype=np.bool_)
        for start in range(0, len(rows.target), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            values = circuit.node_values([column[part] for column in rows.values])
            for i, node in enumerate(nodes):
                fires[i, part] = values[node]
        return cls(fires, rows.target, rows.weight)

    def at(self, is_kept: npt.NDArray[np.bool_]) -> NodeValues:
        """Return some of the rows."""
        return NodeValues(self.fires[:, is_kept], self.target[is_kept], self.weight[is_kept])

    def of_nodes(self, kept: Sequence[int], target: Floats) -> NodeValues:
        """Return the values of some of the nodes, with another target."""
        return replace(self, fires=self.fires[kept], target=target)

    @property
    def variance(self) -> float:
        """The variance of the target."""
        mean = np.average(self.target, weights=self.weight)
        return float(np.average((self.target - mean) ** 2, weights=self.weight))

    def error(self, intercept: float, weights: Floats) -> float:
        """Return the mean squared error of a weighted sum of the nodes."""
        return float(np.average((self.target - intercept - weights @ self.fires) ** 2, weights=self.weight))


@dataclass(frozen=True, slots=True)
class RuleChoice:
    """How rules are chosen: `DLNRegressor` has the parameters."""

    loss: Loss
    max_rules: int | None
    rule_tolerance: float

    def refit(
        self,
        circuits: Sequence[Circuit],
        training: Labelled,
        held_out: Labelled | npt.NDArray[np.intp] | None,
        target: Target,
    ) -> Circuit:
        """Return the mean of networks with weights solved for on all training rows, and no more rules than are wanted.

        Rules are chosen to imitate the predictions of all of them, and so are their cut-offs, gates and weights, where
        predictions are means; for medians and quantiles, which have no least squares, weights are solved for by the
        target. Neurons of every layer may be chosen: beside the last layer's alone, 10 to 20 rules have 0.001 to 0.005
        more of R² (eleven tables). How few do is judged on rows `held_out`: others, or some of those of training.
        """
        circuit, networks = pooled(circuits)
        values = [NodeValues.of(circuit, rules, training) for rules in networks]
        penalties = [cross_validated_penalty(rows.fires, rows.target, rows.weight) for rows in values]
        solved = [self._solved(rows, penalty) for rows, penalty in zip(values, penalties, strict=True)]
        rules = [node for own in networks for node in own]
        most = len(rules) if self.max_rules is None else min(self.max_rules, len(rules))
        if self.rule_tolerance == 0 or not self._imitates:
            held_out = None
        if rules and (held_out is not None or most < len(rules)):
            predictions = _mean(solved, values)
            some = training.first(IMITATED_ROWS)
            seen = NodeValues.of(circuit, range(len(circuit.literals) + len(circuit.gates)), some)
            imitation = Imitation(seen.fires, predictions[: len(some.target)], some.weight)
            if held_out is not None:
                parts = _parted(circuit, seen, held_out)
                most = self._fewest(imitation, networks, penalties, *parts, most)
            if most < len(rules):
                return self._few(circuit, imitation.rules(most), training, predictions, target)
        intercept = sum(constant for constant, _ in solved) / len(solved)
        weights = np.concatenate([of_network for _, of_network in solved]) / len(solved)
        return _weighed(circuit, rules, intercept, weights, target)

    @property
    def _imitates(self) -> bool:
        """Whether predictions are means, which few rules can come near to by least squares."""
        return self.loss.name == "squared_error"

    def _few(
        self, circuit: Circuit, kept: Sequence[int], training: Labelled, predictions: Floats, target: Target
    ) -> Circuit:
        """Return the circuit of a few nodes, settled, with weights solved for on all training rows."""
        if self._imitates:
            some = training.first(IMITATED_ROWS)
            alone, imitated = _of_nodes(circuit, kept, target.spread), predictions[: len(some.target)]
            settled = settle(alone, some.values, imitated, some.weight, circuit.literals)
            circuit = _of_nodes(settled, [rule.node for rule in settled.rules], target.spread)
            kept = [rule.node for rule in circuit.rules]
            training = replace(training, target=predictions)
        rows = NodeValues.of(circuit, kept, training)
        penalty = PENALTY if self._imitates else cross_validated_penalty(rows.fires, rows.target, rows.weight)
        return _weighed(circuit, kept, *self._solved(rows, penalty), target)

    def _fewest(
        self,
        imitation: Imitation,
        networks: Sequence[Sequence[int]],
        penalties: Sequence[float],
        training: NodeValues,
        held_out: NodeValues,
        most: int,
    ) -> int:
        """Return how few rules do, judged on rows that neither they nor their weights were learned from."""
        values, unseen = ([rows.of_nodes(rules, rows.target) for rules in networks] for rows in (training, held_out))
        solved = [self._solved(rows, penalty) for rows, penalty in zip(values, penalties, strict=True)]
        predictions = _mean(solved, values)
        error = float(np.average((held_out.target - _mean(solved, unseen)) ** 2, weights=held_out.weight))
        explained = held_out.variance - error
        if explained <= 0.0:  # by all of them: then a few say as much
            return min(TRIED_SIZES[0], most)
        tolerated = self.rule_tolerance * min(error, EXPLAINED * explained)
        for size in (size for size in TRIED_SIZES if size < most):
            kept = imitation.rules(size)
            few = training.of_nodes(kept, predictions)
            intercept, weights = self._solved(few, PENALTY)
            rise = held_out.of_nodes(kept, held_out.target).error(intercept, weights) - error
            apart = APART if size >= FEW else FEW_APART
            if rise <= tolerated and few.error(intercept, weights) <= apart * tolerated:
                return size
        return most

    def _solved(self, rows: NodeValues, penalty: float) -> tuple[float, Floats]:
        """Return the intercept and the nodes' weights."""
        return solve_weights(
            rows.fires, rows.target, rows.weight, penalty, loss=self.loss.name, quantile=self.loss.quantile
        )


def _parted(
    circuit: Circuit, seen: NodeValues, held_out: Labelled | npt.NDArray[np.intp]
) -> tuple[NodeValues, NodeValues]:
    """Return the values on rows to learn from and on rows to judge by: others, or some of those that are seen."""
    if isinstance(held_out, Labelled):
        return seen, NodeValues.of(circuit, range(len(seen.fires)), held_out)
    is_aside = np.isin(np.arange(len(seen.target)), held_out)
    return seen.at(~is_aside), seen.at(is_aside)


def _mean(solved: Sequence[tuple[float, Floats]], values: Sequence[NodeValues]) -> Floats:
    """Return the mean prediction of networks whose rules have these intercepts and weights, ``(n,)``."""
    total = np.zeros(len(values[0].target))
    for (intercept, weights), rows in zip(solved, values, strict=True):
        total += intercept + weights @ rows.fires
    return total / len(solved)


def pooled(circuits: Sequence[Circuit]) -> tuple[Circuit, list[list[int]]]:
    """Return one circuit that has all nodes of several, and for each of these the nodes that are its rules.

    >>> from dln.circuit._circuit import Above, Column
    >>> x = (Column("x"),)
    >>> one = Circuit(x, (Above(0, 1.0),), (), (Rule(0, 5.0),), 0.0, 0)
    >>> other = Circuit(x, (Above(0, 2.0), Above(0, 1.0)), (), (Rule(0, 3.0), Rule(1, 4.0)), 0.0, 0)
    >>> circuit, rules = pooled([one, other])
    >>> circuit.literals, rules
    ((Above(column=0, cutoff=1.0), Above(column=0, cutoff=2.0)), [[0], [1, 0]])
    """
    if len(circuits) == 1:
        return circuits[0], [[rule.node for rule in circuits[0].rules]]
    graph = Graph()
    edges = [graph.add(circuit, range(len(circuit.literals) + len(circuit.gates))) for circuit in circuits]
    nodes = list(dict.fromkeys(edge >> 1 for added in edges for edge in added if edge > TRUE_EDGE))
    step = 10.0 ** -circuits[0].decimals
    circuit = graph.circuit(
        circuits[0].columns, 0.0, [(graph.as_written(node), step) for node in nodes], decimals=circuits[0].decimals
    )
    index_of = dict(zip(nodes, (rule.node for rule in circuit.rules), strict=True))
    rules = [
        [index_of[added[rule.node] >> 1] for rule in one.rules if added[rule.node] > TRUE_EDGE]
        for one, added in zip(circuits, edges, strict=True)
    ]
    return circuit, rules


def mean_circuit(circuits: Sequence[Circuit]) -> Circuit:
    """Return the circuit that predicts the mean of several."""
    if len(circuits) == 1:
        return circuits[0]
    graph, n = Graph(), len(circuits)
    rules = [
        (edge, rule.weight / n)
        for circuit in circuits
        for rule, edge in zip(circuit.rules, graph.add(circuit, [rule.node for rule in circuit.rules]), strict=True)
    ]
    intercept = sum(circuit.intercept for circuit in circuits) / n
    return graph.circuit(circuits[0].columns, intercept, rules, decimals=circuits[0].decimals)


def subset_points(circuit: Circuit, values: Sequence[Values], y: Floats, weight: Floats) -> list[Point]:
    """Return the best subsets of the rules as points of a frontier, and last the circuit itself."""
    rules = [rule.node for rule in circuit.rules]
    fires = np.array(circuit.rule_values(values), dtype=np.bool_).reshape(len(rules), len(y))
    conditions, support = count_conditions(circuit), rule_support(list(fires), weight)
    points = []
    if len(y):
        for kept in reversed(best_subsets(fires, y, weight, SIZES).values()):
            intercept, weights = solve_weights(fires[kept], y, weight, PENALTY)
            smaller = _reweighted(circuit, [rules[i] for i in kept], intercept, weights.tolist())
            size = sum(conditions[i] for i in kept)
            points.append(Point(size, size, len(kept), None, smaller, tuple(support[i] for i in kept)))
    return [*points, Point(sum(conditions), sum(conditions), len(conditions), None, circuit, tuple(support))]


def _of_nodes(circuit: Circuit, nodes: Sequence[int], weight: float) -> Circuit:
    """Return a circuit of nothing but some nodes as rules, of equal weight, and what they need."""
    graph = Graph()
    rules = [(edge, weight) for edge in graph.add(circuit, nodes)]
    return graph.circuit(circuit.columns, 0.0, rules, decimals=circuit.decimals)


def _weighed(circuit: Circuit, nodes: Sequence[int], intercept: float, weights: Floats, target: Target) -> Circuit:
    """Return the circuit with some of its nodes as rules, and weights for them that are of the standardised target."""
    return _reweighted(
        circuit, nodes, target.mean + target.spread * intercept, [target.spread * weight for weight in weights.tolist()]
    )


def _reweighted(circuit: Circuit, nodes: Sequence[int], intercept: float, weights: Sequence[float]) -> Circuit:
    """Return the circuit with some of its nodes as rules, and weights for them."""
    decimals = circuit.decimals
    rules = tuple(Rule(node, on_grid(weight, decimals)) for node, weight in zip(nodes, weights, strict=True))
    return replace(circuit, rules=rules, intercept=on_grid(intercept, decimals))
