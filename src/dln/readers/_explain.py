"""Explanations of predictions: the rules that fired, and exact Shapley values of the columns.

A rule reads few columns, and on each it distinguishes only a few blocks of values. So the Shapley values of a rule are
one small table over blocks, computed in full against the background rows: nothing is sampled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Circuit, Values
from dln.circuit._graph import Graph, node_columns
from dln.circuit._truth_tables import Axis, axes_of, combinations, truth_table
from dln.circuit._words import aligned, name_text, node_text, weight_text
from dln.data._dates import split_part_name
from dln.readers._intervals import USUAL, Intervals
from dln.readers._rules import Importance, Importances, Records, RuleTable

Floats = npt.NDArray[np.float64]

#: Largest work on one rule, subsets of columns × combinations of blocks, for Shapley values: a matter of seconds.
MAX_WORK: Final = 2**26


@dataclass(frozen=True, slots=True)
class Term:
    """A rule that fired: its words, its weight, its index in ``circuit.rules``."""

    rule: str
    weight: float
    index: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """One prediction as the sum of the intercept and of the weights of the rules that fired."""

    prediction: float
    intercept: float
    terms: tuple[Term, ...]
    decimals: int
    target: str = "prediction"
    interval: tuple[float, float] | None = None
    """90 % prediction interval, None if the model has none."""

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values: prediction, interval, intercept, and the rules that fired."""
        return {
            "prediction": self.prediction,
            "interval": None if self.interval is None else list(self.interval),
            "intercept": self.intercept,
            "terms": [{"rule": term.rule, "weight": term.weight, "index": term.index} for term in self.terms],
        }

    def __repr__(self) -> str:
        rows = [(weight_text(self.intercept, self.decimals), "intercept")]
        rows += [(weight_text(term.weight, self.decimals), term.rule) for term in self.terms]
        interval = "" if self.interval is None else f" ({interval_text(*self.interval, self.decimals)})"
        title = f"{name_text(self.target)} = {weight_text(self.prediction, self.decimals)}{interval}"
        return "\n".join([title, *aligned(rows)])

    def _repr_html_(self) -> str:
        from dln.report import explanation_html  # the page imports this module

        return explanation_html(self)


@dataclass(frozen=True, slots=True)
class Explanations(Records[Explanation]):
    """The explanations of several rows; frames have one line per row and term, the intercept among them."""

    rows: tuple[Explanation, ...]

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.rows))

    def _repr_html_(self) -> str:
        return "".join(row._repr_html_() for row in self.rows)

    def _columns(self) -> dict[str, list[Any]]:
        lines = [
            (row, rule, weight)
            for row, one in enumerate(self.rows)
            for rule, weight in [("intercept", one.intercept), *((term.rule, term.weight) for term in one.terms)]
        ]
        return {name: [line[i] for line in lines] for i, name in enumerate(("row", "rule", "weight"))}


def interval_text(low: float, high: float, decimals: int) -> str:
    """Return the ends in the decimals of the model, rounded outwards."""
    step = 10.0**-decimals
    ends = [(low, math.floor), (high, math.ceil)]
    text = " to ".join(
        weight_text(to(end / step) * step, decimals) if math.isfinite(end) else str(end) for end, to in ends
    )
    return f"{USUAL:.0%} interval: {text}".replace("%", " %", 1)


def explain(
    circuit: Circuit, columns: Sequence[Values], target: str = "prediction", intervals: Intervals | None = None
) -> Explanations:
    """Return for every row the rules that fired, the heaviest first; they add up to the prediction, bit for bit."""
    predictions = circuit.evaluate(columns)
    ends = None if intervals is None else np.stack(intervals.ends(predictions, USUAL), axis=1).tolist()
    fires = circuit.rule_values(columns)
    order = sorted(range(len(circuit.rules)), key=lambda i: (-abs(circuit.rules[i].weight), i))
    terms = {i: Term(node_text(circuit, circuit.rules[i].node), circuit.rules[i].weight, i) for i in order}
    rows = []
    for row, value in enumerate(predictions.tolist()):
        fired = tuple(terms[i] for i in order if fires[i][row])
        interval = None if ends is None else tuple(ends[row])
        rows.append(Explanation(value, circuit.intercept, fired, circuit.decimals, target, interval))
    return Explanations(tuple(rows))


