"""Constraints in the search for rules: which tests may join a rule, and the sign that its weight then has.

Rules are joined by "and" and "or", so a rule follows each of its tests. If all its tests of constrained columns point
the same way, with the direction or against it, and its weight has the sign to match, its term is monotone. A sum of
such terms is monotone, whatever their number.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dln._compile import compiled
from dln.circuit._constraints import Interactions, Monotone
from dln.rules._bins import Inputs, NumberInput
from dln.rules._expression import Expression, Test
from dln.solve._products import Bools

Ints8 = npt.NDArray[np.int8]

#: In the place of a sign: the test may not join the rule.
FORBIDDEN: Final = 2
#: A test among the parts of a rule, the others being gates.
TEST: Final = -1


class Limits(NamedTuple):
    """The constraints on some inputs."""

    directions: Ints8
    """(n_inputs,): 1 where the prediction may not fall as the input rises, -1 where it may not rise, else 0."""
    groups: Bools
    """(n_groups, n_inputs): the inputs of a rule must lie in one of these groups, if there are any."""

    @classmethod
    def of(cls, inputs: Inputs) -> Limits:
        """Return the limits that the constraints on the columns put on their inputs."""
        directions = np.zeros(inputs.n_inputs, np.int8)
        groups = np.empty((0, inputs.n_inputs), np.bool_)
        columns = np.array([one.column for one in inputs.inputs], np.intp)
        is_number = np.array([isinstance(one, NumberInput) for one in inputs.inputs], np.bool_)
        for constraint in inputs.constraints:
            if isinstance(constraint, Monotone):
                directions[is_number & (columns == constraint.column)] = constraint.direction
            else:
                groups = _groups(constraint, columns)
        return cls(directions, groups)

    @property
    def is_free(self) -> bool:
        """Whether there are no limits."""
        return not (self.directions.any() or len(self.groups))

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
                write_signs(context, 0, 0, 0, len(gates), *arrays, *self, signs)
        return signs


def _groups(constraint: Interactions, columns: npt.NDArray[np.intp]) -> Bools:
    """Return the distinct unions of as many groups as a rule may read, ``(n_groups, n_inputs)``."""
    members = {tuple(np.isin(columns, group).tolist()) for group in constraint.groups}
    named = [np.array(one, np.bool_) for one in sorted(members) if any(one)]
    unions = [np.logical_or.reduce(some) for some in combinations(named, min(constraint.most, len(named))) if some]
    return np.array(unions, np.bool_).reshape(len(unions), len(columns))


@lru_cache(maxsize=8192)
def parts(expression: Expression) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Return gates and tests of the parts of an expression, the whole first."""
    if isinstance(expression, Test):
        return [TEST], [(expression.input, expression.cutoff, int(expression.negated))]
    (gates_a, tests_a), (gates_b, tests_b) = parts(expression.a), parts(expression.b)
    return [expression.gate, *gates_a, *gates_b], [(0, 0, 0), *tests_a, *tests_b]


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
    for g in range(max(n_groups, 1)):
        fits = True
        for s in range(n_parts if n_groups else 0):
            if gates[j, s] == TEST and not first <= s < end and not groups[g, tests[j, s, 0]]:
                fits = False
        for k in range(n_inputs if fits else 0):
            if n_groups == 0 or groups[g, k]:
                for negated in range(2):
                    own = -directions[k] if negated else directions[k]
                    signs[context, k, negated] = FORBIDDEN if own * sign < 0 else (sign if sign != 0 else own)
