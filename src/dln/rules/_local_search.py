"""Local search: one change at a time, kept if the refitted loss falls, within the budget of conditions.

Sweeps over all rules change each in turn, extensions spend what is left of the budget, and shrinking gives it back.
"""

from __future__ import annotations

import numpy as np

from dln.rules._changes import Change, Effort, longer, make_changes, shorter
from dln.rules._constants import (
    CONDITION_PRICE,
    DROPPED_AT_ONCE,
    EXTENSION_EFFORT,
    MIN_GAIN,
    NEARLY_BEST,
    SETTLED,
    SWEEP_EFFORT,
    SWEPT_AT_ONCE,
    TOGETHER,
    WIDER,
)
from dln.rules._rule_set import RuleSet
from dln.solve._select import Budget


def polish(rules: RuleSet, budget: Budget, rng: np.random.Generator, *, sweeps: int) -> RuleSet:
    """Improve a set of rules, in place, and spend the whole budget."""
    for n_sweeps in (sweeps, 2):
        for _ in range(n_sweeps):
            if rules.task.stop() or sweep(rules, budget, rng) < max(1, SETTLED * len(rules)):
                break
        extend(rules, budget)
    return rules


def widened(rules: RuleSet, budget: Budget, rng: np.random.Generator) -> RuleSet:
    """Return a set that has had more conditions for a while: an oscillating search (Somol and Pudil 2000)."""
    child = polish(rules.copy(), budget.widened(WIDER), rng, sweeps=1)
    shrink(child, budget)
    return polish(child, budget, rng, sweeps=2)


def sweep(rules: RuleSet, budget: Budget, rng: np.random.Generator) -> int:
    """Make the best change of every rule, in random order; return how many were changed."""
    rules.keep_signs()
    order, n_changed = rng.permutation(len(rules)), 0
    price, min_gain = CONDITION_PRICE * rules.marginal_gain, MIN_GAIN * rules.task.variation
    rules.forget_inverse()
    for first in range(0, len(order), SWEPT_AT_ONCE):
        if rules.task.stop():
            break
        some = order[first : first + SWEPT_AT_ONCE]
        n_changed += make_changes(rules, some, budget, Effort(*SWEEP_EFFORT), price, min_gain)
    return n_changed


def extend(rules: RuleSet, budget: Budget) -> None:
    """Spend what is left of the budget: new rules of one test, and tests added where they gain most."""
    rules.marginal_gain = 0.0
    while rules.n_conditions < budget.conditions and not rules.task.stop():
        options = longer(rules, budget, Effort(*EXTENSION_EFFORT))
        if len(rules) < budget.rules:
            options += _single_tests(rules)
        if not options or max(option.gain for option in options) < MIN_GAIN * rules.task.variation:
            break
        options.sort(key=lambda option: -option.gain)
        rules.marginal_gain = options[0].gain
        loss = rules.loss()
        _make(rules, options, budget)
        if rules.keep_signs() and rules.loss() >= loss:  # each gained by itself, and together they broke constraints
            break


def _single_tests(rules: RuleSet) -> list[Change]:
    """Return the best new rules of one test."""
    task = rules.task
    everywhere = np.ones(task.n_rows, dtype=np.bool_)
    tests = [test for _, test in task.scanner.alone(everywhere, rules.residual(), SWEEP_EFFORT[0])]
    fires = np.array([task.signals(test) for test in tests], np.bool_).reshape(len(tests), task.n_rows)
    return [Change(gain, len(rules), test) for gain, test in zip(rules.gains(fires).tolist(), tests, strict=True)]


def _make(rules: RuleSet, options: list[Change], budget: Budget) -> None:
    """Make the best extension, and with it those of other rules that gain nearly as much."""
    touched: set[int] = set()
    most = max(1, round(TOGETHER * budget.conditions))
    for gain, j, expression in options:
        if rules.n_conditions >= budget.conditions or len(touched) == most or gain < NEARLY_BEST * options[0].gain:
            break
        if j in touched or expression is None:
            continue
        touched.add(j)
        if j < len(rules):
            rules.replace(j, expression)
        else:
            rules.add(expression)


def shrink(rules: RuleSet, budget: Budget) -> None:
    """Drop the parts whose loss costs least per condition until the set fits into the budget.

    Rules that rest on too few rows of the table, and fire on synthetic ones, go first.
    """
    rules.keep(np.flatnonzero(~rules.task.rests_on_few(rules.fires)).tolist())
    while (excess := rules.n_conditions - budget.conditions) > 0 or len(rules) > budget.rules:
        n_too_many = len(rules) - budget.rules
        options = sorted(shorter(rules, only_whole=n_too_many > 0), key=lambda option: option.gain, reverse=True)
        dropped = options[: max(1, int(DROPPED_AT_ONCE * max(excess, n_too_many)))]
        for _, j, expression in dropped:
            if expression is not None:
                rules.replace(j, expression)
        gone = {j for _, j, expression in dropped if expression is None}
        rules.keep([j for j in range(len(rules)) if j not in gone])
        rules.keep_signs()
