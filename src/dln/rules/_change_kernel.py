"""The compiled part of changes: rules as arrays of parts, judged and changed one after another.

A rule is its parts, joins before what they join: gates of joins, and tests of the others. Array operations are written
as loops, for Numba takes long to compile anything else.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dln._compile import compiled, inner
from dln.data._rows import Bools, Floats
from dln.rules._bits import WIDTH, Planes, Words, sum_over, weighted_products
from dln.rules._constants import DEPENDENT, HALF_A_ROW
from dln.rules._expression import AND, OR, TEST, Ints8, sign_without, write_signs
from dln.rules._scan import ALWAYS, FIRES, N_KINDS, NEVER, OTHER, WITH_AND, WITH_OR, scan

#: Kinds of changes besides those of a scan: a part or the whole rule is dropped. Another test in the place of the whole
#: rule begins it anew.
WITHOUT: Final = 3
GONE: Final = 4
NO_CHANGE: Final = -1
#: Fields of a change: its kind, the part where it is made, and its test; or, if a part is dropped, the join that goes
#: and which of its sides goes with it.
FIELDS: Final = 5
#: What is looked for: any change, made at once; or what makes rules longer, shorter, or fewer, not made.
SWEEP: Final = 0
LONGER: Final = 1
SHORTER: Final = 2
FEWER: Final = 3
#: Two proposals whose gains differ by less than this share are taken for the same function.
_SAME_GAIN: Final = 1e-9

_OPTIONS: Final[Any] = {"nogil": True, "error_model": "numpy"}
_inner: Any = inner(**_OPTIONS)

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]


class RowArrays(NamedTuple):
    """The rows of a task."""

    bank: Words
    """(n_tests, n_words): the rows on which each test is true."""
    first_test: Ints64
    """(n_inputs,): the first test of each input."""
    valid: Words
    """(n_words,): all rows."""
    planes: Planes
    """The weights."""
    bins: npt.NDArray[np.uint8]
    """(n_rows, n_inputs)"""
    n_bins: Ints32
    weight: Floats
    centred: Floats
    """(n_rows,): the centred target."""
    total_weight: float
    penalty: float
    min_weight: float
    directions: Ints8
    groups: Bools
    is_free: bool
    """Whether there are no limits: see `Limits`."""


class RuleArrays(NamedTuple):
    """A set of rules: their parts, and the products of `RuleSet`."""

    gates: Ints8
    """(n_rules, n_parts): a gate, or `TEST`."""
    tests: Ints64
    """(n_rules, n_parts, 3): input, cut-off and negation of each test."""
    sizes: Ints64
    """(n_rules,): the number of parts."""
    words: Words
    fires: Bools
    means: Floats
    gram: Floats
    right: Floats
    inverse: Floats


class Workspace(NamedTuple):
    """Arrays that the kernel works in."""

    inverse_without: Floats
    """(n_rules, n_rules): the inverse for the other rules; zero in the row and column of the rule itself."""
    weights: Floats
    across: Floats
    """(n_rules,): products of a candidate with all rules."""
    solved: Floats
    """(n_rules,): `inverse_without` times `across`."""
    residual: Floats32
    weighted_residuals: Floats
    parts: Words
    """(3, n_parts, n_words): see `scan`."""
    second: Ints64
    """(n_parts,): where the second side of a join begins."""
    rule: Words
    chosen: Words
    kinds: Bools
    counts: Ints64
    best: Ints64
    gains: Floats
    proposals: Ints64
    """(n_judged, FIELDS): what scans propose, the most promising first."""
    values: Floats
    """(n_judged,): their gains less the price of their conditions."""
    sums: Floats
    base: Floats
    signs: Ints8
    """(2, n_inputs, 2): see `write_signs`."""
    rule_signs: Ints8
    """(n_rules,): the sign that each rule's weight must have, 0 for any."""


@compiled(**_OPTIONS)
def make_change(
    j: int, kind: int, p: int, k: int, cutoff: int, negated: int, gates: Ints8, tests: Ints64, sizes: Ints64
) -> None:
    """Make a change of rule j."""
    size, end = sizes[j], _end(j, p, gates)
    if kind == WITHOUT:
        dropped = p + 1 if k == 0 else _end(j, p + 1, gates)
        after = _end(j, dropped, gates)
        t = 0
        for s in range(size):
            if s != p and not dropped <= s < after:
                gates[j, t] = gates[j, s]
                for f in range(3):
                    tests[j, t, f] = tests[j, s, f]
                t += 1
        sizes[j] = t
        return
    new = p
    if kind == OTHER:
        sizes[j] = size - (end - p) + 1
    else:
        for s in range(size - 1, p - 1, -1):  # from the end: a part moves to where none is read any more
            t = s + (2 if s >= end else 1)
            gates[j, t] = gates[j, s]
            for f in range(3):
                tests[j, t, f] = tests[j, s, f]
        gates[j, p] = AND if kind == WITH_AND else OR
        sizes[j] = size + 2
        new = end + 1
    gates[j, new] = TEST
    tests[j, new, 0], tests[j, new, 1], tests[j, new, 2] = k, cutoff, negated


