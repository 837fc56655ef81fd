"""All changes of one rule, judged in one compiled call: the search spends most of its time here.

A change puts another test in the place of one, adds a test by "and" or "or" anywhere in the rule, takes a part away, or
begins the rule anew with one test. A scan of all cut-offs proposes tests for each place; the most promising changes are
judged exactly, the weights of all rules refitted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dln._compile import compiled
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
#: Two proposals whose gains differ by less than this share are taken for the same function in other words.
_SAME_GAIN: Final = 1e-9
#: Rows whose products are added in single precision before they join the sum in double: twice as quick.
CHUNK: Final = 64

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


@compiled(nogil=True, error_model="numpy")
def _joined(gate: int, a: Bools, b: Bools, out: Bools) -> None:
    for i in range(a.size):
        if gate == AND:
            out[i] = a[i] & b[i]
        elif gate == OR:
            out[i] = a[i] | b[i]
        else:
            out[i] = a[i] ^ b[i]


@compiled(nogil=True, error_model="numpy")
def _signals(gates: Ints8, children: Ints32, leaves: Bools) -> tuple[Bools, Bools, Bools]:
    """Return ``(n_parts, n)`` each: where parts fire, and where the rule would if a part never, or always, did."""
    n_parts, n = gates.size, leaves.shape[1]
    fires = np.empty((n_parts, n), np.bool_)
    never, always = np.empty((n_parts, n), np.bool_), np.empty((n_parts, n), np.bool_)
    for p in range(n_parts - 1, -1, -1):  # parts come before what they are made of
        if gates[p] < 0:
            fires[p] = leaves[children[p, 0]]
        else:
            _joined(gates[p], fires[children[p, 0]], fires[children[p, 1]], fires[p])
    never[0], always[0] = False, True
    for p in range(n_parts):
        if gates[p] < 0:
            continue
        for side in range(2):
            child, neighbour = children[p, side], fires[children[p, 1 - side]]
            for i in range(n):
                if gates[p] == AND:
                    if_never, if_always = False, neighbour[i]
                elif gates[p] == OR:
                    if_never, if_always = neighbour[i], True
                else:
                    if_never, if_always = neighbour[i], not neighbour[i]
                never[child, i] = always[p, i] if if_never else never[p, i]
                always[child, i] = always[p, i] if if_always else never[p, i]
    return fires, never, always


@compiled(nogil=True, error_model="numpy")
def _tested(
    bins: npt.NDArray[np.uint8], k: int, place: int, negated: int, base: Bools, change: Ints8, out: Bools
) -> None:
    """Write where a rule fires that is ``base + change · test``."""
    for i in range(base.size):
        test = (bins[i, k] > place) != (negated == 1)
        out[i] = base[i] + change[i] * test == 1


@compiled(nogil=True, error_model="numpy")
def _at_place(kind: int, fires: Bools, never: Bools, always: Bools, base: Bools, change: Ints8) -> None:
    """Write base and change of a rule with a test at some part: alone there, or joined with what stands there."""
    for i in range(fires.size):
        by = np.int8(always[i]) - np.int8(never[i])
        if kind == _WITH_AND:
            base[i], change[i] = never[i], by * fires[i]
        elif kind == _WITH_OR:
            base[i], change[i] = (always[i] if fires[i] else never[i]), by * (not fires[i])
        else:
            base[i], change[i] = never[i], by


@compiled(nogil=True, error_model="numpy")
def _exact_gain(
    fires: Bools,
    weight: Floats,
    pulls: Floats,
    whole: float,
    penalty: float,
    weighted: Floats32,
    inverse: Floats,
    rows: Ints32,
    across: Floats,
) -> float:
    """Return by how much a rule would lower the loss beside others, all weights refitted.

    `pulls` are the weighted residuals, which add up to zero, as the columns of `weighted` do: the smaller side of the
    rows tells as much as the other. `rows` and `across` are room to work in.
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
    across[:] = 0.0
    chunk = np.empty(n_rules, np.float32)
    for first in range(0, count, CHUNK):
        chunk[:] = 0.0
        for k in range(first, min(first + CHUNK, count)):
            i = rows[k]
            mass += weight[i]
            pull += pulls[i]
            for r in range(n_rules):
                chunk[r] += weighted[i, r]
        for r in range(n_rules):
            across[r] += chunk[r]
    if mass <= 0.5 or mass >= whole - 0.5:  # noqa: PLR2004 (half a row: its products are rounding errors)
        return 0.0
    own = mass * (1.0 - mass / whole)
    explained = np.zeros(n_rules)
    for r in range(n_rules):
        for q in range(n_rules):
            explained[q] += inverse[r, q] * across[r]
    given = own + penalty
    for r in range(n_rules):
        given -= across[r] * explained[r]
    return pull * pull / max(given, DEPENDENT * own)


