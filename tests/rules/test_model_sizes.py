"""Sizes of models: shrunk, grown beyond a page, averaged."""

import numpy as np
import pytest

from dln.rules._constants import MEMBER
from dln.rules._model_sizes import SizedRules, member, n_members, smallest_good
from dln.rules._rule_set import RuleSet
from dln.solve._select import Budget
from learned import some_expression, some_task


def some_rules(task, seed, n_rules=4):
    """Return a model of random rules, with weights solved for."""
    rng = np.random.default_rng(seed)
    expressions = [some_expression(rng, task.inputs, 3) for _ in range(n_rules)]
    return SizedRules(10, tuple(expressions), *RuleSet(task, expressions).weights())


@pytest.mark.parametrize("n_members", [1, 2, 5])
def test_the_mean_of_models_predicts_their_mean(n_members):
    """Models are averaged by putting their rules together; a rule that several have is there once."""
    task = some_task(0)
    members = [some_rules(task, seed) for seed in range(n_members)]
    members.append(members[0])
    mean = SizedRules.mean(members)
    expected = np.mean([one.predict(task.inputs) for one in members], axis=0)
    np.testing.assert_allclose(mean.predict(task.inputs), expected, rtol=0, atol=1e-12)
    assert len(set(mean.expressions)) == len(mean.expressions)
    assert mean.budget == 10 * len(members)


@pytest.mark.parametrize(
    ("conditions", "rules", "n_models"),
    [(1, 1, 1), (100, 3200, 1), (1599, 3200, 1), (1600, 3200, 2), (3200, 3200, 4), (3200, 20, 1)],
)
def test_members_share_the_budget(conditions, rules, n_models):
    """A budget for several models is kept by all of them together; where rules are limited there is one model."""
    budget = Budget(conditions, 6, rules)
    assert n_members(budget) == n_models
    assert member(budget).conditions * n_models <= conditions
    assert n_members(budget) == 1 or member(budget).conditions >= MEMBER


def test_the_smallest_size_that_is_nearly_as_good_is_taken():
    """Sizes without validation are not taken; without rows to validate on, each condition needs four rows."""
    points = [SizedRules(size, (), 0.0, np.empty(0)) for size in (1, 5, 10, 20)]
    assert smallest_good(points, {1: 0.5, 5: 0.8, 10: 0.8005, 20: 0.7}, 1000) == 1
    assert smallest_good(points, {1: 0.5, 5: 0.8}, 1000) == 1
    assert smallest_good(points, None, 40) == 2
    assert smallest_good(points, None, 1) == 0
