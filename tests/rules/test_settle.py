"""Cut-offs, gates and links that bring a few rules nearer to what they imitate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, IsMissing, Rule
from dln.rules._settle import settle
from dln.rules._task import PENALTY
from dln.solve._weights import solve_weights

N = 120


def some_circuit(seed: int) -> tuple[Circuit, list[np.ndarray], np.ndarray, np.ndarray]:
    """Three rules of two layers over numbers, some missing, and a category; predictions to imitate; uneven weights."""
    rng = np.random.default_rng(seed)
    x, z = np.round(rng.normal(size=(2, N)), 1)
    x[rng.random(N) < 0.1] = np.nan
    columns = [x, z, rng.integers(0, 3, N)]
    literals = (Above(0, -0.5), Above(0, 0.3), Above(1, 0.2), Above(1, 0.7), IsIn(2, (0, 2)), IsMissing(0))
    first = [Gate(int(rng.integers(1, 15)), *rng.choice(6, 2, replace=False).tolist()) for _ in range(3)]
    second = [Gate(int(rng.integers(1, 15)), 6 + i, int(rng.integers(0, 6))) for i in range(2)]
    rules = (Rule(8, 1.0), Rule(9, 1.0), Rule(10, 1.0))
    circuit = Circuit(
        (Column("x"), Column("z"), Column("c", ("a", "b", "c"))), literals, (*first, *second), rules, 0.0, 0
    )
    predictions = np.where(np.nan_to_num(x) > 0.8, 2.0, 0.0) + (z > -0.4) * (columns[2] == 1) + 0.3 * z
    return circuit, columns, predictions, rng.uniform(0.2, 3.0, N)


def distance(circuit: Circuit, columns: list[np.ndarray], predictions: np.ndarray, weight: np.ndarray) -> float:
    """How far the best sum of the rules is from the predictions."""
    fires = np.array(circuit.rule_values(columns))
    intercept, weights = solve_weights(fires, predictions, weight, PENALTY)
    return float(np.average((predictions - intercept - weights @ fires) ** 2, weights=weight))


@given(seed=st.integers(0, 2**32 - 1), n_offered=st.integers(0, 4))
def test_rules_come_no_further_from_what_they_imitate(seed: int, n_offered: int) -> None:
    """Cut-offs, gates and links change, not how many there are, and the best sum is as near as before or nearer."""
    circuit, columns, predictions, weight = some_circuit(seed)
    offered = (Above(0, 0.8), Above(1, -0.4), IsIn(2, (1,)), Above(1, 0.2))[:n_offered]
    settled = settle(circuit, columns, predictions, weight, offered)
    assert len(settled.gates) == len(circuit.gates)
    kinds = [type(literal) for literal in (*circuit.literals, *(each for each in offered if each != Above(1, 0.2)))]
    assert [type(literal) for literal in settled.literals] == kinds
    assert [rule.node + len(kinds) - 6 for rule in circuit.rules] == [rule.node for rule in settled.rules]
    before = distance(circuit, columns, predictions, weight)
    # A cut-off that is shared may cost a hundredth of the distance each; the penalty of the weights is not in it.
    assert distance(settled, columns, predictions, weight) <= 1.1 * before + 1e-9


@pytest.mark.parametrize("weight", [np.ones(N), np.linspace(0.1, 2.0, N)])
def test_a_cutoff_moves_to_the_best_that_there_is(weight: np.ndarray) -> None:
    """Against all cut-offs one by one: of a rule of one condition none is better, and missing values stay below."""
    rng = np.random.default_rng(4)
    x = np.round(rng.normal(size=N), 1)
    x[::7] = np.nan
    predictions = np.where(np.nan_to_num(x, nan=-9.0) > 0.35, 1.0, 0.0) + 0.2 * rng.normal(size=N)
    circuit = Circuit((Column("x"),), (Above(0, -1.0),), (), (Rule(0, 1.0),), 0.0, 0)
    settled = settle(circuit, [x], predictions, weight)
    numbers = np.unique(x[~np.isnan(x)])
    tried = [replace(circuit, literals=(Above(0, float(cutoff)),)) for cutoff in numbers[:-1]]
    best = min(distance(other, [x], predictions, weight) for other in tried)
    assert distance(settled, [x], predictions, weight) == pytest.approx(best)


def test_a_gate_becomes_the_one_that_made_the_predictions() -> None:
    """Each of the gates of two inputs is found, from any other, whatever its negation."""
    rng = np.random.default_rng(0)
    columns = list(rng.integers(0, 2, (2, N)).astype(np.float64))  # of which there is one cut-off
    literals = (Above(0, 0.5), Above(1, 0.5))
    for made_by in (1, 2, 4, 6, 7, 8, 9, 11, 13, 14):
        for started_as in (1, 7, 8, 14):
            circuits = [
                Circuit((Column("x"), Column("y")), literals, (Gate(kind, 0, 1),), (Rule(2, 1.0),), 0.0, 0)
                for kind in (made_by, started_as)
            ]
            predictions = circuits[0].evaluate(columns)
            settled = settle(circuits[1], columns, predictions, np.ones(N))
            assert distance(settled, columns, predictions, np.ones(N)) < 1e-4, (made_by, started_as)


@pytest.mark.parametrize("made_by", [1, 2, 4, 6, 7, 8, 9, 11, 13, 14])
@pytest.mark.parametrize("reads", [(0, 1), (1, 0)])
def test_a_gate_comes_to_read_the_literal_that_made_the_predictions(made_by: int, reads: tuple[int, int]) -> None:
    """Whichever input is the wrong one, the right one and its gate are found among the literals that are offered."""
    rng = np.random.default_rng(0)
    columns = list(rng.integers(0, 2, (4, N)).astype(np.float64))
    names = tuple(Column(name) for name in "abcd")
    right = Circuit(names, (Above(0, 0.5), Above(3, 0.5)), (Gate(made_by, 0, 1),), (Rule(2, 1.0),), 0.0, 0)
    wrong = Circuit(names, (Above(0, 0.5), Above(1, 0.5)), (Gate(1, *reads),), (Rule(2, 1.0),), 0.0, 0)
    predictions = right.evaluate(columns)
    settled = settle(wrong, columns, predictions, np.ones(N), (Above(2, 0.5), Above(3, 0.5)))
    assert distance(settled, columns, predictions, np.ones(N)) < 1e-4


def test_a_link_that_would_bring_next_to_nothing_stays() -> None:
    """What the network learned is kept where another literal is better by rounding errors only."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, (2, N)).astype(np.float64)
    names = (Column("x"), Column("y"), Column("y again"))
    circuit = Circuit(names, (Above(0, 0.5), Above(1, 0.5)), (Gate(1, 0, 1),), (Rule(2, 1.0),), 0.0, 0)
    settled = settle(circuit, [x, y, y], circuit.evaluate([x, y, y]), np.ones(N), (Above(2, 0.5),))
    assert settled.gates == (Gate(1, 0, 1),)


