"""Sizes of models: one set of rules shrunk to a few conditions, grown beyond a page, or averaged with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dln._interrupt import Deadline
from dln.rules._expression import Expression
from dln.rules._inputs import Inputs
from dln.rules._polish import sweep
from dln.rules._rule_set import RuleSet
from dln.rules._search import shrinking_path
from dln.rules._student import Recipe, Student, train_student
from dln.rules._task import Task, member, page
from dln.rules._validate import weighted_sum
from dln.solve._products import Floats
from dln.solve._select import Budget

#: Sizes of which the best rules are kept, and larger ones of which only the worth is told.
SIZES: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 65, 80, 100, 150, 200, 300, 400)
LARGER: Final = (200, 400)
#: Fewer conditions are taken where they are worth as much, but for this share of the target's variance, and of what the
#: best leaves unexplained: where that is next to nothing, a thousandth of the variance would be most of it.
TOLERANCE: Final = 0.001
UNEXPLAINED: Final = 0.03
#: Where there are no rows to validate on, each condition must have so many to learn from: 25 rows got 98 conditions.
ROWS_PER_CONDITION: Final = 4


@dataclass(frozen=True, slots=True)
class SizedRules:
    """The best rules found for a budget of conditions, with weights for the standardised target."""

    budget: int
    expressions: tuple[Expression, ...]
    intercept: float
    weights: Floats

    def predict(self, inputs: Inputs) -> Floats:
        """Return the predictions for rows."""
        return weighted_sum(self.expressions, self.intercept, self.weights, inputs)

    @classmethod
    def mean(cls, members: Sequence[SizedRules]) -> SizedRules:
        """Return the model that predicts the mean of some: their rules together, each once."""
        weights: dict[Expression, float] = {}
        for one in members:
            for expression, weight in zip(one.expressions, one.weights.tolist(), strict=True):
                weights[expression] = weights.get(expression, 0.0) + weight / len(members)
        intercept = sum(one.intercept for one in members) / len(members)
        return cls(sum(one.budget for one in members), tuple(weights), intercept, np.array(list(weights.values())))


def sized_path(student: Student, budget: Budget, seed: list[int], deadline: Deadline) -> dict[int, RuleSet]:
    """Return the best sets found for all sizes up to the budget."""
    path = shrinking_path(student.rules, page(budget), SIZES, seed, stop=deadline.over)
    if page(budget) != budget:
        sizes = [*(size for size in SIZES if page(budget).conditions < size < budget.conditions), budget.conditions]
        path |= student.larger(sizes, budget)
        rng = np.random.default_rng([*seed, 1])
        for size in sizes:
            sweep(path[size], budget.resized(size), rng, deadline.over)
    return path


def member_rules(
    task: Task,
    recipe: Recipe,
    seed: list[int],
    *,
    stop: Callable[[], bool],
) -> RuleSet:
    """Return rules of a member's size, found for themselves."""
    budget = member(recipe.budget)
    student = train_student(task, recipe, seed, stop=stop)
    rules = student.larger([budget.conditions], budget)[budget.conditions]
    sweep(rules, budget, np.random.default_rng([*seed, 1]), stop)
    return rules


def smallest_good(points: Sequence[SizedRules], explained: Mapping[int, float] | None, n_rows: int) -> int:
    """Return the index of the smallest point that is worth nearly as much as the best."""
    last = len(points) - 1
    if explained is None:
        few = max(1, n_rows // ROWS_PER_CONDITION)
        return max((i for i, point in enumerate(points) if point.budget <= few), default=0)
    worth = [explained.get(point.budget, -np.inf) for point in points]
    enough = max(worth) - min(TOLERANCE, UNEXPLAINED * (1.0 - max(worth)))
    return next((i for i, value in enumerate(worth) if value >= enough), last)