def feature_importances(rules: RuleTable) -> Floats:
    """Return the importance of each column, summing to one: rules share what they move equally among their columns.

    Without their support, their weights stand for what they move.
    """
    result = np.zeros(len(rules.circuit.columns))
    for row in rules:
        read = node_columns(rules.circuit, rules.circuit.rules[row.index].node)
        result[read] += row.moved / max(len(read), 1)
    total = result.sum()
    return result / total if total > 0 else result


def importance_table(rules: RuleTable, inputs: Sequence[str]) -> Importances:
    shares = zip(rules.circuit.columns, feature_importances(rules).tolist(), strict=True)
    rows = [Importance(_input(column.name, inputs), column.name, share) for column, share in shares]
    return Importances(tuple(sorted(rows, key=lambda row: -row.importance)))


def sum_by_input(values: Floats, circuit: Circuit, inputs: Sequence[str]) -> Floats:
    """Return values per column of a model, ``(..., n_columns)``, added up per input column, ``(..., n_inputs)``."""
    result = np.zeros((*values.shape[:-1], len(inputs)))
    for j, column in enumerate(circuit.columns):
        result[..., list(inputs).index(_input(column.name, inputs))] += values[..., j]
    return result


def _input(name: str, inputs: Sequence[str]) -> str:
    """Return the input column of a model's column: itself, or the date that it is a part of."""
    split = split_part_name(name)
    return name if split is None or name in inputs else split[0]


def shapley_values(circuit: Circuit, columns: Sequence[Values], background: Sequence[Values]) -> tuple[Floats, float]:
    """Return the Shapley values ``(n_rows, n_columns)`` and the base value, the mean prediction of the background.

    Interventional: what a coalition of columns is worth is the mean prediction when those columns are the row's and
    the others come, together, from a row of the background. Values and base add up to the prediction.
    """
    n_background = len(background[0])
    share = np.full(n_background, 1.0 / n_background)
    share = share / share.sum()
    values = np.zeros((len(columns[0]), len(circuit.columns)))
    base = circuit.intercept
    for rule in circuit.rules:
        axes, table = _rule_table(circuit, rule.node)
        if not axes:
            base += rule.weight * bool(table)
            continue
        sizes = table.shape
        theirs = np.ravel_multi_index([axis.blocks(background[axis.column]) for axis in axes], sizes)
        joint = np.asarray(np.bincount(theirs, weights=share, minlength=table.size), np.float64).reshape(sizes)
        mine = tuple(axis.blocks(columns[axis.column]) for axis in axes)
        for axis, value in zip(axes, _rule_shapley(table, joint), strict=True):
            values[:, axis.column] += rule.weight * value[mine]
        base += rule.weight * float((table * joint).sum())
    return values, base


def _rule_shapley(table: npt.NDArray[Any], joint: Floats) -> list[Floats]:
    """Return for every axis the Shapley value at every combination of blocks."""
    n = table.ndim
    worth: dict[int, Floats] = {}
    for known in range(2**n):
        others = tuple(i for i in range(n) if not known >> i & 1)
        mine = tuple(i for i in range(n) if known >> i & 1)
        worth[known] = (table * joint.sum(axis=mine, keepdims=True)).sum(axis=others, keepdims=True)
    results = []
    for i in range(n):
        value = np.zeros(table.shape)
        for known in (known for known in worth if not known >> i & 1):
            size = known.bit_count()
            factor = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            value += factor * (worth[known | 1 << i] - worth[known])
        results.append(value)
    return results


def _rule_table(circuit: Circuit, node: int) -> tuple[list[Axis], Floats]:
    """Return the axes that a rule reads, and its value, 0 or 1, for every combination of their blocks."""
    graph = Graph()
    (edge,) = graph.add(circuit, [node])
    axes = axes_of(graph.literals[i] for i in graph.cone([edge >> 1]) if not graph.is_gate(i))
    if combinations(axes) * 2 ** len(axes) > MAX_WORK:
        raise ValueError(
            f"Shapley values are exact, rule by rule, and a rule that reads {len(axes)} columns is too wide for them: "
            f"prune the model or fit it with fewer layers"
        )
    return axes, truth_table(graph, edge, axes).astype(np.float64)
