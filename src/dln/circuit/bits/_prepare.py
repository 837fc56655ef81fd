"""From a circuit to a program for the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, Above, Circuit, IsIn, IsMissing, Literal
from dln.circuit._gates import FALSE, NOT_A, NOT_B, TRUE, XNOR, XOR, A, B, negate_a, negate_b

Floats: TypeAlias = npt.NDArray[np.float64]
Int64: TypeAlias = npt.NDArray[np.int64]

#: Tests on a column: above a cut-off, missing, one of a run of codes.
ABOVE, IS_MISSING, IN_RUN = 0, 1, 2

#: Operations on words. Complements are moved into them: an AND of which input a (1) or b (2) or both (3) are inverted,
#: or an XOR.
AND_WORDS: Final = 0
XOR_WORDS: Final = 4

#: Sums of fewer steps fit in 32 bits, which are twice as fast to add up.
_NARROW: Final = 2**31

#: A signal is twice a node, plus one if it is the node's complement; or one of these constants.
_CONSTANT: Final = {FALSE: -2, TRUE: -1}

#: A node is a literal, or an operation and its two nodes.
_Node: TypeAlias = Literal | tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class PreparedCircuit:
    """A circuit as the interpreter reads it. Its nodes are rows of one buffer of words, literals first."""

    circuit: Circuit
    used: tuple[int, ...]
    """The columns that are read."""
    used_array: Int64
    reads_categories: bool
    tests: Int64
    """(n_tests, 5): place of the column in `used`, kind of test, node, first code, number of codes. A node with several
    runs of codes has several tests, one after the other."""
    limits: Floats
    """(n_tests, 2): cut-offs for float64 and for float32."""
    gates: Int64
    """(n_gates, 4): operation, two nodes read, node written."""
    rules: Int64
    """(n_rules,): nodes that enter the sum."""
    steps: Floats
    """(n_rules,): their weights, whole numbers of steps of the grid."""
    scale: Floats
    """(3,): the intercept in steps, what the sum is divided by, what it is multiplied by."""
    n_nodes: int
    narrow: bool
    """Whether every sum of steps fits in 32 bits."""


def prepare(circuit: Circuit) -> PreparedCircuit:
    """Return the circuit's program: equal nodes merged, NOT, pass and constants moved into their readers."""
    numbers: dict[_Node, int] = {}
    signals = [2 * numbers.setdefault(literal, len(numbers)) for literal in circuit.literals]
    for gate in circuit.gates:
        signals.append(_gate_signal(gate.kind, signals[gate.a], signals[gate.b], numbers))
    nodes = list(numbers)
    weights, intercept = _rule_steps(circuit, signals)
    order = _live_nodes(nodes, weights)
    place = {node: i for i, node in enumerate(order)}
    literals = [node for node in map(nodes.__getitem__, order) if not isinstance(node, tuple)]
    used = tuple(sorted({literal.column for literal in literals}))
    tests, limits = _tests(literals, used)
    gates = [
        (node[0], place[node[1]], place[node[2]], place[number])
        for number in order
        if isinstance(node := nodes[number], tuple)
    ]
    largest = abs(intercept) + sum(map(abs, weights.values()))
    return PreparedCircuit(
        circuit=circuit,
        used=used,
        used_array=np.array(used, dtype=np.int64),
        reads_categories=any(circuit.columns[j].categories is not None for j in used),
        tests=np.array(tests, dtype=np.int64).reshape(-1, 5),
        limits=np.array(limits, dtype=np.float64).reshape(-1, 2),
        gates=np.array(gates, dtype=np.int64).reshape(-1, 4),
        rules=np.array([place[node] for node in weights], dtype=np.int64),
        steps=np.array(list(weights.values()), dtype=np.float64),
        scale=np.array([intercept, 10.0 ** max(circuit.decimals, 0), 10.0 ** max(-circuit.decimals, 0)]),
        n_nodes=len(order),
        narrow=largest < _NARROW,
    )


