"""Principal reasons: what they add up to, what they are compared with, and that their sentences hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dln.readers._reasons
from circuits import circuits_with_tables, every_case
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, Rule, from_grid
from dln.circuit._gates import AND
from dln.readers._monitor import rule_support
from dln.readers._reasons import ReasonFinder, reasons_of
from models import models


def bits(numbers):
    """Return numbers bit by bit."""
    return np.asarray(numbers, dtype=np.float64).tobytes()


def grid(circuit, number):
    """Return a number of the circuit's grid in whole steps."""
    return circuit.grid(number)


@given(circuits_with_tables(), st.sampled_from(["best", "mean", "row"]), st.sampled_from(["higher", "lower"]))
def test_contributions_add_up_bit_for_bit(pair, reference, direction):
    """Reference, contributions and rest, as whole steps of the grid, add up to the prediction, to the last bit."""
    circuit, table = pair
    compared = [column[-1:] for column in table] if reference == "row" else reference
    finder = ReasonFinder(circuit, rule_support(circuit.rule_values(table), None), 2, direction, compared)
    reasons = reasons_of(finder, table, "y")
    predictions = circuit.evaluate(table)
    assert bits([row.prediction for row in reasons]) == bits(predictions)
    for row in reasons:
        steps = [row.reference, *(one.contribution for one in row.reasons), row.rest]
        total = np.array(float(sum(grid(circuit, step) for step in steps)))
        assert bits(from_grid(total, circuit.decimals)) == bits(row.prediction)
        sizes = [one.contribution if direction == "higher" else -one.contribution for one in row.reasons]
        assert sizes == sorted(sizes, reverse=True)
        assert all(size > 0 for size in sizes)
    if reference == "row":
        assert reasons[-1].reference == predictions[-1]
        assert reasons[-1].reasons == ()


@given(circuits_with_tables(), st.sampled_from(["higher", "lower"]))
def test_nothing_is_better_than_the_best(pair, direction):
    """No prediction on any input is beyond the best reference, and nothing moves a row to the other side of it."""
    circuit, table = pair
    finder = ReasonFinder(circuit, None, 9, direction)
    sign = 1 if direction == "higher" else -1
    for row in reasons_of(finder, table, "y"):
        assert sign * row.rest == 0
    every = every_case(circuit)
    assert (sign * (circuit.evaluate(every) - finder.find(every)["reference"]) >= 0).all()


def test_the_best_of_a_column_is_attained():
    """Rules that exclude each other are compared with the best of them, not with the sum of both."""
    circuit = Circuit(
        (Column("age"),), (Above(0, 30.0), Above(0, 60.0)), (Gate(2, 0, 1),), (Rule(2, -5.0), Rule(1, -3.0)), 9.0, 0
    )
    (row,) = reasons_of(ReasonFinder(circuit, None), [np.array([70.0])], "y")
    assert (row.reference, row.prediction) == (4.0, 6.0)
    assert [(one.text, one.contribution) for one in row.reasons] == [("age ≤ 30 or age > 60", 2.0)]


def test_too_many_combinations_are_compared_rule_by_rule(monkeypatch):
    """Where a reason has too many combinations, the best is that of each rule by itself."""
    monkeypatch.setattr(dln.readers._reasons, "MAX_COMBINATIONS", 2)
    circuit = Circuit(
        (Column("age"),), (Above(0, 30.0), Above(0, 60.0)), (Gate(2, 0, 1),), (Rule(2, -5.0), Rule(1, -3.0)), 9.0, 0
    )
    assert ReasonFinder(circuit, None).find([np.array([70.0])])["reference"] == [1.0]


@given(circuits_with_tables(), st.sampled_from(["higher", "lower"]))
def test_sentences_can_hold(pair, direction):
    """A sentence merges rules that hold for its row and denies those that do not: it is no contradiction."""
    circuit, table = pair
    for row in reasons_of(ReasonFinder(circuit, None, 9, direction), table, "y"):
        assert not {"never", "always", ""} & {one.text for one in row.reasons}


