import logging

import numpy as np
import pytest
from hypothesis import given

from circuits import circuits, every_case, layered_circuit
from dln.circuit import _simplify
from dln.circuit._circuit import LARGEST_SUM, Above, Circuit, Column, Gate, IsIn, IsMissing, Rule
from dln.circuit._cost import circuit_cost
from dln.circuit._gates import A_AND_NOT_B, A_OR_NOT_B, AND, NAND, NOR, NOT_A, NOT_A_AND_B, OR, TRUE, XNOR, XOR, B
from dln.circuit._graph import Graph
from dln.circuit._simplify import same_meaning, simplify

X, C = Column("x"), Column("c", ("a", "b", "d"))


def one_rule(columns, literals, gates, weight=2.0):
    """Return a circuit whose one rule is its last gate."""
    return Circuit(
        tuple(columns), tuple(literals), tuple(gates), (Rule(len(literals) + len(gates) - 1, weight),), 1.0, 0
    )


def assert_same(first, second):
    """Hold two circuits to the same predictions in every case."""
    table = every_case((first, second))
    np.testing.assert_array_equal(first.evaluate(table), second.evaluate(table))


@given(circuits())
def test_predictions_stay_the_same_on_every_input(circuit):
    """Simplified and original agree bit for bit: NaN, unknown categories, values equal to cut-offs."""
    assert_same(circuit, simplify(circuit))


@given(circuits(max_columns=2, max_literals=12, max_gates=30))
def test_predictions_stay_the_same_when_few_columns_are_read_often(circuit):
    """Nested cut-offs and exclusive categories, met in every order, change nothing."""
    assert_same(circuit, simplify(circuit))


@given(circuits())
def test_simplify_is_idempotent(circuit):
    """A simplified circuit is not changed by simplifying it again."""
    once = simplify(circuit)
    assert simplify(once) == once


@given(circuits())
def test_cost_never_grows(circuit):
    """Neither reading of the cost, nor the number of rules, grows."""
    simple = simplify(circuit)
    before, after = circuit_cost(circuit), circuit_cost(simple)
    assert after.total <= before.total
    assert circuit_cost(simple, "select").total <= circuit_cost(circuit, "select").total
    assert len(simple.rules) <= len(circuit.rules)


@given(circuits())
def test_no_cutoff_is_moved_or_made(circuit):
    """Cut-offs stay what they were: literals that are equal on all training rows stay two literals."""
    before = {literal for literal in circuit.literals if isinstance(literal, Above)}
    assert {literal for literal in simplify(circuit).literals if isinstance(literal, Above)} <= before


@pytest.mark.parametrize("seed", range(3))
def test_layered_circuits_stay_the_same(seed):
    """Networks of three layers keep their meaning; the sample of rows is checked besides the proof."""
    circuit = layered_circuit(seed, n_rules=30, layers=[60, 60, 60], n_columns=6, thresholds=4, all_gates=True)
    assert_same(circuit, simplify(circuit))


def test_simplify_is_deterministic():
    """The same circuit gives the same circuit, whatever was simplified before."""
    circuit = layered_circuit(5, n_rules=20, layers=[40, 40], n_columns=4)
    once = simplify(circuit)
    simplify(layered_circuit(6, n_rules=20, layers=[40, 40], n_columns=4))
    assert simplify(circuit) == once


@pytest.mark.parametrize(
    ("columns", "literals", "gates", "text"),
    [
        ([X], [Above(0, 2.0), Above(0, 3.0)], [Gate(AND, 0, 1)], "prediction = 1\n  + 2 · [x > 3]"),
        ([X], [Above(0, 2.0), Above(0, 3.0)], [Gate(OR, 0, 1)], "prediction = 1\n  + 2 · [x > 2]"),
        ([X], [Above(0, 3.0), Above(0, 2.0)], [Gate(A_AND_NOT_B, 0, 1)], "prediction = 1"),
        ([X], [Above(0, 2.0), IsMissing(0)], [Gate(AND, 0, 1)], "prediction = 1"),
        ([X], [Above(0, 2.0), IsMissing(0)], [Gate(A_AND_NOT_B, 0, 1)], "prediction = 1\n  + 2 · [x > 2]"),
        ([X], [Above(0, 2.0), Above(0, 3.0)], [Gate(XOR, 0, 1)], "prediction = 1\n  + 2 · [2 < x ≤ 3]"),
        ([X], [Above(0, 2.0)], [Gate(NOT_A, 0, 0)], "prediction = 3\n  - 2 · [x > 2]"),
        ([X], [Above(0, 2.0)], [Gate(TRUE, 0, 0)], "prediction = 3"),
        ([C], [IsIn(0, (0,)), IsIn(0, (1,))], [Gate(AND, 0, 1)], "prediction = 1"),
        ([C], [IsIn(0, (0,)), IsIn(0, (1,))], [Gate(OR, 0, 1)], 'prediction = 1\n  + 2 · [c in {"a", "b"}]'),
        ([C], [IsIn(0, (0,)), IsIn(0, (0, 1))], [Gate(NOR, 0, 1)], 'prediction = 3\n  - 2 · [c in {"a", "b"}]'),
        ([C], [IsIn(0, (0,)), IsIn(0, (1,))], [Gate(A_OR_NOT_B, 0, 1)], 'prediction = 3\n  - 2 · [c = "b"]'),
    ],
)
def test_knowledge_of_thresholds_and_categories(columns, literals, gates, text):
    """Literals on one column that imply or exclude each other become one."""
    assert repr(simplify(one_rule(columns, literals, gates))) == text


