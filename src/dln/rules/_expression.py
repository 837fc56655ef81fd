"""Rules while they are searched for: small trees of tests, joined by gates."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from dln.rules._inputs import Inputs, Rows
from dln.solve._products import Bools

#: Gates as in the circuit's table; negations stand at the tests.
AND: Final = 1
XOR: Final = 6
OR: Final = 7


class Test(NamedTuple):
    """An input above one of its cut-offs, or a bit, whose cut-off is 0; or the opposite."""

    input: int
    cutoff: int
    """Index of the cut-off among those of the input."""
    negated: bool


class Join(NamedTuple):
    """Two expressions and the gate that joins them."""

    gate: int
    a: Expression
    b: Expression


Expression: TypeAlias = Test | Join


def length(expression: Expression) -> int:
    """Return how many tests an expression has.

    >>> length(Join(AND, Test(0, 5, False), Join(OR, Test(1, 2, True), Test(2, 0, False))))
    3
    """
    return 1 if isinstance(expression, Test) else length(expression.a) + length(expression.b)


def negation(expression: Expression) -> Expression:
    """Return the opposite, with the negation at the tests."""
    if isinstance(expression, Test):
        return expression._replace(negated=not expression.negated)
    if expression.gate == XOR:
        return expression._replace(a=negation(expression.a))
    return Join(OR if expression.gate == AND else AND, negation(expression.a), negation(expression.b))


def renumbered(expression: Expression, inputs: Rows) -> Expression:
    """Return the expression with test k on input `inputs[k]`."""
    if isinstance(expression, Test):
        return expression._replace(input=int(inputs[expression.input]))
    return Join(expression.gate, renumbered(expression.a, inputs), renumbered(expression.b, inputs))


def joined(gate: int, a: Bools, b: Bools) -> Bools:
    """Return what a gate makes of two signals."""
    if gate == AND:
        return a & b
    return a | b if gate == OR else a ^ b


class Signals:
    """Where expressions fire on some rows; tests are kept, for they recur."""

    #: Tests that are kept at the most; then all are forgotten, for the search has moved on.
    MAX_KEPT: Final = 2000

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._tests: dict[Test, Bools] = {}

    def __call__(self, expression: Expression) -> Bools:
        """Return where an expression fires, ``(n_rows,)``; not to be written to."""
        if isinstance(expression, Test):
            return self._test(expression)
        return joined(expression.gate, self(expression.a), self(expression.b))

    def _test(self, test: Test) -> Bools:
        fires = self._tests.get(test)
        if fires is None:
            if len(self._tests) >= self.MAX_KEPT:
                self._tests.clear()
            above = self.inputs.bins[test.input] > test.cutoff
            fires = self._tests[test] = ~above if test.negated else above
        return fires
