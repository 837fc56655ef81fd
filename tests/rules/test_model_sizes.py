"""Sizes of models: shrunk, grown beyond a page, averaged."""

import numpy as np
import pytest

from dln.rules._constants import MEMBER
from dln.rules._learn import SizedRules, Validation, shares, smallest_good
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
    _, one, n_found = shares(budget)
    assert n_found == n_models
    assert one.conditions * n_models <= conditions
    assert n_models == 1 or one.conditions >= MEMBER


def test_the_smallest_size_within_one_standard_error_of_the_best_is_taken():
    """The paired difference to the best must be below its standard error, and small; other sizes are not taken."""
    points = [SizedRules(size, (), 0.0, np.empty(0)) for size in (1, 5, 10, 20, 30)]
    best, weight = np.full(400, 0.2), np.ones(400)
    in_doubt = best + 0.1 * np.tile([1.0, -0.98], 200)
    losses = {1: best + 0.3, 5: in_doubt, 10: best, 20: best + 0.1}
    explained = {1: 0.5, 5: 0.799, 10: 0.8, 20: 0.7}

    def chosen(losses, explained):
        return smallest_good(points, Validation(losses, explained, {}, np.zeros(400), weight), 1000)

    assert chosen(losses, explained) == 1
    assert chosen({**losses, 5: best + 0.001}, explained) == 2  # a little worse on every row: no doubt is left
    assert chosen(losses, {**explained, 5: 0.79}) == 2


def test_without_held_out_rows_each_condition_needs_four_rows():
    """Of a table that is too small to validate, rows limit the size."""
    points = [SizedRules(size, (), 0.0, np.empty(0)) for size in (1, 5, 10, 20)]
    assert smallest_good(points, None, 40) == 2
    assert smallest_good(points, None, 1) == 0
