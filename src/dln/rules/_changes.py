"""All changes of one rule after another, in one compiled call: the search spends most of its time here.

A change puts another test in the place of one, adds a test by "and" or "or" anywhere in the rule, drops a part, or
begins the rule anew with one test. A scan of all cut-offs proposes tests for each part; the most promising changes are
judged exactly, the weights of all rules refitted. Threads overlap only in the kernel, which releases the GIL.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dln._compile import is_compiled
from dln.rules._change_kernel import (
    FEWER,
    FIELDS,
    GONE,
    LONGER,
    NO_CHANGE,
    SHORTER,
    SWEEP,
    Ints64,
    RowArrays,
    RuleArrays,
    Workspace,
    change_rules,
    make_change,
)
from dln.rules._expression import Expression, Join, Test, length
from dln.rules._limits import TEST, parts
from dln.rules._rule_set import RuleSet
from dln.rules._scan import N_KINDS, scan_workspace
from dln.rules._task import Task
from dln.solve._products import Floats
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


def are_compiled() -> bool:
    """Return True if this process or an earlier one has compiled the search."""
    return is_compiled(change_rules)


def make_changes(rules: RuleSet, order: Ints64, budget: Budget, effort: Effort, price: float, min_gain: float) -> int:
    """Make the best change of each of some rules, in this order, if it gains enough; return how many were changed.

    Each condition has its price.
    """
    table = _RuleTable(rules, budget.rule_length)
    changes, _ = table.change(order, SWEEP, effort, budget, price, min_gain)
    changed = order[changes[:, 0] != NO_CHANGE]
    for j in changed.tolist():
        rules.expressions[j] = table.expression(j)
        rules.lengths[j] = length(rules.expressions[j])
    return len(changed)


def longer(rules: RuleSet, budget: Budget, effort: Effort) -> list[Change]:
    """Return the best way to make each rule longer by one test, where there is one."""
    table = _RuleTable(rules, budget.rule_length)
    changes, gains = table.change(np.arange(len(rules)), LONGER, effort, budget)
    return [
        Change(gain, j, table.expression(j, changes[j]))
        for j, (kind, gain) in enumerate(zip(changes[:, 0].tolist(), gains.tolist(), strict=True))
        if kind != NO_CHANGE
    ]


def shorter(rules: RuleSet, *, only_whole: bool) -> list[Change]:
    """Return the part of each rule that costs least per condition if it is dropped."""
    budget = Budget(0, 1, 0)
    table = _RuleTable(rules, budget.rule_length)
    changes, gains = table.change(np.arange(len(rules)), FEWER if only_whole else SHORTER, Effort(1, 1), budget)
    return [
        Change(gain, j, None if kind == GONE else table.expression(j, changes[j]))
        for j, (kind, gain) in enumerate(zip(changes[:, 0].tolist(), gains.tolist(), strict=True))
    ]


class _RuleTable:
    """The rules of a set as arrays: the parts of each, joins before what they join."""

    def __init__(self, rules: RuleSet, rule_length: int) -> None:
        n_parts = 2 * max(rule_length, *rules.lengths, 1) - 1
        self._rules = rules
        self._gates = np.full((len(rules), n_parts), TEST, np.int8)
        self._tests = np.zeros((len(rules), n_parts, 3), np.int64)
        self._sizes = 2 * np.array(rules.lengths, np.int64) - 1
        for j, expression in enumerate(rules.expressions):
            gates, tests = parts(expression)
            self._gates[j, : len(gates)], self._tests[j, : len(gates)] = gates, tests

    def change(
        self, order: Ints64, mode: int, effort: Effort, budget: Budget, price: float = 0.0, min_gain: float = 0.0
    ) -> tuple[Ints64, Floats]:
        """Return what was found for each rule, as fields and gain; in a sweep, the rules have been changed."""
        rules = self._rules
        changes, gains = np.empty((len(order), FIELDS), np.int64), np.empty(len(order))
        change_rules(
            np.ascontiguousarray(order, np.int64),
            RuleArrays(
                gates=self._gates,
                tests=self._tests,
                sizes=self._sizes,
                words=rules.words,
                fires=rules.fires,
                means=rules.means,
                gram=rules.gram,
                right=rules.right,
                inverse=rules.inverse,
            ),
            _row_arrays(rules.task),
            *(mode, budget.rule_length, budget.conditions - rules.n_conditions, float(price), float(min_gain)),
            *(changes, gains, self._workspace(effort)),
        )
        return changes, gains

    def _workspace(self, effort: Effort) -> Workspace:
        n_inputs = self._rules.task.inputs.n_inputs
        (n_rules, n), n_parts, n_words = self._rules.fires.shape, self._gates.shape[1], self._rules.words.shape[1]
        sums, base = scan_workspace(self._rules.task.inputs.n_bins)
        return Workspace(
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
            signs=np.zeros((2, n_inputs, 2), np.int8),
            rule_signs=np.zeros(n_rules, np.int8),
        )

    def expression(self, j: int, fields: Ints64 | None = None) -> Expression:
        """Return a rule, or what a change would make of it, which is made in the table."""
        if fields is not None:
            make_change(j, *fields.tolist(), self._gates, self._tests, self._sizes)
        remaining = iter(zip(self._gates[j].tolist(), self._tests[j].tolist(), strict=True))

        def read() -> Expression:
            gate, (k, cutoff, negated) = next(remaining)
            return Test(k, cutoff, bool(negated)) if gate == TEST else Join(gate, read(), read())

        return read()


def _row_arrays(task: Task) -> RowArrays:
    scanner = task.scanner
    return RowArrays(
        bank=task.bank,
        first_test=task.first_test,
        valid=task.valid,
        planes=task.planes,
        bins=scanner.bins,
        n_bins=task.inputs.n_bins,
        weight=task.weight,
        centred=task.centred,
        total_weight=task.total_weight,
        penalty=task.penalty,
        min_weight=task.min_weight,
        directions=task.limits.directions,
        groups=task.limits.groups,
        is_free=task.limits.is_free,
    )
