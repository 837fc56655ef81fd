"""Conditions: what a person reads of a model, one for each printed comparison. The measure of size, everywhere."""

from __future__ import annotations

from dln.circuit._circuit import Circuit
from dln.circuit._formula import AllOf, AnyOf, CategoryCondition, Formula, NumberCondition, OddOf, formula
from dln.circuit._words import MAX_LITERALS_IN_TEXT, node_sizes
from dln.circuit.simplify import simplify


def count_conditions(circuit: Circuit) -> list[int]:
    """Return for every rule how many comparisons it prints.

    ``area > 120`` is one, ``18 < age ≤ 47`` two, ``region in {"a", "b"}`` one per category named, ``bmi is missing``
    one. A rule that is too long to print has as many as it has literals.
    """
    sizes = node_sizes(circuit)
    return [
        sizes[rule.node] if sizes[rule.node] > MAX_LITERALS_IN_TEXT else formula_conditions(formula(circuit, rule.node))
        for rule in circuit.rules
    ]


def readable(circuit: Circuit) -> Circuit:
    """Return a circuit of the same meaning that costs no more and has no more conditions, in all and in a rule."""
    simplified = simplify(circuit)
    before, after = count_conditions(circuit), count_conditions(simplified)
    # Fewer operations come first in `simplify`: what is cheaper to compute may be longer to read.
    if sum(after) > sum(before) or max(after, default=0) > max(before, default=0):
        return circuit
    return simplified


def formula_conditions(formula: Formula) -> int:
    """Return how many comparisons a formula prints."""
    match formula:
        case bool():
            return 0
        case NumberCondition(_, ends, low, missing):
            if not ends:
                return int(low != missing)
            # "x ≤ 3" speaks of missing values without a comparison of their own: see `number_pieces`.
            return len(ends) + int(missing and not low)
        case CategoryCondition(_, codes, other, missing):
            return max(1, len(codes) + int(missing != other)) if codes else 1
        case AllOf(parts) | AnyOf(parts) | OddOf(parts, _):
            return sum(map(formula_conditions, parts))
