"""What a node of a circuit rests on."""

from __future__ import annotations

from dln._circuit import Circuit
from dln._gates import GATES


def reads(kind: int) -> tuple[bool, bool]:
    """Return whether a gate depends on its first and on its second input.

    >>> reads(1), reads(3), reads(10), reads(15)
    ((True, True), (True, False), (False, True), (False, False))
    """
    t00, t01, t10, t11 = GATES[kind].truth
    return (t00, t01) != (t10, t11), (t00, t10) != (t01, t11)


def node_cone(circuit: Circuit, node: int) -> list[int]:
    """Return the nodes under a node and the node itself, inputs before what uses them.

    >>> from dln._circuit import Above, Column, Gate
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


def node_counts(circuit: Circuit, node: int) -> tuple[int, int]:
    """Return how many literals and gates a node needs, each counted once; gates that pass a value on do not count."""
    n_literals = len(circuit.literals)
    cone = node_cone(circuit, node)
    kinds = [circuit.gates[i - n_literals].kind for i in cone if i >= n_literals]
    return len(cone) - len(kinds), sum(GATES[kind].cost > 0 for kind in kinds)
