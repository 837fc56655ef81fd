"""Boosted trees as teachers: each on its own share of the rows, stopped where the rest is predicted no better.

The whole of it is compiled: thousands of small trees, grown on threads that must not wait for one interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from dln.training._binned import Inputs, Rows, set_aside
from dln.training._grow import MIN_LEAF
from dln.training._trees import Bins, Floats, Ints, Tree, grow, jit, leaf_of

#: Shrinkage, most trees, trees without a gain before it stops (of trees that see all columns), ridge penalty of a leaf,
#: the share of rows that are set aside, and how likely a tree sees each of the others.
RATE: Final = 0.1
MOST_TREES: Final = 600
PATIENCE: Final = 40
PENALTY: Final = 1.0
ASIDE: Final = 0.15
ROW_SHARE: Final = 0.8
#: Rows that are predicted together.
_BLOCK: Final = 64


class Forest(NamedTuple):
    """The nodes of trees, one tree after the other.

    A row goes to the node on the left, or to the next one where its bin is above the threshold; a leaf leads to itself.
    """

    feature: Ints
    threshold: Ints
    left: Ints
    value: Floats
    root: Ints
    depth: Ints
    """Per tree, how many steps it takes to the deepest leaf."""


@dataclass(frozen=True, slots=True)
class Boosted:
    """Boosted trees, what they predict for all rows, the gains of their cut-offs, and which rows they saw."""

    base: float
    trees: Forest
    prediction: Floats
    gains: Floats
    """(n_inputs, n_bins): summed gain of all splits above each bin."""
    rows: Rows
    aside: Rows
    error: float
    """Mean squared error on the rows that it did not see."""

    def predict(self, inputs: Inputs) -> Floats:
        """Return what the trees predict, ``(n_rows,)``."""
        predicted = np.full(inputs.n_rows, self.base)
        _add_predictions(self.trees, inputs.bins, predicted)
        return predicted


def boost(
    inputs: Inputs, y: Floats, weight: Floats, max_leaves: int, column_share: float, seed: Sequence[int]
) -> Boosted:
    """Boost trees on a share of the rows until the rest is predicted no better.

    Each tree may use `column_share` of the columns, drawn by lot.
    """
    rng = np.random.default_rng(seed)
    rows, aside = set_aside(inputs.n_rows, ASIDE, rng)
    names, columns = np.unique(inputs.columns, return_inverse=True)
    n_drawn = max(1, round(column_share * len(names)))
    patience = round(PATIENCE * (len(names) / n_drawn) ** 1.5)  # a tree of fewer columns gains less, and less often
    base = float(np.average(y[rows], weights=weight[rows]))
    prediction = np.full(inputs.n_rows, base)
    gains = np.zeros((len(inputs.n_bins), int(inputs.n_bins.max())))
    data = (inputs.bins, inputs.n_bins, columns, y, weight, rows, aside)
    trees, error = _boost(*data, max_leaves, MIN_LEAF, n_drawn, patience, rng, gains, prediction)
    return Boosted(base, trees, prediction, gains, rows, aside, error)


@jit
def _boost(
    bins: Bins,
    n_bins: Ints,
    columns: Rows,
    y: Floats,
    weight: Floats,
    rows: Rows,
    aside: Rows,
    max_leaves: int,
    min_leaf: float,
    n_drawn: int,
    patience: int,
    rng: np.random.Generator,
    gains: Floats,
    prediction: Floats,
) -> tuple[Forest, float]:
    """Return the trees and their error; add up their gains, and turn the base prediction into theirs."""
    size, n_columns = MOST_TREES * (2 * max_leaves - 1), int(columns.max()) + 1
    forest = Forest(
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size),
        np.zeros(MOST_TREES + 1, np.int32),
        np.zeros(MOST_TREES, np.int32),
    )
    features = np.arange(n_bins.size).astype(np.int32)
    leaves = np.empty(y.size, np.int32)
    left, now = y - prediction, prediction.copy()
    best_error, n_best, n_trees = np.inf, 0, 0
    while n_trees < MOST_TREES and n_trees < n_best + patience:
        seen = rows[rng.random(rows.size) < ROW_SHARE].astype(np.int32)
        if n_drawn < n_columns:
            is_drawn = np.zeros(n_columns, np.bool_)
            is_drawn[np.argsort(rng.random(n_columns))[:n_drawn]] = True
            features = np.flatnonzero(is_drawn[columns]).astype(np.int32)
        tree = grow(bins, n_bins, seen, left, weight, features, max_leaves, min_leaf, PENALTY)
        leaf_of(tree, bins, leaves)
        for r in range(y.size):
            now[r] += RATE * tree.value[leaves[r]]
            left[r] = y[r] - now[r]
        _append(forest, n_trees, tree)
        _add_gains(tree, gains)
        n_trees += 1
        error, total = 0.0, 0.0
        for r in aside:
            error += weight[r] * left[r] * left[r]
            total += weight[r]
        error /= total
        if error < best_error:
            best_error, n_best = error, n_trees
            prediction[:] = now
    end = forest.root[n_best]
    kept = Forest(
        forest.feature[:end].copy(),
        forest.threshold[:end].copy(),
        forest.left[:end].copy(),
        forest.value[:end].copy(),
        forest.root[:n_best].copy(),
        forest.depth[:n_best].copy(),
    )
    return kept, best_error


@jit
def _append(forest: Forest, n_trees: int, tree: Tree) -> None:
    """Write a tree behind those before it."""
    root, most = forest.root[n_trees], np.iinfo(np.int32).max
    depth = np.zeros(tree.feature.size, np.int32)
    for node in range(tree.feature.size):
        at = root + node
        forest.value[at] = tree.value[node]
        if tree.feature[node] >= 0:
            forest.feature[at], forest.threshold[at] = tree.feature[node], tree.threshold[node]
            forest.left[at] = root + tree.left[node]
            depth[tree.left[node]] = depth[tree.right[node]] = depth[node] + 1
        else:
            forest.feature[at], forest.threshold[at], forest.left[at] = 0, most, at
    forest.root[n_trees + 1] = root + tree.feature.size
    forest.depth[n_trees] = depth.max()


@jit
def _add_predictions(forest: Forest, bins: Bins, out: Floats) -> None:
    """Add what the trees predict for each row, tree by tree; a block of rows goes down together, one step at a time."""
    some = np.zeros((bins.shape[0], _BLOCK), bins.dtype)
    nodes = np.empty(_BLOCK, np.int32)
    for first in range(0, bins.shape[1], _BLOCK):
        n = min(_BLOCK, bins.shape[1] - first)
        some[:, :n] = bins[:, first : first + n]
        for k in range(forest.root.size):
            nodes[:] = forest.root[k]
            for _ in range(forest.depth[k]):
                for i in range(_BLOCK):
                    node = nodes[i]
                    nodes[i] = forest.left[node] + (some[forest.feature[node], i] > forest.threshold[node])
            for i in range(n):
                out[first + i] += RATE * forest.value[nodes[i]]


@jit
def _add_gains(tree: Tree, gains: Floats) -> None:
    """Add each split's gain where it cuts."""
    for node in range(tree.feature.size):
        if tree.feature[node] >= 0:
            gain = -tree.weight[node] * tree.value[node] ** 2
            for child in (tree.left[node], tree.right[node]):
                gain += tree.weight[child] * tree.value[child] ** 2
            gains[tree.feature[node], tree.threshold[node]] += max(0.0, gain)
