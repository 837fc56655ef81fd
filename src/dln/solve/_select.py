"""Selection: the candidate rules that fit best within a budget of conditions.

Forward selection by exact gain per condition, then exchanges. Everything after one product of the candidates with
themselves happens on that Gram matrix, with all weights refitted by ridge regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.data._rows import Bools, Floats
from dln.solve._weights import Signs, solve_with_signs

Ints = npt.NDArray[np.int64]

#: Rows on which candidates are compared: the Gram matrix of two thousand of them on more would take seconds.
MAX_ROWS: Final = 5000
#: Candidates that are compared: those of the largest gain alone.
MAX_CANDIDATES: Final = 2500
#: A candidate whose variance given the chosen ones is below this share of its own is a linear combination of them.
_DEPENDENT: Final = 1e-6
#: Number of exchanges, and the share of what is explained that one must bring.
_EXCHANGES: Final = 60
_WORTH_IT: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a model: its conditions, the conditions of one rule, and its rules."""

    conditions: int
    rule_length: int
    rules: int

    def cost(self, lengths: Ints) -> Floats:
        """Return the share of the budget that rules of some lengths take: conditions, and rules if those are few."""
        if self.rules >= self.conditions:
            return lengths.astype(np.float64)
        return lengths / self.conditions + 1.0 / max(self.rules, 1)  # fixed rules may leave none

    def widened(self, factor: float) -> Budget:
        """Return a larger budget for rules of the same length."""
        return Budget(round(factor * self.conditions), self.rule_length, round(factor * self.rules))

    def resized(self, conditions: int) -> Budget:
        """Return the budget with another number of conditions."""
        return Budget(conditions, self.rule_length, self.rules)


