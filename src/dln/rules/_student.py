"""One student: greedy growth proposes candidates for a target, the search puts a page of them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from dln.rules._expression import Expression
from dln.rules._grow import grow
from dln.rules._rule_set import RuleSet
from dln.rules._search import search
from dln.rules._select import select_sizes
from dln.rules._task import Task, page
from dln.solve._select import Budget

#: Two pools are grown: many small steps with shorter rules, and larger steps with longer ones.
GROWTH: Final = ((0.1, 5), (0.2, 6))


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a student is made."""

    budget: Budget
    n_grown_rules: int
    n_generations: int


@dataclass(frozen=True, slots=True)
class Student:
    """A page of rules, and all candidates that it was chosen from."""

    rules: RuleSet
    candidates: list[Expression]

    def larger(self, sizes: Sequence[int], budget: Budget) -> dict[int, RuleSet]:
        """Return sets for larger sizes, quickly selected from the same candidates."""
        if not sizes:
            return {}
        task, candidates = self.rules.task, [*self.rules.expressions, *self.candidates]
        chosen = select_sizes(task, candidates, [budget.resized(size) for size in sizes])
        return {size: RuleSet(task, expressions) for size, expressions in zip(sizes, chosen, strict=True)}


def train_student(
    task: Task,
    recipe: Recipe,
    seed: list[int],
    *,
    stop: Callable[[], bool],
    after_each: Callable[[], None] = lambda: None,
) -> Student:
    """Return the best rules found for the task."""
    grown = []
    for k, (rate, longest) in enumerate(GROWTH):
        n_rules, most = recipe.n_grown_rules // len(GROWTH), min(longest, recipe.budget.rule_length)
        grown.append(grow(task, n_rules, most, [*seed, k], rate=rate, stop=stop))
        after_each()
    candidates = [candidate for pool in grown for candidate in pool]
    pools = [pool for pool in (*grown, candidates) if pool] or [[]]
    budget = page(recipe.budget)
    rules = search(task, pools, budget, recipe.n_generations, [*seed, 9], stop=stop, after_each=after_each)
    return Student(rules, candidates)


def n_steps(recipe: Recipe) -> int:
    """Return how often `train_student` calls `after_each`."""
    return 2 * len(GROWTH) + 1 + recipe.n_generations
