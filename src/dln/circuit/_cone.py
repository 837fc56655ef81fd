"""What a node of a circuit rests on, and what no rule needs."""

from __future__ import annotations

from dln.circuit._circuit import Circuit, Gate, Rule
from dln.circuit._gates import GATES


def reads(kind: int) -> tuple[bool, bool]:
    """Return whether a gate depends on its first and on its second input.

    >>> reads(1), reads(3), reads(10), reads(15)
    ((True, True), (True, False), (False, True), (False, False))
    """
    t00, t01, t10, t11 = GATES[kind].truth
    return (t00, t01) != (t10, t11), (t00, t10) != (t01, t11)


def node_cone(circuit: Circuit, node: int) -> list[int]:
    """Return the nodes under a node and the node itself, inputs before what uses them.

    >>> from dln.circuit._circuit import Above, Column, Gate
    >>> circuit = Circuit((Column("x"),), (Above(0, 1.0), Above(0, 2.0)), (Gate(1, 0, 0), Gate(2, 2, 1)), (), 0.0, 0)
    >>> node_cone(circuit, 2), node_cone(circuit, 3)
    ([0, 2], [0, 1, 2, 3])
    """
    n_literals = len(circuit.literals)
    found = {node}
    stack = [node]
    while stack:
        current = stack.pop()
        if current >= n_literals:
            gate = circuit.gates[current - n_literals]
            new = {gate.a, gate.b} - found
            found |= new
            stack += new
    return sorted(found)


def node_columns(circuit: Circuit, node: int) -> list[int]:
    """Return the columns that a node reads, ascending."""
    return sorted({circuit.literals[i].column for i in node_cone(circuit, node) if i < len(circuit.literals)})


def live_nodes(circuit: Circuit) -> list[bool]:
    """Return for every node whether a rule needs it; an input that its gate ignores is not needed."""
    n_literals = len(circuit.literals)
    used = [False] * (n_literals + len(circuit.gates))
    for rule in circuit.rules:
        used[rule.node] = True
    for i in range(len(circuit.gates) - 1, -1, -1):
        gate = circuit.gates[i]
        if used[n_literals + i]:
            uses_a, uses_b = reads(gate.kind)
            used[gate.a] |= uses_a
            used[gate.b] |= uses_b
    return used


def without_dead(circuit: Circuit) -> Circuit:
    """Return the circuit without the literals and gates under no rule; rules stay as they are.

    >>> from dln.circuit._circuit import Above, Column
    >>> without_dead(Circuit((Column("x"),), (Above(0, 1.0), Above(0, 2.0)), (), (Rule(1, 3.0),), 0.0, 0)).literals
    (Above(column=0, cutoff=2.0),)
    """
    n_literals = len(circuit.literals)
    used: set[int] = set()
    for rule in circuit.rules:
        used.update(node_cone(circuit, rule.node) if rule.node not in used else ())
    places = {node: place for place, node in enumerate(sorted(used))}
    literals = tuple(literal for node, literal in enumerate(circuit.literals) if node in places)
    gates = tuple(
        Gate(gate.kind, places[gate.a], places[gate.b])
        for i, gate in enumerate(circuit.gates)
        if n_literals + i in places
    )
    rules = tuple(Rule(places[rule.node], rule.weight) for rule in circuit.rules)
    return Circuit(circuit.columns, literals, gates, rules, circuit.intercept, circuit.decimals)