def _gate_signal(kind: int, a: int, b: int, numbers: dict[_Node, int]) -> int:
    """Return the signal of a gate on two signals; it gets a new node if none computes it yet."""
    if a >= 0 and a % 2:
        kind, a = negate_a(kind), a - 1
    if b >= 0 and b % 2:
        kind, b = negate_b(kind), b - 1
    # A constant input, or two equal inputs, leave two of the four cases: a gate that reads one input only.
    if a < 0:
        kind = _cases(kind, 1, 0) if a == _CONSTANT[TRUE] else _cases(kind, 3, 2)
        a = b
    elif b < 0:
        kind = _cases(kind, 2, 0) if b == _CONSTANT[TRUE] else _cases(kind, 3, 1)
        b = a
    elif a == b:
        kind = _cases(kind, 3, 0)
    if a < 0:  # both inputs are constant
        kind = _cases(kind, 0, 0) if a == _CONSTANT[TRUE] else _cases(kind, 3, 3)
    if kind in _CONSTANT:
        return _CONSTANT[kind]
    if kind in {A, NOT_A}:
        return a + (kind == NOT_A)
    if kind in {B, NOT_B}:
        return b + (kind == NOT_B)
    a, b = a // 2, b // 2
    if kind in {XOR, XNOR}:
        return 2 * numbers.setdefault((XOR_WORDS, min(a, b), max(a, b)), len(numbers)) + (kind == XNOR)
    # One case of the four is the odd one. Where it is the only 1, the gate is an AND of inputs or their complements;
    # where it is the only 0, the complement of one. Case 0 of the truth table is 11, case 3 is 00.
    inverted = kind.bit_count() > 1
    odd = (kind ^ TRUE if inverted else kind).bit_length() - 1
    operation = AND_WORDS + (odd >> 1) + 2 * (odd & 1)
    return 2 * numbers.setdefault((operation, a, b), len(numbers)) + inverted


def _cases(kind: int, low: int, high: int) -> int:
    """Return the gate "a" or like it whose value is that of case `low` where a is 0 and of case `high` where it is 1.

    >>> _cases(0b0111, 3, 0) == A  # OR, where both inputs are equal
    True
    """
    return 0b1100 * (kind >> low & 1) + 0b0011 * (kind >> high & 1)


def _rule_steps(circuit: Circuit, signals: list[int]) -> tuple[dict[int, int], int]:
    """Return the weights of nodes and the intercept, in steps of the grid: w·[not n] is w - w·[n]."""
    weights: dict[int, int] = {}
    intercept = circuit.grid(circuit.intercept)
    for rule in circuit.rules:
        signal, steps = signals[rule.node], circuit.grid(rule.weight)
        if signal == _CONSTANT[FALSE]:
            continue
        if signal == _CONSTANT[TRUE]:
            intercept += steps
            continue
        if signal % 2:
            intercept, steps = intercept + steps, -steps
        weights[signal // 2] = weights.get(signal // 2, 0) + steps
    return {node: steps for node, steps in weights.items() if steps}, intercept


def _live_nodes(nodes: list[_Node], weights: dict[int, int]) -> list[int]:
    """Return the nodes that the rules need: literals by column, then gates in order of evaluation."""
    live = set(weights)
    literals: list[tuple[int, int]] = []
    gates: list[int] = []
    for number in range(len(nodes) - 1, -1, -1):  # a gate's inputs come before it
        if number in live:
            node = nodes[number]
            if isinstance(node, tuple):
                live.update(node[1:])
                gates.append(number)
            else:
                literals.append((node.column, number))
    return [number for _, number in sorted(literals)] + gates[::-1]


def _tests(
    literals: Sequence[Literal], used: tuple[int, ...]
) -> tuple[list[tuple[int, ...]], list[tuple[float, float]]]:
    """Return the tests of the literals and their cut-offs: one each, but one for every run of codes."""
    tests: list[tuple[int, ...]] = []
    limits: list[tuple[float, float]] = []
    for node, literal in enumerate(literals):
        slot = used.index(literal.column)
        match literal:
            case Above(cutoff=cutoff):
                tests.append((slot, ABOVE, node, 0, 0))
                limits.append((cutoff, float32_below(cutoff)))
            case IsMissing():
                tests.append((slot, IS_MISSING, node, MISSING, 1))
                limits.append((0.0, 0.0))
            case IsIn(codes=codes):
                for first, length in _runs(codes):
                    tests.append((slot, IN_RUN, node, first, length))
                    limits.append((0.0, 0.0))
    return tests, limits


def _runs(codes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return ascending codes as runs of neighbours: first code and length.

    >>> _runs((0, 1, 2, 5))
    [(0, 3), (5, 1)]
    """
    starts = [i for i, code in enumerate(codes) if i == 0 or codes[i - 1] != code - 1]
    return [(codes[i], j - i) for i, j in zip(starts, [*starts[1:], len(codes)], strict=True)]


def float32_below(cutoff: float) -> float:
    """Return the largest float32 that is not above the cut-off: what float32 is above the one is above the other."""
    with np.errstate(over="ignore"):
        nearest = np.float32(cutoff)
    return float(nearest if float(nearest) <= cutoff else np.nextafter(nearest, np.float32(-np.inf)))
