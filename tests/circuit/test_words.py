import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from circuits import circuits, every_case
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, IsMissing, Rule, on_grid
from dln.circuit._gates import AND, GATES, NAND, NOT_A, OR, XNOR, XOR, A
from dln.circuit._words import (
    MAX_LITERALS_IN_TEXT,
    category_text,
    circuit_text,
    name_text,
    node_text,
    number_text,
    weight_text,
)

LETTERS = "pqrs"
HOSTILE = [
    "line\nbreak",
    "tab\there",
    "\r",
    "\x00",
    "\x1b[31m",
    "\x85",
    "\u2028",
    "\u2029",
    "\u202e",
    "\ud800",
    'quo"te\n',
]


def logic(*gates, n_literals=4):
    """Return a circuit of `gates` over the literals p > 0, q > 0, r > 0, s > 0."""
    columns = tuple(Column(letter) for letter in LETTERS)
    nodes = tuple(Above(i, 0.0) for i in range(n_literals))
    return Circuit(columns, nodes, tuple(gates), (), 0.0, 0)


def last_text(circuit):
    """Return the words of a circuit's last node."""
    return node_text(circuit, len(circuit.literals) + len(circuit.gates) - 1)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back(value):
    """A number's text is the number, bit for bit."""
    text = number_text(value)
    assert float(text) == value
    assert not text.endswith(".0")


@given(st.integers(-(2**49), 2**49), st.integers(-30, 30))
def test_weights_read_back(steps, decimals):
    """A weight's text is the weight, bit for bit, with all the decimals of its grid."""
    weight = on_grid(float(steps) * 10.0**-decimals, decimals)
    text = weight_text(weight, decimals)
    assert float(text) == weight
    if 0 < decimals <= 15:
        assert len(text.partition(".")[2]) == decimals


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_on_one_line(name):
    """Names, categories and targets that hold line breaks or control characters are escaped, everywhere."""
    circuit = Circuit(
        columns=(Column(name), Column("colour", (name, "red"))),
        literals=(Above(0, 1.0), IsIn(1, (0, 1)), IsMissing(0)),
        gates=(Gate(AND, 0, 1), Gate(OR, 2, 3)),
        rules=(Rule(4, 1.0),),
        intercept=0.0,
        decimals=0,
    )
    for text in (name_text(name), category_text(name), last_text(circuit)):
        assert text.isprintable()
    lines = circuit_text(circuit, target=name).splitlines()
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    assert repr(circuit).isprintable() is False  # its own line break
    assert len(repr(circuit).splitlines()) == 2


@given(st.text(alphabet=st.characters()))
def test_quoted_categories_are_json(category):
    """A text category is quoted so that it reads back as the same text."""
    assert json.loads(category_text(category)) == category
    assert category_text(category).isprintable()


@pytest.mark.parametrize("name", ["age", "Größe (cm)", "身長", "a b", "_"])
def test_plain_names_are_left_alone(name):
    """A name that prints is printed as it is."""
    assert name_text(name) == name


@pytest.mark.parametrize(
    ("category", "text"),
    [("yes", '"yes"'), ('a "b"', r'"a \"b\""'), ("Köln", '"Köln"'), (True, "true"), (3, "3"), (2.5, "2.5"), (2.0, "2")],
)
def test_categories(category, text):
    """Text is quoted; truth values and numbers are bare."""
    assert category_text(category) == text


