"""The search for rules: grown greedily, the best selected within the budget, then improved one change at a time.

A change is kept if the refitted loss falls. Sweeps over all rules change each in turn, extensions spend what is left of
the budget, and shrinking gives it back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dln.data._rows import Bools, Floats
from dln.rules import _constants as constants
from dln.rules._changes import Change, Effort, longer, make_changes, shorter
from dln.rules._expression import AND, OR, Expression, Join, length
from dln.rules._rule_set import RuleSet
from dln.rules._scan import WITH_AND, WITH_OR, Scanner
from dln.rules._task import Task
from dln.solve._select import MAX_ROWS, Budget, Candidates


def find_rules(
    task: Task,
    budget: Budget,
    n_grown_rules: int,
    n_generations: int,
    rng: np.random.Generator,
    advance: Callable[[], None] = lambda: None,
) -> tuple[RuleSet, list[Expression]]:
    """Return the best set of rules found within a budget, and all candidates that were grown for it.

    The best selection of candidates is polished, and then widened again and again: a polished set is a local optimum,
    which more conditions for a while lead out of.
    """
    candidates: list[Expression] = []
    for rate, longest in constants.GROWTH:
        candidates += grow(
            task, n_grown_rules // len(constants.GROWTH), min(longest, budget.rule_length), rng, rate=rate
        )
        advance()
    candidates = list(dict.fromkeys(candidates))
    best = polish(RuleSet(task, select(task, candidates, budget)), budget, rng, sweeps=constants.SWEEPS)
    advance()
    n_idle = 0
    for _ in range(n_generations):
        if task.stop() or n_idle == constants.PATIENCE:
            break
        child = widened(best, budget, rng)
        n_idle = 0 if child.loss() < (1.0 - constants.PROGRESS) * best.loss() else n_idle + 1
        best = min(best, child, key=lambda rules: rules.loss())
        advance()
    return best, [*best.expressions, *candidates]


def grow(task: Task, n_rules: int, max_length: int, rng: np.random.Generator, *, rate: float) -> list[Expression]:
    """Return at most `n_rules` rules, each grown on what those before it, shrunken by `rate`, leave of the target.

    Each rule sees some of the rows and inputs, and has a random length up to `max_length`: candidates should be varied.
    """
    residual = task.centred
    n_inputs = len(task.inputs.n_bins)
    rules: list[Expression] = []
    for _ in range(n_rules if n_inputs else 0):
        if len(rules) >= constants.MIN_GROWN and task.stop():
            break
        drawn = rng.random(task.n_rows) < constants.ROW_SHARE
        scanner = task.scanner
        if n_inputs > 2 and rng.random() >= constants.ALL_INPUTS:  # noqa: PLR2004 (of two inputs, none can be spared)
            n = max(2, int(n_inputs * rng.uniform(constants.MIN_INPUT_SHARE, 1.0)))
            scanner = scanner.among(np.sort(rng.choice(n_inputs, n, replace=False)))
        rule = _grow_one(task, scanner, residual, drawn, int(rng.integers(1, max_length + 1)), rng)
        if rule is None:
            continue
        fires = task.signals(rule)
        weight_sum = float(task.weight @ fires)
        if not scanner.min_weight <= weight_sum <= task.total_weight - scanner.min_weight:
            continue
        residual_sum = float((task.weight * residual) @ fires)
        rest = (float(task.weight @ residual) - residual_sum) / (task.total_weight - weight_sum)
        residual = residual - rate * np.where(fires, residual_sum / weight_sum, rest)
        rules.append(rule)
    return rules


def _grow_one(
    task: Task, scanner: Scanner, residual: Floats, drawn: Bools, max_length: int, rng: np.random.Generator
) -> Expression | None:
    """Return a rule grown test by test on the drawn rows, or None if no test splits them."""
    nowhere = np.zeros(task.n_rows, dtype=np.bool_)
    first = scanner.alone(drawn, residual, 3)
    if not first:
        return None
    gain, rule = first[0 if rng.random() < constants.BEST_FIRST else int(rng.integers(len(first)))]
    expression: Expression = rule
    while length(expression) < max_length:
        only = None if rng.random() < constants.OR_SHARE else WITH_AND
        proposed = scanner(task.signals(expression), nowhere, drawn, residual, 1, only, expression)
        options = [(g, AND, test) for g, test in proposed[WITH_AND]] + [(g, OR, test) for g, test in proposed[WITH_OR]]
        better, gate, test = max(options, key=lambda option: option[0], default=(0.0, AND, rule))
        if better <= gain * constants.MIN_GAIN_FACTOR:
            break
        gain, expression = better, Join(gate, expression, test)
    return expression


def select(task: Task, candidates: Sequence[Expression], budget: Budget) -> list[Expression]:
    """Return the best set of candidates found within the budget."""
    return [candidates[i] for i in _prepared(task, candidates).select(budget)]


def select_sizes(
    task: Task, candidates: Sequence[Expression], budget: Budget, sizes: Sequence[int]
) -> dict[int, RuleSet]:
    """Return sets for several sizes, the largest last: quickly, by forward selection only, from one product."""
    if not sizes:
        return {}
    chosen = _prepared(task, candidates).select_sizes([budget.resized(size) for size in sizes])
    return {size: RuleSet(task, [candidates[i] for i in some]) for size, some in zip(sizes, chosen, strict=True)}


def _prepared(task: Task, candidates: Sequence[Expression]) -> Candidates:
    sample = task.first_rows(MAX_ROWS)
    fires = np.array([sample.signals(candidate) for candidate in candidates], dtype=np.bool_)
    return Candidates.of(
        fires.reshape(len(candidates), sample.n_rows),
        np.array([length(candidate) for candidate in candidates], dtype=np.int64),
        sample.centred,
        sample.weight,
        penalty=sample.penalty,
        min_share=task.min_weight / task.total_weight,
        signs=None if task.limits.is_free else np.array([task.limits.sign(one) for one in candidates], np.int64),
    )


def polish(rules: RuleSet, budget: Budget, rng: np.random.Generator, *, sweeps: int) -> RuleSet:
    """Improve a set of rules, in place, and spend the whole budget."""
    for n_sweeps in (sweeps, 2):
        for _ in range(n_sweeps):
            if rules.task.stop() or sweep(rules, budget, rng) < max(1, constants.SETTLED * len(rules)):
                break
        extend(rules, budget)
    return rules


def widened(rules: RuleSet, budget: Budget, rng: np.random.Generator) -> RuleSet:
    """Return a set that has had more conditions for a while: an oscillating search (Somol and Pudil 2000)."""
    child = polish(rules.copy(), budget.widened(constants.WIDER), rng, sweeps=1)
    shrink(child, budget)
    return polish(child, budget, rng, sweeps=2)


def sweep(rules: RuleSet, budget: Budget, rng: np.random.Generator) -> int:
    """Make the best change of every rule, in random order; return how many were changed."""
    rules.keep_signs()
    order, n_changed = rng.permutation(len(rules)), 0
    price, min_gain = constants.CONDITION_PRICE * rules.marginal_gain, constants.MIN_GAIN * rules.task.variation
    rules.forget_inverse()
    for first in range(0, len(order), constants.SWEPT_AT_ONCE):
        if rules.task.stop():
            break
        some = order[first : first + constants.SWEPT_AT_ONCE]
        n_changed += make_changes(rules, some, budget, Effort(*constants.SWEEP_EFFORT), price, min_gain)
    return n_changed


def extend(rules: RuleSet, budget: Budget) -> None:
    """Spend what is left of the budget: new rules of one test, and tests added where they gain most.

    The best extension is made, and with it those of other rules that gain nearly as much.
    """
    task, rules.marginal_gain = rules.task, 0.0
    while rules.n_conditions < budget.conditions and not task.stop():
        options = longer(rules, budget, Effort(*constants.EXTENSION_EFFORT))
        if len(rules) < budget.rules:
            scored = task.scanner.alone(
                np.ones(task.n_rows, dtype=np.bool_), rules.residual(), constants.SWEEP_EFFORT[0]
            )
            fires = np.array([task.signals(test) for _, test in scored], np.bool_).reshape(len(scored), task.n_rows)
            gains = rules.gains(fires).tolist()
            options += [Change(gain, len(rules), test) for gain, (_, test) in zip(gains, scored, strict=True)]
        if not options or max(option.gain for option in options) < constants.MIN_GAIN * task.variation:
            break
        options.sort(key=lambda option: -option.gain)
        rules.marginal_gain = options[0].gain
        loss = rules.loss()
        touched: set[int] = set()
        most = max(1, round(constants.TOGETHER * budget.conditions))
        for gain, j, expression in options:
            if (
                rules.n_conditions >= budget.conditions
                or len(touched) == most
                or gain < constants.NEARLY_BEST * options[0].gain
            ):
                break
            if j in touched or expression is None:
                continue
            touched.add(j)
            if j < len(rules):
                rules.replace(j, expression)
            else:
                rules.add(expression)
        if rules.keep_signs() and rules.loss() >= loss:  # each gained by itself, and together they broke constraints
            break


def shrink(rules: RuleSet, budget: Budget) -> None:
    """Drop the parts whose loss costs least per condition until the set fits into the budget.

    Rules that rest on too few rows of the table, and fire on synthetic ones, go first.
    """
    rules.keep(np.flatnonzero(~rules.task.rests_on_few(rules.fires)).tolist())
    while (excess := rules.n_conditions - budget.conditions) > 0 or len(rules) > budget.rules:
        n_too_many = len(rules) - budget.rules
        options = sorted(shorter(rules, only_whole=n_too_many > 0), key=lambda option: option.gain, reverse=True)
        dropped = options[: max(1, int(constants.DROPPED_AT_ONCE * max(excess, n_too_many)))]
        for _, j, expression in dropped:
            if expression is not None:
                rules.replace(j, expression)
        gone = {j for _, j, expression in dropped if expression is None}
        rules.keep([j for j in range(len(rules)) if j not in gone])
        rules.keep_signs()


def shrinking_path(rules: RuleSet, budget: Budget, rng: np.random.Generator) -> dict[int, RuleSet]:
    """Return sets for ever smaller budgets, each shrunk from the one before and polished; the whole set first.

    Without time they are shrunk only, which is quick: a fit that was cut short may be pruned too.
    """
    path = {budget.conditions: rules}
    for size in sorted((size for size in constants.SIZES if size < rules.n_conditions), reverse=True):
        rules = rules.copy()
        shrink(rules, budget.resized(size))
        path[size] = rules if rules.task.stop() else polish(rules, budget.resized(size), rng, sweeps=1)
    return path
