"""Candidate rules grown greedily on what the ones before leave of the target: quick, short and varied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from dln.rules._expression import AND, OR, Expression, Join, length
from dln.rules._scan import WITH_AND, WITH_OR, Scanner
from dln.rules._task import Task
from dln.solve._products import Bools, Floats

#: Share of the rows that a rule is grown on, and how often it may use all inputs instead of some.
ROW_SHARE: Final = 0.6
ALL_INPUTS: Final = 0.3
LEAST_INPUT_SHARE: Final = 0.3
#: How often the best first test is taken, and not one of the next two.
BEST_FIRST: Final = 0.7
#: How often a test may also join by "or".
OR_SHARE: Final = 0.3
#: Rules that are grown even if there is no time: a model needs some.
AT_LEAST: Final = 30
#: A further test must raise the gain by this share.
WORTH_IT: Final = 1.02


def grow(
    task: Task,
    n_rules: int,
    max_length: int,
    seed: list[int],
    *,
    rate: float,
    stop: Callable[[], bool],
    target: Floats | None = None,
) -> list[Expression]:
    """Return at most `n_rules` rules, each grown on what those before it, shrunken by `rate`, leave of the target.

    The target is the task's, or another ``(n,)``, centred.
    """
    rng = np.random.default_rng(seed)
    residual = task.centred if target is None else target
    n_inputs = task.inputs.n_inputs
    rules: list[Expression] = []
    for _ in range(n_rules if n_inputs else 0):
        if len(rules) >= AT_LEAST and stop():
            break
        drawn = rng.random(task.n_rows) < ROW_SHARE
        scanner = task.scanner
        if n_inputs > 2 and rng.random() >= ALL_INPUTS:  # noqa: PLR2004 (of two inputs, none can be spared)
            n = max(2, int(n_inputs * rng.uniform(LEAST_INPUT_SHARE, 1.0)))
            scanner = scanner.among(np.sort(rng.choice(n_inputs, n, replace=False)))
        rule = _grow_one(task, scanner, residual, drawn, int(rng.integers(1, max_length + 1)), rng)
        if rule is None:
            continue
        fires = task.signals(rule)
        weight = float(task.weight @ fires)
        if not scanner.least <= weight <= task.total_weight - scanner.least:
            continue
        pull = float((task.weight * residual) @ fires)
        total = float(task.weight @ residual)
        residual = residual - rate * np.where(fires, pull / weight, (total - pull) / (task.total_weight - weight))
        rules.append(rule)
    return rules


def _grow_one(
    task: Task,
    scanner: Scanner,
    residual: Floats,
    drawn: Bools,
    max_length: int,
    rng: np.random.Generator,
) -> Expression | None:
    """Return a rule grown test by test on the drawn rows, or None where nothing can be told apart."""
    nowhere = np.zeros(task.n_rows, dtype=np.bool_)
    first = scanner.alone(drawn, residual, 3)
    if not first:
        return None
    gain, rule = first[0 if rng.random() < BEST_FIRST else int(rng.integers(len(first)))]
    expression: Expression = rule
    while length(expression) < max_length:
        only = None if rng.random() < OR_SHARE else WITH_AND
        proposed = scanner(task.signals(expression), nowhere, drawn, residual, 1, only)
        options = [(g, AND, test) for g, test in proposed[WITH_AND]] + [(g, OR, test) for g, test in proposed[WITH_OR]]
        better, gate, test = max(options, key=lambda option: option[0], default=(0.0, AND, rule))
        if better <= gain * WORTH_IT:
            break
        gain, expression = better, Join(gate, expression, test)
    return expression
