"""Conditions are what is printed, no more and no fewer."""

import re
from dataclasses import replace

from hypothesis import given

from circuits import circuits
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, IsMissing, Rule
from dln.circuit._cost import count_conditions
from dln.circuit._gates import AND, OR, XNOR, XOR
from dln.circuit._simplify import readable
from dln.circuit._words import node_sizes, node_text


def plainly_named(circuit: Circuit) -> Circuit:
    """Return the circuit with names and categories that cannot be taken for comparisons."""
    columns = tuple(
        Column(f"x{j}", column.categories and tuple(f"v{k}" for k in range(len(column.categories))))
        for j, column in enumerate(circuit.columns)
    )
    return replace(circuit, columns=columns)


def printed_comparisons(text: str) -> int:
    """Return how many comparisons a text makes, by its signs alone."""
    in_braces = sum(len(names.split(",")) for names in re.findall(r"\{(.*?)\}", text))
    return in_braces + len(re.findall(r" [<>≤=≠] |is missing|is not missing", text))


@given(circuits())
def test_the_count_is_what_is_printed(circuit):
    """A rule has as many conditions as its text has comparisons: signs, names in braces, "is missing"."""
    plain = plainly_named(circuit)
    texts = [node_text(plain, rule.node) for rule in plain.rules]
    expected = [
        node_sizes(plain)[rule.node] if text.startswith("a rule of") else printed_comparisons(text)
        for rule, text in zip(plain.rules, texts, strict=True)
    ]
    assert count_conditions(circuit) == expected


@given(circuits())
def test_a_rule_never_prints_more_than_its_tests(circuit):
    """If each test names one category at most, a rule prints at most one comparison for each of its tests."""
    literals = tuple(
        replace(literal, codes=literal.codes[:1]) if isinstance(literal, IsIn) else literal
        for literal in circuit.literals
    )
    circuit = replace(circuit, literals=literals)
    sizes = node_sizes(circuit)
    for rule, count in zip(circuit.rules, count_conditions(circuit), strict=True):
        assert count <= sizes[rule.node]


def test_examples():
    """The examples of the definition: one, two, one per category, one."""
    columns = (Column("area"), Column("region", ("a", "b", "c")), Column("bmi"))
    literals = (Above(0, 18.0), Above(0, 47.0), IsIn(1, (0, 1)), IsMissing(2), IsIn(1, (2,)))
    gates = (Gate(2, 0, 1), Gate(OR, 2, 4), Gate(AND, 3, 5), Gate(XOR, 0, 4), Gate(XNOR, 3, 8))
    rules = tuple(Rule(node, 1.0) for node in (0, 5, 2, 3, 6, 7, 8, 9))
    assert count_conditions(Circuit(columns, literals, gates, rules, 0.0, 0)) == [1, 2, 2, 1, 3, 3, 2, 3]


@given(circuits())
def test_a_model_made_smaller_never_reads_longer(circuit):
    """`readable` gives a circuit of the same meaning with no more conditions in all, and no longer longest rule."""
    before, after = count_conditions(circuit), count_conditions(readable(circuit))
    assert sum(after) <= sum(before)
    assert max(after, default=0) <= max(before, default=0)
