"""From learned rules to circuits in the user's units: one for the model and one for each smaller size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Circuit, Values
from dln.circuit._graph import Graph
from dln.data._cutter import Cut, Cutter
from dln.data._encoding import Encoder
from dln.data._target import Target
from dln.rules._expression import Expression, Test
from dln.solve._products import Floats


@dataclass(frozen=True, slots=True)
class Training:
    """The training rows: the table's columns, which of its rows count, and the target's units."""

    values: Sequence[Values]
    rows: npt.NDArray[np.intp]
    encoder: Encoder
    target: Target


def assemble(
    models: Iterable[tuple[Sequence[Expression], float, Floats]], cutoffs: Sequence[Floats], training: Training
) -> list[Circuit]:
    """Return the circuits of models: expressions, intercept and weights for the standardised target.

    Each of the cut-offs, which are in scaled units, becomes the shortest decimal number that separates the same
    training rows.
    """
    models = list(models)
    encoder, target = training.encoder, training.target
    graph = Graph()
    bits = [graph.literal(literal) for literal in encoder.bits]
    cutter = Cutter(graph, encoder, training.values, training.rows)
    n_scaled = len(encoder.scaled)
    tests = {test for expressions, _, _ in models for one in expressions for test in _tests(one)}

    def cut(test: Test) -> Cut:
        return Cut(test.input, float(cutoffs[test.input][test.cutoff]))

    cutter.look_up(cut(test) for test in tests if test.input < n_scaled)

    def edge(expression: Expression) -> int:
        if isinstance(expression, Test):
            k = expression.input
            above = cutter.above(cut(expression)) if k < n_scaled else bits[k - n_scaled]
            return above ^ expression.negated
        return graph.gate(expression.gate, edge(expression.a), edge(expression.b))

    return [
        graph.circuit(
            encoder.columns,
            target.mean + target.spread * intercept,
            [(edge(one), float(w) * target.spread) for one, w in zip(expressions, weights, strict=True)],
            decimals=target.decimals,
        )
        for expressions, intercept, weights in models
    ]


def _tests(expression: Expression) -> Iterator[Test]:
    if isinstance(expression, Test):
        yield expression
    else:
        yield from _tests(expression.a)
        yield from _tests(expression.b)
