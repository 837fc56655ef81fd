import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings

from circuits import HOSTILE_NAMES, circuits, every_case, layered_circuit
from dln._errors import MissingExtraError
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, IsMissing, Rule
from dln.circuit._gates import AND, NOR, NOT_A, OR, XNOR, XOR
from dln.circuit._words import node_text
from dln.readers._symbols import LATEX, latex_name, sympy_symbols, to_latex, to_sympy

sympy = pytest.importorskip("sympy")


def values_of(circuit, table, row):
    """Return a row of a table as values of the circuit's SymPy symbols."""
    symbols = sympy_symbols(circuit)
    values = {}
    for i, column in enumerate(circuit.columns):
        cell = table[i][row]
        missing = np.isnan(cell) if column.categories is None else cell == -1
        values[symbols[i, "missing"]] = sympy.true if missing else sympy.false
        if column.categories is None:
            values[symbols[i, None]] = -sympy.oo if missing else sympy.oo * np.sign(cell) if np.isinf(cell) else cell
        for code in range(len(column.categories or ())):
            values[symbols[i, code]] = sympy.true if cell == code else sympy.false
    return values


@settings(max_examples=30)
@given(circuits(max_gates=6, max_rules=3))
def test_sympy_evaluates_to_the_same_numbers(circuit):
    """The expression, with a row put in, is the prediction."""
    table = every_case(circuit, max_rows=12)
    expression = to_sympy(circuit)
    for row, prediction in enumerate(circuit.evaluate(table)):
        value = expression.subs(values_of(circuit, table, row))
        assert float(value) == pytest.approx(prediction, rel=1e-12, abs=1e-9)


def test_a_layered_circuit_has_a_sympy_form_that_lambdify_takes():
    """The expression of a bigger circuit can be compiled by SymPy and gives the same numbers."""
    circuit = layered_circuit(1, n_rules=8, layers=[20, 20], n_columns=5, thresholds=3).simplify()
    rng = np.random.default_rng(0)
    table = [rng.integers(-2, 4, 20) if c.categories else rng.uniform(-1, 4, 20) for c in circuit.columns]
    symbols = list(sympy_symbols(circuit).values())
    function = sympy.lambdify(symbols, to_sympy(circuit), "math")
    for row, prediction in enumerate(circuit.evaluate(table)):
        values = values_of(circuit, table, row)
        arguments = [bool(values[s]) if values[s] in {sympy.true, sympy.false} else float(values[s]) for s in symbols]
        assert function(*arguments) == pytest.approx(prediction)


def test_symbols_of_equal_names_are_kept_apart():
    """Two columns of one name are two symbols."""
    circuit = Circuit(
        (Column("x"), Column("x")), (Above(0, 1.0), Above(1, 1.0)), (), (Rule(0, 1.0), Rule(1, 1.0)), 0.0, 0
    )
    assert len(set(sympy_symbols(circuit).values())) == 4
    assert {symbol.name for symbol in to_sympy(circuit).free_symbols} == {"x", "x (2)"}


def test_without_sympy_the_error_names_the_extra(monkeypatch):
    """If SymPy is not installed, the error names the extra."""
    monkeypatch.setitem(sys.modules, "sympy", None)
    circuit = Circuit((Column("x"),), (), (), (), 0.0, 0)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[symbolic\]'"):
        circuit.to_sympy()


@pytest.mark.parametrize(
    ("literals", "gates", "latex"),
    [
        ([Above(0, 18.0), Above(0, 47.5)], [Gate(2, 0, 1)], r"18 < \text{age} \le 47.5"),
        ([Above(0, 18.0)], [Gate(NOT_A, 0, 0)], r"\text{age} \le 18"),
        ([Above(0, 18.0), IsMissing(0)], [Gate(NOR, 0, 1)], r"\text{age} \le 18\text{ (not missing)}"),
        ([Above(0, 18.0), IsMissing(0)], [Gate(OR, 0, 1)], r"\text{age} > 18 \vee \text{age}\text{ is missing}"),
        ([IsIn(1, (0, 1))], [Gate(NOT_A, 0, 0)], r"\text{c} \notin \{\text{''a''}, \text{''b''}\}"),
        (
            [IsIn(1, (0,)), Above(0, 1e-9)],
            [Gate(AND, 0, 1)],
            r"\text{c} = \text{''a''} \wedge \text{age} > 1 \times 10^{-9}",
        ),
        ([IsIn(1, (0,)), Above(0, 1.0)], [Gate(XOR, 0, 1)], r"\text{c} = \text{''a''} \oplus \text{age} > 1"),
        ([IsIn(1, (0,)), Above(0, 1.0)], [Gate(XNOR, 0, 1)], r"\neg (\text{c} = \text{''a''} \oplus \text{age} > 1)"),
    ],
)
def test_latex_says_what_the_words_say(literals, gates, latex):
    """Intervals, sets, missing values and gates have their usual signs."""
    circuit = Circuit((Column("age"), Column("c", ("a", "b"))), tuple(literals), tuple(gates), (), 0.0, 0)
    assert node_text(circuit, len(literals) + len(gates) - 1, LATEX) == latex


@given(circuits())
def test_latex_is_balanced(circuit):
    """Braces balance and every rule has its line, whatever names and categories hold."""
    text = circuit.to_latex()
    bare = re.sub(r"\\[\\{}]", "", text)
    depth = 0
    for char in bare:
        depth += (char == "{") - (char == "}")
        assert depth >= 0
    assert depth == 0
    assert len(text.split("\n")) == len(circuit.rules) + 3


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_are_escaped_in_latex(name):
    """No special character of LaTeX, no tag and no line break gets through."""
    inside = latex_name(name).removeprefix(r"\text{").removesuffix("}")
    assert not re.search(r"(?<!\\)[$&#_%~^<>]", inside)
    assert "\n" not in inside
    circuit = Circuit((Column(name),), (Above(0, 1.0),), (), (Rule(0, 1.0),), 0.0, 0)
    assert "<script" not in to_latex(circuit, target=name)


def test_long_rules_are_told_by_their_size_in_latex():
    """A rule too long to read is replaced by its size, as in words."""
    gates = tuple(Gate(AND, node, node) for node in range(7))
    circuit = Circuit((Column("x"),), (Above(0, 1.0),), gates, (Rule(7, 1.0),), 0.0, 0)
    assert r"[\text{a rule of 128 literals}]" in circuit.to_latex()
