"""Boosted trees as teachers: each on its own share of the rows, stopped where the rest is predicted no better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dln.training._binned import Inputs, Rows
from dln.training._grow import MIN_LEAF
from dln.training._trees import Floats, Tree, grow, leaf_of

#: Shrinkage, most trees, trees without a gain before it stops (of trees that see all columns), ridge penalty of a leaf,
#: the share of rows that are set aside, and the share of the others that a tree sees.
RATE: Final = 0.1
MOST_TREES: Final = 600
PATIENCE: Final = 20
PENALTY: Final = 1.0
ASIDE: Final = 0.25
ROW_SHARE: Final = 0.8


@dataclass(frozen=True, slots=True)
class Boosted:
    """Boosted trees, what they predict for all rows, the gains of their cut-offs, and which rows they saw."""

    base: float
    trees: tuple[Tree, ...]
    prediction: Floats
    gains: Floats
    """(n_inputs, n_bins): summed gain of all splits above each bin."""
    rows: Rows
    aside: Rows
    error: float
    """Mean squared error on the rows that it did not see."""

    def predict(self, inputs: Inputs) -> Floats:
        """Return what the trees predict, ``(n_rows,)``."""
        leaves = np.empty(inputs.n_rows, dtype=np.int32)
        predicted = np.full(inputs.n_rows, self.base)
        for tree in self.trees:
            leaf_of(tree, inputs.bins, leaves)
            predicted += RATE * tree.value[leaves]
        return predicted


def boost(
    inputs: Inputs, y: Floats, weight: Floats, max_leaves: int, column_share: float, seed: Sequence[int]
) -> Boosted:
    """Boost trees on a share of the rows until the rest is predicted no better.

    Each tree may use `column_share` of the columns, drawn by lot.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(inputs.n_rows)
    n_aside = max(1, round(ASIDE * inputs.n_rows))
    aside, rows = np.sort(order[:n_aside]), np.sort(order[n_aside:])
    features = np.arange(len(inputs.n_bins), dtype=np.int32)
    columns = np.unique(inputs.columns)
    n_columns = max(1, round(column_share * len(columns)))
    patience = round(PATIENCE * (len(columns) / n_columns) ** 1.5)  # a tree of fewer columns gains less, and less often
    leaves = np.empty(inputs.n_rows, dtype=np.int32)
    base = float(np.average(y[rows], weights=weight[rows]))
    prediction = np.full(inputs.n_rows, base)
    trees: list[Tree] = []
    best, best_error, n_best = prediction, np.inf, 0
    gains = np.zeros((len(inputs.n_bins), int(inputs.n_bins.max())))
    n_seen = max(1, round(ROW_SHARE * len(rows)))
    while len(trees) < MOST_TREES and len(trees) < n_best + patience:
        seen = np.sort(rng.permutation(rows)[:n_seen]).astype(np.int32)
        if n_columns < len(columns):
            drawn = np.isin(inputs.columns, rng.choice(columns, n_columns, replace=False))
            features = np.flatnonzero(drawn).astype(np.int32)
        left = y - prediction
        tree = grow(inputs.bins, inputs.n_bins, seen, left, weight, features, max_leaves, MIN_LEAF, PENALTY)
        leaf_of(tree, inputs.bins, leaves)
        prediction = prediction + RATE * tree.value[leaves]
        trees.append(tree)
        _add_gains(tree, gains)
        error = float(np.average((y[aside] - prediction[aside]) ** 2, weights=weight[aside]))
        if error < best_error:
            best, best_error, n_best = prediction, error, len(trees)
    return Boosted(base, tuple(trees[:n_best]), best, gains, rows, aside, best_error)


def _add_gains(tree: Tree, gains: Floats) -> None:
    squares = tree.weight * tree.value**2
    for node in np.flatnonzero(tree.feature >= 0):
        left, right = tree.left[node], tree.right[node]
        gains[tree.feature[node], tree.threshold[node]] += max(0.0, squares[left] + squares[right] - squares[node])
