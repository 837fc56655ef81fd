"""Rules on one column, read as the column's curve."""

import numpy as np
import pytest
from hypothesis import given

from circuits import circuits_with_tables
from dln.circuit._circuit import MISSING, Above, Circuit, Column, Gate, IsIn, IsMissing, Rule
from dln.circuit._formula import NumberCondition
from dln.readers._curves import curves
from dln.readers._rules import rule_table

CIRCUIT = Circuit(
    (Column("area"), Column("region", ("n", "s", "w", "e"))),
    (Above(0, 50.0), Above(0, 80.5), Above(0, 120.0), IsMissing(0), IsIn(1, (0,)), IsIn(1, (0, 1)), IsMissing(1)),
    (Gate(2, 0, 2), Gate(1, 0, 4)),
    (Rule(0, 1.5), Rule(1, -1.0), Rule(2, 3.0), Rule(3, 7.0), Rule(7, 2.5), Rule(4, 1.0), Rule(5, 1.0), Rule(6, 4.0),
     Rule(8, 9.0)),
    2.0,
    1,
)  # fmt: skip


def holds(condition, value):
    """Return whether a condition holds for a value, by its definition."""
    if isinstance(condition, NumberCondition):
        if np.isnan(value):
            return condition.missing
        return condition.low != (sum(value > end for end in condition.ends) % 2 == 1)
    return condition.missing if value == MISSING else (value in condition.codes) != condition.other


@given(circuits_with_tables())
def test_of_a_columns_bands_one_holds_with_the_sum_of_its_rules(pair):
    """For every row exactly one band of each curve holds, and its weight is that of the rules that fire, exactly."""
    circuit, table = pair
    fires = circuit.rule_values(table)
    for curve in curves(circuit):
        for row, value in enumerate(table[curve.column].tolist()):
            (band,) = [band for band in curve.bands if holds(band.condition, value)]
            steps = sum(circuit.grid(circuit.rules[i].weight) for i in curve.rules if fires[i][row])
            assert circuit.grid(band.weight) == steps


def test_bands_are_printed_where_a_column_has_four_rules():
    """Four rules or more on a column are printed as bands, fewer on request, and none if rules are asked for."""
    table = rule_table(CIRCUIT, None, "price")
    assert repr(table).splitlines()[1:] == [
        "weight  fires  moves  rule",
        '   9.0      ?      ?  area > 50 and region = "n"',
        "   4.0      ?      ?  region is missing",
        '   1.0      ?      ?  region = "n"',
        '   1.0      ?      ?  region in {"n", "s"}',
        "",
        "area, 5 rules added up",
        "   0.0  area ≤ 50 (not missing)",
        "   4.0  50 < area ≤ 80.5",
        "   3.0  80.5 < area ≤ 120",
        "   3.5  area > 120",
        "   7.0  area is missing",
        "",
        f"{table.n_conditions} conditions in 9 rules",
    ]
    by_column = table.to_text(by="column")
    assert '   2.0  region = "n"\n   1.0  region = "s"' in by_column
    assert '   0.0  region not in {"n", "s"} and region is not missing' in by_column
    assert "added up" not in table.to_text(by="rule")
    with pytest.raises(
        ValueError, match=r'by must be "rule", "column" or None, got "area"'.replace('"area"', "'area'")
    ):
        table.to_text(by="area")
