"""Selection: the candidate rules that fit best within a budget of conditions.

Forward selection by exact gain per condition, then exchanges: each selected rule for the best that fits into the
budget. Everything after one product of the candidates with themselves happens on that Gram matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.learning._bits import Ints
from dln.learning._expression import Expression, length
from dln.learning._inputs import Bools, Floats
from dln.learning._task import Budget, Task

#: Rows on which candidates are compared: the Gram matrix of two thousand of them on more would take seconds.
MAX_ROWS: Final = 5000
#: Candidates that are compared at the most, those of the largest gain for themselves.
MAX_CANDIDATES: Final = 2500
#: A candidate whose variance given the chosen ones is below this share of its own is a sum of them.
_DEPENDENT: Final = 1e-6
#: Exchanges at the most, and the share of what is explained that one must bring.
_EXCHANGES: Final = 60
_WORTH_IT: Final = 1e-6


def select(task: Task, candidates: Sequence[Expression], budget: Budget) -> list[Expression]:
    """Return the candidates to begin with: the best set found within the budget."""
    pool = _Pool.of(task, candidates)
    chosen = pool.forward(budget)
    return [pool.candidates[i] for i in (pool.exchanged(chosen, budget) if chosen else chosen)]


def select_sizes(task: Task, candidates: Sequence[Expression], budgets: Sequence[Budget]) -> list[list[Expression]]:
    """Return quick choices for several budgets, the largest last: forward selection only, all from one product."""
    pool = _Pool.of(task, candidates)
    order = pool.forward(budgets[-1])
    used = np.cumsum(pool.sizes[order])
    return [[pool.candidates[i] for i in np.array(order)[used <= budget.conditions]] for budget in budgets]


def distinct(fires: Bools) -> npt.NDArray[np.intp]:
    """Return the indices of rules ``(n_rules, n)`` that differ: no constants, no second of equal or opposite ones."""
    # Each starts with 0: a rule and its opposite look the same.
    packed = np.packbits(fires ^ fires[:, :1], axis=1)
    seen: dict[bytes, int] = {}
    for index, pattern in enumerate(packed):
        if pattern.any():
            seen.setdefault(pattern.tobytes(), index)
    return np.array(list(seen.values()), dtype=np.intp)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Candidates with the products that selection works on."""

    candidates: list[Expression]
    sizes: Ints
    gram: Floats
    """Of the centred candidates."""
    right: Floats
    """Their products with the target."""
    penalty: float

    @classmethod
    def of(cls, task: Task, candidates: Sequence[Expression]) -> _Pool:
        sample = task.first_rows(MAX_ROWS)
        fires = np.array([sample.signals(candidate) for candidate in candidates], dtype=np.bool_)
        fires = fires.reshape(len(candidates), sample.n_rows)
        share = fires @ sample.weight / sample.total_weight
        least = task.scanner.least / task.total_weight
        tells = np.flatnonzero((share >= least) & (share <= 1.0 - least))
        kept = tells[distinct(fires[tells])]
        if len(kept) > MAX_CANDIDATES:
            rest = fires[kept] @ sample.weight
            alone = (fires[kept] @ (sample.weight * sample.centred)) ** 2 / (rest * (sample.total_weight - rest))
            kept = kept[np.sort(np.argsort(-alone, kind="stable")[:MAX_CANDIDATES])]
        sizes = np.array([length(candidates[i]) for i in kept], dtype=np.int64)
        weighted = fires[kept] * sample.root_weight
        gram = (weighted @ weighted.T).astype(np.float64)
        means = (weighted @ sample.root_weight).astype(np.float64) / sample.total_weight
        gram -= np.outer(means, means) * sample.total_weight
        right = (weighted @ (sample.root_weight * sample.centred).astype(np.float32)).astype(np.float64)
        return cls([candidates[i] for i in kept], sizes, gram, right, sample.penalty)

    def forward(self, budget: Budget) -> list[int]:
        """Return candidates in the order in which each gains most per condition: a pivoted Cholesky factorisation."""
        gram, right, sizes, penalty = self.gram, self.right, self.sizes, self.penalty
        n_most = min(budget.rules, budget.conditions, len(gram))
        cost = budget.cost(sizes)
        variance, right = gram.diagonal() + penalty, right.copy()
        smallest = _DEPENDENT * variance
        factors = np.empty((n_most, len(gram)))
        chosen: list[int] = []
        room = budget.conditions
        for step in range(n_most):
            gains = np.where(variance > smallest, right**2 / np.maximum(variance, smallest), 0.0) / cost
            gains[sizes > room] = 0.0
            gains[chosen] = 0.0
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
            room -= int(sizes[best])
        return chosen

    def exchanged(self, chosen: list[int], budget: Budget) -> list[int]:
        """Return the set after additions and exchanges within the budget, the most helpful first, while any helps."""
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
            room = budget.conditions - int(sizes[chosen].sum())
            # What each candidate would gain if one of the chosen were gone, against what that one gains itself.
            gains = (rest[:, np.newaxis] + across * (weights * freed)) ** 2
            gains /= np.maximum(variance[:, np.newaxis] + across**2 * freed, smallest[:, np.newaxis])
            gains -= weights**2 * freed
            gains[sizes[:, np.newaxis] > room + sizes[chosen]] = 0.0
            gains[chosen] = 0.0
            added = rest**2 / np.maximum(variance, smallest)
            added[(sizes > room) | (len(chosen) >= budget.rules)] = 0.0
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
