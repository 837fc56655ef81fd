"""Candidates: grown rules are short, varied and explain the target; the best within a budget are selected."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.rules._constants import MIN_GROWN
from dln.rules._expression import length
from dln.rules._rule_set import RuleSet
from dln.rules._search import grow, select, select_sizes
from dln.rules._task import Task
from dln.solve._select import Budget, distinct
from learned import expressions_of, refitted, seeds, some_task, task_of


@pytest.mark.parametrize("longest", [1, 3, 6])
def test_grown_rules_are_short_and_explain_the_target(friedman, longest):
    """Rules are at most so long, fire on some rows and not on others, and together explain most of the target."""
    rules = grow(friedman, 120, longest, np.random.default_rng(0), rate=0.1)
    assert max(map(length, rules)) <= longest
    assert len(rules) > 100
    assert all(5 <= friedman.signals(rule).sum() <= 495 for rule in rules)
    chosen = RuleSet(friedman, select(friedman, rules, Budget(60, longest, 60)))
    assert 1 - chosen.loss() / friedman.variation > 0.8


def test_growth_ends_in_time_but_not_without_rules(friedman):
    """Stopped from the start, growth still returns some rules: a model needs them."""
    task = Task(friedman.inputs, friedman.target, friedman.weight, 5.0, stop=lambda: True)
    assert len(grow(task, 500, 3, np.random.default_rng(0), rate=0.1)) == MIN_GROWN


def test_growth_depends_on_its_seed_alone(friedman):
    """The same seed grows the same rules, another one others."""
    first, again, other = (grow(friedman, 20, 4, np.random.default_rng(seed), rate=0.1) for seed in (0, 0, 1))
    assert first == again
    assert first != other


@given(seeds, st.integers(1, 20), st.integers(1, 6))
def test_the_budget_is_kept(seed, conditions, n_rules):
    """Selected rules are candidates, once each, within conditions and rules."""
    task = some_task(seed)
    candidates = expressions_of(task, seed, 25, max_length=5)
    chosen = select(task, candidates + candidates[:3], Budget(conditions, 5, n_rules))
    assert sum(map(length, chosen)) <= conditions
    assert len(chosen) <= n_rules
    assert set(chosen) <= set(candidates)
    assert len(set(chosen)) == len(chosen)


def test_the_choice_is_close_to_the_best_of_all():
    """On pools small enough to try every set, the chosen ones explain at least 98 % of what the best do, on average."""
    budget, shares = Budget(6, 3, 3), []
    for seed in range(20):
        task = some_task(seed)
        candidates = expressions_of(task, seed, 9, max_length=3)
        best = min(
            refitted(task, [task.signals(one) for one in some])[0]
            for size in (1, 2, 3)
            for some in itertools.combinations(candidates, size)
            if sum(map(length, some)) <= budget.conditions
        )
        chosen = select(task, candidates, budget)
        loss = refitted(task, [task.signals(one) for one in chosen])[0]
        shares.append((task.variation - loss) / (task.variation - best))
    assert np.mean(shares) >= 0.98


def test_the_rules_that_made_the_target_are_chosen(friedman):
    """A target that is a sum of three of the candidates is found out."""
    candidates = expressions_of(friedman, 3, 60, max_length=3)
    y = sum(weight * friedman.signals(candidates[i]) for weight, i in ((3.0, 4), (-2.0, 17), (1.5, 40)))
    task = task_of(friedman.inputs, y.astype(np.float64))
    n_conditions = sum(length(candidates[i]) for i in (4, 17, 40))
    chosen = select(task, candidates, Budget(n_conditions, 3, 10))
    assert set(chosen) == {candidates[4], candidates[17], candidates[40]}


def test_quick_choices_for_several_sizes_keep_them():
    """`select_sizes` keeps each budget, and a larger one explains at least as much."""
    task = some_task(5)
    candidates = expressions_of(task, 5, 40, max_length=4)
    sizes = (5, 10, 20)
    found = select_sizes(task, candidates, Budget(20, 4, 20), sizes)
    losses = [refitted(task, found[size].fires)[0] for size in sizes]
    assert all(found[size].n_conditions <= size for size in sizes)
    assert losses == sorted(losses, reverse=True)


def test_nothing_to_choose_from():
    """No candidates, or only constant ones, give an empty choice."""
    task = some_task(0)
    assert select(task, [], Budget(10, 3, 10)) == []
    assert len(select_sizes(task, [], Budget(10, 3, 10), [10])[10]) == 0
    assert select_sizes(task, [], Budget(10, 3, 10), []) == {}


def test_equal_and_opposite_rules_count_once():
    """Of rules that fire alike, or exactly where the other does not, the first stays; constants go."""
    rule = np.array([True, False, True, False])
    assert distinct(np.array([rule, ~rule, rule | True, rule & False, ~rule, [True, True, False, False]])).tolist() == [
        0,
        5,
    ]


def test_a_rule_costs_conditions_and_where_rules_are_few_itself_too():
    """Six conditions are six times as dear as one, but not where the rules run out before the conditions do."""
    lengths = np.array([1, 6])
    assert (Budget(100, 6, 100).cost(lengths) == lengths).all()
    one, six = Budget(100, 6, 10).cost(lengths)
    assert six / one < 2


@given(seeds)
def test_what_fires_on_few_rows_is_not_chosen(seed):
    """Every chosen rule fires, and does not fire, on rows enough to generalise."""
    task = some_task(seed)
    candidates = expressions_of(task, seed, 40, max_length=5)
    lightest = task.min_weight
    for one in select(task, candidates, Budget(30, 5, 20)):
        assert lightest <= task.weight @ task.signals(one) <= task.total_weight - lightest
