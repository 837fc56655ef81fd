"""Growth, stages and students: what proposes candidates, and what a checkpoint keeps."""

import numpy as np
import pytest

from dln.rules._expression import length
from dln.rules._grow import AT_LEAST, grow
from dln.rules._rule_set import RuleSet
from dln.rules._select import select
from dln.rules._stages import named, staged
from dln.rules._student import Recipe, n_steps, start_pools, train_student
from dln.solve._select import Budget
from learned import expressions_of, some_task


@pytest.mark.parametrize("longest", [1, 3, 6])
def test_grown_rules_are_short_and_explain_the_target(friedman, longest):
    """Rules are at most so long, fire on some rows and not on others, and together explain most of the target."""
    rules = grow(friedman, 120, longest, [0], rate=0.1, stop=lambda: False)
    assert max(map(length, rules)) <= longest
    assert len(rules) > 100
    assert all(5 <= friedman.signals(rule).sum() <= 495 for rule in rules)
    chosen = RuleSet(friedman, select(friedman, rules, Budget(60, longest, 60)))
    assert 1 - chosen.loss() / friedman.variation > 0.8


def test_growth_ends_in_time_but_not_without_rules(friedman):
    """Told to stop from the start, some rules are grown still: a model needs them."""
    assert len(grow(friedman, 500, 3, [0], rate=0.1, stop=lambda: True)) == AT_LEAST


def test_growth_depends_on_its_seed_alone(friedman):
    """The same seed grows the same rules, another one others."""
    first, again, other = (grow(friedman, 20, 4, [seed], rate=0.1, stop=lambda: False) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_rules_are_grown_on_another_target_too(friedman):
    """Given another target, growth explains that one."""
    target = np.where(friedman.inputs.bins[3] > 16, 1.0, -1.0)
    target -= target.mean()
    rules = grow(friedman, 10, 1, [0], rate=1.0, stop=lambda: False, target=target)
    assert rules[0].input == 3


def test_pools_are_together_and_apart():
    """A search starts from grown rules with neurons, from each alone, and from something even if there is nothing."""
    task = some_task(0)
    a, b, c = (expressions_of(task, seed, 3) for seed in (0, 1, 2))
    pools = start_pools([a, b], [c])
    assert [*a, *c] in pools
    assert [*b, *c] in pools
    assert c in pools
    assert a in pools
    assert [*a, *b] in start_pools([a, b], [])
    assert start_pools([[], []], []) == [[]]


def test_a_student_tells_its_steps_and_keeps_its_budget():
    """Progress is told as often as was announced, and the page is within the budget."""
    task = some_task(1)
    recipe = Recipe(Budget(12, 3, 6), 1, (8,), 2, 20, 2)
    steps = []
    neurons = [expressions_of(task, 5, 6, max_length=3)]
    student = train_student(task, neurons, recipe, [0], stop=lambda: False, after_each=lambda: steps.append(1))
    assert len(steps) == n_steps(recipe)
    assert student.rules.n_conditions <= 12
    assert len(student.rules) <= 6
    larger = student.larger([20, 40], recipe.budget)
    assert all(rules.n_conditions <= size for size, rules in larger.items())


class Kept(dict):
    """A store in memory."""

    stage = dict.get
    keep_stage = dict.__setitem__

    def write(self):
        """Nothing to write."""


def test_a_stage_is_computed_once_and_kept_only_whole():
    """What a stage came to is kept and not computed again, unless it was cut short or came to nothing."""
    store, calls = Kept(), []

    def compute():
        calls.append(1)
        return named({"value": 7})

    for is_whole in (False, True, True):
        assert staged(store, "a", compute, is_whole=lambda whole=is_whole: whole)["value"] == 7
    assert len(calls) == 2
    assert staged(store, "b", lambda: None) is None
    assert set(store) == {"a"}
    assert staged(None, "a", compute)["value"] == 7
    assert len(calls) == 3
