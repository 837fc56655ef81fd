"""Products of rules with each other and with columns of numbers, block by block: all rows at once would fill memory."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Rows of a block: as numbers, those of a few hundred rules are some megabytes.
_BLOCK: Final = 8192


def products(rules: Bools, weight: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return the weighted sums, over the rows, of rule times rule and of rule times others.

    `rules` are ``(n_rules, n)``, `others` ``(n, k)``; the sums are ``(n_rules, n_rules)`` and ``(n_rules, k)``.

    >>> rules = np.array([[True, True, False], [False, True, True]])
    >>> products(rules, np.array([1.0, 2.0, 3.0]), np.array([[10.0], [20.0], [30.0]]))
    (array([[3., 2.],
           [2., 5.]]), array([[ 50.],
           [130.]]))
    """
    n_rules, n = rules.shape
    among, across = np.zeros((n_rules, n_rules)), np.zeros((n_rules, others.shape[1]))
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        some = rules[:, rows].astype(np.float64)
        weighted = some * weight[rows]
        among += weighted @ some.T
        across += weighted @ others[rows]
    return among, across


def centred_products(rules: Bools, y: Floats, weight: Floats) -> tuple[Floats, float, Floats, Floats]:
    """Return the rules' means, that of y, and the products of the centred rules with themselves and with centred y."""
    total = float(weight.sum())
    y_mean = float(weight @ y) / total
    gram, across = products(rules, weight, np.column_stack([np.ones(len(y)), y - y_mean]))
    means = across[:, 0] / total
    return means, y_mean, gram - np.outer(means, means) * total, across[:, 1]
