"""All changes of one rule, judged in one compiled call: the search spends most of its time here.

A change puts another test in the place of one, adds a test by "and" or "or" anywhere in the rule, takes a part away, or
begins the rule anew with one test. A scan of all cut-offs proposes tests for each place; the most promising changes are
judged exactly, the weights of all rules refitted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dln._compile import compiled, inner, is_compiled, spliced
from dln.learning._expression import (
    AND,
    OR,
    Expression,
    Join,
    Path,
    Test,
    part,
    paths,
    with_part,
    without_part,
)
from dln.learning._inputs import Bools, Floats
from dln.learning._rule_set import DEPENDENT, Rest, RuleSet
from dln.learning._scan import scan

#: Kinds of changes: begin anew, another test, a test added by "and" or by "or", a part taken away.
_ANEW: Final = 0
_OTHER: Final = 1
_WITH_AND: Final = 2
_WITH_OR: Final = 3
_WITHOUT: Final = 4
#: Whole numbers that say what a change is: its kind, the part that it is made at, its test.
_FIELDS: Final = 5
#: What is known of a part.
_FIRES: Final = 0
_NEVER: Final = 1
_ALWAYS: Final = 2
#: Two proposals whose gains differ by less than this share are taken for the same function in other words.
_SAME_GAIN: Final = 1e-9
#: Rows whose products are added in single precision before they join the sum in double: twice as quick.
CHUNK: Final = 64

_OPTIONS: Final[Any] = {"nogil": True, "error_model": "numpy"}
# What has one caller is spliced into it: the kernel takes 4.5 s to compile, and 5.3 s where it calls them.
_spliced: Any = spliced(**_OPTIONS)
_inner: Any = inner(**_OPTIONS)

Ints8 = npt.NDArray[np.int8]
Ints32 = npt.NDArray[np.int32]
Floats32 = npt.NDArray[np.float32]


class Change(NamedTuple):
    """What becomes of a rule, and by how much it lowers the loss beside the other rules."""

    gain: float
    expression: Expression


class Effort(NamedTuple):
    """How widely to look: tests proposed for each place, and changes that are then judged exactly."""

    per_place: int
    judged: int


def are_compiled() -> bool:
    """Whether this process or an earlier one has compiled the search."""
    return is_compiled(_best_change)


@_spliced
def _signals(gates: Ints8, children: Ints32, leaves: Bools, parts: Bools) -> None:
    """Write ``(3, n_parts, n)``: where parts fire, and where the rule would if a part never, or always, did."""
    n_parts, n = gates.size, leaves.shape[1]
    for p in range(n_parts - 1, -1, -1):  # parts come before what they are made of
        gate, a, b = gates[p], children[p, 0], children[p, 1]
        for i in range(n):
            if gate < 0:
                parts[_FIRES, p, i] = leaves[a, i]
            elif gate == AND:
                parts[_FIRES, p, i] = parts[_FIRES, a, i] & parts[_FIRES, b, i]
            elif gate == OR:
                parts[_FIRES, p, i] = parts[_FIRES, a, i] | parts[_FIRES, b, i]
            else:
                parts[_FIRES, p, i] = parts[_FIRES, a, i] ^ parts[_FIRES, b, i]
    for i in range(n):
        parts[_NEVER, 0, i], parts[_ALWAYS, 0, i] = False, True
    for p in range(n_parts):
        gate = gates[p]
        for side in range(0 if gate < 0 else 2):
            child, neighbour = children[p, side], children[p, 1 - side]
            for i in range(n):
                fires, never, always = parts[_FIRES, neighbour, i], parts[_NEVER, p, i], parts[_ALWAYS, p, i]
                if gate == AND:
                    if_never, if_always = False, fires
                elif gate == OR:
                    if_never, if_always = fires, True
                else:
                    if_never, if_always = fires, not fires
                parts[_NEVER, child, i] = always if if_never else never
                parts[_ALWAYS, child, i] = always if if_always else never


@_inner
def _at_place(kind: int, p: int, parts: Bools, base: Bools, change: Ints8) -> None:
    """Write base and change of a rule with a test at some part: alone there, or joined with what stands there."""
    for i in range(base.size):
        fires, never, always = parts[_FIRES, p, i], parts[_NEVER, p, i], parts[_ALWAYS, p, i]
        by = np.int8(always) - np.int8(never)
        if kind == _ANEW:
            base[i], change[i] = False, 1
        elif kind == _WITH_AND:
            base[i], change[i] = never, by * fires
        elif kind == _WITH_OR:
            base[i], change[i] = (always if fires else never), by * (not fires)
        else:
            base[i], change[i] = never, by


@_spliced
def _exact_gain(
    fires: Bools,
    weight: Floats,
    residual: Floats,
    whole: float,
    penalty: float,
    weighted: Floats32,
    inverse: Floats,
    rows: Ints32,
    chunk: Floats32,
    across: Floats,
    explained: Floats,
) -> float:
    """Return by how much a rule would lower the loss beside others, all weights refitted.

    The weighted residuals add up to zero, as the columns of `weighted` do: the smaller side of the rows tells as much
    as the other. The last four arguments are room to work in.
    """
    n, n_rules = weighted.shape
    n_fires = 0
    for i in range(n):
        n_fires += fires[i]
    side = 2 * n_fires <= n
    count = 0
    for i in range(n):  # without branches: where rules fire cannot be foreseen
        rows[count] = i
        count += fires[i] == side
    mass = pull = 0.0
    for r in range(n_rules):
        across[r] = explained[r] = 0.0
    for first in range(0, count, CHUNK):
        for r in range(n_rules):
            chunk[r] = 0.0
        for k in range(first, min(first + CHUNK, count)):
            i = rows[k]
            mass += weight[i]
            pull += weight[i] * residual[i]
            for r in range(n_rules):
                chunk[r] += weighted[i, r]
        for r in range(n_rules):
            across[r] += chunk[r]
    if mass <= 0.5 or mass >= whole - 0.5:  # noqa: PLR2004 (half a row: its products are rounding errors)
        return 0.0
    own = mass * (1.0 - mass / whole)
    for r in range(n_rules):
        for q in range(n_rules):
            explained[q] += inverse[r, q] * across[r]
    given = own + penalty
    for r in range(n_rules):
        given -= across[r] * explained[r]
    return pull * pull / max(given, DEPENDENT * own)


@compiled(**_OPTIONS)
def _best_change(
    gates: Ints8,
    children: Ints32,
    leaves: Bools,
    bins: npt.NDArray[np.uint8],
    n_bins: Ints32,
    inputs: Ints32,
    weight: Floats,
    residual: Floats,
    whole: float,
    penalty: float,
    least: float,
    weighted: Floats32,
    inverse: Floats,
    price: float,
    longest: int,
    per_place: int,
    n_judged: int,
    only_longer: bool,  # noqa: FBT001 (numba's arguments go by position)
    best_change: Ints32,
) -> tuple[float, float]:
    """Write the best change; return the rule's own gain and the change's, both less the price of their tests.

    `children` holds the two parts of a join, or the row of `leaves` of a test; the change is its kind, the part that it
    is made at, and the input, the cut-off's place and the sense of its test.

    Arrays are never cut, copied or filled at once: see `scan`.
    """
    n_parts, (length, n) = gates.size, leaves.shape
    parts = np.empty((3, n_parts, n), np.bool_)
    base, change, rule = np.empty(n, np.bool_), np.empty(n, np.int8), np.empty(n, np.bool_)
    found, gains = np.empty((per_place, 3), np.int32), np.empty(per_place)
    proposals, worth = np.empty((n_judged, 5), np.int32), np.empty(n_judged)
    rows, chunk = np.empty(n + 1, np.int32), np.empty(inverse.shape[0], np.float32)
    across, explained = np.empty(inverse.shape[0]), np.empty(inverse.shape[0])
    _signals(gates, children, leaves, parts)
    n_proposals = 0
    for p in range(-1, n_parts):
        for kind in range(_WITHOUT):
            if p < 0:
                skip = kind != _ANEW or only_longer
            elif kind == _OTHER:
                skip = gates[p] >= 0 or p == 0 or only_longer  # a rule of one test is begun anew
            else:
                skip = kind == _ANEW or length >= longest
            if skip:
                continue
            _at_place(kind, max(p, 0), parts, base, change)
            n_tests = 1 if kind == _ANEW else length + (kind != _OTHER)
            for c in range(per_place):
                gains[c] = 0.0
            count = scan(bins, n_bins, inputs, base, change, weight, residual, whole, penalty, least, found, gains)
            for c in range(count):
                value = gains[c] - price * n_tests
                place = n_proposals
                is_new = True
                while place > 0 and worth[place - 1] <= value + _SAME_GAIN * abs(value):
                    if abs(worth[place - 1] - value) <= _SAME_GAIN * abs(value):
                        is_new = False
                    place -= 1
                if not is_new or place >= n_judged:
                    continue
                n_proposals = min(n_proposals + 1, n_judged)
                for k in range(n_proposals - 1, place, -1):
                    worth[k] = worth[k - 1]
                    for f in range(_FIELDS):
                        proposals[k, f] = proposals[k - 1, f]
                worth[place] = value
                proposals[place, 0], proposals[place, 1] = kind, max(p, 0)
                for f in range(3):
                    proposals[place, 2 + f] = found[c, f]
    own, best = 0.0, -np.inf
    for f in range(_FIELDS):
        best_change[f] = -1
    n_removals = 0 if only_longer else 2 * n_parts
    for k in range(n_proposals + n_removals + 1):  # the last is the rule as it is
        removal = k - n_proposals
        p, n_tests, dropped = 0, length, 0
        if removal < 0:
            kind, p = proposals[k, 0], proposals[k, 1]
            q, place, is_negated = proposals[k, 2], proposals[k, 3], proposals[k, 4] == 1
            _at_place(np.int64(kind), np.int64(p), parts, base, change)  # for one type of numbers
            for i in range(n):
                test = (bins[i, q] > place) != is_negated
                rule[i] = base[i] + change[i] * test == 1
            n_tests = 1 if kind == _ANEW else length + (kind != _OTHER)
        elif removal < n_removals:
            p, side = removal // 2, removal % 2
            if gates[p] < 0:
                continue
            # The neighbour takes the place of their join.
            dropped, kept = children[p, side], children[p, 1 - side]
            for i in range(n):
                rule[i] = parts[_ALWAYS, p, i] if parts[_FIRES, kept, i] else parts[_NEVER, p, i]
            n_tests = length - _n_tests(gates, dropped)
        else:
            for i in range(n):
                rule[i] = parts[_FIRES, 0, i]
        gain = _exact_gain(rule, weight, residual, whole, penalty, weighted, inverse, rows, chunk, across, explained)
        gain -= price * n_tests
        if removal == n_removals:
            own = gain
        elif gain > best:
            best = gain
            if removal < 0:
                for f in range(_FIELDS):
                    best_change[f] = proposals[k, f]
            else:
                best_change[0], best_change[1] = _WITHOUT, dropped
    return own, best


@_spliced
def _n_tests(gates: Ints8, p: int) -> int:
    """Return how many tests a part has. Its parts follow it, all before the next part beside it."""
    n_open, n_tests = 1, 0
    while n_open > 0:
        if gates[p] < 0:
            n_tests += 1
            n_open -= 1
        else:
            n_open += 1
        p += 1
    return n_tests


class _Form(NamedTuple):
    """An expression as arrays: its parts, the whole first."""

    gates: Ints8
    """(n_parts,): -1 for a test."""
    children: Ints32
    """(n_parts, 2)"""
    tests: tuple[Test, ...]
    paths: tuple[Path, ...]


@lru_cache(maxsize=4096)
def _form(expression: Expression) -> _Form:
    ways = tuple(paths(expression))
    number = {path: p for p, path in enumerate(ways)}
    gates, children = np.full(len(ways), -1, np.int8), np.zeros((len(ways), 2), np.int32)
    tests: list[Test] = []
    for p, path in enumerate(ways):
        here = part(expression, path)
        if isinstance(here, Join):
            gates[p] = here.gate
            children[p] = number[*path, 1], number[*path, 2]
        else:
            children[p, 0] = len(tests)
            tests.append(here)
    return _Form(gates, children, tuple(tests), ways)


def best_change(
    rules: RuleSet,
    j: int,
    rest: Rest,
    effort: Effort,
    *,
    longest: int,
    price: float = 0.0,
    only_longer: bool = False,
) -> tuple[float, Change | None]:
    """Return what rule j gains and the best change of it up to a length, both less the price of their tests."""
    task, expression = rules.task, rules.expressions[j]
    form, scanner = _form(expression), task.scanner
    found = np.empty(_FIELDS, np.int32)
    own, gain = _best_change(
        form.gates,
        form.children,
        np.array([task.signals(test) for test in form.tests]),
        scanner.bins,
        task.inputs.n_bins,
        scanner.all_inputs,
        task.weight,
        rest.residual,
        task.total_weight,
        task.penalty,
        scanner.least,
        np.ascontiguousarray(rules.weighted),  # columns were taken away: of another layout, it would be compiled twice
        rest.inverse,
        price,
        longest,
        *effort,
        only_longer,
        found,
    )
    kind, p, k, place, negated = found.tolist()
    if kind < 0:
        return own, None
    path = form.paths[p]
    if kind == _WITHOUT:
        return own, Change(gain, without_part(expression, path))
    test = scanner.test(k, place, negated=bool(negated))
    if kind == _ANEW:
        return own, Change(gain, test)
    if kind == _OTHER:
        return own, Change(gain, with_part(expression, path, test))
    gate = AND if kind == _WITH_AND else OR
    return own, Change(gain, with_part(expression, path, Join(gate, part(expression, path), test)))
