"""Synthetic rows: put together from the table's own, for teachers to label."""

from __future__ import annotations

from typing import Final

import numpy as np

from dln.rules._inputs import Inputs, Rows
from dln.solve._products import Floats

#: How likely a column's value is the other row's, and among how many drawn rows that one is nearest.
MIXED: Final = 0.3
DRAWN: Final = 5


def synthetic_rows(inputs: Inputs, weight: Floats, n: int, seed: list[int]) -> Inputs:
    """Return n rows, each column's value from one of two rows that are not far apart.

    Students that learn from such rows too stay closer to their teachers between the rows of the table.
    """
    rng = np.random.default_rng(seed)
    share = weight / weight.sum()
    width = np.maximum(inputs.n_bins - 1, 1)[:, np.newaxis].astype(np.float32)
    one, other = rng.choice(len(weight), size=(2, n), p=share)
    position = inputs.bins[:, one] / width
    nearest = np.full(n, np.inf)
    for drawn in rng.choice(len(weight), size=(DRAWN, n), p=share):
        distance = np.abs(position - inputs.bins[:, drawn] / width).sum(axis=0)
        is_nearer = (distance < nearest) & (drawn != one)
        nearest[is_nearer], other[is_nearer] = distance[is_nearer], drawn[is_nearer]
    n_columns = int(inputs.columns.max(initial=-1)) + 1
    rows: Rows = np.where(rng.random((n_columns, n)) < MIXED, other, one)
    return inputs.mixed(rows)
