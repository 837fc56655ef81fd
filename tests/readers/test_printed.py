"""The forms in which tables and explanations are printed."""

from dataclasses import replace

import numpy as np
import pytest

from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, Rule
from dln.readers._charts import _plain
from dln.readers._draw import _escaped, _wrapped
from dln.readers._explain import explain, interval_text
from dln.readers._frontier import Frontier, Point
from dln.readers._intervals import Intervals, _rounded_up
from dln.readers._monitor import rule_support
from dln.readers._rules import Importance, Importances, rule_table
from dln.readers._symbols import _latex_number, to_latex, to_sympy

CIRCUIT = Circuit(
    columns=(Column("bmi"), Column("smoker", ("no", "yes"))),
    literals=(Above(0, 30.0), IsIn(1, (1,))),
    gates=(Gate(1, 0, 1),),
    rules=(Rule(2, 23900.0), Rule(0, -310.5)),
    intercept=8410.0,
    decimals=1,
)


def test_rules_are_printed_with_weight_support_and_contribution():
    """A table of rules is printed with aligned numbers, a title and its size."""
    table = rule_table(CIRCUIT, [0.1, 0.5], target="charges")
    assert repr(table).splitlines() == [
        "charges = 8410 + the weights of the rules that fire",
        " weight  fires   moves  rule",
        '23900.0  10.0%  7170.0  bmi > 30 and smoker = "yes"',
        " -310.5  50.0%   155.2  bmi > 30",
        "3 conditions in 2 rules",
    ]


def test_a_model_without_rules_is_its_intercept():
    """Where no rule is left, no empty table and no sum is printed; small weights keep their digits."""
    none = replace(CIRCUIT, literals=(), gates=(), rules=())
    assert repr(rule_table(none, [], target="charges")) == "charges = 8410\n0 conditions in 0 rules"
    small = replace(CIRCUIT, rules=(Rule(0, 6e-8),), gates=(), intercept=0.0, decimals=9)
    assert repr(rule_table(small, [0.5])).splitlines()[2] == "0.000000060  50.0%  0.000000030  bmi > 30"


def test_support_is_never_zero_percent_and_few_rows_are_marked():
    """A rule that fires, or does not fire, on few rows is printed with their number and a mark; others never as 0 %."""
    few = rule_table(CIRCUIT, [4 / 2198, 1 - 1 / 2198], n_rows=2198)
    assert {row.support: few.support_text(row) for row in few} == {4 / 2198: "4 rows*", 1 - 1 / 2198: "all but 1 row*"}
    assert [row.rests_on_few for row in few] == [True, True]
    assert "4 rows*" in repr(few)
    assert repr(few).splitlines()[-2].startswith("* fires, or does not fire, on fewer than 20")
    many = rule_table(CIRCUIT, [0.004, 0.9996], n_rows=90_000)
    assert sorted(map(many.support_text, many)) == ["<1%", ">99%"]
    assert "*" not in repr(many)
    assert sorted(rule_table(CIRCUIT, [0.0004, 0.5]).support_text(row, 1) for row in many) == ["0.4%", ">99.9%"]
    assert not any(row.rests_on_few for row in rule_table(CIRCUIT, [0.0004, 0.5]))


def test_an_explanation_is_printed_as_a_sum():
    """An explanation has the prediction, the intercept and the rules that fired, the heaviest first."""
    assert repr(explain(CIRCUIT, [np.array([35.0]), np.array([1])], "charges")).splitlines() == [
        "charges = 31999.5",
        " 8410.0  intercept",
        '23900.0  bmi > 30 and smoker = "yes"',
        " -310.5  bmi > 30",
    ]
    assert interval_text(31120.55, 34120.51, 1) == "90 % interval: 31120.5 to 34120.6"


def test_the_frontier_is_printed_by_size():
    """The frontier has a line for each size, and one for the best model found."""
    points = (Point(10, 9, 5, 0.71), Point(100, 98, 40, 0.883), Point(200, None, None, 0.891))
    assert repr(Frontier(points, ceiling=0.91)).splitlines() == [
        "conditions  rules  held-out R²",
        "        10      5        0.710",
        "       100     40        0.883",
        "       200               0.891",
        "  no limit               0.910  best model found",
    ]


def test_importances_are_printed_in_percent():
    """Importances are printed as shares with the names of columns."""
    table = Importances((Importance("area", "area", 0.75), Importance("sold", "sold (month)", 0.25)))
    assert repr(table).splitlines() == [" 75.0%  area", " 25.0%  sold (month)"]


def test_support_is_a_weighted_share():
    """The support of a rule is the share of the weight of the rows on which it fires."""
    fires = [np.array([True, False]), np.array([True, True])]
    assert rule_support(fires, np.array([3.0, 1.0])) == [0.75, 1.0]


def test_a_formula_in_latex():
    """A formula in LaTeX has one rule per line."""
    circuit = Circuit((Column("body_mass"),), (Above(0, 30.5),), (), (Rule(0, -2.5),), 1.0, 1)
    assert to_latex(circuit, "y").splitlines() == [
        r"\begin{aligned}",
        r"\text{y} ={} & 1 \\",
        r"  & - 2.5 \cdot [\text{body\_mass} > 30.5]",
        r"\end{aligned}",
    ]
    assert _latex_number("1e-07") == r"1 \times 10^{-7}"


def test_an_expression_of_sympy():
    """A rule is a Piecewise of its weight in SymPy."""
    pytest.importorskip("sympy")
    circuit = Circuit((Column("age"),), (Above(0, 47.5),), (), (Rule(0, 2.0),), 1.0, 0)
    assert str(to_sympy(circuit)) == "Piecewise((2.0, age > 47.5), (0, True)) + 1.0"


def test_half_widths_are_rounded_up_and_end_at_infinity():
    """Half-widths have few digits and are never smaller than the error; beyond the known coverage they are infinite."""
    assert [_rounded_up(width) for width in (1234.5, 0.00012, 0.0)] == [1235.0, 0.00012, 0.0]
    intervals = Intervals(tuple(range(180)), "rows set aside", 19.0)
    assert [intervals.half_width(coverage) for coverage in (0.5, 0.9, 0.99)] == [99, 179, np.inf]


def test_texts_in_pictures():
    """Boxes break lines at spaces but not beside a comparison, and signs of Graphviz and matplotlib mean themselves."""
    assert _wrapped("distance to the nearest of all stations > 755 or distance is missing") == [
        "distance to the nearest of all",
        "stations > 755 or distance is",
        "missing",
    ]
    assert _escaped('a\\n "b"\nc') == 'a\\\\n \\"b\\"\\nc'
    assert _plain("$x$") == r"\$x\$"
