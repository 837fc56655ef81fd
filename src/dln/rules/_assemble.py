"""From learned rules to circuits in the user's units: one for the model and one for each smaller size."""

from __future__ import annotations

from collections.abc import Sequence

from dln.circuit._circuit import Circuit, Column
from dln.circuit._graph import Graph
from dln.data._target import Target
from dln.rules._bins import Input
from dln.rules._expression import Expression, Test
from dln.rules._model_sizes import SizedRules


def assemble(
    models: Sequence[SizedRules], inputs: Sequence[Input], columns: tuple[Column, ...], target: Target
) -> list[Circuit]:
    """Return the circuits of models whose weights are for the standardised target."""
    graph = Graph()

    def edge(expression: Expression) -> int:
        if isinstance(expression, Test):
            return graph.literal(inputs[expression.input].literal(expression.cutoff)) ^ expression.negated
        return graph.gate(expression.gate, edge(expression.a), edge(expression.b))

    return [
        graph.circuit(
            columns,
            target.mean + target.spread * model.intercept,
            [(edge(one), float(w) * target.spread) for one, w in zip(model.expressions, model.weights, strict=True)],
            decimals=target.decimals,
        )
        for model in models
    ]