def distinct(fires: Bools, signs: Signs | None = None) -> npt.NDArray[np.intp]:
    """Return the indices of rules ``(n_rules, n)`` that differ: no constants, no second of equal or opposite ones.

    Rules whose weights must have signs differ from their opposites, unless these have the opposite sign.
    """
    is_bound = np.zeros(len(fires), np.bool_) if signs is None else signs != 0
    # Each starts with 0, or with its sign: a rule and its opposite look the same.
    opposite = fires[:, 0] if signs is None else np.where(is_bound, signs < 0, fires[:, 0])
    packed = np.packbits(fires ^ opposite[:, np.newaxis], axis=1)
    seen: dict[tuple[bytes, bool], int] = {}
    for index, (pattern, bound) in enumerate(zip(packed, is_bound.tolist(), strict=True)):
        if pattern.any():
            seen.setdefault((pattern.tobytes(), bound), index)
    return np.array(list(seen.values()), dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidate rules with the products that selection works on."""

    index: npt.NDArray[np.intp]
    """(n,): which of the rules these are; constants and repetitions are left out."""
    sizes: Ints
    """(n,): conditions of each."""
    gram: Floats
    """(n, n): of the centred rules."""
    right: Floats
    """(n,): products of the rules with the centred target."""
    penalty: float
    signs: Signs | None = None
    """(n,): the sign that the weight of each must have, 0 for any; None without constraints."""

    @classmethod
    def of(
        cls,
        fires: Bools,
        sizes: Ints,
        centred: Floats,
        weight: Floats,
        *,
        penalty: float,
        min_share: float,
        signs: Signs | None = None,
    ) -> Candidates:
        """Return the candidates among rules ``(n_rules, n)`` of some sizes, for a centred target ``(n,)``.

        A rule must hold, and must not hold, on at least a share `min_share` of the weight.
        """
        total = float(weight.sum())
        share = fires @ weight / total
        usable = np.flatnonzero((share >= min_share) & (share <= 1.0 - min_share))
        kept = usable[distinct(fires[usable], None if signs is None else signs[usable])]
        if len(kept) > MAX_CANDIDATES:
            held = fires[kept] @ weight
            alone = (fires[kept] @ (weight * centred)) ** 2 / (held * (total - held))
            kept = kept[np.sort(np.argsort(-alone, kind="stable")[:MAX_CANDIDATES])]
        # Single precision: counts of rows are exact in it, and it takes half the time.
        root_weight = np.sqrt(weight).astype(np.float32)
        weighted = fires[kept] * root_weight
        gram = (weighted @ weighted.T).astype(np.float64)
        means = (weighted @ root_weight).astype(np.float64) / total
        gram -= np.outer(means, means) * total
        right = (weighted @ (root_weight * centred).astype(np.float32)).astype(np.float64)
        return cls(kept, sizes[kept], gram, right, penalty, None if signs is None else signs[kept])

    def select(self, budget: Budget) -> list[int]:
        """Return the best set found within the budget, as indices of the rules given."""
        chosen = self._forward(budget)
        if self.signs is not None:  # exchanges are left to the local search, which looks at the signs of all weights
            gram = self.gram[np.ix_(chosen, chosen)] + self.penalty * np.eye(len(chosen))
            weights = solve_with_signs(gram, self.right[chosen], self.signs[chosen])
            return [int(self.index[i]) for i, weight in zip(chosen, weights.tolist(), strict=True) if weight]
        return list(map(int, self.index[self._exchanged(chosen, budget) if chosen else chosen]))

    def select_sizes(self, budgets: Sequence[Budget]) -> list[list[int]]:
        """Return quick choices for several budgets, the largest last, by one forward selection without exchanges."""
        order = np.array(self._forward(budgets[-1]), dtype=np.intp)
        used = np.cumsum(self.sizes[order])
        return [self.index[order[used <= budget.conditions]].tolist() for budget in budgets]

    def _forward(self, budget: Budget) -> list[int]:
        """Return candidates in the order in which each gains most per condition: a pivoted Cholesky factorisation."""
        gram, right, sizes, penalty = self.gram, self.right, self.sizes, self.penalty
        n_most = min(budget.rules, budget.conditions, len(gram))
        cost = budget.cost(sizes)
        variance, right = gram.diagonal() + penalty, right.copy()
        smallest = _DEPENDENT * variance
        factors = np.empty((n_most, len(gram)))
        chosen: list[int] = []
        n_free = budget.conditions
        for step in range(n_most):
            gains = np.where(variance > smallest, right**2 / np.maximum(variance, smallest), 0.0) / cost
            gains[sizes > n_free] = 0.0
            gains[chosen] = 0.0
            if self.signs is not None:
                gains[self.signs * right < 0.0] = 0.0
            best = int(np.argmax(gains))
            if gains[best] <= 0.0:
                break
            column = gram[best] - factors[:step].T @ factors[:step, best]
            column[best] = variance[best]
            column /= np.sqrt(variance[best])
            right -= column * (right[best] / np.sqrt(variance[best]))
            variance = variance - column**2
            factors[step] = column
            chosen.append(best)
            n_free -= int(sizes[best])
        return chosen

    def _exchanged(self, chosen: list[int], budget: Budget) -> list[int]:
        """Return the set after additions and exchanges within the budget, the most helpful first, while any helps.

        With A the inverse of the penalised Gram matrix of the set and w = A r its weights, dropping rule o costs
        w[o]² / A[o, o], and the inverse for the others is A - A[:, o] A[o, :] / A[o, o]. Put into a candidate's product
        with the residual, rest = r - g' w, and into its variance given the set, v = g_ii + penalty - g' A g, with
        a = g' A the candidate's row of `across`:

            rest without o = rest + a[o] w[o] / A[o, o]
            v without o    = v + a[o]² / A[o, o]

        An exchange of o for the candidate gains (rest without o)² / (v without o) - w[o]² / A[o, o].
        """
        gram, right, sizes, penalty = self.gram, self.right, self.sizes, self.penalty
        chosen = list(chosen)
        smallest = _DEPENDENT * (gram.diagonal() + penalty)
        for _ in range(_EXCHANGES):
            inverse = np.linalg.inv(gram[np.ix_(chosen, chosen)] + penalty * np.eye(len(chosen)))
            across = gram[:, chosen] @ inverse
            weights = inverse @ right[chosen]
            freed = 1.0 / inverse.diagonal()
            rest = right - gram[:, chosen] @ weights
            variance = gram.diagonal() + penalty - (across * gram[:, chosen]).sum(axis=1)
            n_free = budget.conditions - int(sizes[chosen].sum())
            gains = (rest[:, np.newaxis] + across * (weights * freed)) ** 2
            gains /= np.maximum(variance[:, np.newaxis] + across**2 * freed, smallest[:, np.newaxis])
            gains -= weights**2 * freed
            gains[sizes[:, np.newaxis] > n_free + sizes[chosen]] = 0.0
            gains[chosen] = 0.0
            added = rest**2 / np.maximum(variance, smallest)
            added[(sizes > n_free) | (len(chosen) >= budget.rules)] = 0.0
            added[chosen] = 0.0
            addition = int(np.argmax(added))
            incoming, outgoing = (int(i) for i in np.unravel_index(int(np.argmax(gains)), gains.shape))
            if max(added[addition], gains[incoming, outgoing]) <= _WORTH_IT * float(right[chosen] @ weights):
                break
            if added[addition] >= gains[incoming, outgoing]:
                chosen.append(addition)
            else:
                chosen[outgoing] = incoming
        return chosen
