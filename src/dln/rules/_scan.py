"""The compiled scan that the search rests on: every test that could stand at one part of a rule, judged at once.

A test joins the part by "and" or by "or", or takes its place. Rules are monotone in their parts: a row on which a part
matters fires exactly if the part does. So by "and" a test can only change rows on which the part fires and matters, by
"or" only those on which it matters and does not fire. Sums over these rows in each bin give, for every cut-off of every
input and both senses, the sum of weights and of weighted residuals of the new rule, and so its gain.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._compile import compiled, inner
from dln.data._rows import Bools, Floats
from dln.rules._bins import Inputs, Rows
from dln.rules._bits import WIDTH, Ints, Words, lowest_bit, pack
from dln.rules._expression import FORBIDDEN, Expression, Ints8, Limits, Test

#: Inputs whose sums are made together: those of more would not stay in the nearest cache.
SIDE_BY_SIDE: Final = 32
#: How a test comes in, and how many ways there are.
WITH_AND: Final = 0
WITH_OR: Final = 1
OTHER: Final = 2
N_KINDS: Final = 3
#: Where a part fires, and where the rule would if the part never or always did.
FIRES: Final = 0
NEVER: Final = 1
ALWAYS: Final = 2

#: Tests with the gain of the rule, the best first.
ScoredTests: TypeAlias = list[tuple[float, Test]]


@compiled(nogil=True, error_model="numpy")
def scan(
    parts: Words,
    p: int,
    kinds: Bools,
    bins: npt.NDArray[np.uint8],
    n_bins: npt.NDArray[np.int32],
    weight: Floats,
    weighted_residuals: Floats,
    total_weight: float,
    penalty: float,
    min_weight: float,
    sums: Floats,
    base: Floats,
    best: Ints,
    gains: Floats,
    counts: Ints,
    signs: Ints8,
) -> None:
    """Write the best tests for part p of a rule, best first, for each of the wanted kinds, and how many they are.

    Parameters
    ----------
    parts : ndarray of shape (3, n_parts, n_words)
        See `FIRES`, `NEVER` and `ALWAYS`.
    p : int
        The part.
    kinds : ndarray of shape (3,)
        The wanted kinds of changes.
    bins, n_bins : ndarray of shape (n_rows, n_inputs) and (n_inputs,)
        Rows first: sums for many inputs are made together.
    weight, weighted_residuals : ndarray of shape (n_rows,)
        Weights, and residuals times weights.
    total_weight, penalty, min_weight : float
        Sum of the weights, ridge penalty, and least weight on which a rule fires, and on which it does not.
    sums, base : ndarray
        Workspace of `scan_workspace`: Numba takes longer to compile kernels that make arrays, or copy them at once.
    best, gains, counts : ndarray of shape (3, n, 3), (3, n) and (3,)
        The result: input, cut-off and negation of each test, the rule's gain, and the number of tests.
    signs : ndarray of shape (2, n_inputs, 2)
        Signs of the rule's weight with each test: first where the test joins the part, then where it takes its place.

    """
    n_words, width = parts.shape[2], sums.shape[2]
    for side in range(2):
        base[side, 0] = base[side, 1] = 0.0
    for i in range(n_words):
        fires, never, always = parts[FIRES, p, i], parts[NEVER, p, i], parts[ALWAYS, p, i]
        for side in range(2):
            word = never | (always & fires) if side else never
            while word != 0:
                row = i * WIDTH + np.int64(lowest_bit(word))
                word &= word - np.uint64(1)
                base[side, 0] += weight[row]
                base[side, 1] += weighted_residuals[row]
    for kind in range(N_KINDS):
        counts[kind] = 0
        for c in range(gains.shape[1]):
            gains[kind, c] = 0.0
    for first in range(0, n_bins.size, SIDE_BY_SIDE):
        some = min(SIDE_BY_SIDE, n_bins.size - first)
        for side in range(2):
            for q in range(some):
                for b in range(width):
                    sums[side, q, b] = 0.0
            for i in range(n_words):
                fires = parts[FIRES, p, i]
                word = parts[ALWAYS, p, i] & ~parts[NEVER, p, i] & (fires if side else ~fires)
                while word != 0:
                    row = i * WIDTH + np.int64(lowest_bit(word))
                    word &= word - np.uint64(1)
                    row_weight, weighted_residual = weight[row], weighted_residuals[row]
                    for q in range(some):
                        index = 2 * bins[row, first + q]
                        sums[side, q, index] += row_weight
                        sums[side, q, index + 1] += weighted_residual
        for kind in range(N_KINDS):
            if not kinds[kind]:
                continue
            if kind == OTHER:
                for q in range(some):
                    for b in range(width):
                        sums[1, q, b] += sums[0, q, b]
            for q in range(some):
                _best_tests(
                    *(first + q, kind, q, n_bins[first + q], sums, base),
                    *(total_weight, penalty, min_weight, best, gains, counts, signs[kind // OTHER]),
                )


@inner(nogil=True, error_model="numpy")
def _best_tests(
    k: int,
    kind: int,
    q: int,
    n_bins: int,
    sums: Floats,
    base: Floats,
    total_weight: float,
    penalty: float,
    min_weight: float,
    best: Ints,
    gains: Floats,
    counts: Ints,
    signs: Ints8,
) -> None:
    """Put the best test of an input, in either sense, among the best of its kind so far.

    A rule x with weight sum w and weighted residual sum s lowers the penalised squared error by
    s² / (w (1 - w / W) + penalty), where W is the weight of all rows: its variance times W is w (1 - w / W).
    """
    side, by_or = (0, 1) if kind == WITH_OR else (1, 0)
    all_weight = all_residual = 0.0
    for b in range(n_bins):
        all_weight += sums[side, q, 2 * b]
        all_residual += sums[side, q, 2 * b + 1]
    most, count = gains.shape[1], counts[kind]
    for negated in range(2):
        required = signs[k, negated]
        if required == FORBIDDEN:
            continue
        # Gains are compared as fractions: a division for each cut-off would be most of the time.
        best_square, best_variance, best_cutoff = 0.0, 1.0, -1
        weight_sum, residual_sum = base[by_or, 0], base[by_or, 1]
        if not negated:
            weight_sum, residual_sum = weight_sum + all_weight, residual_sum + all_residual
        sign = 1.0 if negated else -1.0
        for b in range(n_bins - 1):
            weight_sum += sign * sums[side, q, 2 * b]
            residual_sum += sign * sums[side, q, 2 * b + 1]
            square = total_weight * residual_sum * residual_sum
            variance = weight_sum * (total_weight - weight_sum) + total_weight * penalty
            is_wide = min_weight <= weight_sum <= total_weight - min_weight
            if is_wide and square * best_variance > best_square * variance and required * residual_sum >= 0.0:
                best_square, best_variance, best_cutoff = square, variance, b
        best_gain = best_square / best_variance
        if best_cutoff < 0 or (count == most and best_gain <= gains[kind, count - 1]):
            continue
        count = min(count + 1, most)
        rank = count - 1
        while rank > 0 and gains[kind, rank - 1] < best_gain:
            gains[kind, rank] = gains[kind, rank - 1]
            for c in range(3):
                best[kind, rank, c] = best[kind, rank - 1, c]
            rank -= 1
        gains[kind, rank] = best_gain
        best[kind, rank, 0], best[kind, rank, 1], best[kind, rank, 2] = k, best_cutoff, negated
    counts[kind] = count


def scan_workspace(n_bins: npt.NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Return arrays for sums of weights and residuals over the rows in each bin, and over rows that always fire.

    The latter are summed for a test that comes by "and" or alone, and for one that comes by "or".
    """
    return np.empty((2, min(SIDE_BY_SIDE, len(n_bins)), 2 * int(n_bins.max(initial=1)))), np.empty((2, 2))


