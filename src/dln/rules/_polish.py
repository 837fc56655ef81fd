"""Polish: one change at a time, kept where the refitted loss falls, within the budget of conditions.

Sweeps over all rules change each in turn; extensions spend what is left of the budget; shrinking gives it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from dln.rules._changes import Change, Effort, longer, make_changes, shorter
from dln.rules._rule_set import RuleSet
from dln.solve._select import Budget

#: How widely changes are looked for: in a sweep, where all kinds compete, and where a rule is only made longer.
SWEEPING: Final = Effort(per_part=3, judged=10)
EXTENDING: Final = Effort(per_part=2, judged=5)
#: Rules that are swept before somebody is asked whether to stop: of the largest tables, in less than a second.
AT_A_TIME: Final = 16
#: A change must lower the loss by this share of the target's variation.
WORTH_IT: Final = 1e-6
#: A sweep that changes fewer rules than this share ends the polish.
SETTLED: Final = 0.02
#: A condition must earn this share of what the last one brought: what it frees is spent better elsewhere.
PRICE: Final = 0.5
#: Extensions of different rules are made together where they gain nearly as much as the best: four of a page.
NEARLY: Final = 0.7
TOGETHER: Final = 0.04
#: Share of the conditions that must go which are dropped before all are looked at again.
DROPPED_AT_ONCE: Final = 0.2


def polish(
    rules: RuleSet, budget: Budget, rng: np.random.Generator, *, sweeps: int, stop: Callable[[], bool]
) -> RuleSet:
    """Improve a set of rules, in place, and spend the whole budget."""
    for n_sweeps in (sweeps, 2):
        for _ in range(n_sweeps):
            if stop() or sweep(rules, budget, rng, stop) < max(1, SETTLED * len(rules)):
                break
        extend(rules, budget, stop)
    return rules


def sweep(rules: RuleSet, budget: Budget, rng: np.random.Generator, stop: Callable[[], bool]) -> int:
    """Make the best change of every rule, in random order; return how many were changed."""
    order, n_changed = rng.permutation(len(rules)), 0
    price, worth_it = PRICE * rules.marginal, WORTH_IT * rules.task.variation
    rules.forget_inverse()
    for first in range(0, len(order), AT_A_TIME):
        if stop():
            break
        some = order[first : first + AT_A_TIME]
        n_changed += make_changes(rules, some, budget, SWEEPING, price, worth_it)
    return n_changed


def extend(rules: RuleSet, budget: Budget, stop: Callable[[], bool]) -> None:
    """Spend what is left of the budget: new rules of one test, and tests added where they gain most."""
    task = rules.task
    rules.marginal = 0.0
    while rules.n_conditions < budget.conditions and not stop():
        options = longer(rules, budget, EXTENDING)
        if len(rules) < budget.rules:
            options += _single_tests(rules)
        if not options or max(option.worth for option in options) < WORTH_IT * task.variation:
            break
        options.sort(key=lambda option: -option.worth)
        rules.marginal = options[0].worth
        _make(rules, options, budget)


def _single_tests(rules: RuleSet) -> list[Change]:
    """Return what new rules of one test would gain."""
    task = rules.task
    everywhere = np.ones(task.n_rows, dtype=np.bool_)
    tests = [test for _, test in task.scanner.alone(everywhere, rules.residual(), SWEEPING.per_part)]
    fires = np.array([task.signals(test) for test in tests], np.bool_).reshape(len(tests), task.n_rows)
    return [Change(gain, len(rules), test) for gain, test in zip(rules.gains(fires).tolist(), tests, strict=True)]


def _make(rules: RuleSet, options: list[Change], budget: Budget) -> None:
    """Make the best extension, and with it those of other rules that gain nearly as much."""
    touched: set[int] = set()
    most = max(1, round(TOGETHER * budget.conditions))
    for gain, j, expression in options:
        if rules.n_conditions >= budget.conditions or len(touched) == most or gain < NEARLY * options[0].worth:
            break
        if j in touched or expression is None:
            continue
        touched.add(j)
        if j < len(rules):
            rules.replace(j, expression)
        else:
            rules.add(expression)


def shrink(rules: RuleSet, budget: Budget) -> None:
    """Drop the parts that are missed least, per condition, until the set fits into the budget."""
    while (excess := rules.n_conditions - budget.conditions) > 0 or len(rules) > budget.rules:
        n_too_many = len(rules) - budget.rules
        options = sorted(shorter(rules, only_whole=n_too_many > 0), key=lambda option: option.worth)
        dropped = options[: max(1, int(DROPPED_AT_ONCE * max(excess, n_too_many)))]
        for _, j, expression in dropped:
            if expression is not None:
                rules.replace(j, expression)
        gone = {j for _, j, expression in dropped if expression is None}
        rules.keep([j for j in range(len(rules)) if j not in gone])
