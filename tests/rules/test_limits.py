"""Constraints while rules are searched for."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dln.circuit._constraints import Interactions, Monotone
from dln.rules._expression import FORBIDDEN, Limits
from dln.rules._expression import Test as InputTest
from dln.rules._rule_set import RuleSet
from dln.rules._search import grow, polish, select, shrink
from dln.solve._select import Budget
from learned import expressions_of, seeds, some_task, task_of


def limited_task(seed, n_rows=120):
    """Return a task whose first two inputs are constrained."""
    task = some_task(seed, n_rows)
    constraints = (Monotone(task.inputs.inputs[0].column, 1), Monotone(task.inputs.inputs[1].column, -1))
    return task_of(replace(task.inputs, constraints=constraints), task.target, task.weight)


@settings(max_examples=25)
@given(seeds, st.integers(3, 25))
def test_the_search_keeps_signs_within_the_budget(seed, n_conditions):
    """After selection, sweeps, extensions and shrinking, plainly refitted weights have their signs."""
    task, rng = limited_task(seed), np.random.default_rng(seed)
    budget = Budget(n_conditions, 4, n_conditions)
    rules = polish(RuleSet(task, select(task, grow(task, 40, 4, rng, rate=0.2), budget)), budget, rng, sweeps=2)
    for size in (n_conditions, max(1, n_conditions // 2)):
        shrink(rules, budget.resized(size))
        signs = np.array([task.limits.sign(one) for one in rules.expressions])
        assert (signs * np.linalg.solve(rules._penalised(), rules.right) >= 0.0).all()
        assert rules.n_conditions <= size


@given(seeds)
def test_a_test_is_allowed_if_the_longer_rule_is(seed):
    """The sign with a further test is that of the rule with it; a test against the others' direction is forbidden."""
    task = limited_task(seed)
    directions = task.limits.directions
    for rule in expressions_of(task, seed, 5, max_length=3):
        sign = task.limits.sign(rule)
        signs = task.limits.signs(rule)
        np.testing.assert_array_equal(signs[0], signs[1])
        for k, both in enumerate(signs[0].tolist()):
            for own, found in zip((directions[k], -directions[k]), both, strict=True):
                assert found == (FORBIDDEN if own * sign < 0 else sign or own)


def test_groups_of_a_rule_are_those_that_hold_all_its_inputs():
    """A test may join a rule if some group holds all inputs of both; the first test of a rule may be any."""
    inputs = some_task(0, n_numbers=3, n_bits=0).inputs
    limits = Limits.of(replace(inputs, constraints=(Interactions(((0, 1), (1, 2))),)))
    rules = [None, *(InputTest(k, 0, negated=False) for k in range(3))]
    allowed = [[k for k, both in enumerate(limits.signs(rule)[0]) if both[0] != FORBIDDEN] for rule in rules]
    assert allowed == [[0, 1, 2], [0, 1], [0, 1, 2], [1, 2]]