@_inner
def _end(j: int, p: int, gates: Ints8) -> int:
    """Return the index after the last part of part p of rule j."""
    n_open = 1
    while n_open > 0:
        n_open += -1 if gates[j, p] == TEST else 1
        p += 1
    return p


@_inner
def _signals(j: int, rules: RuleArrays, rows: RowArrays, parts: Words, second: Ints64) -> None:
    """Write where the parts of rule j fire, and where the rule would if a part never, or always, did.

    The rule is never | (always & part). If the part is ``a and b``, a's own pair is therefore never and
    never | (always & b); if it is ``a or b``, it is never | (always & b) and always.
    """
    n_parts, n_words = rules.sizes[j], rows.valid.size
    for p in range(n_parts - 1, -1, -1):
        gate = rules.gates[j, p]
        if gate == TEST:
            test = rows.first_test[rules.tests[j, p, 0]] + rules.tests[j, p, 1]
            for i in range(n_words):
                parts[FIRES, p, i] = rows.bank[test, i] ^ (rows.valid[i] if rules.tests[j, p, 2] else np.uint64(0))
            continue
        a = p + 1
        b = _end(j, a, rules.gates)
        second[p] = b
        for i in range(n_words):
            parts[FIRES, p, i] = _joined(gate, parts[FIRES, a, i], parts[FIRES, b, i])
    for i in range(n_words):
        parts[NEVER, 0, i], parts[ALWAYS, 0, i] = 0, rows.valid[i]
    for p in range(n_parts):
        gate = rules.gates[j, p]
        for side in range(0 if gate == TEST else 2):
            child, neighbour = (second[p], p + 1) if side else (p + 1, second[p])
            for i in range(n_words):
                never, always = parts[NEVER, p, i], parts[ALWAYS, p, i]
                with_neighbour = never | (always & parts[FIRES, neighbour, i])
                parts[NEVER, child, i] = never if gate == AND else with_neighbour
                parts[ALWAYS, child, i] = with_neighbour if gate == AND else always


@_inner
def _joined(gate: int, a: int, b: int) -> int:
    """Return a gate of two words; without branches, or each loop would be compiled for every gate."""
    either = np.uint64(0) if gate == AND else ~np.uint64(0)
    return (a & b) | ((a | b) & either)  # type: ignore[return-value]


@_inner
def _times(matrix: Floats, vector: Floats, product: Floats) -> None:
    """Write the product of a symmetric matrix and a vector, row by row, which the compiler can vectorise."""
    n = vector.size
    for a in range(n):
        product[a] = 0.0
    for b in range(n):
        one = vector[b]
        for a in range(n):
            product[a] += matrix[b, a] * one


@_inner
def _refit_without(j: int, rules: RuleArrays, rows: RowArrays, work: Workspace) -> None:
    """Refit the other rules without rule j: write their inverse, their weights and the residuals.

    With A the inverse for all rules, that for the others is A - A[:, j] A[j, :] / A[j, j].
    """
    n_rules, n = rules.fires.shape
    for a in range(n_rules):
        factor = rules.inverse[a, j] / rules.inverse[j, j]
        for b in range(n_rules):
            work.inverse_without[a, b] = rules.inverse[a, b] - factor * rules.inverse[j, b]
    for a in range(n_rules):
        work.inverse_without[a, j] = work.inverse_without[j, a] = 0.0
    _times(work.inverse_without, rules.right, work.weights)
    shift = 0.0
    for a in range(n_rules):
        shift += work.weights[a] * rules.means[a]
    residual = work.residual
    for i in range(n):
        residual[i] = rows.centred[i] + shift
    for r in range(n_rules):
        one = np.float32(work.weights[r])
        for i in range(n):  # selected and not multiplied: a sixth of the time
            residual[i] -= one if rules.fires[r, i] else np.float32(0.0)
    for i in range(n):
        work.weighted_residuals[i] = rows.weight[i] * residual[i]


