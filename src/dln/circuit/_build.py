"""Circuits with other rules: nodes that are there stay as they are, formulas become new nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce

from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, IsMissing, Literal, Rule
from dln.circuit._formula import AllOf, AnyOf, CategoryCondition, Condition, Formula, NumberCondition, OddOf, negate
from dln.circuit._gates import A_AND_NOT_B, AND, NOT_A, OR, XOR
from dln.circuit._simplify import simplify


def with_rules(circuit: Circuit, rules: Sequence[tuple[int | Formula, float]]) -> Circuit:
    """Return a circuit with these rules and no others, each a node of the circuit or a formula, and a weight.

    Rules keep their order and their text: nothing is simplified or merged. A formula must not be a constant.
    """
    builder = _Builder(circuit)
    nodes = [builder.node(one) for one, _ in rules]
    used = set(nodes)
    for i in range(len(builder.gates) - 1, -1, -1):
        used |= {*builder.gates[i][1:]} if i in used else set()
    literals = [~node for node in sorted(used, reverse=True) if node < 0]
    gates = [node for node in sorted(used) if node >= 0]
    place = {node: i for i, node in enumerate([*(~literal for literal in literals), *gates])}
    return replace(
        circuit,
        literals=tuple(builder.literals[i] for i in literals),
        gates=tuple(Gate(kind, place[a], place[b]) for kind, a, b in (builder.gates[i] for i in gates)),
        rules=tuple(Rule(place[node], weight) for node, (_, weight) in zip(nodes, rules, strict=True)),
    )


def constant(meaning: Formula, columns: tuple[Column, ...]) -> bool | None:
    """Return the value that a formula has on every input, None where it has both."""
    if isinstance(meaning, bool):
        return meaning
    alone = simplify(with_rules(Circuit(columns, (), (), (), 0.0, 0), [(meaning, 1.0)]))
    return None if alone.rules else alone.intercept == 1.0


class _Builder:
    """Literals and gates as they come. Node i is gate i, node ~i is literal i: neither moves when the other grows."""

    def __init__(self, circuit: Circuit) -> None:
        self._n_literals = len(circuit.literals)
        self.literals: list[Literal] = list(circuit.literals)
        self.gates = [(gate.kind, self.node(gate.a), self.node(gate.b)) for gate in circuit.gates]

    def node(self, rule: int | Formula) -> int:
        """Return a node of the circuit, or that of a formula."""
        match rule:
            case bool():
                raise ValueError("a constant is no rule")
            case int():
                return ~rule if rule < self._n_literals else rule - self._n_literals
            case NumberCondition(low=True) | CategoryCondition(other=True):
                return self._gate(NOT_A, self.node(negate(rule)))
            case NumberCondition() | CategoryCondition():
                return self._joined(OR, self._cases(rule))
            case AllOf(parts) | AnyOf(parts):
                return self._joined(AND if isinstance(rule, AllOf) else OR, map(self.node, parts))
            case OddOf(parts, even):
                odd = self._joined(XOR, map(self.node, parts))
                return self._gate(NOT_A, odd) if even else odd

    def _cases(self, condition: Condition) -> list[int]:
        """Return nodes of which one holds where a condition does that is false for small or other values."""
        j, cases = condition.column, []
        if isinstance(condition, NumberCondition):
            above = [self._literal(Above(j, end)) for end in condition.ends]
            cases = [self._gate(A_AND_NOT_B, *pair) for pair in zip(above[::2], above[1::2], strict=False)]
            cases += above[-1:] if len(above) % 2 else []
        elif condition.codes:
            cases = [self._literal(IsIn(j, condition.codes))]
        return [*cases, self._literal(IsMissing(j))] if condition.missing else cases

    def _joined(self, kind: int, nodes: Iterable[int]) -> int:
        return reduce(lambda a, b: self._gate(kind, a, b), nodes)

    def _literal(self, literal: Literal) -> int:
        if literal not in self.literals:
            self.literals.append(literal)
        return ~self.literals.index(literal)

    def _gate(self, kind: int, a: int, b: int | None = None) -> int:
        self.gates.append((kind, a, a if b is None else b))
        return len(self.gates) - 1
