"""The compiled judge of changes against plain ones, made and judged one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dln.rules._changes import Effort, longer, make_changes, shorter
from dln.rules._expression import AND, OR, Join, length
from dln.rules._rule_set import RuleSet
from dln.solve._select import Budget
from learned import expressions_of, forced, part, paths, refitted, seeds, some_task, with_part, without_part

#: Wide enough to judge whatever a scan proposes.
EVERYTHING = Effort(per_part=100, judged=2000)


def plain_changes(rules, j, longest, *, only_longer):
    """Return all changes of a rule that scans propose, made one by one."""
    task, expression = rules.task, rules.expressions[j]
    residual = others(rules, j).residual()
    everywhere = np.ones(task.n_rows, dtype=bool)
    options = [test for _, test in task.scanner.alone(everywhere, residual, 100)]
    options += shortened(rules, j)
    for path in paths(expression):
        here = part(expression, path)
        never, always = (forced(task.signals, expression, path, value) for value in (False, True))
        with_and, with_or, other = task.scanner(task.signals(here), never, always, residual, 100)
        if path and not isinstance(here, Join):
            options += [with_part(expression, path, test) for _, test in other]
        if length(expression) < longest:
            options += [with_part(expression, path, Join(AND, here, test)) for _, test in with_and]
            options += [with_part(expression, path, Join(OR, here, test)) for _, test in with_or]
    return [one for one in options if not only_longer or length(one) > length(expression)]


def shortened(rules, j):
    """Return a rule without each of its parts, where it still fires, and does not fire, on rows enough."""
    task, expression = rules.task, rules.expressions[j]
    options = [without_part(expression, path) for path in paths(expression) if path]
    fires = np.array([task.signals(one) for one in options], np.bool_).reshape(len(options), task.n_rows)
    return [one for one, few in zip(options, task.rests_on_few(fires), strict=True) if not few]


def others(rules, j):
    """Return the set without rule j."""
    return RuleSet(rules.task, [one for i, one in enumerate(rules.expressions) if i != j])


def gains(rules, j, options, price=0.0):
    """Return what options in the place of rule j gain, less the price of their tests."""
    fires = np.array([rules.task.signals(one) for one in options]).reshape(len(options), -1)
    return others(rules, j).gains(fires) - price * np.array([length(one) for one in options])


def some_rules(seed):
    """Return a set of rules of up to four tests, and the place of one of them."""
    task = some_task(seed)
    rules = RuleSet(task, expressions_of(task, seed, 4, max_length=4))
    return rules, seed % len(rules)


@settings(max_examples=40)
@given(seeds, st.integers(1, 5), st.floats(0, 2))
def test_no_plain_change_is_better(seed, longest, price):
    """Of all that scans propose the best is made, where it gains, and the set is then that of the changed rules."""
    rules, j = some_rules(seed)
    options = plain_changes(rules, j, longest, only_longer=False)
    before = rules.expressions[j]
    best = gains(rules, j, options, price).max()
    own = gains(rules, j, [before], price)[0]
    budget, tolerance = Budget(100, longest, 10), 1e-4 * rules.task.variation
    n_changed = make_changes(rules, np.array([j]), budget, EVERYTHING, price, min_gain=tolerance)
    after = rules.expressions[j]
    assert n_changed == (after != before)
    if n_changed:
        assert gains(rules, j, [after], price)[0] == pytest.approx(best, abs=tolerance)
        assert length(after) <= max(longest, length(before))
    else:
        assert best <= own + 2 * tolerance
    fresh = RuleSet(rules.task, rules.expressions)
    assert rules.lengths == fresh.lengths
    np.testing.assert_array_equal(rules.words, fresh.words)
    np.testing.assert_array_equal(rules.fires, fresh.fires)
    for name in ("means", "gram", "right"):
        np.testing.assert_allclose(getattr(rules, name), getattr(fresh, name), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(rules.inverse, fresh.inverse, rtol=1e-3, atol=1e-3)


@settings(max_examples=25)
@given(seeds, st.integers(1, 14), st.integers(1, 5))
def test_a_sweep_keeps_the_budget_and_lowers_the_loss(seed, spare, longest):
    """Changes in one call keep the set within the budget, and each lowers the loss."""
    rules, _ = some_rules(seed)
    before, own_longest = refitted(rules.task, rules.fires)[0], max(rules.lengths)
    budget = Budget(rules.n_conditions + spare, longest, 10)
    make_changes(rules, np.arange(len(rules)), budget, Effort(3, 10), 0.0, min_gain=0.0)
    assert rules.n_conditions <= budget.conditions
    assert max(rules.lengths) <= max(longest, own_longest)
    after = refitted(rules.task, [rules.task.signals(one) for one in rules.expressions])[0]
    assert after <= before + 1e-4 * rules.task.variation


@settings(max_examples=25)
@given(seeds, st.integers(2, 5))
def test_longer_rules_are_the_best_extensions(seed, longest):
    """`longer` returns the best of all longer rules and by how much it lowers the loss, and changes nothing."""
    rules, _ = some_rules(seed)
    before = list(rules.expressions)
    found = {change.rule: change for change in longer(rules, Budget(100, longest, 10), EVERYTHING)}
    assert rules.expressions == before
    for j, expression in enumerate(before):
        options = plain_changes(rules, j, longest, only_longer=True)
        assert (j in found) == bool(options)
        if options:
            gained = gains(rules, j, [*options, expression])
            best = (gained[:-1] - gained[-1]).max()
            assert found[j].gain == pytest.approx(best, abs=1e-4 * rules.task.variation)
            assert length(found[j].expression) == length(expression) + 1


@settings(max_examples=25)
@given(seeds, st.booleans())
def test_shorter_rules_are_those_missed_least(seed, only_whole):
    """`shorter` returns the part that costs least per condition, or the whole rule."""
    rules, _ = some_rules(seed)
    for j, change in enumerate(shorter(rules, only_whole=only_whole)):
        expression = rules.expressions[j]
        options = [] if only_whole else shortened(rules, j)
        gained = gains(rules, j, [expression, *options])
        missed = [gained[0] / length(expression)]
        missed += [
            (gained[0] - gain) / (length(expression) - length(option))
            for gain, option in zip(gained[1:], options, strict=True)
        ]
        assert change.rule == j
        assert -change.gain == pytest.approx(min(missed), abs=1e-4 * rules.task.variation)
        kept = 0.0 if change.expression is None else gains(rules, j, [change.expression])[0]
        dropped = length(expression) - (0 if change.expression is None else length(change.expression))
        assert (gained[0] - kept) / dropped == pytest.approx(-change.gain, abs=1e-4 * rules.task.variation)


def test_a_rule_at_its_longest_is_not_extended():
    """Rules at their largest length are not made longer."""
    rules, _ = some_rules(3)
    assert not longer(rules, Budget(100, 1, 10), EVERYTHING)
