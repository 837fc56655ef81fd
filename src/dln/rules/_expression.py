"""Rules while they are searched for: small trees of tests, joined by "and" and "or"."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from dln.rules._bins import Inputs
from dln.solve._products import Bools

#: Gates as in the circuit's table; negations stand at the tests.
AND: Final = 1
OR: Final = 7


class Test(NamedTuple):
    """An input above one of its cut-offs, or the opposite."""

    input: int
    cutoff: int
    """Index of the cut-off among those of the input; 0 where it is a yes-no input."""
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


class Signals:
    """Evaluates expressions on some rows; tests are kept, for they recur."""

    #: Tests that are kept; then all are dropped, for the search has moved on.
    MAX_KEPT: Final = 2000

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._tests: dict[Test, Bools] = {}

    def __call__(self, expression: Expression) -> Bools:
        """Return the rows on which an expression is true, ``(n_rows,) bool``, not to be written to."""
        if isinstance(expression, Test):
            return self._test(expression)
        a, b = self(expression.a), self(expression.b)
        return a & b if expression.gate == AND else a | b

    def _test(self, test: Test) -> Bools:
        fires = self._tests.get(test)
        if fires is None:
            if len(self._tests) >= self.MAX_KEPT:
                self._tests.clear()
            above = self.inputs.bins[test.input] > test.cutoff
            fires = self._tests[test] = ~above if test.negated else above
        return fires
