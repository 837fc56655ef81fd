"""Polish: one change at a time, kept where the refitted loss falls, within the budget of conditions.

Sweeps over all rules change each in turn; extensions spend what is left of the budget; shrinking gives it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from dln.learning._changes import Effort, best_change
from dln.learning._expression import Expression, Test, length, paths, without_part
from dln.learning._rule_set import Rest, RuleSet
from dln.learning._task import Budget

#: How widely changes are looked for: in a sweep, where all kinds compete, and where a rule is only made longer.
SWEEPING: Final = Effort(per_place=3, judged=10)
EXTENDING: Final = Effort(per_place=2, judged=5)
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
    task, n_changed = rules.task, 0
    price = PRICE * rules.marginal
    for j in rng.permutation(len(rules)).tolist():
        if stop():
            break
        room = budget.conditions - rules.n_conditions + rules.lengths[j]
        longest = min(budget.rule_length, room)
        own, change = best_change(rules, j, rules.without(j), SWEEPING, longest=longest, price=price)
        if change is not None and change.gain > own + WORTH_IT * task.variation:
            rules.replace(j, change.expression, task.signals(change.expression))
            n_changed += 1
    return n_changed


def _single_tests(rules: RuleSet, rest: Rest) -> list[Test]:
    n = rules.task.n_rows
    nowhere, everywhere = np.zeros(n, dtype=np.bool_), np.ones(n, dtype=np.bool_)
    return [test for _, test in rules.task.scanner(nowhere, everywhere, rest.residual, SWEEPING.per_place)]


def extend(rules: RuleSet, budget: Budget, stop: Callable[[], bool]) -> None:
    """Spend what is left of the budget: new rules of one test, and tests added where they gain most."""
    task = rules.task
    rules.marginal = 0.0
    while rules.n_conditions < budget.conditions and not stop():
        options: list[tuple[float, int, Expression]] = []
        if len(rules) < budget.rules:
            rest = rules.without(None)
            tests = _single_tests(rules, rest)
            gains = rules.gains(rest, [task.signals(test) for test in tests])
            options += [(float(gain), len(rules), test) for gain, test in zip(gains, tests, strict=True)]
        for j in range(len(rules)):
            longest = rules.lengths[j] + 1
            if longest <= budget.rule_length:
                own, change = best_change(rules, j, rules.without(j), EXTENDING, longest=longest, only_longer=True)
                if change is not None:
                    options.append((change.gain - own, j, change.expression))
        if not options or max(options, key=lambda option: option[0])[0] < WORTH_IT * task.variation:
            break
        options.sort(key=lambda option: -option[0])
        rules.marginal = options[0][0]
        _make(rules, options, budget)


def _make(rules: RuleSet, options: list[tuple[float, int, Expression]], budget: Budget) -> None:
    """Make the best extension, and with it those of other rules that gain nearly as much."""
    touched: set[int] = set()
    most = max(1, round(TOGETHER * budget.conditions))
    for gain, j, expression in options:
        if rules.n_conditions >= budget.conditions or len(touched) == most or gain < NEARLY * options[0][0]:
            break
        if j in touched:
            continue
        touched.add(j)
        fires = rules.task.signals(expression)
        if j < len(rules):
            rules.replace(j, expression, fires)
        else:
            rules.add(expression, fires)


def shrink(rules: RuleSet, budget: Budget) -> None:
    """Drop the parts that are missed least, per condition, until the set fits into the budget."""
    task = rules.task
    while (excess := rules.n_conditions - budget.conditions) > 0 or len(rules) > budget.rules:
        n_too_many = len(rules) - budget.rules
        options: list[tuple[float, int, Expression | None]] = []
        for j, expression in enumerate(rules.expressions):
            rest = rules.without(j)
            shorter = [without_part(expression, path) for path in paths(expression) if path and n_too_many <= 0]
            gains = rules.gains(rest, [*map(task.signals, shorter), rules.fires[j]])
            options.append((float(gains[-1]) / length(expression), j, None))
            for gain, option in zip(gains[:-1], shorter, strict=True):
                options.append((float(gains[-1] - gain) / (length(expression) - length(option)), j, option))
        options.sort(key=lambda option: option[0])
        _drop(rules, options, max(1, int(DROPPED_AT_ONCE * max(excess, n_too_many))))


def _drop(rules: RuleSet, options: list[tuple[float, int, Expression | None]], most: int) -> None:
    """Drop what is missed least, of at most so many rules."""
    chosen = {j: option for _, j, option in reversed(options)}  # of each rule, the least missed
    order = list(dict.fromkeys(j for _, j, _ in options))[:most]
    for j in sorted(order, reverse=True):  # from the last: those before keep their places
        option = chosen[j]
        if option is None:
            rules.remove(j)
        else:
            rules.replace(j, option, rules.task.signals(option))
