"""The nodes and columns that a node of a circuit depends on."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from dln.circuit._circuit import Circuit
from dln.circuit._gates import GATES


@cache  # called for every gate whenever a circuit is measured or prepared for prediction
def reads(kind: int) -> tuple[bool, bool]:
    """Return whether a gate depends on its first and on its second input.

    >>> reads(1), reads(3), reads(10), reads(15)
    ((True, True), (True, False), (False, True), (False, False))
    """
    t00, t01, t10, t11 = GATES[kind].truth
    return (t00, t01) != (t10, t11), (t00, t10) != (t01, t11)


def cone(circuit: Circuit, nodes: Iterable[int]) -> list[int]:
    """Return the nodes and all that they depend on, inputs first; a gate does not depend on an input it ignores."""
    n_literals = len(circuit.literals)
    needed = set(nodes)
    for node in range(max(needed, default=-1), n_literals - 1, -1):
        if node in needed:
            gate = circuit.gates[node - n_literals]
            uses_a, uses_b = reads(gate.kind)
            if uses_a:
                needed.add(gate.a)
            if uses_b:
                needed.add(gate.b)
    return sorted(needed)


def node_columns(circuit: Circuit, node: int) -> list[int]:
    """Return the columns that a node reads, ascending."""
    return sorted({circuit.literals[i].column for i in cone(circuit, [node]) if i < len(circuit.literals)})