def test_long_sentences_end_with_a_number():
    """Rules are joined, the heaviest first, as long as a sentence has at most six conditions; the rest is counted."""
    names = [f"x{j}" for j in range(9)]
    gates = tuple(Gate(AND, 0, j) for j in range(1, 9))  # each reads x0, the most important
    rules = tuple(Rule(9 + k, 20.0 - k) for k in range(8))
    circuit = Circuit(tuple(map(Column, names)), tuple(Above(j, 0.0) for j in range(9)), gates, rules, 0.0, 0)
    (row,) = reasons_of(ReasonFinder(circuit, None), [np.array([1.0])] * 9, "y")
    joined = " and ".join(f"{name} > 0" for name in names[:6])
    assert [(one.text, one.contribution) for one in row.reasons] == [(f"{joined} and 3 more", 132.0)]


def test_rules_of_a_column_are_one_reason():
    """Rules belong to the most important of their columns, and their conditions are joined to one."""
    columns = (Column("age"), Column("smoker", ("no", "yes")))
    literals = (Above(0, 40.0), Above(0, 60.0), IsIn(1, (1,)))
    rules = (Rule(0, 10.0), Rule(1, 20.0), Rule(3, 300.0), Rule(2, 100.0))
    circuit = Circuit(columns, literals, (Gate(AND, 1, 2),), rules, 0.0, 0)
    row = [np.array([70.0]), np.array([1])]
    (found,) = reasons_of(ReasonFinder(circuit, None), row, "y")
    assert [(one.text, one.contribution) for one in found.reasons] == [
        ('age > 60 and smoker = "yes"', 400.0),
        ("age > 60", 30.0),
    ]
    texts = {"age": "Length of history", 'smoker = "yes"': "Smoking"}
    (found,) = reasons_of(ReasonFinder(circuit, None, reason_texts=texts), row, "y")
    assert [one.text for one in found.reasons] == ['age > 60 and smoker = "yes"', "Smoking", "Length of history"]
    less = replace(circuit, rules=tuple(Rule(rule.node, -rule.weight) for rule in rules))
    (found,) = reasons_of(ReasonFinder(less, None, direction="lower"), row, "y")
    assert [one.contribution for one in found.reasons] == [-400.0, -30.0]


@pytest.mark.parametrize("number", range(10))
def test_reasons_of_fitted_models(number):
    """Both learners' models give reasons for every row, in frames of one line per row; the mean is that of training."""
    model, X = models()[number]
    reasons = model.reasons(X, n=2, reference="mean")
    assert bits(reasons.to_pandas()["prediction"]) == bits(model.predict(X))
    assert list(reasons.to_polars().columns)[:4] == ["prediction", "reference", "reason_1", "contribution_1"]
    near = 10.0**-model.circuit_.decimals * (1 + len(model.circuit_.rules))
    assert reasons[0].reference == pytest.approx(model.predict(X).mean(), abs=near, rel=1e-6)
    first = X.iloc[0] if isinstance(X, pd.DataFrame) else X[0]
    for row in (first, list(first), X[:1]):
        assert model.reasons(X, reference=row)[0].reasons == ()
    assert repr(reasons).startswith("prediction = ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n, the number of reasons, must be a whole number above 0, got 0"),
        ({"direction": "up"}, 'direction must be "higher" or "lower", got \'up\''),
        ({"reference": "worst"}, 'reference must be "best", "mean" or one row, got \'worst\''),
        ({"reference": pd.DataFrame({"x0": [1.0, 2.0]})}, 'reference must be "best", "mean" or one row, got 2 rows'),
        ({"reason_texts": ["age"]}, "reason_texts must be a dictionary, {name: text}, got list"),
        ({"reason_texts": {"agee": "Age"}}, "reason_texts must name columns or rules of the model, got 'agee'"),
    ],
)
def test_mistakes_are_named(arguments, message):
    """Each bad argument of `reasons` gets one sentence."""
    model, X = models()[6]
    if isinstance(arguments.get("reference"), pd.DataFrame):
        arguments = {"reference": X[:2]}
    with pytest.raises(ValueError) as error:
        model.reasons(X, **arguments)
    assert str(error.value) == message
