"""The one compiled loop of the search: every test that could stand at one place of a rule, judged at once.

A rule that depends on one test fires as ``base + change · test``, with `base` 0 or 1 and `change` -1, 0 or 1. Sums over
the rows in each bin then tell, for every cut-off of every input and both senses, how much of the residual the rule
would explain.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from dln._compile import compiled
from dln.learning._expression import Test
from dln.learning._inputs import Bools, Floats, Inputs

#: A rule must fire, and must not fire, on rows of at least this weight: fewer rows tell nothing of others.
MIN_WEIGHT: Final = 5.0


@compiled(nogil=True, error_model="numpy")
def _scan(
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
    """Write the best tests, best first: `found` ``(n, 3)`` input, cut-off's place, negated; return how many."""
    n = base.size
    rows = np.empty(n, np.int32)
    mass, pull = np.empty(n), np.empty(n)
    n_rows = 0
    base_mass = base_pull = 0.0
    for i in range(n):
        if base[i]:
            base_mass += weight[i]
            base_pull += weight[i] * residual[i]
        if change[i] != 0:
            rows[n_rows] = i
            mass[n_rows] = weight[i] * change[i]
            pull[n_rows] = mass[n_rows] * residual[i]
            n_rows += 1
    widest = 0
    for q in range(inputs.size):
        widest = max(widest, n_bins[inputs[q]])
    masses, pulls = np.empty(widest), np.empty(widest)
    count = 0
    for q in range(inputs.size):
        k = inputs[q]
        masses[: n_bins[k]] = 0.0
        pulls[: n_bins[k]] = 0.0
        of_input = bins[k]
        for i in range(n_rows):
            b = of_input[rows[i]]
            masses[b] += mass[i]
            pulls[b] += pull[i]
        all_mass = masses[: n_bins[k]].sum()
        all_pull = pulls[: n_bins[k]].sum()
        for negated in range(2):
            best_gain, best_place = 0.0, -1
            below_mass = below_pull = 0.0
            for b in range(n_bins[k] - 1):
                below_mass += masses[b]
                below_pull += pulls[b]
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
                found[place] = found[place - 1]
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
        self._least = min(MIN_WEIGHT, self._whole / 4)
        self.all_inputs = np.arange(inputs.n_inputs, dtype=np.int32)

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
        count = _scan(
            self._inputs.bins,
            self._inputs.n_bins,
            self.all_inputs if inputs is None else inputs,
            base,
            change.view(np.int8),
            self._weight,
            residual,
            self._whole,
            self._penalty,
            self._least,
            found,
            gains,
        )
        tests = []
        for gain, (k, place, negated) in zip(gains[:count].tolist(), found[:count].tolist(), strict=True):
            cutoff = float(self._inputs.cutoffs[k][place]) if k < len(self._inputs.cutoffs) else 0.5
            tests.append((gain, Test(k, cutoff, bool(negated))))
        return tests
