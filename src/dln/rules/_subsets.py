"""Smaller sets of given rules: the rule that is missed least is dropped, one by one, all weights refitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dln.rules._task import PENALTY
from dln.solve._products import Bools, Floats, centred_products


def best_subsets(rules: Bools, y: Floats, weight: Floats, sizes: Sequence[int]) -> dict[int, list[int]]:
    """Return for every size the indices of the rules ``(n_rules, n)`` that are left of it, ascending.

    >>> rng = np.random.default_rng(0)
    >>> rules = rng.random((3, 200)) < 0.5
    >>> best_subsets(rules, 5.0 * rules[2] - 2.0 * rules[0], np.ones(200), [1, 2])
    {2: [0, 2], 1: [2]}
    """
    weight = weight / weight.mean()
    _, _, gram, right = centred_products(rules, y, weight)
    penalty = PENALTY * max(float(np.trace(gram)) / max(len(gram), 1), 1.0)
    order = elimination_order(gram + penalty * np.eye(len(gram)), right)
    smaller = [size for size in range(len(order) - 1, 0, -1) if size in sizes]
    return {size: sorted(order[len(order) - size :].tolist()) for size in smaller}


def elimination_order(gram: Floats, right: Floats) -> npt.NDArray[np.intp]:
    """Return the rules in the order in which they are left out: the one that is missed least first."""
    inverse = np.linalg.inv(gram)
    weights = inverse @ right
    order = np.empty(len(right), dtype=np.intp)
    alive = np.ones(len(right), dtype=np.bool_)
    for step in range(len(right)):
        variances = np.maximum(inverse.diagonal(), np.finfo(np.float64).tiny)
        least = int(np.argmin(np.where(alive, weights**2 / variances, np.inf)))
        column = inverse[:, least].copy()
        weights -= column * (weights[least] / column[least])
        inverse -= np.outer(column, column / column[least])
        alive[least] = False
        order[step] = least
    return order
