"""Polish: one change at a time, never for the worse, never beyond the budget."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dln.rules._expression import length
from dln.rules._rule_set import RuleSet
from dln.rules._search import extend, find_rules, polish, shrink, shrinking_path, widened
from dln.rules._task import Task
from dln.solve._select import Budget
from learned import expressions_of, refitted, seeds, some_task


def is_within(rules, budget):
    """Return True if a set keeps a budget."""
    lengths = [length(expression) for expression in rules.expressions]
    return (
        sum(lengths) <= budget.conditions
        and max(lengths, default=0) <= budget.rule_length
        and len(lengths) <= budget.rules
    )


@settings(max_examples=25)
@given(seeds, st.integers(4, 14), st.integers(1, 5), st.integers(1, 6))
def test_polish_keeps_the_budget(seed, conditions, longest, n_rules):
    """Conditions, length of rules and their number stay within the budget."""
    task = some_task(seed)
    budget = Budget(conditions, longest, n_rules)
    rules = RuleSet(task, [])
    for expression in expressions_of(task, seed, 3, max_length=longest):
        if rules.n_conditions + length(expression) <= conditions and len(rules) < n_rules:
            rules.add(expression)
    polished = polish(rules, budget, np.random.default_rng(seed), sweeps=2)
    assert is_within(polished, budget)


@settings(max_examples=25)
@given(seeds)
def test_polish_never_raises_the_loss(seed):
    """The refitted loss after polish is not above that before, and the set's own loss is that of its rules."""
    task = some_task(seed)
    rules = RuleSet(task, expressions_of(task, seed, 4, max_length=3))
    before = refitted(task, rules.fires)[0]
    polish(rules, Budget(rules.n_conditions + 3, 4, 6), np.random.default_rng(seed), sweeps=3)
    after = refitted(task, [task.signals(one) for one in rules.expressions])[0]
    assert after <= before + 1e-4 * task.variation


def test_extension_spends_the_budget_where_it_pays(friedman):
    """From nothing, every condition that is allowed is used on a target that needs them."""
    rules = RuleSet(friedman, [])
    extend(rules, Budget(12, 3, 12))
    assert rules.n_conditions == 12
    assert 1 - rules.loss() / friedman.variation > 0.6


@given(seeds, st.integers(1, 12), st.integers(1, 5))
def test_shrinking_reaches_the_budget(seed, conditions, n_rules):
    """A set is cut down to any budget, and no rule gets longer."""
    task = some_task(seed)
    rules = RuleSet(task, expressions_of(task, seed, 6, max_length=4))
    longest = max(map(length, rules.expressions))
    shrink(rules, Budget(conditions, longest, n_rules))
    assert is_within(rules, Budget(conditions, longest, n_rules))


def test_shrinking_drops_what_is_missed_least():
    """Of one strong rule and weak ones, the strong one stays."""
    task = some_task(2)
    expressions = expressions_of(task, 2, 8, max_length=1)
    alone = [refitted(task, [task.signals(one)])[0] for one in expressions]
    rules = RuleSet(task, expressions)
    shrink(rules, Budget(1, 1, 8))
    rest = refitted(task, rules.fires)[0]
    assert task.variation - rest >= 0.8 * (task.variation - min(alone))


def searched(task, budget, n_generations, n_grown_rules=40):
    """Return the rules that a search finds."""
    return find_rules(task, budget, n_grown_rules, n_generations, np.random.default_rng(0))[0]


@settings(max_examples=15)
@given(seeds, st.integers(3, 15), st.integers(1, 4), st.integers(1, 8))
def test_the_search_and_its_path_keep_every_budget(seed, conditions, longest, n_rules):
    """From candidates to the smallest size, every set keeps its conditions, lengths and number of rules."""
    task = some_task(seed, n_rows=60)
    budget = Budget(conditions, longest, n_rules)
    rules = searched(task, budget, 3)
    path = shrinking_path(rules, budget, np.random.default_rng(seed))
    assert list(path) == sorted(path, reverse=True)
    for size, smaller in path.items():
        assert is_within(smaller, budget.resized(size))


def test_no_time_still_gives_rules(friedman):
    """Stopped from the start, the search returns what selection found."""
    task = Task(friedman.inputs, friedman.target, friedman.weight, 5.0, stop=lambda: True)
    assert 0 < searched(task, Budget(10, 3, 10), 5).n_conditions <= 10


def test_generations_never_raise_the_loss(friedman):
    """Generations lower the loss, or leave it where it was."""
    losses = [searched(friedman, Budget(15, 3, 15), n).loss() for n in (0, 3)]
    assert losses[1] <= losses[0]


def test_a_set_that_was_larger_for_a_while_is_better(friedman):
    """Widening finds what polish alone does not, at the same size."""
    budget = Budget(15, 3, 15)
    polished = searched(friedman, budget, 0)
    children = [widened(polished, budget, np.random.default_rng(k)) for k in range(6)]
    assert all(is_within(child, budget) for child in children)
    assert min(child.loss() for child in children) < polished.loss()
