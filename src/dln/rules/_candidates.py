"""Candidate rules: grown greedily on what the ones before leave of the target, and the best of them selected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dln.rules._constants import (
    ALL_INPUTS,
    BEST_FIRST,
    MIN_GAIN_FACTOR,
    MIN_GROWN,
    MIN_INPUT_SHARE,
    OR_SHARE,
    ROW_SHARE,
)
from dln.rules._expression import AND, OR, Expression, Join, length
from dln.rules._scan import WITH_AND, WITH_OR, Scanner
from dln.rules._task import Task
from dln.solve._products import Bools, Floats
from dln.solve._select import MAX_ROWS, Budget, Candidates


def grow(task: Task, n_rules: int, max_length: int, rng: np.random.Generator, *, rate: float) -> list[Expression]:
    """Return at most `n_rules` rules, each grown on what those before it, shrunken by `rate`, leave of the target.

    Each rule sees some of the rows and inputs, and has a random length up to `max_length`: candidates should be varied.
    """
    residual = task.centred
    n_inputs = task.inputs.n_inputs
    rules: list[Expression] = []
    for _ in range(n_rules if n_inputs else 0):
        if len(rules) >= MIN_GROWN and task.stop():
            break
        drawn = rng.random(task.n_rows) < ROW_SHARE
        scanner = task.scanner
        if n_inputs > 2 and rng.random() >= ALL_INPUTS:  # noqa: PLR2004 (of two inputs, none can be spared)
            n = max(2, int(n_inputs * rng.uniform(MIN_INPUT_SHARE, 1.0)))
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
    gain, rule = first[0 if rng.random() < BEST_FIRST else int(rng.integers(len(first)))]
    expression: Expression = rule
    while length(expression) < max_length:
        only = None if rng.random() < OR_SHARE else WITH_AND
        proposed = scanner(task.signals(expression), nowhere, drawn, residual, 1, only, expression)
        options = [(g, AND, test) for g, test in proposed[WITH_AND]] + [(g, OR, test) for g, test in proposed[WITH_OR]]
        better, gate, test = max(options, key=lambda option: option[0], default=(0.0, AND, rule))
        if better <= gain * MIN_GAIN_FACTOR:
            break
        gain, expression = better, Join(gate, expression, test)
    return expression


def select(task: Task, candidates: Sequence[Expression], budget: Budget) -> list[Expression]:
    """Return the best set of candidates found within the budget."""
    return [candidates[i] for i in _prepared(task, candidates).select(budget)]


def select_sizes(task: Task, candidates: Sequence[Expression], budgets: Sequence[Budget]) -> list[list[Expression]]:
    """Return quick choices for several budgets, the largest last: forward selection only, all from one product."""
    return [[candidates[i] for i in chosen] for chosen in _prepared(task, candidates).select_sizes(budgets)]


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