@compiled(nogil=True, error_model="numpy")
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
) -> tuple[float, float, Ints32]:
    """Return the rule's own gain, the best change's, both less the price of their tests, and what the change is.

    `children` holds the two parts of a join, or the row of `leaves` of a test; the change is its kind, the part that it
    is made at, and the input, the cut-off's place and the sense of its test.
    """
    n_parts, n = gates.size, leaves.shape[1]
    length = leaves.shape[0]
    fires, never, always = _signals(gates, children, leaves)
    base, change = np.empty(n, np.bool_), np.empty(n, np.int8)
    found, gains = np.empty((per_place, 3), np.int32), np.empty(per_place)
    proposals, worth = np.empty((n_judged, 5), np.int32), np.empty(n_judged)
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
            _at_place(kind, fires[max(p, 0)], never[max(p, 0)], always[max(p, 0)], base, change)
            if p < 0:
                base[:], change[:] = False, 1
            n_tests = 1 if kind == _ANEW else length + (kind != _OTHER)
            gains[:] = 0.0
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
                    proposals[k] = proposals[k - 1]
                worth[place] = value
                proposals[place, 0], proposals[place, 1] = kind, max(p, 0)
                proposals[place, 2:] = found[c]
    best, best_change = -np.inf, np.full(5, -1, np.int32)
    rule, rows, across = np.empty(n, np.bool_), np.empty(n + 1, np.int32), np.empty(inverse.shape[0])
    pulls = weight * residual
    for k in range(n_proposals):
        kind, p, q, place, negated = proposals[k]
        if kind == _ANEW:
            base[:], change[:] = False, 1
        else:
            _at_place(kind, fires[p], never[p], always[p], base, change)
        _tested(bins, q, place, negated, base, change, rule)
        n_tests = 1 if kind == _ANEW else length + (kind != _OTHER)
        gain = _exact_gain(rule, weight, pulls, whole, penalty, weighted, inverse, rows, across) - price * n_tests
        if gain > best:
            best, best_change = gain, proposals[k].copy()
    for p in range(0 if only_longer else n_parts):
        if gates[p] < 0:
            continue
        for side in range(2):
            # The neighbour takes the place of their join.
            dropped, kept = children[p, side], fires[children[p, 1 - side]]
            for i in range(n):
                rule[i] = always[p, i] if kept[i] else never[p, i]
            n_tests = length - _n_tests(gates, dropped)
            gain = _exact_gain(rule, weight, pulls, whole, penalty, weighted, inverse, rows, across) - price * n_tests
            if gain > best:
                best = gain
                best_change[0], best_change[1] = _WITHOUT, dropped
    own = _exact_gain(fires[0], weight, pulls, whole, penalty, weighted, inverse, rows, across) - price * length
    return own, best, best_change


@compiled(nogil=True, error_model="numpy")
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
    own, gain, found = _best_change(
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
        rules.weighted,
        rest.inverse,
        price,
        longest,
        *effort,
        only_longer,
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
