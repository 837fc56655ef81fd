"""Circuits with other rules: what was there stays, what is written joins it."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from circuits import circuits, every_case
from dln.circuit._build import constant, with_rules
from dln.circuit._circuit import Circuit, Column
from dln.circuit._formula import formula
from dln.circuit._parse import parse_rule
from dln.circuit._words import MAX_LITERALS_IN_TEXT, node_sizes

COLUMNS = (Column("age"), Column("smoker", ("no", "yes")))


@given(circuits())
def test_a_formula_becomes_a_rule_of_the_same_meaning_and_text(circuit: Circuit) -> None:
    """A rule that is built from a formula reads as it, and fires on the same rows."""
    sizes = node_sizes(circuit)
    nodes = [node for node, size in enumerate(sizes) if size <= MAX_LITERALS_IN_TEXT]
    meanings = {node: formula(circuit, node) for node in nodes}
    rules = [(meaning, 0.0) for meaning in meanings.values() if not isinstance(meaning, bool)]
    assume(rules)
    built = with_rules(circuit, rules)
    assert [formula(built, rule.node) for rule in built.rules] == [meaning for meaning, _ in rules]
    table = every_case(circuit, 500)
    expected = [
        fires for fires, node in zip(circuit.node_values(table), range(len(sizes)), strict=True) if node in nodes
    ]
    expected = [fires for fires, node in zip(expected, nodes, strict=True) if not isinstance(meanings[node], bool)]
    assert np.array_equal(built.rule_values(table), expected)


@given(circuits(), st.data())
def test_rules_that_stay_predict_as_before(circuit: Circuit, data: st.DataObject) -> None:
    """Some of the rules, in any order, fire as before; nodes that none of them reads are gone."""
    kept = data.draw(st.permutations(circuit.rules))[: data.draw(st.integers(0, len(circuit.rules)))]
    built = with_rules(circuit, [(rule.node, rule.weight) for rule in kept])
    assert [rule.weight for rule in built.rules] == [rule.weight for rule in kept]
    nodes, table = circuit.node_values(every_case(circuit, 500)), every_case(circuit, 500)
    for rule, fires in zip(kept, built.rule_values(table), strict=True):
        assert np.array_equal(nodes[rule.node], fires)
    assert with_rules(built, [(rule.node, rule.weight) for rule in built.rules]) == built


def test_constants_are_recognised() -> None:
    """A rule that holds always, or never, is recognised, also across columns."""
    texts = {
        "age > 60 and age ≤ 50": False,
        'age > 3 or smoker = "yes" or age ≤ 3': True,
        '(age > 3 or smoker = "yes") and age ≤ 3 and smoker ≠ "yes"': False,
        "age > 3 or age ≤ 3 (not missing)": None,
        'smoker in {"no", "yes"}': None,
    }
    assert {text: constant(parse_rule(text, COLUMNS), COLUMNS) for text in texts} == texts