@pytest.mark.parametrize(
    ("gates", "text"),
    [
        ([Gate(AND, 0, 1)], "p > 0 and q > 0"),
        ([Gate(NAND, 0, 1)], "p ≤ 0 or q ≤ 0"),
        ([Gate(NOT_A, 0, 0)], "p ≤ 0"),
        ([Gate(A, 0, 1)], "p > 0"),
        ([Gate(XOR, 0, 1)], "exactly one of (p > 0; q > 0)"),
        ([Gate(XNOR, 0, 1)], "both or neither of (p > 0; q > 0)"),
        ([Gate(AND, 0, 1), Gate(AND, 4, 2)], "p > 0 and q > 0 and r > 0"),
        ([Gate(AND, 0, 1), Gate(OR, 4, 2)], "r > 0 or (p > 0 and q > 0)"),
        ([Gate(OR, 0, 1), Gate(NAND, 4, 2)], "r ≤ 0 or (p ≤ 0 and q ≤ 0)"),
        ([Gate(XOR, 0, 1), Gate(XOR, 4, 2)], "an odd number of (p > 0; q > 0; r > 0)"),
        ([Gate(XOR, 0, 1), Gate(XNOR, 4, 2)], "an even number of (p > 0; q > 0; r > 0)"),
        ([Gate(XOR, 0, 1), Gate(XOR, 4, 1)], "p > 0"),
        ([Gate(0, 0, 1)], "never"),
        ([Gate(15, 0, 1)], "always"),
    ],
)
def test_gates(gates, text):
    """Gates read as words, with as few parentheses as the meaning needs."""
    assert last_text(logic(*gates)) == text


def in_python(text):
    """Return the words as a Python expression."""
    text = re.sub(r"(\S+) ≤ (\S+) \(not missing\)", r"(\1 ≤ \2 and \1 is not missing)", text)
    for words, python in {
        "exactly one of (": "odd(",
        "both or neither of (": "not odd(",
        "an odd number of (": "odd(",
        "an even number of (": "not odd(",
        "; ": ", ",
        "always": "True",
        "never": "False",
        "is not missing": "!= None",
        "is missing": "== None",
        " = ": " == ",
        "≠": "!=",
        "≤": "<=",
    }.items():
        text = text.replace(words, python)
    return text


class Missing(float):
    """A missing number or category as the words see it: below every cut-off, equal to nothing but None."""

    def __eq__(self, other):
        return other is None

    def __ne__(self, other):
        return other is not None

    __hash__ = float.__hash__


def odd(*parts):
    """Return whether an odd number of the parts hold."""
    return sum(map(bool, parts)) % 2 == 1


@given(st.data())
def test_words_mean_what_the_circuit_computes(data):
    """A rule read by the rules of and, or and not gives the circuit's value, for every input."""
    gates = []
    for i in range(data.draw(st.integers(1, 6))):
        earlier = st.integers(0, len(LETTERS) + i - 1)
        gates.append(data.draw(st.builds(Gate, st.integers(0, len(GATES) - 1), earlier, earlier)))
    circuit = logic(*gates)
    table = [np.array([row >> i & 1 for row in range(16)], dtype=float) for i in range(len(LETTERS))]
    expression = compile(in_python(last_text(circuit)), "words", "eval")
    for row, value in enumerate(circuit.node_values(table)[-1]):
        names = {letter: column[row] for letter, column in zip(LETTERS, table, strict=True)}
        assert eval(expression, {"odd": odd}, names) == value  # noqa: S307 (our own words)


def test_long_rules_are_told_by_their_size():
    """A rule too long to read, or exploding through shared gates, is printed as its size."""
    doubling = logic(*(Gate(AND, node, node) for node in range(7)), n_literals=1)
    assert last_text(doubling) == f"a rule of {2**7} literals"
    assert MAX_LITERALS_IN_TEXT < 2**7
    assert last_text(logic(*(Gate(AND, node, node) for node in range(6)), n_literals=1)) == "p > 0"


