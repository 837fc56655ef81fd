import itertools

import numpy as np
import pytest

from dln.circuit import _gates as g

INPUTS = tuple(itertools.product((0, 1), repeat=2))
EVERY_GATE = pytest.mark.parametrize("gate", g.GATES, ids=lambda gate: gate.name)

IN_PYTHON = {
    "FALSE": lambda a, b: False,  # noqa: ARG005 (a constant)
    "AND": lambda a, b: a and b,
    "A AND NOT B": lambda a, b: a and not b,
    "A": lambda a, b: a,  # noqa: ARG005 (b is ignored)
    "NOT A AND B": lambda a, b: not a and b,
    "B": lambda a, b: b,  # noqa: ARG005 (a is ignored)
    "XOR": lambda a, b: a != b,
    "OR": lambda a, b: a or b,
    "NOR": lambda a, b: not (a or b),
    "XNOR": lambda a, b: a == b,
    "NOT B": lambda a, b: not b,  # noqa: ARG005 (a is ignored)
    "A OR NOT B": lambda a, b: a or not b,
    "NOT A": lambda a, b: not a,  # noqa: ARG005 (b is ignored)
    "NOT A OR B": lambda a, b: not a or b,
    "NAND": lambda a, b: not (a and b),
    "TRUE": lambda a, b: True,  # noqa: ARG005 (a constant)
}


def value(index, a, b):
    """Return what gate `index` gives for a and b."""
    return g.GATES[index].truth[2 * a + b]


def test_there_are_sixteen_gates_each_at_its_index():
    """The table holds every two-input Boolean function once, at the index that is its truth table."""
    assert [gate.index for gate in g.GATES] == list(range(16))
    assert len({gate.truth for gate in g.GATES}) == 16
    assert [gate.name for gate in g.GATES] == list(IN_PYTHON)


@EVERY_GATE
def test_truth_tables_are_pythons(gate):
    """A gate gives what Python's own operators give under its name."""
    assert gate.truth == tuple(int(IN_PYTHON[gate.name](bool(a), bool(b))) for a, b in INPUTS)


@EVERY_GATE
def test_constants_name_their_gate(gate):
    """The module's constant of a gate's name is the gate's index."""
    assert getattr(g, gate.name.replace(" ", "_")) == gate.index


@EVERY_GATE
def test_the_polynomial_equals_the_truth_table(gate):
    """On 0 and 1 the polynomial is the truth table."""
    c0, c1, c2, c3 = gate.coefficients
    assert tuple(c0 + c1 * a + c2 * b + c3 * a * b for a, b in INPUTS) == gate.truth


@EVERY_GATE
def test_the_polynomial_is_a_probability(gate):
    """For independent inputs that are 1 with probability a and b, the polynomial is the probability of a 1."""
    c0, c1, c2, c3 = gate.coefficients
    for a, b in itertools.product((0.0, 0.25, 0.5, 1.0), repeat=2):
        chances = ((1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b)
        assert c0 + c1 * a + c2 * b + c3 * a * b == sum(p * t for p, t in zip(chances, gate.truth, strict=True))


def test_coefficients_are_one_table():
    """`COEFFICIENTS` stacks the gates' polynomials, float32, row k for gate k."""
    assert g.COEFFICIENTS.dtype == np.float32
    assert g.COEFFICIENTS.tolist() == [list(gate.coefficients) for gate in g.GATES]


@EVERY_GATE
def test_complement(gate):
    """The complement is 1 exactly where the gate is 0, and its complement is the gate."""
    other = g.complement(gate.index)
    assert all(value(other, a, b) == 1 - value(gate.index, a, b) for a, b in INPUTS)
    assert g.complement(other) == gate.index


@EVERY_GATE
def test_the_form_is_the_gate_with_its_negations_at_the_inputs(gate):
    """Joined by one of seven gates, inputs negated as in the form give the gate's own outputs."""
    assert gate.form.join in {g.FALSE, g.TRUE, g.A, g.B, g.AND, g.OR, g.XOR}
    for a, b in INPUTS:
        assert value(gate.form.join, a ^ gate.form.not_a, b ^ gate.form.not_b) == value(gate.index, a, b)


@EVERY_GATE
def test_negate_a(gate):
    """The gate with a negated gives for (a, b) what the gate gives for (not a, b), and negates back."""
    other = g.negate_a(gate.index)
    assert all(value(other, a, b) == value(gate.index, 1 - a, b) for a, b in INPUTS)
    assert g.negate_a(other) == gate.index


@EVERY_GATE
def test_negate_b(gate):
    """The gate with b negated gives for (a, b) what the gate gives for (a, not b), and negates back."""
    other = g.negate_b(gate.index)
    assert all(value(other, a, b) == value(gate.index, a, 1 - b) for a, b in INPUTS)
    assert g.negate_b(other) == gate.index


@EVERY_GATE
def test_negating_is_one_law(gate):
    """Inputs are negated in either order, and twice is not at all; De Morgan holds for AND and OR."""
    assert g.negate_a(g.negate_b(gate.index)) == g.negate_b(g.negate_a(gate.index))
    assert g.negate_a(g.negate_a(gate.index)) == g.negate_b(g.negate_b(gate.index)) == gate.index
    assert g.negate_a(g.negate_b(g.AND)) == g.complement(g.OR)


def test_candidates_come_in_the_papers_order():
    """The candidate order holds every gate once and begins with NOR, NAND, XOR, XNOR, OR, AND, A, B."""
    assert sorted(g.CANDIDATE_ORDER) == list(range(16))
    names = [g.GATES[index].name for index in g.CANDIDATE_ORDER]
    assert names[:8] == ["NOR", "NAND", "XOR", "XNOR", "OR", "AND", "A", "B"]
    assert g.CANDIDATE_ORDER == (8, 14, 6, 9, 7, 1, 3, 5, 12, 10, 11, 13, 2, 4, 0, 15)


@EVERY_GATE
def test_costs(gate):
    """XOR and XNOR cost three operations, gates of one input or none are free, all others cost one."""
    a_matters = g.negate_a(gate.index) != gate.index
    b_matters = g.negate_b(gate.index) != gate.index
    if gate.name in {"XOR", "XNOR"}:
        assert gate.cost == 3
    else:
        assert gate.cost == int(a_matters and b_matters)