@_inner
def _put_in_order(p: int, n_tests: int, price: float, work: Workspace) -> None:
    """Put what a scan found for part p among the proposals, the most promising first."""
    proposals, values = work.proposals, work.values
    n_judged = values.size
    for kind in range(N_KINDS):
        size = _size(kind, p, n_tests)
        for c in range(work.counts[kind]):
            value = work.gains[kind, c] - price * size
            rank = n_judged
            is_new = True
            while rank > 0 and values[rank - 1] <= value + _SAME_GAIN * abs(value):
                if abs(values[rank - 1] - value) <= _SAME_GAIN * abs(value):
                    is_new = False
                rank -= 1
            if not is_new or rank >= n_judged:
                continue
            for t in range(n_judged - 1, rank, -1):
                values[t] = values[t - 1]
                for f in range(FIELDS):
                    proposals[t, f] = proposals[t - 1, f]
            values[rank] = value
            proposals[rank, 0], proposals[rank, 1] = kind, p
            for f in range(3):
                proposals[rank, 2 + f] = work.best[kind, c, f]


@_inner
def _size(kind: int, p: int, n_tests: int) -> int:
    """Return how many tests a rule has after a change at one of its parts."""
    if kind == OTHER:
        return n_tests if p > 0 else 1
    return n_tests + 1


