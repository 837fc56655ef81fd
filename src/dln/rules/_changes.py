"""All changes of one rule after another, in one compiled call: the search spends most of its time here.

A change puts another test in the place of one, adds a test by "and" or "or" anywhere in the rule, takes a part away, or
begins the rule anew with one test. A scan of all cut-offs proposes tests for each part; the most promising changes are
judged exactly, the weights of all rules refitted. Sweeping makes the best change of each rule before it goes on to the
next; where rules are only to be made longer or shorter, what each change is worth is told.

Threads overlap only here: what is between two calls holds the interpreter's lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dln._compile import is_compiled
from dln.rules._change_kernel import (
    FEWER,
    FIELDS,
    GONE,
    LONGER,
    NO_CHANGE,
    SHORTER,
    SWEEP,
    TEST,
    Ints64,
    change_rules,
    make_change,
)
from dln.rules._expression import Expression, Join, Test, length
from dln.rules._rule_set import RuleSet
from dln.rules._scan import N_KINDS, scan_room
from dln.solve._products import Floats
from dln.solve._select import Budget


class Effort(NamedTuple):
    """How widely to look: tests proposed for each part of a rule, and changes that are then judged exactly."""

    per_part: int
    judged: int


class Change(NamedTuple):
    """What would become of a rule."""

    worth: float
    """What the loss would fall by; or, where less of the rule is kept, rise by for each condition."""
    rule: int
    expression: Expression | None
    """None if the rule would go."""


def are_compiled() -> bool:
    """Whether this process or an earlier one has compiled the search."""
    return is_compiled(change_rules)


def make_changes(rules: RuleSet, order: Ints64, budget: Budget, effort: Effort, price: float, worth_it: float) -> int:
    """Make the best change of each of some rules, in this order, if it is worth it; return how many were changed.

    Each condition has its price.
    """
    table = _Table(rules, budget.rule_length)
    changes, _ = table.change(order, SWEEP, effort, budget, price, worth_it)
    changed = order[changes[:, 0] != NO_CHANGE]
    for j in changed.tolist():
        rules.expressions[j] = table.expression(j)
        rules.lengths[j] = length(rules.expressions[j])
    return len(changed)


def longer(rules: RuleSet, budget: Budget, effort: Effort) -> list[Change]:
    """Return the best way to make each rule longer by one test, where there is one."""
    table = _Table(rules, budget.rule_length)
    changes, gains = table.change(np.arange(len(rules)), LONGER, effort, budget)
    return [
        Change(gain, j, table.expression(j, changes[j]))
        for j, (kind, gain) in enumerate(zip(changes[:, 0].tolist(), gains.tolist(), strict=True))
        if kind != NO_CHANGE
    ]


def shorter(rules: RuleSet, *, only_whole: bool) -> list[Change]:
    """Return which part of each rule would be missed least, for each condition of it."""
    budget = Budget(0, 1, 0)
    table = _Table(rules, budget.rule_length)
    changes, missed = table.change(np.arange(len(rules)), FEWER if only_whole else SHORTER, Effort(1, 1), budget)
    return [
        Change(worth, j, None if kind == GONE else table.expression(j, changes[j]))
        for j, (kind, worth) in enumerate(zip(changes[:, 0].tolist(), missed.tolist(), strict=True))
    ]


class _Table:
    """The rules of a set as arrays: the parts of each, joins before what they join."""

    def __init__(self, rules: RuleSet, rule_length: int) -> None:
        n_parts = 2 * max(rule_length, *rules.lengths, 1) - 1
        self._rules = rules
        self._kinds = np.full((len(rules), n_parts), TEST, np.int8)
        self._tests = np.zeros((len(rules), n_parts, 3), np.int64)
        self._sizes = 2 * np.array(rules.lengths, np.int64) - 1
        for j, expression in enumerate(rules.expressions):
            kinds, tests = _parts(expression)
            self._kinds[j, : len(kinds)], self._tests[j, : len(kinds)] = kinds, tests

    def change(
        self,
        order: Ints64,
        mode: int,
        effort: Effort,
        budget: Budget,
        price: float = 0.0,
        worth_it: float = 0.0,
    ) -> tuple[Ints64, Floats]:
        """Return what was found for each rule, as fields and worth; sweeping, the rules have been changed."""
        rules, task = self._rules, self._rules.task
        changes, worth = np.empty((len(order), FIELDS), np.int64), np.empty(len(order))
        inputs, scanner = task.inputs, task.scanner
        change_rules(
            np.ascontiguousarray(order, np.int64),
            *(self._kinds, self._tests, self._sizes),
            *(rules.words, rules.fires, rules.means, rules.gram, rules.right, rules.inverse),
            *(
                task.bank,
                task.first_test,
                task.valid,
                task.planes.scales,
                task.planes.rows,
                task.planes.first,
                task.planes.end,
            ),
            *(scanner.bins, inputs.n_bins, task.weight, task.centred),
            *(task.total_weight, task.penalty, scanner.least),
            *(mode, budget.rule_length, budget.conditions - rules.n_conditions, price, worth_it),
            *(changes, worth, *self._room(effort)),
        )
        return changes, worth

    def _room(self, effort: Effort) -> Iterator[npt.NDArray[Any]]:
        """Yield the arrays that the kernel works in."""
        (n_rules, n), n_parts, n_words = self._rules.fires.shape, self._kinds.shape[1], self._rules.words.shape[1]
        yield np.empty((n_rules, n_rules))
        yield from np.empty((3, n_rules))
        yield np.empty(n, np.float32)
        yield np.empty(n)
        yield np.empty((3, n_parts, n_words), np.uint64)
        yield np.empty(n_parts, np.int64)
        yield from np.empty((2, n_words), np.uint64)
        yield np.empty(N_KINDS, np.bool_)
        yield np.empty(N_KINDS, np.int64)
        yield np.empty((N_KINDS, effort.per_part, 3), np.int64)
        yield np.empty((N_KINDS, effort.per_part))
        yield np.empty((effort.judged, FIELDS), np.int64)
        yield np.empty(effort.judged)
        yield from scan_room(self._rules.task.inputs.n_bins)

    def expression(self, j: int, fields: Ints64 | None = None) -> Expression:
        """Return a rule, or what a change that was only told would make of it."""
        if fields is not None:
            make_change(j, *fields.tolist(), self._kinds, self._tests, self._sizes)
        parts = iter(zip(self._kinds[j].tolist(), self._tests[j].tolist(), strict=True))

        def read() -> Expression:
            gate, (k, cutoff, negated) = next(parts)
            return Test(k, cutoff, bool(negated)) if gate == TEST else Join(gate, read(), read())

        return read()


@lru_cache(maxsize=8192)
def _parts(expression: Expression) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Return gates and tests of the parts of an expression, the whole first."""
    if isinstance(expression, Test):
        return [TEST], [(expression.input, expression.cutoff, int(expression.negated))]
    (gates_a, tests_a), (gates_b, tests_b) = _parts(expression.a), _parts(expression.b)
    return [expression.gate, *gates_a, *gates_b], [(0, 0, 0), *tests_a, *tests_b]
