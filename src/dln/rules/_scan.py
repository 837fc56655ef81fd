"""The compiled loop that the search rests on: every test that could stand at one part of a rule, judged at once.

A test joins the part by "and" or by "or", or takes its place. By "and" it can only change rows on which the part fires
and matters, by "or" only those on which it matters and does not fire. Sums over these rows in each bin tell, for every
cut-off of every input and both senses, how much of the residual the rule would explain.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._compile import compiled, inner
from dln.rules._bits import WIDTH, Ints, Words, lowest_bit, pack
from dln.rules._expression import Test
from dln.rules._inputs import Inputs, Rows
from dln.solve._products import Bools, Floats

#: A rule must fire, and must not fire, on the weight of so many rows of the table: fewer tell nothing of others.
MIN_ROWS: Final = 5.0
#: Inputs whose sums are made together: those of more would not stay in the nearest cache.
SIDE_BY_SIDE: Final = 32
#: How a test comes in, and all ways together.
WITH_AND: Final = 0
WITH_OR: Final = 1
OTHER: Final = 2
N_KINDS: Final = 3
#: What is known of a part: where it fires, and where the rule would if it never or always did.
FIRES: Final = 0
NEVER: Final = 1
ALWAYS: Final = 2

#: Tests with what the rule would gain, the best first.
ScoredTests: TypeAlias = list[tuple[float, Test]]


@compiled(nogil=True, error_model="numpy")
def scan(
    parts: Words,
    p: int,
    kinds: Bools,
    bins: npt.NDArray[np.uint8],
    n_bins: npt.NDArray[np.int32],
    weight: Floats,
    pulls: Floats,
    whole: float,
    penalty: float,
    least: float,
    sums: Floats,
    base: Floats,
    best: Ints,
    gains: Floats,
    counts: Ints,
) -> None:
    """Write the best tests for part p of a rule, best first, for each kind that is asked for, and how many they are.

    `parts` is ``(3, n_parts, n_words)``, `best` ``(3, n, 3)``: input, cut-off, negated. `pulls` are residuals
    times weights. `sums` and `base` are room to work in, which `scan_room` makes: numba takes 0.2 s for each kind of
    array that a kernel makes itself.

    `bins` is ``(n_rows, n_inputs)``: sums for many inputs side by side take three fifths of the time of one by one.

    Rows are copied, filled and added up number by number: for ``a[i] = b[i]`` numba compiles what says which shapes do
    not fit, strings and all, and takes 3 s for that alone.
    """
    n_words, width = parts.shape[2], sums.shape[2]
    for side in range(2):
        base[side, 0] = base[side, 1] = 0.0
    for i in range(n_words):
        fires, never, always = parts[FIRES, p, i], parts[NEVER, p, i], parts[ALWAYS, p, i]
        for side in range(2):
            word = (never & ~fires | always & fires) if side else never
            while word != 0:
                row = i * WIDTH + np.int64(lowest_bit(word))
                word &= word - np.uint64(1)
                base[side, 0] += weight[row]
                base[side, 1] += pulls[row]
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
                fires, always = parts[FIRES, p, i], parts[ALWAYS, p, i]
                word = (parts[NEVER, p, i] ^ always) & (fires if side else ~fires)
                while word != 0:
                    bit = lowest_bit(word)
                    word &= word - np.uint64(1)
                    row = i * WIDTH + np.int64(bit)
                    mass, pull = weight[row], pulls[row]
                    if not always >> bit & np.uint64(1):
                        mass, pull = -mass, -pull
                    for q in range(some):
                        index = 2 * bins[row, first + q]
                        sums[side, q, index] += mass
                        sums[side, q, index + 1] += pull
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
                    *(whole, penalty, least, best, gains, counts),
                )


@inner(nogil=True, error_model="numpy")
def _best_tests(
    k: int,
    kind: int,
    q: int,
    n_bins: int,
    sums: Floats,
    base: Floats,
    whole: float,
    penalty: float,
    least: float,
    best: Ints,
    gains: Floats,
    counts: Ints,
) -> None:
    """Put the best test of an input, in either sense, among the best of its kind so far."""
    side, by_or = (0, 1) if kind == WITH_OR else (1, 0)
    base_mass, base_pull = base[by_or, 0], base[by_or, 1]
    all_mass = all_pull = 0.0
    for b in range(n_bins):
        all_mass += sums[side, q, 2 * b]
        all_pull += sums[side, q, 2 * b + 1]
    most, count = gains.shape[1], counts[kind]
    for negated in range(2):
        # Gains are compared as fractions: a division for each cut-off would be most of the time.
        best_square, best_variance, best_cutoff = 0.0, 1.0, -1
        mass, pull = base_mass, base_pull
        if not negated:
            mass, pull = mass + all_mass, pull + all_pull
        sign = 1.0 if negated else -1.0
        for b in range(n_bins - 1):
            mass += sign * sums[side, q, 2 * b]
            pull += sign * sums[side, q, 2 * b + 1]
            square = whole * pull * pull
            variance = mass * (whole - mass) + whole * penalty
            if least <= mass <= whole - least and square * best_variance > best_square * variance:
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


def scan_room(n_bins: npt.NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Return room for sums over the rows in each bin, of weights and pulls by turns, and over those outside all bins.

    The latter are rows on which the rule fires whatever the test: if that joins by "and" or stands alone, and by "or".
    """
    return np.empty((2, min(SIDE_BY_SIDE, len(n_bins)), 2 * int(n_bins.max(initial=1)))), np.empty((2, 2))


