import itertools

import numpy as np
import pytest

from circuits import layered_circuit
from dln._circuit import Above, Circuit, Column, Gate, Rule
from dln._frontier import PENALTY, find_frontier, prune
from dln._gates import AND


@pytest.fixture
def problem():
    """Return rules of which three make the target, and noise."""
    rng = np.random.default_rng(0)
    rules = rng.random((10, 400)) < 0.5
    y = 3.0 * rules[1] - 5.0 * rules[4] + 1.0 * rules[7] + 2.0 + 0.1 * rng.normal(size=400)
    return rules, y


def test_the_rules_that_made_the_target_are_found(problem):
    """Three rules make the target: the point of three rules has them, in order, with their weights."""
    point = find_frontier(*problem).pick(3)
    assert point.rules == (1, 4, 7)
    assert point.weights == pytest.approx((3.0, -5.0, 1.0), abs=0.05)
    assert point.intercept == pytest.approx(2.0, abs=0.05)
    assert point.training_error == pytest.approx(0.1, abs=0.02)


def test_more_rules_never_fit_worse(problem):
    """The training error falls along the frontier, up to the penalty that keeps the weights finite."""
    errors = [point.training_error for point in find_frontier(*problem)]
    assert all(after <= before * (1 + 10 * PENALTY) for before, after in itertools.pairwise(errors))


def test_greed_comes_close_to_the_best_subset():
    """On problems small enough to try every subset, the frontier's error is within two percent of the least."""
    rng = np.random.default_rng(1)
    columns = rng.random((4, 300))
    rules = np.array([(columns[i] > 0.3) & (columns[j] > 0.6) for i in range(4) for j in range(3)])
    y = np.sin(columns).sum(axis=0) + columns[0] * columns[1]
    frontier = find_frontier(rules, y)
    for size in (1, 2, 3, 4):
        least = min(
            np.sqrt(np.linalg.lstsq(design, y, rcond=None)[1].sum() / len(y))
            for chosen in itertools.combinations(range(12), size)
            if np.linalg.matrix_rank(design := np.vstack([np.ones(300), rules[list(chosen)]]).T) == size + 1
        )
        assert frontier.pick(size).training_error <= 1.02 * least


def test_weights_count_as_repeated_rows(problem):
    """A row of weight two is two rows."""
    rules, y = problem
    weight = np.where(np.arange(400) < 100, 2.0, 1.0)
    index = np.repeat(np.arange(400), weight.astype(int))
    one, two = find_frontier(rules, y, weight), find_frontier(rules[:, index], y[index])
    for a, b in zip(one, two, strict=True):
        assert a.rules == b.rules
        assert a.training_error == pytest.approx(b.training_error)
        assert a.weights == pytest.approx(b.weights, abs=1e-8)


def test_validation_error_is_that_of_the_other_rows(problem):
    """With validation data every point tells its error there."""
    rules, y = problem
    frontier = find_frontier(rules[:, :300], y[:300], validation=(rules[:, 300:], y[300:], None))
    point = frontier.pick(3)
    predicted = point.intercept + np.array(point.weights) @ rules[list(point.rules), 300:]
    assert point.validation_error == pytest.approx(np.sqrt(np.mean((y[300:] - predicted) ** 2)))
    assert "validation error" in repr(frontier)
    assert "validation" not in repr(find_frontier(rules, y))


def test_rules_that_repeat_or_never_change_do_no_harm():
    """Constant, equal and opposite rules are no obstacle, nor is a constant target, nor no rule at all."""
    rng = np.random.default_rng(0)
    rule = rng.random(50) < 0.5
    rules = np.array([rule, rule, ~rule, np.ones(50, bool), np.zeros(50, bool)])
    frontier = find_frontier(rules, 2.0 * rule)
    assert frontier.pick(1).training_error == pytest.approx(0.0, abs=1e-2)
    assert np.isfinite([point.training_error for point in frontier]).all()
    assert find_frontier(rules, np.ones(50)).pick(5).training_error == pytest.approx(0.0, abs=1e-12)
    assert [point.intercept for point in find_frontier(np.zeros((0, 50), bool), np.ones(50))] == [1.0]


def test_sizes_and_frames(problem):
    """The sizes asked for are those found; frames hold one row per size."""
    frontier = find_frontier(*problem, sizes=[2, 5, 100])
    assert [point.n_rules for point in frontier] == [2, 5, 10]
    assert list(frontier.to_pandas()["n_rules"]) == list(frontier.to_polars()["n_rules"]) == [2, 5, 10]
    assert len(find_frontier(np.random.default_rng(0).random((120, 300)) < 0.5, np.arange(300.0))) < 60
    with pytest.raises(ValueError, match="max_rules must be at least 0, got -1"):
        frontier.pick(-1)


def test_a_pruned_circuit_predicts_what_the_frontier_promised():
    """The error of the pruned circuit on the training rows is the point's, up to the grid of its weights."""
    circuit = layered_circuit(3, n_rules=40, layers=[60, 60], n_columns=6)
    rng = np.random.default_rng(0)
    table = [rng.integers(0, 4, 500) if column.categories else rng.uniform(0, 10, 500) for column in circuit.columns]
    y = circuit.evaluate(table) + rng.normal(size=500)
    point = find_frontier(np.array(circuit.rule_values(table)), y).pick(8)
    pruned = prune(circuit, point)
    assert len(pruned.rules) == 8
    assert np.sqrt(np.mean((pruned.evaluate(table) - y) ** 2)) == pytest.approx(point.training_error, abs=0.01)


def test_pruning_drops_what_only_the_dropped_rules_needed():
    """Gates and literals of rules that are gone are gone."""
    columns = (Column("x"), Column("y"))
    circuit = Circuit(columns, (Above(0, 0.5), Above(1, 0.5)), (Gate(AND, 0, 1),), (Rule(2, 1.0), Rule(0, 2.0)), 0.0, 3)
    table = [np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])]
    point = find_frontier(np.array(circuit.rule_values(table)), np.array([0.0, 2.0, 0.0, 2.0])).pick(1)
    assert repr(prune(circuit, point)) == "prediction = 0\n  + 2.000 · [x > 0.5]"
