"""Proof that two nodes of two circuits mean the same, on every input there is.

The proof shares nothing with the code that simplifies: it asks `literal_values`, which defines what a literal means,
about one value out of every range that the literals can tell apart, and follows the gates from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from dln.circuit._circuit import MISSING, UNKNOWN, Above, Circuit, Literal, Values, literal_values
from dln.circuit._cone import node_cone
from dln.circuit._gates import GATES
from dln.circuit.simplify._bdd import Diagrams, DiagramTooLargeError
from dln.circuit.simplify._domain import column_table

#: Combinations of literals up to which a proof looks at each; above, it compares decision diagrams.
MAX_COMBINATIONS: Final = 2**16


def same_meaning(first: Circuit, node: int, second: Circuit, place: int) -> bool:
    """Return whether a node of one circuit equals an edge of another, proved for all inputs.

    `place` is ``2 * node + negated``, or -1 for never and -2 for always. False also where no proof was found.

    >>> from dln.circuit._circuit import Column, Gate
    >>> x = Circuit((Column("x"),), (Above(0, 2.0), Above(0, 3.0)), (Gate(1, 0, 1), Gate(7, 0, 1)), (), 0.0, 0)
    >>> same_meaning(x, 2, x, 2 * 1), same_meaning(x, 3, x, 2 * 1)
    (True, False)
    """
    nodes = (node_cone(first, node), node_cone(second, place >> 1) if place >= 0 else [])
    tests = [c.literals[i] for c, cone in zip((first, second), nodes, strict=True) for i in cone if i < len(c.literals)]
    values = {column: _one_of_each(first, column, tests) for column in sorted({test.column for test in tests})}
    if math.prod(map(len, values.values())) <= MAX_COMBINATIONS:
        return _same_tables((first, second), nodes, place, values)
    try:
        return _same_diagrams((first, second), nodes, place, values)
    except DiagramTooLargeError:
        return False


def _one_of_each(circuit: Circuit, column: int, tests: list[Literal]) -> Values:
    """Return values of a column such that every value that can occur is treated like one of them."""
    categories = circuit.columns[column].categories
    if categories is not None:
        values: Values = np.array([MISSING, UNKNOWN, *range(len(categories))])
    else:
        cutoffs = sorted({test.cutoff for test in tests if isinstance(test, Above) and test.column == column})
        values = np.array([np.nan, *cutoffs, np.inf])
    # Values that no literal tells apart need one representative.
    answers = np.array([literal_values(test, values) for test in tests if test.column == column])
    _, first = np.unique(answers, axis=1, return_index=True)
    return values[np.sort(first)]


def _follow(circuit: Circuit, cone: list[int], literal: Callable[[Literal], int], gate: Callable[..., int]) -> int:
    """Return what becomes of the last node of a cone when literals and gates are read in some algebra."""
    n_literals = len(circuit.literals)
    found: dict[int, int] = {}
    for node in cone:
        if node < n_literals:
            found[node] = literal(circuit.literals[node])
        else:
            this = circuit.gates[node - n_literals]
            found[node] = gate(GATES[this.kind].truth, found[this.a], found[this.b])
    return found[cone[-1]]


def _same_tables(
    circuits: tuple[Circuit, Circuit], cones: tuple[list[int], list[int]], place: int, values: dict[int, Values]
) -> bool:
    sizes = [len(representatives) for representatives in values.values()]
    everything = (1 << math.prod(sizes)) - 1
    columns = list(values)

    def literal(test: Literal) -> int:
        answers = literal_values(test, values[test.column])
        blocks = sum(1 << int(block) for block in np.flatnonzero(answers))
        return column_table(sizes, columns.index(test.column), blocks)

    def gate(truth: tuple[int, int, int, int], a: int, b: int) -> int:
        sides = ((a ^ everything, b ^ everything), (a ^ everything, b), (a, b ^ everything), (a, b))
        result = 0
        for output, (x, y) in zip(truth, sides, strict=True):
            if output:
                result |= x & y
        return result

    wanted = _follow(circuits[0], cones[0], literal, gate)
    if place < 0:
        return wanted == (everything if place == -2 else 0)  # noqa: PLR2004 (see same_meaning)
    return wanted == _follow(circuits[1], cones[1], literal, gate) ^ (everything if place & 1 else 0)


def _same_diagrams(
    circuits: tuple[Circuit, Circuit], cones: tuple[list[int], list[int]], place: int, values: dict[int, Values]
) -> bool:
    diagrams = Diagrams()
    first_bit = _bit_numbers(circuits[0], cones[0], values)

    def literal(test: Literal) -> int:
        answers = [int(answer) for answer in literal_values(test, values[test.column])]
        return _choose_answer(diagrams, first_bit[test.column], answers)

    wanted = _follow(circuits[0], cones[0], literal, diagrams.gate)
    if place < 0:
        return wanted == -1 - place
    found = _follow(circuits[1], cones[1], literal, diagrams.gate)
    return wanted == (diagrams.gate((1, 1, 0, 0), found, 0) if place & 1 else found)


def _bit_numbers(circuit: Circuit, cone: list[int], values: dict[int, Values]) -> dict[int, int]:
    """Return each column's first variable: columns in the order in which the rule, read from its top, meets them."""
    n_literals = len(circuit.literals)
    order: list[int] = []
    seen: set[int] = set()
    stack = [cone[-1]]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node < n_literals:
            order.append(circuit.literals[node].column)
        else:
            gate = circuit.gates[node - n_literals]
            stack += (gate.b, gate.a)
    numbers: dict[int, int] = {}
    free = 0
    for column in [*order, *values]:
        if column not in numbers:
            numbers[column] = free
            free += max(1, (len(values[column]) - 1).bit_length())
    return numbers


def _choose_answer(diagrams: Diagrams, variable: int, answers: Sequence[int]) -> int:
    """Return the diagram that reads a column's block number bit by bit and gives that block's answer."""
    if len(answers) == 1:
        return answers[0]
    half = 1 << ((len(answers) - 1).bit_length() - 1)
    low = _choose_answer(diagrams, variable + 1, [*answers[:half]])
    # A number past the last block never occurs; it is read as the last block, in every literal alike.
    high = [*answers[half:], *[answers[-1]] * (2 * half - len(answers))]
    return diagrams.node(variable, low, _choose_answer(diagrams, variable + 1, high))
