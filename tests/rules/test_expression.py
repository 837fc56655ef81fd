"""Expressions: small trees of tests."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dln.rules._expression import Signals, length
from dln.rules._expression import Test as OneTest
from learned import forced, part, paths, seeds, some_expression, some_inputs, with_part, without_part


def drawn(seed):
    """Return inputs, their signals and an expression."""
    rng = np.random.default_rng(seed)
    inputs = some_inputs(rng, 40, 2, 3)
    return rng, inputs, Signals(inputs), some_expression(rng, inputs, int(rng.integers(1, 7)))


@given(seeds)
def test_signals_are_what_the_gates_make_of_the_tests(seed):
    """Expressions are evaluated by the gates' truth tables."""
    _, inputs, signals, expression = drawn(seed)

    def plain(node):
        if isinstance(node, OneTest):
            return (inputs.bins[node.input] > node.cutoff) != node.negated
        a, b = plain(node.a).astype(int), plain(node.b).astype(int)
        return (node.gate >> (3 - 2 * a - b)) % 2 == 1

    np.testing.assert_array_equal(signals(expression), plain(expression))


@given(seeds, st.booleans())
def test_a_part_can_be_forced(seed, value):
    """`forced` is where the expression would fire if the part were always, or never, true."""
    _, inputs, signals, expression = drawn(seed)
    n = len(inputs.n_bins)
    # A test that always holds, or never: no bin is below 0.
    fixed = OneTest(0, -1, negated=not value)
    assert n
    for path in paths(expression):
        expected = signals(with_part(expression, path, fixed))
        np.testing.assert_array_equal(forced(signals, expression, path, value), expected)


@given(seeds)
def test_parts_are_found_and_taken_away(seed):
    """Every path leads to a part; putting it back changes nothing, taking it away leaves the others."""
    _, _, _, expression = drawn(seed)
    for path in paths(expression):
        here = part(expression, path)
        assert with_part(expression, path, here) == expression
        if path:
            assert length(without_part(expression, path)) == length(expression) - length(here)
    assert sum(isinstance(part(expression, path), OneTest) for path in paths(expression)) == length(expression)


def test_tests_are_forgotten_when_they_are_too_many(monkeypatch):
    """A limited number of tests is kept."""
    rng, inputs, signals, _ = drawn(0)
    monkeypatch.setattr(Signals, "MAX_KEPT", 10)
    for _ in range(100):
        signals(OneTest(0, int(rng.integers(200)), negated=False))
        assert len(signals._tests) <= 10
    assert inputs.bins.shape[1] == 40
