"""The compiled loop that the search rests on: every test that could stand at one place of a rule, judged at once.

A rule that depends on one test fires as ``base + change · test``, with `base` 0 or 1 and `change` -1, 0 or 1. Sums over
the rows in each bin then tell, for every cut-off of every input and both senses, how much of the residual the rule
would explain.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from dln._compile import compiled, spliced
from dln.learning._expression import Test
from dln.learning._inputs import Bools, Floats, Inputs

#: A rule must fire, and must not fire, on rows of at least this weight: fewer rows tell nothing of others.
MIN_WEIGHT: Final = 5.0
#: Inputs whose sums are made together: those of more would not stay in the nearest cache.
SIDE_BY_SIDE: Final = 32


@compiled(nogil=True, error_model="numpy")
def scan(
    bins: npt.NDArray[np.uint8],
    n_bins: npt.NDArray[np.int32],
    inputs: npt.NDArray[np.int32],
    base: npt.NDArray[np.bool_],
    change: npt.NDArray[np.int8],
    weight: npt.NDArray[np.float64],
    residual: npt.NDArray[np.float64],
    whole: float,
    penalty: float,
    least: float,
    found: npt.NDArray[np.int32],
    gains: npt.NDArray[np.float64],
) -> int:
    """Write the best tests, best first: `found` ``(n, 3)`` input, cut-off's place, negated; return how many.

    `bins` is ``(n_rows, n_inputs)``: sums for many inputs side by side take three fifths of the time of one by one.

    Rows are copied, filled and added up number by number: for ``a[i] = b[i]`` numba compiles what says which shapes do
    not fit, strings and all, and takes 3 s for that alone.
    """
    n = base.size
    base_mass = base_pull = 0.0
    for i in range(n):
        if base[i]:
            base_mass += weight[i]
            base_pull += weight[i] * residual[i]
    widest = 0
    for q in range(inputs.size):
        widest = max(widest, n_bins[inputs[q]])
    sums = np.empty((min(SIDE_BY_SIDE, inputs.size), widest, 2))  # per input and bin: weight, weighted residual
    count = 0
    for first in range(0, inputs.size, SIDE_BY_SIDE):
        some = min(SIDE_BY_SIDE, inputs.size - first)
        for q in range(some):
            for b in range(widest):
                sums[q, b, 0] = sums[q, b, 1] = 0.0
        for i in range(n):
            if change[i] != 0:
                mass = weight[i] * change[i]
                pull = mass * residual[i]
                for q in range(some):
                    b = bins[i, inputs[first + q]]
                    sums[q, b, 0] += mass
                    sums[q, b, 1] += pull
        for q in range(some):
            k = inputs[first + q]
            count = _best_tests(k, q, n_bins[k], sums, base_mass, base_pull, whole, penalty, least, found, gains, count)
    return count


@spliced(error_model="numpy")
def _best_tests(
    k: int,
    q: int,
    n_bins: int,
    sums: npt.NDArray[np.float64],
    base_mass: float,
    base_pull: float,
    whole: float,
    penalty: float,
    least: float,
    found: npt.NDArray[np.int32],
    gains: npt.NDArray[np.float64],
    count: int,
) -> int:
    """Put the best test of an input, in either sense, among the best so far; return how many these are then.

    Its sums are row `q` of those of the inputs side by side.
    """
    all_mass = all_pull = 0.0
    for b in range(n_bins):
        all_mass += sums[q, b, 0]
        all_pull += sums[q, b, 1]
    for negated in range(2):
        best_gain, best_place = 0.0, -1
        below_mass = below_pull = 0.0
        for b in range(n_bins - 1):
            below_mass += sums[q, b, 0]
            below_pull += sums[q, b, 1]
            fires = base_mass + (below_mass if negated else all_mass - below_mass)
            if least <= fires <= whole - least:
                explained = base_pull + (below_pull if negated else all_pull - below_pull)
                gain = explained * explained / (fires * (whole - fires) / whole + penalty)
                if gain > best_gain:
                    best_gain, best_place = gain, b
        if best_place < 0 or (count == gains.size and best_gain <= gains[count - 1]):
            continue
        count = min(count + 1, gains.size)
        place = count - 1
        while place > 0 and gains[place - 1] < best_gain:
            gains[place] = gains[place - 1]
            for c in range(3):
                found[place, c] = found[place - 1, c]
            place -= 1
        gains[place] = best_gain
        found[place, 0] = k
        found[place, 1] = best_place
        found[place, 2] = negated
    return count


class Scanner:
    """Finds the best tests for a place of a rule, on given rows."""

    def __init__(self, inputs: Inputs, weight: Floats, penalty: float) -> None:
        self._inputs, self._weight, self._penalty = inputs, weight, penalty
        self._whole = float(weight.sum())
        self.least = min(MIN_WEIGHT, self._whole / 4)
        """The weight of the rows that a rule must fire on, and must not fire on."""
        self.all_inputs = np.arange(inputs.n_inputs, dtype=np.int32)
        self.bins = np.ascontiguousarray(inputs.bins.T)
        """(n_rows, n_inputs)"""

    def __call__(
        self,
        base: Bools,
        change: npt.NDArray[np.int8] | Bools,
        residual: Floats,
        most: int,
        inputs: npt.NDArray[np.int32] | None = None,
    ) -> list[tuple[float, Test]]:
        """Return at most so many tests and what the rule would gain with each, the best first.

        The gain is that of the rule for itself, not given the others: a screen, to be followed by an exact judgement.
        """
        found, gains = np.empty((most, 3), np.int32), np.zeros(most)
        count = scan(
            self.bins,
            self._inputs.n_bins,
            self.all_inputs if inputs is None else inputs,
            base,
            change.view(np.int8),
            self._weight,
            residual,
            self._whole,
            self._penalty,
            self.least,
            found,
            gains,
        )
        return [
            (gain, self.test(k, place, negated=bool(negated)))
            for gain, (k, place, negated) in zip(gains[:count].tolist(), found[:count].tolist(), strict=True)
        ]

    def test(self, k: int, place: int, *, negated: bool) -> Test:
        """Return the test whether an input lies above one of its cut-offs, or is 1."""
        cutoffs = self._inputs.cutoffs
        return Test(k, float(cutoffs[k][place]) if k < len(cutoffs) else 0.5, negated)
