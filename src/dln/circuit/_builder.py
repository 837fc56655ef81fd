"""Building circuits gate by gate: constants, NOTs and pass-throughs vanish as they come, equal gates are shared.

A signal on its way into a circuit is a `Signal`: a constant, or a node, possibly negated. Only what a rule needs
ends up in the circuit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from dln.circuit._circuit import Circuit, Column, Gate, Literal, Rule, from_grid, to_grid
from dln.circuit._gates import (
    AND,
    GATES,
    NOT_A,
    NOT_A_AND_B,
    NOT_B,
    OR,
    XNOR,
    A,
    B,
    complement,
    negate_a,
    negate_b,
    swap_inputs,
)


class Signal(NamedTuple):
    """A node of the circuit to be, or a constant (node -1); `negated` turns it round."""

    node: int
    negated: bool = False

    def __invert__(self) -> Signal:
        return Signal(self.node, not self.negated)


FALSE_SIGNAL: Final = Signal(-1)
TRUE_SIGNAL: Final = Signal(-1, negated=True)


@dataclass(frozen=True, slots=True)
class _Node:
    """A literal, or a gate on two nodes."""

    literal: Literal | None
    gate: Gate | None


class CircuitBuilder:
    """Collects literals and gates; `circuit` freezes what the rules use.

    >>> from dln.circuit._circuit import Above
    >>> builder = CircuitBuilder((Column("age"),))
    >>> old, older = builder.literal(Above(0, 40.0)), builder.literal(Above(0, 60.0))
    >>> builder.gate(1, old, ~FALSE_SIGNAL) == old  # AND with true is nothing new
    True
    >>> builder.circuit(5.0, [(~old, 2.0), (builder.gate(2, old, older), 1.0)], decimals=0)
    prediction = 7
      - 2 · [age > 40]
      + 1 · [40 < age ≤ 60]
    """

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns
        self._nodes: list[_Node] = []
        self._known: dict[Literal | Gate, int] = {}

    def literal(self, literal: Literal) -> Signal:
        """Return the signal of a literal, the same one for an equal literal."""
        return Signal(self._intern(literal, _Node(literal, None)))

    def gate(self, kind: int, a: Signal, b: Signal) -> Signal:
        """Return the signal of a gate, simpler where constants, equal or unused inputs allow."""
        kind = negate_a(kind) if a.negated else kind
        kind = negate_b(kind) if b.negated else kind
        t00, t01, t10, t11 = GATES[kind].truth
        if a.node == -1:  # both constants count as false here: a negated one has turned the gate
            return _choice(Signal(b.node), t00, t01)
        if b.node == -1:
            return _choice(Signal(a.node), t00, t10)
        if a.node == b.node:
            return _choice(Signal(a.node), t00, t11)
        if kind in {A, NOT_A}:
            return Signal(a.node, kind == NOT_A)
        if kind in {B, NOT_B}:
            return Signal(b.node, kind == NOT_B)
        if kind in {0, complement(0)}:
            return Signal(-1, kind != 0)
        gate = Gate(kind, a.node, b.node) if a.node < b.node else Gate(swap_inputs(kind), b.node, a.node)
        opposite = self._known.get(Gate(complement(gate.kind), gate.a, gate.b))
        if opposite is not None:
            return Signal(opposite, negated=True)
        return Signal(self._intern(gate, _Node(None, gate)))

    def inside(self, node: int) -> Literal | Gate:
        """Return what a node is: a literal, or a gate on earlier nodes."""
        found = self._nodes[node]
        content = found.literal if found.gate is None else found.gate
        assert content is not None  # noqa: S101 (every node is one or the other)
        return content

    def choice(self, test: Signal, then: Signal, otherwise: Signal) -> Signal:
        """Return the signal that is `then` where the test holds and `otherwise` where it does not."""
        if then == otherwise:
            return then
        if then == ~otherwise:
            return self.gate(XNOR, test, then)
        return self.gate(OR, self.gate(AND, test, then), self.gate(NOT_A_AND_B, test, otherwise))

    def circuit(self, intercept: float, rules: Iterable[tuple[Signal, float]], *, decimals: int) -> Circuit:
        """Return the circuit of these rules; constants move into the intercept, negated rules turn round.

        Weights are put on the grid first, so that no prediction depends on what was moved where.
        """
        total = to_grid(intercept, decimals)
        steps: dict[int, int] = {}
        for signal, weight in rules:
            step = to_grid(weight, decimals)
            if signal.negated:
                total, step = total + step, -step
            if signal.node >= 0:
                steps[signal.node] = steps.get(signal.node, 0) + step
        return self._freeze(total, {node: step for node, step in steps.items() if step != 0}, decimals)

    def _freeze(self, total: int, steps: dict[int, int], decimals: int) -> Circuit:
        used = set(steps)
        for node in range(len(self._nodes) - 1, -1, -1):
            gate = self._nodes[node].gate
            if node in used and gate is not None:
                used |= {gate.a, gate.b}
        literals = [n for n in sorted(used) if self._nodes[n].literal is not None]
        gates = [n for n in sorted(used) if self._nodes[n].gate is not None]
        place = {node: i for i, node in enumerate([*literals, *gates])}
        return Circuit(
            columns=self._columns,
            literals=tuple(lit for n in literals if (lit := self._nodes[n].literal) is not None),
            gates=tuple(Gate(g.kind, place[g.a], place[g.b]) for n in gates if (g := self._nodes[n].gate) is not None),
            rules=tuple(Rule(place[node], _off_grid(step, decimals)) for node, step in steps.items()),
            intercept=_off_grid(total, decimals),
            decimals=decimals,
        )

    def _intern(self, key: Literal | Gate, node: _Node) -> int:
        if key not in self._known:
            self._known[key] = len(self._nodes)
            self._nodes.append(node)
        return self._known[key]


def add_circuit(builder: CircuitBuilder, circuit: Circuit) -> list[Signal]:
    """Add a circuit's literals and gates to a builder over the same columns; return the signals of its rules."""
    signals = [builder.literal(literal) for literal in circuit.literals]
    for gate in circuit.gates:
        signals.append(builder.gate(gate.kind, signals[gate.a], signals[gate.b]))
    return [signals[rule.node] for rule in circuit.rules]


def _choice(signal: Signal, when_false: int, when_true: int) -> Signal:
    """Return the signal that is `when_true` where `signal` holds and `when_false` where it does not."""
    if when_false == when_true:
        return TRUE_SIGNAL if when_true else FALSE_SIGNAL
    return signal if when_true else ~signal


def _off_grid(step: int, decimals: int) -> float:
    return float(from_grid(float(step), decimals))  # type: ignore[arg-type]
