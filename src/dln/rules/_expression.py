"""Rules while they are searched for: small trees of tests, joined by "and" and "or", and the constraints on them.

A rule follows each of its tests. If all its tests of constrained columns point the same way, with the direction or
against it, and its weight has the sign to match, its term is monotone. A sum of such terms is monotone, whatever their
number.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._compile import compiled
from dln.circuit._constraints import Monotone
from dln.data._rows import Bools
from dln.rules._bins import Inputs, NumberInput

Ints8 = npt.NDArray[np.int8]

#: Gates as in the circuit's table; negations stand at the tests.
AND: Final = 1
OR: Final = 7
#: A test among the parts of a rule, the others being gates.
TEST: Final = -1
#: In the place of a sign: the test may not join the rule.
FORBIDDEN: Final = 2


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


@lru_cache(maxsize=8192)
def parts(expression: Expression) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Return gates and tests of the parts of an expression, the whole first."""
    if isinstance(expression, Test):
        return [TEST], [(expression.input, expression.cutoff, int(expression.negated))]
    (gates_a, tests_a), (gates_b, tests_b) = parts(expression.a), parts(expression.b)
    return [expression.gate, *gates_a, *gates_b], [(0, 0, 0), *tests_a, *tests_b]


def expression_of(gates: Sequence[int], tests: Sequence[Sequence[int]]) -> Expression:
    """Return the expression of some parts, the whole first.

    >>> expression_of(*parts(Join(OR, Test(0, 5, False), Test(1, 2, True))))
    Join(gate=7, a=Test(input=0, cutoff=5, negated=False), b=Test(input=1, cutoff=2, negated=True))
    """
    found: list[Expression] = []
    for gate, (k, cutoff, negated) in zip(reversed(gates), reversed(tests), strict=True):
        found.append(Test(k, cutoff, bool(negated)) if gate == TEST else Join(gate, found.pop(), found.pop()))
    return found[0]


class Signals:
    """Evaluates expressions on some rows; tests are kept, for they recur."""

    #: Tests that are kept; then all are dropped, for the search has moved on.
    MAX_KEPT: Final = 2000

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._tests: dict[Test, Bools] = {}

    def __call__(self, expression: Expression) -> Bools:
        """Return the rows on which an expression is true, ``(n_rows,) bool``, not to be written to."""
        if isinstance(expression, Join):
            a, b = self(expression.a), self(expression.b)
            return a & b if expression.gate == AND else a | b
        fires = self._tests.get(expression)
        if fires is None:
            if len(self._tests) >= self.MAX_KEPT:
                self._tests.clear()
            above = self.inputs.bins[expression.input] > expression.cutoff
            fires = self._tests[expression] = ~above if expression.negated else above
        return fires


# --- constraints ------------------------------------------------------------------------------------------------------


class Limits(NamedTuple):
    """The constraints on some inputs."""

    directions: Ints8
    """(n_inputs,): 1 where the prediction may not fall as the input rises, -1 where it may not rise, else 0."""
    groups: Bools
    """(n_groups, n_inputs): the inputs of a rule must lie in one of these groups."""
    is_free: bool
    """Whether there are no limits."""

    @classmethod
    def of(cls, inputs: Inputs) -> Limits:
        """Return the limits that the constraints on the columns put on their inputs."""
        directions = np.zeros(len(inputs.n_bins), np.int8)
        groups = np.ones((1, len(inputs.n_bins)), np.bool_)
        columns = np.array([one.column for one in inputs.inputs], np.intp)
        is_number = np.array([isinstance(one, NumberInput) for one in inputs.inputs], np.bool_)
        for constraint in inputs.constraints:
            if isinstance(constraint, Monotone):
                directions[is_number & (columns == constraint.column)] = constraint.direction
            else:  # all unions of as many groups as a rule may read
                members = {tuple(np.isin(columns, group).tolist()) for group in constraint.groups}
                named = [np.array(one) for one in sorted(members) if any(one)]
                unions = combinations(named, min(constraint.most, len(named)))
                groups = np.array([np.logical_or.reduce(some) for some in unions]) if named else groups
        return cls(directions, groups, not directions.any() and bool(groups.all()))

    def sign(self, rule: Expression) -> int:
        """Return the sign that a rule's weight must have, 0 for any."""
        if isinstance(rule, Test):
            return -int(self.directions[rule.input]) if rule.negated else int(self.directions[rule.input])
        return self.sign(rule.a) or self.sign(rule.b)

    def signs(self, rule: Expression | None) -> Ints8:
        """Return the signs of a rule's weight with one test more: see `write_signs`."""
        signs = np.zeros((2, len(self.directions), 2), np.int8)
        if not self.is_free:
            gates, tests = ([], []) if rule is None else parts(rule)
            arrays = np.array([gates], np.int8), np.array([tests], np.int64).reshape(1, -1, 3)
            for context in range(2):
                write_signs(context, 0, 0, 0, len(gates), *arrays, self.directions, self.groups, signs)
        return signs


_compiled: Any = compiled(nogil=True, error_model="numpy")


@_compiled
def sign_without(
    j: int, first: int, end: int, n_parts: int, gates: Ints8, tests: npt.NDArray[np.int64], directions: Ints8
) -> int:
    """Return the sign that the weight of rule j must have without its parts from `first` to before `end`."""
    for s in range(n_parts):
        if gates[j, s] == TEST and not first <= s < end and directions[tests[j, s, 0]] != 0:
            return -directions[tests[j, s, 0]] if tests[j, s, 2] else directions[tests[j, s, 0]]  # type: ignore[no-any-return]
    return 0


@_compiled
def write_signs(
    context: int,
    j: int,
    first: int,
    end: int,
    n_parts: int,
    gates: Ints8,
    tests: npt.NDArray[np.int64],
    directions: Ints8,
    groups: Bools,
    signs: Ints8,
) -> None:
    """Write into ``signs[context]`` the sign of rule j's weight with each test in the place of some parts.

    The parts are those from `first` to before `end`; none if these are equal. `signs` are ``(2, n_inputs, 2)``, for
    tests as they are and negated: 1, -1, 0 for any, or `FORBIDDEN`.
    """
    sign = sign_without(j, first, end, n_parts, gates, tests, directions)
    n_groups, n_inputs = groups.shape
    for k in range(n_inputs):
        signs[context, k, 0] = signs[context, k, 1] = FORBIDDEN
    for g in range(n_groups):
        fits = True
        for s in range(n_parts):
            if gates[j, s] == TEST and not first <= s < end and not groups[g, tests[j, s, 0]]:
                fits = False
        for k in range(n_inputs if fits else 0):
            if groups[g, k]:
                for negated in range(2):
                    own = -directions[k] if negated else directions[k]
                    signs[context, k, negated] = FORBIDDEN if own * sign < 0 else (sign if sign != 0 else own)
