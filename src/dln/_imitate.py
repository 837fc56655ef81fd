"""Fewer rules that predict nearly the same: imitation of a sum of many rules by a sum of few of them.

Chosen to imitate the predictions of all rules together, not the target: what many rules average out, a few chosen by
the target would learn by heart.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._products import products

Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.intp]

#: Equal rules are told apart by this share of a rule's mean variance.
_JITTER: Final = 1e-4
#: Exchanges of one rule for another, at most, how many that might enter are tried at a time, and the share of what is
#: explained below which an exchange is not worth it.
_EXCHANGES: Final = 200
_ENTRANTS: Final = 8
_WORTH: Final = 1e-6


def imitating_rules(
    rules: Bools, predictions: Floats, weight: Floats, *, max_error: float, max_rules: int | None
) -> list[int]:
    """Return the places of a few rules ``(n_rules, n)`` whose best sum is near given predictions ``(n,)``.

    They are as few as keep the mean squared difference at `max_error`, or fewer where `max_rules` says so: the rule
    that is missed least is left out, one by one; then rules are exchanged as long as that brings the sum nearer.

    >>> rng = np.random.default_rng(0)
    >>> rules = rng.random((3, 200)) < 0.5
    >>> imitating_rules(rules, 5.0 * rules[2] - 2.0 * rules[0], np.ones(200), max_error=0.1, max_rules=None)
    [0, 2]
    """
    weight = weight / weight.sum()
    centred = predictions - float(weight @ predictions)
    gram, across = products(rules, weight, np.column_stack([np.ones(len(centred)), centred]))
    means, right = across[:, 0], across[:, 1]
    gram -= np.outer(means, means)
    gram[np.diag_indices_from(gram)] += _JITTER * max(float(np.trace(gram)) / max(len(gram), 1), np.finfo(float).tiny)
    variance = float(weight @ centred**2)
    kept = _leave_out(gram, right, variance - max_error, len(right) if max_rules is None else max_rules)
    return sorted(_exchange(gram, right, kept).tolist())


def _leave_out(gram: Floats, right: Floats, enough: float, max_rules: int) -> Places:
    """Return what stays when the rule missed least is left out as long as `enough` variance is explained."""
    inverse = np.linalg.inv(gram)
    weights = inverse @ right
    alive = np.ones(len(right), dtype=np.bool_)
    explained, n_alive = float(weights @ right), len(right)
    while n_alive:
        missed = np.where(alive, weights**2 / np.maximum(inverse.diagonal(), np.finfo(float).tiny), np.inf)
        least = int(np.argmin(missed))
        explained -= float(missed[least])
        if n_alive <= max_rules and explained < enough:
            break
        column = inverse[:, least].copy()
        weights -= column * (weights[least] / column[least])
        inverse -= np.outer(column, column / column[least])
        alive[least] = False
        n_alive -= 1
    return np.flatnonzero(alive)


def _exchange(gram: Floats, right: Floats, kept: Places) -> Places:
    """Return as many rules that explain no less: one of a few entrants takes the place of the rule missed least."""
    kept = kept.copy()
    for _ in range(_EXCHANGES if 0 < len(kept) < len(right) else 0):
        inverse = np.linalg.inv(gram[np.ix_(kept, kept)])
        weights = inverse @ right[kept]
        among = gram[:, kept]
        left = gram.diagonal() - np.einsum("ij,jk,ik->i", among, inverse, among)
        gain = (right - among @ weights) ** 2 / np.maximum(left, _JITTER * gram.diagonal())
        gain[kept] = 0.0
        best, entrant, leaver = _WORTH * float(weights @ right[kept]), -1, -1
        for one in np.argsort(-gain, kind="stable")[:_ENTRANTS]:
            if gain[one] <= best:
                break
            more = np.append(kept, one)
            inverse = np.linalg.inv(gram[np.ix_(more, more)])
            missed = (inverse @ right[more]) ** 2 / inverse.diagonal()
            least = int(np.argmin(missed[:-1]))
            if gain[one] - missed[least] > best:
                best, entrant, leaver = float(gain[one] - missed[least]), int(one), least
        if entrant < 0:
            break
        kept[leaver] = entrant
    return kept
