"""Rules while they are searched for: small trees of tests, joined by gates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from dln.learning._inputs import Bools, Inputs, Rows

#: Gates as in the circuit's table; negations stand at the tests.
AND: Final = 1
XOR: Final = 6
OR: Final = 7


class Test(NamedTuple):
    """An input above a cut-off in scaled units, or a bit; or the opposite."""

    input: int
    cutoff: float
    negated: bool


class Join(NamedTuple):
    """Two expressions and the gate that joins them."""

    gate: int
    a: Expression
    b: Expression


Expression: TypeAlias = Test | Join
#: The way from an expression to a part of it: 1 for a, 2 for b.
Path: TypeAlias = tuple[int, ...]


def length(expression: Expression) -> int:
    """Return how many tests an expression has.

    >>> length(Join(AND, Test(0, 0.5, False), Join(OR, Test(1, 0.2, True), Test(2, 0.1, False))))
    3
    """
    return 1 if isinstance(expression, Test) else length(expression.a) + length(expression.b)


def paths(expression: Expression, path: Path = ()) -> Iterator[Path]:
    """Yield the ways to all parts, the whole first."""
    yield path
    if isinstance(expression, Join):
        yield from paths(expression.a, (*path, 1))
        yield from paths(expression.b, (*path, 2))


def part(expression: Expression, path: Path) -> Expression:
    """Return the part at the end of a path."""
    for step in path:
        assert isinstance(expression, Join)  # noqa: S101 (paths lead through joins)
        expression = expression.a if step == 1 else expression.b
    return expression


def with_part(expression: Expression, path: Path, new: Expression) -> Expression:
    """Return the expression with another part at the end of a path."""
    if not path:
        return new
    assert isinstance(expression, Join)  # noqa: S101 (paths lead through joins)
    if path[0] == 1:
        return expression._replace(a=with_part(expression.a, path[1:], new))
    return expression._replace(b=with_part(expression.b, path[1:], new))


def without_part(expression: Expression, path: Path) -> Expression:
    """Return the expression without the part at the end of a path: its neighbour takes the place of their join."""
    join = part(expression, path[:-1])
    assert isinstance(join, Join)  # noqa: S101 (the end of a path is below a join)
    return with_part(expression, path[:-1], join.b if path[-1] == 1 else join.a)


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

    def forced(self, expression: Expression, path: Path, value: bool) -> Bools:  # noqa: FBT001 (the value itself)
        """Return where the expression would fire if the part at the end of a path were always, or never, true."""
        if not path:
            return np.full(self.inputs.n_rows, value)
        assert isinstance(expression, Join)  # noqa: S101 (paths lead through joins)
        first, second = (expression.a, expression.b) if path[0] == 1 else (expression.b, expression.a)
        return joined(expression.gate, self.forced(first, path[1:], value), self(second))

    def _test(self, test: Test) -> Bools:
        fires = self._tests.get(test)
        if fires is None:
            if len(self._tests) >= self.MAX_KEPT:
                self._tests.clear()
            above = self.inputs.fires(test.input, test.cutoff)
            fires = self._tests[test] = ~above if test.negated else above
        return fires