def test_a_rule_over_one_column_becomes_an_interval():
    """However a rule over one column is wired, it ends as the blocks in which it fires."""
    literals = [Above(0, float(i)) for i in range(5)]
    gates = [
        Gate(XOR, 1, 2),
        Gate(XOR, 5, 3),
        Gate(XNOR, 6, 3),
        Gate(NAND, 7, 4),
        Gate(AND, 8, 0),
        Gate(NOT_A_AND_B, 7, 9),
    ]
    assert repr(simplify(one_rule([X], literals, gates))) == "prediction = 1\n  + 2 · [1 < x ≤ 2]"


def test_equal_and_complementary_rules_merge():
    """w·r + v·(1−r) = v + (w−v)·r, also where r is wired differently."""
    literals = (Above(0, 1.0), Above(1, 1.0))
    gates = (Gate(AND, 0, 1), Gate(NAND, 1, 0), Gate(NOT_A, 0, 0), Gate(A_AND_NOT_B, 1, 4))
    rules = (Rule(2, 5.0), Rule(3, 3.0), Rule(5, 1.0))
    circuit = Circuit((X, Column("y")), literals, gates, rules, 1.0, 0)
    assert repr(simplify(circuit)) == "prediction = 4\n  + 3 · [x > 1 and y > 1]"


def test_rules_that_cancel_vanish_with_their_gates():
    """Equal rules of opposite weight leave nothing behind."""
    circuit = Circuit((X,), (Above(0, 1.0),), (Gate(B, 0, 0),), (Rule(0, 2.5), Rule(1, -2.5)), 1.0, 1)
    assert simplify(circuit) == Circuit((X,), (), (), (), 1.0, 1)


def test_repeated_literals_are_factored_out():
    """(a and b) or (a and c) becomes a and (b or c)."""
    columns = [Column(name) for name in "abc"]
    gates = [Gate(AND, 0, 1), Gate(AND, 0, 2), Gate(OR, 3, 4)]
    simple = simplify(one_rule(columns, [Above(i, 0.0) for i in range(3)], gates))
    assert repr(simple) == "prediction = 1\n  + 2 · [a > 0 and (b > 0 or c > 0)]"


@pytest.mark.parametrize(
    ("gates", "text"),
    [
        ([Gate(OR, 1, 2), Gate(AND, 0, 3)], "y > 0"),
        ([Gate(XOR, 1, 2), Gate(AND, 0, 3)], "x ≤ 3 and y > 0"),
        ([Gate(AND, 1, 2), Gate(A_AND_NOT_B, 0, 3)], "x ≤ 3 and y > 0"),
    ],
)
def test_what_other_conditions_decide_is_left_out(gates, text):
    """A condition is left out where it does not matter: y > 0 implies y > -1."""
    literals = [Above(1, 0.0), Above(1, -1.0), Above(0, 3.0)]
    simple = simplify(one_rule([X, Column("y")], literals, gates))
    assert repr(simple).splitlines()[1] == f"  + 2 · [{text}]"


@given(circuit=circuits(max_columns=6, max_literals=12, max_gates=30))
@pytest.mark.parametrize(("max_rows", "max_paths"), [(8, 512), (4096, 5), (1, 1)])
def test_windows_of_any_size_keep_the_meaning(circuit, max_rows, max_paths):
    """Tables over inner gates instead of literals are right too: no proof fails, cost does not grow."""
    warnings = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_simplify._log, "warning", lambda *words: warnings.append(words[0]))
        patch.setattr(_simplify, "MAX_ROWS", max_rows)
        patch.setattr(_simplify, "MAX_PATHS", max_paths)
        simple = simplify(circuit)
    assert_same(circuit, simple)
    assert circuit_cost(simple).total <= circuit_cost(circuit).total
    assert not any("no proof" in warning for warning in warnings)


