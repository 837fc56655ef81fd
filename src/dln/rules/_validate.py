"""Rows set aside: what to learn and how much to shrink weights, judged on rows not learned from.

The rows of a fold are seen neither by the teachers nor by the students of its trial.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from dln.rules._expression import Expression, Signals
from dln.rules._goal import GOALS, Y_ALONE, Distillation, Goal
from dln.rules._grow import grow
from dln.rules._inputs import Inputs
from dln.rules._rule_set import RuleSet
from dln.rules._search import search
from dln.solve._products import Floats
from dln.solve._select import Budget

#: A trial student: rules that are grown for it, their longest, and the shrinkage between them.
TRIAL_RULES: Final = 200
TRIAL_LENGTH: Final = 5
TRIAL_RATE: Final = 0.15
#: Ridge penalties of the final weights that are tried, in units of the search's own.
PENALTIES: Final = (1.0, 3.0, 10.0, 30.0)


class Choice(NamedTuple):
    """What trials found best."""

    goal: Goal
    penalty: float
    """Of the final weights, in units of the search's own."""


#: Work for many, in threads or one after the other: results in the order of the jobs.
Run: TypeAlias = Callable[[Callable[[tuple[Goal, int]], Floats], Sequence[tuple[Goal, int]]], list[Floats]]


def choose_goal(
    distillation: Distillation, n_trials: int, budget: Budget, seed: int, run: Run, *, stop: Callable[[], bool]
) -> Choice:
    """Return the goal and the penalty whose quick students err least on rows set aside."""
    goals = GOALS if distillation.lessons is not None else (Y_ALONE,)

    def errors(job: tuple[Goal, int]) -> Floats:
        """Return the squared error for each penalty, NaN where there is no time."""
        if stop():
            return np.full(len(PENALTIES), np.nan)
        goal, fold = job
        task = distillation.trial_task(goal, fold)
        longest = min(TRIAL_LENGTH, budget.rule_length)
        pool = grow(task, TRIAL_RULES, longest, [seed, 20, fold], rate=TRIAL_RATE, stop=stop)
        rules = search(task, [pool], budget, 0, [seed, 21, fold], stop=stop)
        aside = distillation.aside(fold)
        predicted = [predict(rules, aside.inputs, penalty) for penalty in PENALTIES]
        return np.array([float(aside.weight @ (aside.y - one) ** 2) for one in predicted])

    jobs = [(goal, fold) for fold in range(n_trials) for goal in goals]
    squared_errors = np.array(run(errors, jobs)).reshape(n_trials, len(goals), len(PENALTIES)).transpose(1, 0, 2)
    complete = ~np.isnan(squared_errors).any(axis=(0, 2))  # only folds on which all goals were tried tell them apart
    if not complete.any():
        return Choice(Y_ALONE, 1.0)
    squared_errors = squared_errors[:, complete].sum(axis=1)
    goal, penalty = np.unravel_index(int(np.argmin(squared_errors)), squared_errors.shape)
    return Choice(goals[int(goal)], PENALTIES[int(penalty)])


def predict(rules: RuleSet, inputs: Inputs, penalty: float) -> Floats:
    """Return what a set of rules predicts for other rows, its weights found with a penalty."""
    intercept, weights = rules.weights(rules.task.penalty * penalty)
    return weighted_sum(rules.expressions, intercept, weights, inputs)


def weighted_sum(expressions: Sequence[Expression], intercept: float, weights: Floats, inputs: Inputs) -> Floats:
    """Return the intercept and the weights of the rules that fire, for every row."""
    signals = Signals(inputs)
    predicted = np.full(inputs.n_rows, intercept)
    for expression, weight in zip(expressions, weights, strict=True):
        predicted += weight * signals(expression)
    return predicted
