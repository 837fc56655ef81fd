"""All changes of one rule after another, in one compiled call: the search spends most of its time here.

A change puts another test in the place of one, adds a test by "and" or "or" anywhere in the rule, drops a part, or
begins the rule anew with one test. A scan of all cut-offs proposes tests for each part; the most promising changes are
judged exactly, the weights of all rules refitted. Threads overlap only in the kernel, which releases the GIL.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dln.data._rows import Floats
from dln.rules._change_kernel import (
    FEWER,
    FIELDS,
    GONE,
    LONGER,
    NO_CHANGE,
    SHORTER,
    SWEEP,
    Ints64,
    RuleArrays,
    Workspace,
    change_rules,
    make_change,
)
from dln.rules._expression import TEST, Expression, Ints8, expression_of, length, parts
from dln.rules._rule_set import RuleSet
from dln.rules._scan import N_KINDS, scan_workspace
from dln.solve._select import Budget


class Effort(NamedTuple):
    """Width of the search: tests proposed for each part of a rule, and changes judged exactly."""

    per_part: int
    judged: int


class Change(NamedTuple):
    """A candidate modification of one rule."""

    gain: float
    """The fall of the loss; per condition, and negative, where the rule becomes shorter."""
    rule: int
    expression: Expression | None
    """None if the rule goes."""


def make_changes(rules: RuleSet, order: Ints64, budget: Budget, effort: Effort, price: float, min_gain: float) -> int:
    """Make the best change of each of some rules, in this order, if it gains enough; return how many were changed.

    Each condition has its price.
    """
    changes, _, gates, tests, sizes = _best_changes(rules, order, SWEEP, effort, budget, price, min_gain)
    changed = order[changes[:, 0] != NO_CHANGE]
    for j in changed.tolist():
        rules.expressions[j] = expression_of(gates[j, : sizes[j]].tolist(), tests[j, : sizes[j]].tolist())
        rules.lengths[j] = length(rules.expressions[j])
    return len(changed)


def longer(rules: RuleSet, budget: Budget, effort: Effort) -> list[Change]:
    """Return the best way to make each rule longer by one test, where there is one."""
    return _proposed(rules, LONGER, effort, budget)


def shorter(rules: RuleSet, *, only_whole: bool) -> list[Change]:
    """Return the part of each rule that costs least per condition if it is dropped."""
    return _proposed(rules, FEWER if only_whole else SHORTER, Effort(1, 1), Budget(0, 1, 0))


def _proposed(rules: RuleSet, mode: int, effort: Effort, budget: Budget) -> list[Change]:
    changes, gains, gates, tests, sizes = _best_changes(rules, np.arange(len(rules)), mode, effort, budget)
    found = []
    for j, (gain, fields) in enumerate(zip(gains.tolist(), changes.tolist(), strict=True)):
        if fields[0] == GONE:
            found.append(Change(gain, j, None))
        elif fields[0] != NO_CHANGE:
            make_change(j, *fields, gates, tests, sizes)
            found.append(Change(gain, j, expression_of(gates[j, : sizes[j]].tolist(), tests[j, : sizes[j]].tolist())))
    return found


def _best_changes(
    rules: RuleSet, order: Ints64, mode: int, effort: Effort, budget: Budget, price: float = 0.0, min_gain: float = 0.0
) -> tuple[Ints64, Floats, Ints8, Ints64, Ints64]:
    """Return the best change of each rule, as fields and gain, and the gates, tests and sizes of all rules.

    In a sweep, the changes have been made: in these arrays and in the products of the set.
    """
    task, n_parts = rules.task, 2 * max(budget.rule_length, *rules.lengths, 1) - 1
    gates = np.full((len(rules), n_parts), TEST, np.int8)
    tests = np.zeros((len(rules), n_parts, 3), np.int64)
    sizes = 2 * np.array(rules.lengths, np.int64) - 1
    for j, expression in enumerate(rules.expressions):
        gates[j, : sizes[j]], tests[j, : sizes[j]] = parts(expression)
    changes, gains = np.empty((len(order), FIELDS), np.int64), np.empty(len(order))
    (n_rules, n), n_words = rules.fires.shape, rules.words.shape[1]
    sums, base = scan_workspace(task.inputs.n_bins)
    workspace = Workspace(
        inverse_without=np.empty((n_rules, n_rules)),
        weights=np.empty(n_rules),
        across=np.empty(n_rules),
        solved=np.empty(n_rules),
        residual=np.empty(n, np.float32),
        weighted_residuals=np.empty(n),
        parts=np.empty((3, n_parts, n_words), np.uint64),
        second=np.empty(n_parts, np.int64),
        rule=np.empty(n_words, np.uint64),
        chosen=np.empty(n_words, np.uint64),
        kinds=np.empty(N_KINDS, np.bool_),
        counts=np.empty(N_KINDS, np.int64),
        best=np.empty((N_KINDS, effort.per_part, 3), np.int64),
        gains=np.empty((N_KINDS, effort.per_part)),
        proposals=np.empty((effort.judged, FIELDS), np.int64),
        values=np.empty(effort.judged),
        sums=sums,
        base=base,
        signs=np.zeros((2, len(task.inputs.n_bins), 2), np.int8),
        rule_signs=np.zeros(n_rules, np.int8),
    )
    change_rules(
        np.ascontiguousarray(order, np.int64),
        RuleArrays(gates, tests, sizes, rules.words, rules.fires, rules.means, rules.gram, rules.right, rules.inverse),
        task.arrays,
        *(mode, budget.rule_length, budget.conditions - rules.n_conditions, float(price), float(min_gain)),
        *(changes, gains, workspace),
    )
    return changes, gains, gates, tests, sizes
