"""Growth: rules that are short, varied and explain the target."""

import numpy as np
import pytest

from dln.rules._expression import length
from dln.rules._grow import AT_LEAST, grow
from dln.rules._rule_set import RuleSet
from dln.rules._select import select
from dln.rules._student import Recipe, n_steps, train_student
from dln.solve._select import Budget
from learned import some_task


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


def test_training_keeps_its_budget_and_counts_its_steps():
    """Progress is shown as often as was announced, and all sizes are within their budgets."""
    task = some_task(1)
    recipe = Recipe(Budget(12, 3, 6), 20, 2)
    steps = []
    student = train_student(task, recipe, [0], stop=lambda: False, after_each=lambda: steps.append(1))
    assert len(steps) == n_steps(recipe)
    assert student.rules.n_conditions <= 12
    assert len(student.rules) <= 6
    larger = student.larger([20, 40], recipe.budget)
    assert all(rules.n_conditions <= size for size, rules in larger.items())