@_inner
def _put_in_place(j: int, rules: RuleArrays, rows: RowArrays, work: Workspace) -> None:
    """Put the chosen rule in the place of rule j: update its products and the inverse.

    With B the inverse for the others, a the products of the new rule with them, v its own and u = B a, the inverse of
    the bordered matrix is B + u u' / d for the others, -u / d across, and 1 / d for the rule itself, where
    d = v + penalty - a' u. With u[j] = -1, all three are B + u u' / d.
    """
    n_rules, n = rules.fires.shape
    across, u = work.across, work.solved
    for i in range(work.chosen.size):
        rules.words[j, i] = work.chosen[i]
    weight_sum = weighted_products(work.chosen, rows.planes, rules.words, rules.means, across)
    rules.means[j] = weight_sum / rows.total_weight
    across[j] = weight_sum - weight_sum * rules.means[j]
    rules.right[j] = 0.0
    for i in range(n):
        rules.fires[j, i] = work.chosen[i // WIDTH] >> np.uint64(i % WIDTH) & np.uint64(1) != 0
        rules.right[j] += rows.weight[i] * rows.centred[i] * rules.fires[j, i]
    for r in range(n_rules):
        rules.gram[j, r] = rules.gram[r, j] = across[r]
    _times(work.inverse_without, across, u)
    given = across[j] + rows.penalty
    for a in range(n_rules):
        given -= u[a] * across[a]
    u[j] = -1.0
    for a in range(n_rules):
        for b in range(n_rules):
            rules.inverse[a, b] = work.inverse_without[a, b] + u[a] * u[b] / given


@_inner
def _keep_signs(j: int, sign: int, weight: float, work: Workspace) -> bool:
    """Return whether all weights have their signs if rule j gets this weight and the others are refitted."""
    if sign * weight < 0.0:
        return False
    for a in range(work.rule_signs.size):
        if a != j and work.rule_signs[a] * (work.weights[a] - work.solved[a] * weight) < 0.0:
            return False
    return True


@compiled(**_OPTIONS)
def change_rules(
    order: Ints64,
    rules: RuleArrays,
    rows: RowArrays,
    mode: int,
    rule_length: int,
    n_free: int,
    price: float,
    min_gain: float,
    changes: Ints64,
    gained: Floats,
    work: Workspace,
) -> None:
    """Write for each rule of the order the fields of its best change and what that gains; in a sweep, make it.

    `n_free` is the number of conditions that the set leaves of the budget. A gain is the fall of the penalised squared
    error, all weights refitted, less the `price` of each condition; where parts are dropped, it is per condition.
    """
    gates, tests, sizes = rules.gates, rules.tests, rules.sizes
    parts, rule, values, proposals = work.parts, work.rule, work.values, work.proposals
    n_words, n_judged = rows.valid.size, values.size
    for r in range(0 if rows.is_free else sizes.size):
        work.rule_signs[r] = sign_without(r, 0, 0, sizes[r], gates, tests, rows.directions)
    for o in range(order.size):
        j = order[o]
        n_parts = sizes[j]
        n_tests = (n_parts + 1) // 2
        longest = rule_length if mode == LONGER else min(rule_length, n_free + n_tests)
        _refit_without(j, rules, rows, work)
        _signals(j, rules, rows, parts, work.second)

        # Scans propose tests for each part.
        for t in range(n_judged):
            values[t] = -np.inf
        for p in range(n_parts if mode <= LONGER else 0):
            work.kinds[WITH_AND] = work.kinds[WITH_OR] = n_tests < longest
            work.kinds[OTHER] = mode == SWEEP and (p == 0 or gates[j, p] == TEST)
            if work.kinds[WITH_AND] or work.kinds[OTHER]:
                if not rows.is_free:
                    write_signs(0, j, 0, 0, n_parts, gates, tests, rows.directions, rows.groups, work.signs)
                    end = _end(j, p, gates)
                    write_signs(1, j, p, end, n_parts, gates, tests, rows.directions, rows.groups, work.signs)
                scan(
                    *(parts, p, work.kinds, rows.bins, rows.n_bins, rows.weight, work.weighted_residuals),
                    *(rows.total_weight, rows.penalty, rows.min_weight, work.sums, work.base),
                    *(work.best, work.gains, work.counts, work.signs),
                )
                _put_in_order(p, n_tests, price, work)

        # Exact judgement: the rule as it is first, then the proposals, then the rule without one of its parts.
        own, best_gain = 0.0, -np.inf
        for f in range(FIELDS):
            changes[o, f] = NO_CHANGE
        n_proposals = 0
        while n_proposals < n_judged and values[n_proposals] > -np.inf:
            n_proposals += 1
        n_removals = 2 * n_parts if mode in (SWEEP, SHORTER) else 0
        for t in range(-1, n_proposals + n_removals):
            removal = t - n_proposals
            kind, p, side, size = OTHER, 0, 0, n_tests
            first, end = 0, 0  # the parts that go
            if t < 0:
                for i in range(n_words):
                    rule[i] = parts[FIRES, 0, i]
            elif removal < 0:
                kind, p = proposals[t, 0], proposals[t, 1]
                size = _size(kind, p, n_tests)
                if kind == OTHER:
                    first, end = p, _end(j, p, gates)
                test = rows.first_test[proposals[t, 2]] + proposals[t, 3]
                for i in range(n_words):
                    rule[i] = rows.bank[test, i] ^ (rows.valid[i] if proposals[t, 4] else np.uint64(0))
                    if kind != OTHER:
                        rule[i] = _joined(AND if kind == WITH_AND else OR, rule[i], parts[FIRES, p, i])
            else:
                p, side = removal // 2, removal % 2
                if gates[j, p] == TEST:
                    continue
                # The neighbour takes the place of their join.
                dropped, kept = (work.second[p], p + 1) if side else (p + 1, work.second[p])
                first, end = dropped, _end(j, dropped, gates)
                size = n_tests - (end - first + 1) // 2
                for i in range(n_words):
                    rule[i] = parts[FIRES, kept, i]
            if t >= 0:
                for i in range(n_words):
                    rule[i] = parts[NEVER, p, i] | (parts[ALWAYS, p, i] & rule[i])
            weight_sum = weighted_products(rule, rows.planes, rules.words, rules.means, work.across)
            gain = weight = 0.0
            least = HALF_A_ROW if t < 0 else rows.min_weight
            if least <= weight_sum <= rows.total_weight - least:
                variance = weight_sum * (1.0 - weight_sum / rows.total_weight)
                if t < 0 or removal >= 0:
                    square = sum_over(rule, work.weighted_residuals) ** 2
                else:  # known from the scan
                    square = (values[t] + price * size) * (variance + rows.penalty)
                _times(work.inverse_without, work.across, work.solved)
                given = variance + rows.penalty
                for a in range(work.across.size):
                    given -= work.across[a] * work.solved[a]
                gain = square / max(given, DEPENDENT * variance)
                if t >= 0 and not rows.is_free:
                    weight = sum_over(rule, work.weighted_residuals) / max(given, DEPENDENT * variance)
            if t < 0:
                own = gain - price * n_tests
                if mode >= SHORTER:
                    best_gain = -gain / n_tests
                    changes[o, 0] = GONE
                continue
            value = (gain - own) / (n_tests - size) if mode == SHORTER else gain - price * size - own
            if value > best_gain and not rows.is_free:
                sign = sign_without(j, first, end, n_parts, gates, tests, rows.directions)
                if removal < 0 and sign == 0:
                    negated = proposals[t, 4] != 0
                    sign = -rows.directions[proposals[t, 2]] if negated else rows.directions[proposals[t, 2]]
                if not _keep_signs(j, sign, weight, work):
                    continue
            if value > best_gain:
                best_gain = value
                for i in range(n_words):
                    work.chosen[i] = rule[i]
                if removal < 0:
                    for f in range(FIELDS):
                        changes[o, f] = proposals[t, f]
                else:
                    changes[o, 0], changes[o, 1], changes[o, 2] = WITHOUT, p, side
        gained[o] = best_gain
        if mode != SWEEP:
            continue
        if best_gain <= min_gain:
            changes[o, 0] = NO_CHANGE
            continue
        make_change(j, changes[o, 0], changes[o, 1], changes[o, 2], changes[o, 3], changes[o, 4], gates, tests, sizes)
        n_free += n_tests - (sizes[j] + 1) // 2
        if not rows.is_free:
            work.rule_signs[j] = sign_without(j, 0, 0, sizes[j], gates, tests, rows.directions)
        _put_in_place(j, rules, rows, work)