class Scanner:
    """Finds the best tests for a part of a rule, on given rows, among all inputs or some of them."""

    def __init__(
        self, inputs: Inputs, weight: Floats, penalty: float, kept: Rows | None = None, row_weight: float = 1.0
    ) -> None:
        self._inputs, self._weight, self._penalty, self._row_weight = inputs, weight, penalty, row_weight
        self._kept = np.arange(inputs.n_inputs) if kept is None else kept
        self._whole = float(weight.sum())
        self.least = min(MIN_ROWS * row_weight, self._whole / 4)
        """The weight of the rows that a rule must fire on, and must not fire on."""
        self.bins = np.ascontiguousarray(inputs.bins[self._kept].T)
        """(n_rows, n_inputs)"""
        self._n_bins = inputs.n_bins[self._kept]

    def among(self, inputs: Rows) -> Scanner:
        """Return one that looks at some of the inputs only."""
        return Scanner(self._inputs, self._weight, self._penalty, inputs, self._row_weight)

    def alone(self, where: Bools, residual: Floats, most: int) -> ScoredTests:
        """Return at most so many tests, and what rules of each alone would gain on some of the rows."""
        nowhere = np.zeros_like(where)
        return self(nowhere, nowhere, where, residual, most, only=OTHER)[OTHER]

    def __call__(
        self, fires: Bools, never: Bools, always: Bools, residual: Floats, most: int, only: int | None = None
    ) -> list[ScoredTests]:
        """Return for each kind at most so many tests and what the rule would gain with each, the best first.

        The part fires somewhere; the rule would fire elsewhere if it never or always did. The gain is that of the rule
        for itself, not given the others: a screen, to be followed by an exact judgement.
        """
        best, gains = np.empty((N_KINDS, most, 3), np.int64), np.empty((N_KINDS, most))
        counts = np.zeros(N_KINDS, np.int64)
        scan(
            pack(np.array([fires, never, always])).reshape(3, 1, -1),
            0,
            np.array([only in (None, kind) for kind in range(N_KINDS)]),
            self.bins,
            self._n_bins,
            self._weight,
            self._weight * residual,
            self._whole,
            self._penalty,
            self.least,
            *scan_room(self._n_bins),
            best,
            gains,
            counts,
        )
        return [
            [
                (gain, Test(int(self._kept[k]), cutoff, bool(negated)))
                for gain, (k, cutoff, negated) in zip(gains[i, :n].tolist(), best[i, :n].tolist(), strict=True)
            ]
            for i, n in enumerate(counts.tolist())
        ]
