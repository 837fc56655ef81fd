"""The compiled judge of changes against plain ones, made and judged one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dln.learning._changes import Effort, best_change
from dln.learning._expression import AND, OR, Join, length, part, paths, with_part, without_part
from dln.learning._rule_set import RuleSet
from learned import expressions_of, refitted, seeds, some_task

#: Wide enough to judge whatever a scan proposes.
EVERYTHING = Effort(per_place=100, judged=2000)


def plain_changes(rules, j, residual, longest, *, only_longer):
    """Return all changes of a rule that scans propose, made one by one."""
    task, expression = rules.task, rules.expressions[j]
    everywhere = np.ones(task.n_rows, dtype=bool)
    options = [test for _, test in task.scanner(~everywhere, everywhere, residual, 100)]
    options += [without_part(expression, path) for path in paths(expression) if path]
    for path in paths(expression):
        here = part(expression, path)
        never, always = (task.signals.forced(expression, path, value) for value in (False, True))
        change = always.view(np.int8) - never.view(np.int8)
        fires = task.signals(here)
        if path and not isinstance(here, Join):
            proposed = task.scanner(never, change, residual, 100)
            options += [with_part(expression, path, test) for _, test in proposed]
        if length(expression) < longest:
            proposed = task.scanner(never, change * fires, residual, 100)
            options += [with_part(expression, path, Join(AND, here, test)) for _, test in proposed]
            proposed = task.scanner(np.where(fires, always, never), change * ~fires, residual, 100)
            options += [with_part(expression, path, Join(OR, here, test)) for _, test in proposed]
    return [one for one in options if not only_longer or length(one) > length(expression)]


def some_rules(seed):
    """Return a set of rules of up to four tests, and the place of one of them."""
    task = some_task(seed)
    rules = RuleSet(task, expressions_of(task, seed, 4, max_length=4))
    return rules, seed % len(rules)


@settings(max_examples=40)
@given(seeds, st.integers(1, 5), st.floats(0, 2), st.booleans())
def test_no_plain_change_is_better(seed, longest, price, only_longer):
    """Of all that scans propose the best is found, and its gain is the one that refitting all weights gives."""
    rules, j = some_rules(seed)
    rest = rules.without(j)
    options = plain_changes(rules, j, rest.residual, longest, only_longer=only_longer)
    settled = {"longest": longest, "price": price, "only_longer": only_longer}
    own, change = best_change(rules, j, rest, EVERYTHING, **settled)
    signals = [rules.task.signals(one) for one in [*options, rules.expressions[j]]]
    gains = rules.gains(rest, signals) - price * np.array([length(one) for one in [*options, rules.expressions[j]]])
    tolerance = 1e-4 * rules.task.variation
    assert own == pytest.approx(gains[-1], abs=tolerance)
    if change is None:
        assert not options
    else:
        assert change.gain == pytest.approx(gains[:-1].max(), abs=tolerance)
        assert length(change.expression) <= max(longest, length(rules.expressions[j]))


@settings(max_examples=25)
@given(seeds)
def test_the_gain_is_what_the_loss_falls_by(seed):
    """The loss of the changed set lies below that of the set without the rule by the gain that was told."""
    rules, j = some_rules(seed)
    _, change = best_change(rules, j, rules.without(j), Effort(3, 10), longest=5)
    others = [fires for i, fires in enumerate(rules.fires) if i != j]
    before = refitted(rules.task, others)[0]
    after = refitted(rules.task, [*others, rules.task.signals(change.expression)])[0]
    assert before - after == pytest.approx(change.gain, abs=1e-4 * rules.task.variation)


def test_a_rule_at_its_longest_is_not_extended():
    """Where only longer rules are asked for and none is allowed, there is no change."""
    rules, j = some_rules(3)
    longest = length(rules.expressions[j])
    assert best_change(rules, j, rules.without(j), EVERYTHING, longest=longest, only_longer=True)[1] is None