@given(circuits(max_columns=3, max_gates=8, max_rules=3))
def test_words_mean_what_is_computed_for_every_input(circuit):
    """Intervals, sets, missing and unknown values: read as Python, the words give the circuit's value in every case."""
    names = [f"column{i}" for i in range(len(circuit.columns))]
    columns = tuple(
        Column(name, None if c.categories is None else tuple(f"v{i}" for i in range(len(c.categories))))
        for name, c in zip(names, circuit.columns, strict=True)
    )
    circuit = Circuit(columns, circuit.literals, circuit.gates, circuit.rules, circuit.intercept, circuit.decimals)
    table = every_case(circuit, max_rows=200)
    for rule, fires in zip(circuit.rules, circuit.rule_values(table), strict=True):
        text = node_text(circuit, rule.node)
        if text.startswith("a rule of"):
            continue
        expression = compile(in_python(text), "words", "eval")
        for row, value in enumerate(fires):
            values = {}
            for column, cells in zip(columns, table, strict=True):
                cell = cells[row]
                if column.categories is None:
                    values[column.name] = Missing("-inf") if np.isnan(cell) else cell
                else:
                    values[column.name] = {-1: Missing("-inf"), -2: "unheard of"}.get(cell, f"v{cell}")
            assert eval(expression, {"odd": odd}, values) == value  # noqa: S307 (our own words)


@pytest.mark.parametrize(
    ("literals", "gates", "text"),
    [
        ([Above(0, 18.0), Above(0, 47.5)], [Gate(2, 0, 1)], "18 < age ≤ 47.5"),
        ([Above(0, 18.0), Above(0, 47.5)], [Gate(XOR, 0, 1)], "18 < age ≤ 47.5"),
        ([Above(0, 18.0), Above(0, 47.5)], [Gate(XNOR, 0, 1)], "age ≤ 18 or age > 47.5"),
        ([Above(0, 18.0)], [Gate(NOT_A, 0, 0)], "age ≤ 18"),
        ([Above(0, 18.0), IsMissing(0)], [Gate(8, 0, 1)], "age ≤ 18 (not missing)"),
        ([Above(0, 18.0), IsMissing(0)], [Gate(OR, 0, 1)], "age > 18 or age is missing"),
        ([Above(0, 18.0), IsMissing(0), IsMissing(1)], [Gate(OR, 0, 1), Gate(AND, 3, 2)],
         "(age > 18 or age is missing) and c is missing"),
        ([IsIn(1, (0,)), IsIn(1, (2,))], [Gate(OR, 0, 1)], 'c in {"a", "d"}'),
        ([IsIn(1, (0,)), IsIn(1, (2,))], [Gate(8, 0, 1)], 'c not in {"a", "d"}'),
        ([IsIn(1, (0,))], [Gate(NOT_A, 0, 0)], 'c ≠ "a"'),
        ([IsMissing(0)], [Gate(NOT_A, 0, 0)], "age is not missing"),
        ([Above(0, 1.0), Above(0, 2.0), Above(0, 3.0)], [Gate(XOR, 0, 1), Gate(XOR, 3, 2)], "1 < age ≤ 2 or age > 3"),
    ],
)  # fmt: skip
def test_conditions_on_one_column_read_as_one(literals, gates, text):
    """Intervals, sets and missing values are stated once per column, and exactly."""
    columns = (Column("age"), Column("c", ("a", "b", "d")))
    assert last_text(Circuit(columns, tuple(literals), tuple(gates), (), 0.0, 0)) == text


def test_the_strongest_rule_comes_first():
    """Rules are listed by the size of their weight, signs and digits aligned."""
    circuit = Circuit(
        columns=(Column("p"), Column("q")),
        literals=(Above(0, 0.0), Above(1, 0.5)),
        gates=(),
        rules=(Rule(0, 2.5), Rule(1, -10.0)),
        intercept=-1.0,
        decimals=2,
    )
    assert circuit_text(circuit, target="y") == "y = -1\n  - 10.00 · [q > 0.5]\n  +  2.50 · [p > 0]"


@given(circuits())
def test_every_circuit_has_words(circuit):
    """A circuit's repr is its intercept and one line per rule."""
    lines = repr(circuit).split("\n")
    assert len(lines) == 1 + len(circuit.rules)
    assert all(line.isprintable() for line in lines)
    assert not any(str(math.nan) in line for line in lines)