def test_a_rule_that_would_fill_books_when_written_out_is_simplified():
    """Gates that are read twice, again and again, take no time that grows with what they would read written out."""
    n = 12
    gates = [Gate(XOR, 0, 1), Gate(NAND, n, 2)]
    for i in range(60):
        gates += [Gate(XOR, n + len(gates) - 1, n + len(gates) - 2), Gate(OR, n + len(gates), i % n)]
    circuit = one_rule([Column(f"x{i}") for i in range(n)], [Above(i, 0.0) for i in range(n)], gates)
    assert_same(circuit, simplify(circuit))


def test_neighbouring_cutoffs_are_not_merged():
    """Cut-offs one float apart stay two."""
    above = np.nextafter(2.0, 3.0)
    circuit = one_rule(
        [X, Column("y")], [Above(0, 2.0), Above(0, above), Above(1, 0.0)], [Gate(XOR, 0, 1), Gate(AND, 2, 3)]
    )
    assert set(simplify(circuit).literals) == set(circuit.literals)


def test_sums_that_would_not_be_exact_any_more_are_left_alone():
    """If merging would make the intercept too large for exact sums, the circuit stays as it was."""
    big = float(LARGEST_SUM // 2 - 10)
    circuit = Circuit((X,), (Above(0, 1.0),), (Gate(NOT_A, 0, 0),), (Rule(1, big),), big, 0)
    assert simplify(circuit) == circuit


def test_a_rule_without_proof_stays_and_is_logged(monkeypatch, caplog):
    """When no proof is found the circuit stays as it was, with a warning in the log."""
    monkeypatch.setattr(_simplify, "same_meaning", lambda *_: False)
    circuit = one_rule([X], [Above(0, 2.0), Above(0, 3.0)], [Gate(AND, 0, 1)])
    with caplog.at_level(logging.WARNING, "dln"):
        kept = simplify(circuit)
    assert kept == circuit
    assert "no proof for 1 of 1 rules" in caplog.text


@given(circuits(max_rules=3))
def test_the_proof_agrees_with_evaluation(circuit):
    """A rule is proved equal to exactly the gates, literals, complements and constants that it is equal to."""
    values = circuit.node_values(every_case(circuit))
    graph = Graph()
    others = dict(zip(graph.add(circuit, range(len(values))), values, strict=True))
    for rule in circuit.rules:
        for edge, fires in {0: np.zeros_like(values[0]), **others}.items():
            assert same_meaning(circuit, rule.node, graph, edge) == np.array_equal(values[rule.node], fires)
            assert same_meaning(circuit, rule.node, graph, edge ^ 1) == np.array_equal(values[rule.node], ~fires)


@given(circuits(max_columns=6, max_gates=30))
def test_what_is_too_large_to_prove_stays_and_the_rest_is_simplified(circuit):
    """Beside rules that are kept as they are, others are simplified: same predictions, no more cost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_simplify, "MAX_LITERALS", 2)
        simple = simplify(circuit)
    assert_same(circuit, simple)
    assert circuit_cost(simple).total <= circuit_cost(circuit).total


def test_one_rule_too_large_to_prove_does_not_keep_the_others():
    """The limit is one for each rule, not for the circuit."""
    n = 24
    columns = (*(Column(f"x{i}") for i in range(n)), Column("y"))
    literals = (*(Above(i, 0.0) for i in range(n)), Above(n, 2.0), Above(n, 3.0))
    gates = [Gate(XOR, 0, 1)]
    for i in range(2, n):
        gates.append(Gate(AND if i % 2 else OR, len(literals) + len(gates) - 1, i))
    wide = len(literals) + len(gates) - 1
    gates.append(Gate(AND, n, n + 1))
    circuit = Circuit(columns, literals, tuple(gates), (Rule(wide, 2.0), Rule(wide + 1, 1.0)), 0.0, 0)
    simple = simplify(circuit)
    assert [len(simple.gates), len(simple.literals)] == [n - 1, n + 1]
    assert repr(simple).endswith("1 · [y > 3]")
    assert_same(circuit, simple)


def test_rules_too_large_for_a_table_are_simplified_gate_by_gate():
    """Above the limit of a truth table, what the laws of logic show is simplified all the same, and proved."""
    n = 20
    columns = [Column(f"x{i}") for i in range(n)]
    gates = [Gate(XOR, 0, 1)]
    for i in range(2, n):
        gates.append(Gate(AND if i % 2 else OR, n + len(gates) - 1, i))
    top = n + len(gates) - 1
    gates += [Gate(OR, top, 5), Gate(AND, top, top + 1)]  # absorbed: t and (t or x5) = t
    circuit = one_rule(columns, [Above(i, 0.0) for i in range(n)], gates)
    simple = simplify(circuit)
    assert len(simple.gates) == n - 1
    assert_same(circuit, simple)
