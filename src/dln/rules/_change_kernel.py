"""The compiled part of changes: rules as arrays of parts, judged and changed one after another.

Arrays are never cut, copied or filled at once (see `scan`). A rule is its parts, joins before what they join: gates of
joins, and tests of the others.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln._compile import compiled, inner
from dln.rules._bits import WIDTH, Words, count_bits, lowest_bit
from dln.rules._expression import AND, OR, XOR
from dln.rules._rule_set import DEPENDENT
from dln.rules._scan import ALWAYS, FIRES, N_KINDS, NEVER, OTHER, WITH_AND, WITH_OR, scan
from dln.solve._products import Bools, Floats

#: Kinds of changes besides those of a scan, of which another test in the place of the whole rule begins it anew: a part
#: or the whole rule is taken away.
WITHOUT: Final = 3
GONE: Final = 4
NO_CHANGE: Final = -1
#: Whole numbers that say what a change is: its kind, the part that it is made at, and its test; or, of what is taken
#: away, the join that goes and which of its sides goes with it.
FIELDS: Final = 5
#: What is looked for: any change, made at once; or what would make rules longer, shorter, or fewer.
SWEEP: Final = 0
LONGER: Final = 1
SHORTER: Final = 2
FEWER: Final = 3
#: A test among the parts of a rule, the others being gates.
TEST: Final = -1
#: Two proposals whose gains differ by less than this share are taken for the same function in other words.
_SAME_GAIN: Final = 1e-9

_OPTIONS: Final[Any] = {"nogil": True, "error_model": "numpy"}
_inner: Any = inner(**_OPTIONS)

Ints8 = npt.NDArray[np.int8]
Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]


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
def _signals(
    j: int,
    gates: Ints8,
    tests: Ints64,
    n_parts: int,
    bank: Words,
    first_test: Ints64,
    valid: Words,
    second: Ints64,
    parts: Words,
) -> None:
    """Write ``(3, n_parts, n_words)``: where parts fire, and where the rule would if a part never, or always, did.

    The first part of a join follows it; `second` is where the other stands.
    """
    n_words = valid.size
    for p in range(n_parts - 1, -1, -1):
        gate = gates[j, p]
        if gate == TEST:
            test = first_test[tests[j, p, 0]] + tests[j, p, 1]
            for i in range(n_words):
                parts[FIRES, p, i] = bank[test, i] ^ valid[i] if tests[j, p, 2] else bank[test, i]
            continue
        a = p + 1
        b = _end(j, a, gates)
        second[p] = b
        for i in range(n_words):
            parts[FIRES, p, i] = _joined(gate, parts[FIRES, a, i], parts[FIRES, b, i])
    for i in range(n_words):
        parts[NEVER, 0, i], parts[ALWAYS, 0, i] = 0, valid[i]
    for p in range(n_parts):
        gate = gates[j, p]
        for side in range(0 if gate == TEST else 2):
            child, neighbour = (second[p], p + 1) if side else (p + 1, second[p])
            for i in range(n_words):
                fires, never, always = parts[FIRES, neighbour, i], parts[NEVER, p, i], parts[ALWAYS, p, i]
                if_never = _joined(gate, np.uint64(0), fires)
                if_always = _joined(gate, valid[i], fires)
                parts[NEVER, child, i] = never ^ (never ^ always) & if_never
                parts[ALWAYS, child, i] = never ^ (never ^ always) & if_always


@_inner
def _joined(gate: int, a: int, b: int) -> int:
    """Return what a gate makes of two words: without branches, or each loop would be compiled for every gate."""
    nothing = np.uint64(0)
    both = nothing if gate == XOR else ~nothing
    either = nothing if gate == AND else ~nothing
    return (a & b & both) ^ ((a ^ b) & either)  # type: ignore[return-value]


@_inner
def _end(j: int, p: int, gates: Ints8) -> int:
    """Return the index after the last part of part p of rule j."""
    n_open = 1
    while n_open > 0:
        n_open += -1 if gates[j, p] == TEST else 1
        p += 1
    return p


@_inner
def _covariances(
    rule: Words, scales: Floats, planes: Words, first: Ints64, end: Ints64, words: Words, means: Floats, across: Floats
) -> float:
    """Write the covariances of a rule with others, times the weight of all rows; return the weight it fires on."""
    mass = 0.0
    for r in range(means.size):
        across[r] = 0.0
    for plane in range(scales.size):
        scale, count = scales[plane], np.uint64(0)
        for i in range(first[plane], end[plane]):
            count += count_bits(rule[i] & planes[plane, i])
        mass += scale * count
        for r in range(means.size):
            count = np.uint64(0)
            for i in range(first[plane], end[plane]):
                count += count_bits(rule[i] & planes[plane, i] & words[r, i])
            across[r] += scale * count
    for r in range(means.size):
        across[r] -= mass * means[r]
    return mass


@_inner
def _pull(rule: Words, pulls: Floats) -> float:
    """Return the sum over the rows that a rule fires on."""
    total = 0.0
    for i in range(rule.size):
        word = rule[i]
        while word != 0:
            total += pulls[i * WIDTH + np.int64(lowest_bit(word))]
            word &= word - np.uint64(1)
    return total


@_inner
def _times(matrix: Floats, vector: Floats, product: Floats) -> None:
    """Write the product of a symmetric matrix and a vector: row by row, so that it takes several numbers at a time."""
    n = vector.size
    for a in range(n):
        product[a] = 0.0
    for b in range(n):
        one = vector[b]
        for a in range(n):
            product[a] += matrix[b, a] * one


@_inner
def _without(
    j: int,
    inverse: Floats,
    right: Floats,
    means: Floats,
    fires: Bools,
    centred: Floats,
    weight: Floats,
    rest: Floats,
    weights: Floats,
    residual: Floats32,
    pulls: Floats,
) -> None:
    """Refit the others without rule j: write their inverse, and what they leave of the target, times the weights."""
    n_rules, n = fires.shape
    for a in range(n_rules):
        factor = inverse[a, j] / inverse[j, j]
        for b in range(n_rules):
            rest[a, b] = inverse[a, b] - factor * inverse[j, b]
    for a in range(n_rules):
        rest[a, j] = rest[j, a] = 0.0
    _times(rest, right, weights)
    shift = 0.0
    for a in range(n_rules):
        shift += weights[a] * means[a]
    for i in range(n):
        residual[i] = centred[i] + shift
    for r in range(n_rules):
        one = np.float32(weights[r])
        for i in range(n):  # chosen and not multiplied: a sixth of the time
            residual[i] -= one if fires[r, i] else np.float32(0.0)
    for i in range(n):
        pulls[i] = weight[i] * residual[i]


@_inner
def _put_in_order(
    p: int,
    n_tests: int,
    price: float,
    best: Ints64,
    gains: Floats,
    counts: Ints64,
    proposals: Ints64,
    values: Floats,
) -> None:
    """Put what a scan found for part p among the proposals, the most promising first."""
    n_judged = values.size
    for kind in range(N_KINDS):
        size = _size(kind, p, n_tests)
        for c in range(counts[kind]):
            value = gains[kind, c] - price * size
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
                proposals[rank, 2 + f] = best[kind, c, f]


@_inner
def _size(kind: int, p: int, n_tests: int) -> int:
    """Return how many tests a rule would have after a change at one of its parts."""
    if kind == OTHER:
        return n_tests if p > 0 else 1
    return n_tests + 1


@compiled(**_OPTIONS)
def change_rules(
    order: Ints64,
    gates: Ints8,
    tests: Ints64,
    sizes: Ints64,
    words: Words,
    fires: Bools,
    means: Floats,
    gram: Floats,
    right: Floats,
    inverse: Floats,
    bank: Words,
    first_test: Ints64,
    valid: Words,
    scales: Floats,
    planes: Words,
    first_word: Ints64,
    end_word: Ints64,
    bins: npt.NDArray[np.uint8],
    n_bins: Ints32,
    weight: Floats,
    centred: Floats,
    whole: float,
    penalty: float,
    least: float,
    mode: int,
    rule_length: int,
    room: int,
    price: float,
    worth_it: float,
    changes: Ints64,
    worth: Floats,
    rest: Floats,
    weights: Floats,
    across: Floats,
    shared: Floats,
    residual: Floats32,
    pulls: Floats,
    parts: Words,
    second: Ints64,
    rule: Words,
    chosen: Words,
    kinds: Bools,
    counts: Ints64,
    best: Ints64,
    gains: Floats,
    proposals: Ints64,
    values: Floats,
    sums: Floats,
    base: Floats,
) -> None:
    """Write for each rule of the order the fields of its best change and what that is worth; sweeping, make it.

    `inverse` is that of the penalised Gram matrix, `room` what the set leaves of the budget's conditions. What comes
    after `worth` is room to work in.
    """
    n_rules, n = fires.shape
    n_words, n_judged = valid.size, values.size
    for o in range(order.size):
        j = order[o]
        n_parts = sizes[j]
        n_tests = (n_parts + 1) // 2
        longest = rule_length if mode == LONGER else min(rule_length, room + n_tests)
        _without(j, inverse, right, means, fires, centred, weight, rest, weights, residual, pulls)
        _signals(j, gates, tests, n_parts, bank, first_test, valid, second, parts)
        for t in range(n_judged):
            values[t] = -np.inf
        for p in range(n_parts if mode <= LONGER else 0):
            kinds[WITH_AND] = kinds[WITH_OR] = n_tests < longest
            kinds[OTHER] = mode == SWEEP and (p == 0 or gates[j, p] == TEST)
            if kinds[WITH_AND] or kinds[OTHER]:
                scan(
                    parts, p, kinds, bins, n_bins, weight, pulls, whole, penalty, least, sums, base, best, gains, counts
                )
                _put_in_order(p, n_tests, price, best, gains, counts, proposals, values)

        # Exact judgement: the rule as it is first, then the proposals, then what is left of it without a part.
        own, best_worth = 0.0, -np.inf
        for f in range(FIELDS):
            changes[o, f] = NO_CHANGE
        n_proposals = 0
        while n_proposals < n_judged and values[n_proposals] > -np.inf:
            n_proposals += 1
        n_removals = 2 * n_parts if mode in (SWEEP, SHORTER) else 0
        for t in range(-1, n_proposals + n_removals):
            removal = t - n_proposals
            kind, p, side, size = OTHER, 0, 0, n_tests
            if t < 0:
                for i in range(n_words):
                    rule[i] = parts[FIRES, 0, i]
            elif removal < 0:
                kind, p = proposals[t, 0], proposals[t, 1]
                size = _size(kind, p, n_tests)
                test = first_test[proposals[t, 2]] + proposals[t, 3]
                for i in range(n_words):
                    rule[i] = bank[test, i] ^ valid[i] if proposals[t, 4] else bank[test, i]
                    if kind != OTHER:
                        rule[i] = _joined(AND if kind == WITH_AND else OR, rule[i], parts[FIRES, p, i])
            else:
                p, side = removal // 2, removal % 2
                if gates[j, p] == TEST:
                    continue
                # The neighbour takes the place of their join.
                dropped, kept = (second[p], p + 1) if side else (p + 1, second[p])
                size = n_tests - (_end(j, dropped, gates) - dropped + 1) // 2
                for i in range(n_words):
                    rule[i] = parts[FIRES, kept, i]
            if t >= 0:
                for i in range(n_words):
                    rule[i] = parts[NEVER, p, i] & ~rule[i] | parts[ALWAYS, p, i] & rule[i]
            mass = _covariances(rule, scales, planes, first_word, end_word, words, means, across)
            gain = 0.0
            if 0.5 < mass < whole - 0.5:  # noqa: PLR2004 (half a row: its products are rounding errors)
                variance = mass * (1.0 - mass / whole)
                if t < 0 or removal >= 0:
                    square = _pull(rule, pulls) ** 2
                else:  # the scan knows it
                    square = (values[t] + price * size) * (variance + penalty)
                _times(rest, across, shared)
                given = variance + penalty
                for a in range(n_rules):
                    given -= across[a] * shared[a]
                gain = square / max(given, DEPENDENT * variance)
            if t < 0:
                own = gain - price * n_tests
                if mode >= SHORTER:
                    best_worth = -gain / n_tests
                    changes[o, 0] = GONE
                continue
            value = (gain - own) / (n_tests - size) if mode == SHORTER else gain - price * size - own
            if value > best_worth:
                best_worth = value
                for i in range(n_words):
                    chosen[i] = rule[i]
                if removal < 0:
                    for f in range(FIELDS):
                        changes[o, f] = proposals[t, f]
                else:
                    changes[o, 0], changes[o, 1], changes[o, 2] = WITHOUT, p, side
        worth[o] = -best_worth if mode >= SHORTER else best_worth
        if mode != SWEEP:
            continue
        if best_worth <= worth_it:
            changes[o, 0] = NO_CHANGE
            continue

        # Make it, and refit: the rule's row of the Gram matrix, and the inverse without it, bordered by that row.
        make_change(j, changes[o, 0], changes[o, 1], changes[o, 2], changes[o, 3], changes[o, 4], gates, tests, sizes)
        room += n_tests - (sizes[j] + 1) // 2
        for i in range(n_words):
            words[j, i] = chosen[i]
        mass = _covariances(chosen, scales, planes, first_word, end_word, words, means, across)
        means[j] = mass / whole
        across[j] = mass - mass * means[j]
        right[j] = 0.0
        for i in range(n):
            fires[j, i] = chosen[i // WIDTH] >> np.uint64(i % WIDTH) & np.uint64(1) != 0
            right[j] += weight[i] * centred[i] * fires[j, i]
        for r in range(n_rules):
            gram[j, r] = gram[r, j] = across[r]
        _times(rest, across, weights)
        given = across[j] + penalty
        for a in range(n_rules):
            given -= weights[a] * across[a]
        weights[j] = -1.0
        for a in range(n_rules):
            for b in range(n_rules):
                inverse[a, b] = rest[a, b] + weights[a] * weights[b] / given
