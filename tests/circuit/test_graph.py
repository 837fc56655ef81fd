import numpy as np
import pytest
from hypothesis import given

from circuits import circuits, every_case
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, IsMissing, Rule
from dln.circuit._gates import AND, GATES, NAND
from dln.circuit._graph import FALSE_EDGE, TRUE_EDGE, Graph, cone
from dln.circuit._truth_tables import axes_of, truth_table

X, Y = Above(0, 1.0), Above(1, 2.0)
COLUMNS = (Column("x"), Column("y"))


def rebuilt(circuit):
    """Return the circuit put through a graph."""
    graph = Graph()
    edges = graph.add(circuit, [rule.node for rule in circuit.rules])
    rules = zip(edges, (rule.weight for rule in circuit.rules), strict=True)
    return graph.circuit(circuit.columns, circuit.intercept, rules, decimals=circuit.decimals)


def edge_values(graph, edges, table):
    """Return what the edges are on the rows of a table, by the definition of a circuit."""
    columns = tuple(
        Column(str(i), tuple(range(9)) if values.dtype.kind == "i" else None) for i, values in enumerate(table)
    )
    values = []
    for edge in edges:
        circuit = graph.circuit(columns, 0.0, [(edge, 1.0)], decimals=0)
        values.append(circuit.evaluate(table) == 1.0)
    return values


@given(circuits())
def test_a_circuit_through_a_graph_keeps_its_predictions(circuit):
    """Folding, sharing and merging change no prediction, and nothing that no rule needs is left."""
    again = rebuilt(circuit)
    table = every_case((circuit, again))
    np.testing.assert_array_equal(again.evaluate(table), circuit.evaluate(table))
    assert cone(again, [rule.node for rule in again.rules]) == list(range(len(again.literals) + len(again.gates)))
    assert len(set(again.literals)) == len(again.literals)
    assert all(GATES[gate.kind].cost > 0 and gate.a != gate.b for gate in again.gates)


@given(circuits())
def test_what_came_out_of_a_graph_comes_out_again(circuit):
    """Gates stay in the order and of the kind in which they were made."""
    again = rebuilt(circuit)
    assert rebuilt(again) == again


@given(circuits())
def test_every_node_keeps_its_meaning(circuit):
    """Whatever a graph makes of gates means what it did."""
    table = every_case(circuit)
    values = circuit.node_values(table)
    graph = Graph()
    edges = graph.add(circuit, range(len(values)))
    for made, wanted in zip(edge_values(graph, edges, table), values, strict=True):
        np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize("kind", range(16))
def test_constants_and_equal_inputs_vanish(kind):
    """A gate of constants, of one input twice, or of an input and its complement is no gate."""
    graph = Graph()
    x = graph.literal(X)
    value_of = {FALSE_EDGE: (0, 0), TRUE_EDGE: (1, 1), x: (0, 1), x ^ 1: (1, 0)}
    for a, on_a in value_of.items():
        for b, on_b in value_of.items():
            wanted = tuple(GATES[kind].truth[2 * p + q] for p, q in zip(on_a, on_b, strict=True))
            assert value_of[graph.gate(kind, a, b)] == wanted


def test_a_gate_and_its_complement_are_one_node_written_as_it_was_asked_for():
    """NAND made first stays a NAND, with its weight; the AND is its complement."""
    graph = Graph()
    x, y = graph.literal(X), graph.literal(Y)
    nand = graph.gate(NAND, x, y)
    assert graph.gate(AND, y, x) == nand ^ 1
    circuit = graph.circuit(COLUMNS, 1.0, [(nand, 5.0), (nand ^ 1, 2.0)], decimals=0)
    assert circuit == Circuit(COLUMNS, (X, Y), (Gate(NAND, 0, 1),), (Rule(2, 3.0),), 3.0, 0)


def test_a_truth_table_has_no_impossible_rows():
    """Two cut-offs and what is missing make four blocks of a column, a category two."""
    graph = Graph()
    low, high, missing, b = map(graph.literal, (Above(0, 1.0), Above(0, 2.0), IsMissing(0), IsIn(1, (1,))))
    edge = graph.either(graph.both(low, high ^ 1), graph.both(missing, b))
    axes = axes_of(graph.literals.values())
    assert truth_table(graph, edge, axes).tolist() == [[False] * 2, [True] * 2, [False] * 2, [True, False]]
    assert truth_table(graph, edge ^ 1, axes).tolist() == [[True] * 2, [False] * 2, [True] * 2, [False, True]]