def test_cutoffs_that_are_nearly_the_same_become_one() -> None:
    """Two rules that ask nearly the same of a column ask the same in the end: fewer numbers to read."""
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 400))
    circuit = Circuit(
        (Column("x"), Column("z")),
        (Above(0, 0.49), Above(0, 0.52), Above(1, 0.0)),
        (Gate(1, 0, 2), Gate(2, 1, 2)),
        (Rule(3, 1.0), Rule(4, 1.0)),
        0.0,
        0,
    )
    noise = np.where(np.abs(x - 0.5) > 0.2, rng.normal(size=400), 0.0)
    predictions = (x > 0.5) * (1.0 + (z > 0)) + noise
    first, second, _ = settle(circuit, [x, z], predictions, np.ones(400)).literals
    assert first == second


@pytest.mark.parametrize("column", [np.ones(5), np.full(5, np.nan), np.array([1.0, np.nan, 1.0, np.nan, 1.0])])
def test_a_column_that_nothing_can_be_cut_from_is_left_as_it_is(column: np.ndarray) -> None:
    """A constant column, or one without values, has no cut-off to move to."""
    circuit = Circuit((Column("x"),), (Above(0, 0.5),), (), (Rule(0, 1.0),), 0.0, 0)
    assert settle(circuit, [column], np.arange(5.0), np.ones(5)) == circuit


def test_one_row_and_no_rules_are_settled_as_they_are() -> None:
    """The smallest tables and circuits."""
    circuit = Circuit((Column("x"),), (Above(0, 0.5),), (), (Rule(0, 1.0),), 0.0, 0)
    assert settle(circuit, [np.array([1.0])], np.array([2.0]), np.ones(1)) == circuit
    empty = Circuit((Column("x"),), (), (), (), 0.0, 0)
    assert settle(empty, [np.array([1.0, 2.0])], np.array([2.0, 3.0]), np.ones(2)) == empty
