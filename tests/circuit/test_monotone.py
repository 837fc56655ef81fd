"""Proofs of monotonicity and of interactions against trying every case."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circuits import circuits, worst_step
from dln import ConstraintError
from dln.circuit import _monotone
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, IsMissing, Rule
from dln.circuit._constraints import Interactions, Monotone, check_constraints
from dln.circuit._monotone import violation


@given(circuits(max_columns=3, max_literals=6), st.sampled_from([1, -1]))
def test_a_proof_is_given_where_no_case_breaks_it(circuit, direction):
    """There is a proof if and only if the prediction follows the direction in every case, for any circuit."""
    for j, column in enumerate(circuit.columns):
        if column.categories is None:
            found = violation(circuit, j, direction)
            assert (found is None) == (worst_step(circuit, j, direction) == 0.0), found


def test_rules_that_are_monotone_only_together():
    """A rule may fall if others that read the same columns make up for it on every input, and not if on all but one."""
    columns = (Column("age"), Column("bmi"), Column("town", ("a", "b")))
    literals = (Above(0, 40.0), Above(0, 60.0), Above(1, 30.0), IsIn(2, (1,)))
    gates = (Gate(2, 0, 1), Gate(1, 4, 2), Gate(1, 1, 2), Gate(1, 1, 3), Gate(7, 6, 7))
    # 3 · [40 < age ≤ 60 and bmi > 30] + 3 · [age > 60 and bmi > 30]: together 3 · [age > 40 and bmi > 30]
    whole = Circuit(columns, literals, gates, (Rule(5, 3.0), Rule(6, 3.0)), 0.0, 0)
    assert violation(whole, 0, 1) is None
    missing_town = replace(whole, rules=(Rule(5, 3.0), Rule(7, 3.0)))
    assert violation(missing_town, 0, 1) == "it falls by 3 where age rises above 60"
    assert violation(replace(whole, rules=(Rule(5, 3.0), Rule(8, 3.0))), 0, 1) is None


def test_exactly_one_of_two_is_not_monotone_but_a_sum_with_it_can_be():
    """[exactly one of a, b] goes up and down with a; with 2 · [a and b] it is [a] + [b], and with 0.9 it falls."""
    columns, literals = (Column("a"), Column("b")), (Above(0, 1.0), Above(1, 1.0))
    circuit = Circuit(columns, literals, (Gate(6, 0, 1), Gate(1, 0, 1)), (Rule(2, 1.0), Rule(3, 2.0)), 0.0, 1)
    assert [violation(circuit, j, 1) for j in range(2)] == [None, None]
    assert violation(circuit, 0, -1) == "it rises by 1.0 where a rises above 1"
    less = replace(circuit, rules=(Rule(2, 1.0), Rule(3, 0.9)))
    assert violation(less, 0, 1) == "it falls by 0.1 where a rises above 1"
    alone = replace(circuit, rules=(Rule(2, 1.0),))
    assert None not in [violation(alone, j, direction) for j in range(2) for direction in (1, -1)]


def test_missing_values_are_apart():
    """A rule on the column's missing values, of any weight, breaks nothing."""
    circuit = Circuit(
        (Column("age"),), (Above(0, 40.0), IsMissing(0)), (Gate(7, 0, 1),), (Rule(2, 1.0), Rule(1, 9.0)), 0.0, 0
    )
    assert violation(circuit, 0, 1) is None
    assert violation(circuit, 0, -1) is not None


def test_no_proof_where_one_would_take_too_long(monkeypatch):
    """Beyond the limits of the search the answer is that nothing is proved."""
    literals = (Above(0, 1.0), Above(1, 1.0), Above(2, 1.0), Above(3, 1.0))
    gates = (Gate(6, 0, 1), Gate(1, 4, 2), Gate(6, 0, 2), Gate(1, 6, 3), Gate(1, 0, 3))
    rules = (Rule(5, 1.0), Rule(7, 1.0), Rule(0, 2.0))
    circuit = Circuit(tuple(map(Column, "abcd")), literals, gates, rules, 0.0, 0)
    check_constraints(circuit, [Monotone(0, 1)])
    for limit in ("MAX_CELLS", "MAX_SEARCHED_CELLS"):
        with monkeypatch.context() as patch:
            patch.setattr(_monotone, limit, 3)
            with pytest.raises(ConstraintError, match="too entangled for a proof"):
                check_constraints(circuit, [Monotone(0, 1)])


@pytest.mark.parametrize(
    ("constraint", "is_kept"),
    [
        (Interactions(((0, 1), (2,))), True),
        (Interactions(((0,), (1,), (2,))), False),
        (Interactions(((0,), (1, 2))), False),
        (Interactions(((0,), (1,), (2,)), most=2), True),
    ],
)
def test_columns_that_meet(constraint, is_kept):
    """A circuit keeps the groups if every rule reads columns of one group, or of two where two are allowed."""
    circuit = Circuit(
        (Column("a"), Column("b"), Column("c")),
        (Above(0, 1.0), Above(1, 1.0), Above(2, 1.0)),
        (Gate(1, 0, 1),),
        (Rule(3, 1.0), Rule(2, 1.0)),
        0.0,
        0,
    )
    assert (constraint.broken_by(circuit) is None) == is_kept
    if not is_kept:
        with pytest.raises(ConstraintError, match=r"a rule reads a, b$"):
            check_constraints(circuit, [constraint])
