"""A set of rules against plain least squares."""

import numpy as np
import pytest
from hypothesis import given

from dln.rules._rule_set import RuleSet
from learned import expressions_of, refitted, seeds, some_task


def drawn(seed, n=6):
    """Return a set of rules, and more rules that differ from those."""
    task = some_task(seed)
    expressions = expressions_of(task, seed, n + 4)
    return RuleSet(task, expressions[:-4]), expressions[-4:]


@given(seeds)
def test_loss_and_weights_are_those_of_ridge_regression(seed):
    """Loss, intercept and weights are what numpy finds for the centred rules, up to single precision."""
    rules, _ = drawn(seed)
    loss, intercept, weights = refitted(rules.task, rules.fires)
    assert rules.loss() == pytest.approx(loss, rel=1e-4)
    found_intercept, found = rules.weights()
    np.testing.assert_allclose(found, weights, rtol=5e-3, atol=5e-3)
    assert found_intercept == pytest.approx(intercept, abs=5e-3)
    _, _, shrunken = refitted(rules.task, rules.fires, 50.0)
    np.testing.assert_allclose(rules.weights(50.0)[1], shrunken, rtol=5e-3, atol=5e-3)


@given(seeds)
def test_gains_are_what_a_refit_with_the_rule_gains(seed):
    """The gain of a rule is by how much the refitted loss falls when it joins; that of half a row is nothing."""
    rules, others = drawn(seed)
    task = rules.task
    new = np.array([task.signals(other) for other in others])
    before = refitted(task, rules.fires)[0]
    expected = np.array([before - refitted(task, [*rules.fires, fires])[0] for fires in new])
    mass = new @ task.weight
    expected[np.minimum(mass, task.total_weight - mass) <= 0.5] = 0.0
    np.testing.assert_allclose(rules.gains(new), expected, rtol=2e-3, atol=1e-4 * task.variation)


@given(seeds)
def test_the_residual_is_what_ridge_regression_leaves(seed):
    """Residuals and the inverse are those of ridge regression."""
    rules, _ = drawn(seed)
    task = rules.task
    _, intercept, weights = refitted(task, rules.fires)
    np.testing.assert_allclose(rules.residual(), task.target - intercept - weights @ rules.fires, atol=5e-3)
    penalised = rules.gram + task.penalty * np.eye(len(rules))
    np.testing.assert_allclose(rules.inverse @ penalised, np.eye(len(rules)), atol=1e-6)


@given(seeds)
def test_changes_one_by_one_end_in_the_same_set(seed):
    """After replace, add and keep, the set is the one that would be made of these rules at once."""
    rules, others = drawn(seed)
    task = rules.task
    copy = rules.copy()
    copy.replace(1, others[0])
    copy.add(others[1])
    copy.keep(range(1, len(copy)))
    fresh = RuleSet(task, copy.expressions)
    np.testing.assert_array_equal(copy.words, fresh.words)
    np.testing.assert_array_equal(copy.fires, fresh.fires)
    assert copy.loss() == pytest.approx(fresh.loss(), rel=1e-5)
    np.testing.assert_allclose(copy.gram, fresh.gram, rtol=1e-4, atol=1e-3)
    assert rules.loss() == pytest.approx(RuleSet(task, rules.expressions).loss(), rel=1e-5)


def test_a_rule_that_always_or_never_fires_gains_nothing():
    """Constants explain nothing, in an empty set too."""
    task = some_task(0)
    empty = RuleSet(task, [])
    constants = np.array([np.ones(task.n_rows, dtype=bool), np.zeros(task.n_rows, dtype=bool)])
    assert empty.gains(constants).tolist() == [0.0, 0.0]
    assert empty.loss() == task.variation
    assert empty.weights()[0] == task.mean


def test_a_rule_that_is_there_already_gains_nothing():
    """A second of the same rule, or its opposite, gains next to nothing."""
    rules, _ = drawn(1)
    again = rules.gains(np.array([rules.fires[0], ~rules.fires[0]]))
    assert (again < 1e-3 * rules.task.variation).all()