class Scanner:
    """Finds the best tests for a part of a rule, on given rows, among all inputs or some of them."""

    def __init__(
        self,
        inputs: Inputs,
        weight: Floats,
        penalty: float,
        min_weight: float,
        kept: Rows | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._inputs, self._weight, self._penalty, self.min_weight = inputs, weight, penalty, min_weight
        self._kept = np.arange(len(inputs.n_bins)) if kept is None else kept
        self.limits = Limits.of(inputs) if limits is None else limits
        self._total_weight = float(weight.sum())
        self.bins = np.ascontiguousarray(inputs.bins[self._kept].T)
        """(n_rows, n_inputs)"""
        self._n_bins = inputs.n_bins[self._kept]

    def among(self, inputs: Rows) -> Scanner:
        """Return one that scans some of the inputs only."""
        return Scanner(self._inputs, self._weight, self._penalty, self.min_weight, inputs, self.limits)

    def alone(self, where: Bools, residual: Floats, most: int) -> ScoredTests:
        """Return at most so many tests, with the gains of rules of each alone on some of the rows."""
        nowhere = np.zeros_like(where)
        return self(nowhere, nowhere, where, residual, most, only=OTHER)[OTHER]

    def __call__(
        self,
        fires: Bools,
        never: Bools,
        always: Bools,
        residual: Floats,
        most: int,
        only: int | None = None,
        rule: Expression | None = None,
    ) -> list[ScoredTests]:
        """Return for each kind at most so many tests and the rule's gain with each, the best first.

        The part fires on `fires`; the rule would fire on `never` if it never did and on `always` if it always did. The
        gain is that of the rule alone, not given others: a screen, before exact judgement. Tests keep the limits if
        they join `rule`, or take its place where that is None.
        """
        best, gains = np.empty((N_KINDS, most, 3), np.int64), np.empty((N_KINDS, most))
        counts = np.zeros(N_KINDS, np.int64)
        scan(
            pack(np.array([fires, never, always])).reshape(3, 1, -1),
            0,
            np.array([only in (None, kind) for kind in range(N_KINDS)]),
            *(self.bins, self._n_bins, self._weight, self._weight * residual),
            *(self._total_weight, self._penalty, self.min_weight),
            *scan_workspace(self._n_bins),
            *(best, gains, counts, np.ascontiguousarray(self.limits.signs(rule)[:, self._kept])),
        )
        return [
            [
                (gain, Test(int(self._kept[k]), cutoff, bool(negated)))
                for gain, (k, cutoff, negated) in zip(gains[i, :n].tolist(), best[i, :n].tolist(), strict=True)
            ]
            for i, n in enumerate(counts.tolist())
        ]
