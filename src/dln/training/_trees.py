"""Small regression trees on binned inputs, grown best leaf first by histograms.

A tree is the quickest way to a good Boolean function: a set of its leaves is a rule. Bins come from the encoder's
inputs; a split is "bin > t", which is a literal.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

Bins: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int32]

#: Bins fit a byte; the last one is for what lies above the last cut-off.
MAX_CUTOFFS: Final = 254
#: A split must lower the squared error by this share of the whole to be worth a gate.
_MIN_GAIN: Final = 1e-9

#: Compiled without the interpreter's lock, and kept for the next run.
jit: Any = njit(nogil=True, cache=True, error_model="numpy")


class Tree(NamedTuple):
    """Nodes in the order of their making; node 0 is the root. A leaf has feature -1."""

    feature: Ints
    threshold: Ints
    """A row goes right where its bin is above this."""
    left: Ints
    right: Ints
    value: Floats
    weight: Floats


@jit
def _histogram(bins: Bins, rows: Ints, target: Floats, weight: Floats, features: Ints, out: Floats) -> None:
    """Add up weights and weighted targets by feature and bin, ``(n_features, n_bins, 2)``."""
    out[:] = 0.0
    for k in range(features.size):
        f = features[k]
        for r in rows:
            b = bins[f, r]
            out[k, b, 0] += weight[r]
            out[k, b, 1] += weight[r] * target[r]


@jit
def _best_split(histogram: Floats, n_bins: Ints, features: Ints, min_weight: float, penalty: float) -> Any:
    """Return gain, feature and bin of the best split of a node; gain 0 where there is none."""
    best_gain, best_feature, best_bin = 0.0, -1, -1
    for k in range(features.size):
        f = features[k]
        total_weight, total = 0.0, 0.0
        for b in range(n_bins[f]):
            total_weight += histogram[k, b, 0]
            total += histogram[k, b, 1]
        base = total * total / (total_weight + penalty)
        left_weight, left = 0.0, 0.0
        for b in range(n_bins[f] - 1):
            left_weight += histogram[k, b, 0]
            left += histogram[k, b, 1]
            right_weight, right = total_weight - left_weight, total - left
            if left_weight < min_weight or right_weight < min_weight:
                continue
            gain = left * left / (left_weight + penalty) + right * right / (right_weight + penalty) - base
            if gain > best_gain * (1.0 + 1e-12):
                best_gain, best_feature, best_bin = gain, f, b
    return best_gain, best_feature, best_bin


@jit
def grow(
    bins: Bins,
    n_bins: Ints,
    rows: Ints,
    target: Floats,
    weight: Floats,
    features: Ints,
    max_leaves: int,
    min_weight: float,
    penalty: float,
) -> Tree:
    """Grow a tree on the named rows and features, always splitting the leaf that gains most."""
    size = 2 * max_leaves - 1
    tree = Tree(
        np.full(size, -1, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size),
        np.zeros(size),
    )
    most = 0
    for f in features:
        most = max(most, n_bins[f])
    histograms = np.zeros((size, features.size, most, 2))
    order = rows.copy()
    start, end = np.zeros(size, np.int64), np.zeros(size, np.int64)
    gain = np.zeros(size)
    split_feature, split_bin = np.full(size, -1, np.int32), np.zeros(size, np.int32)
    spare = np.empty(rows.size, np.int32)
    end[0] = rows.size
    _histogram(bins, order, target, weight, features, histograms[0])
    n_nodes, n_leaves = 1, 1
    whole = 0.0
    for r in rows:
        whole += weight[r] * target[r] * target[r]
    gain[0], split_feature[0], split_bin[0] = _best_split(histograms[0], n_bins, features, min_weight, penalty)
    while n_leaves < max_leaves:
        best = -1
        for node in range(n_nodes):
            if tree.feature[node] < 0 and gain[node] > _MIN_GAIN * whole and (best < 0 or gain[node] > gain[best]):
                best = node
        if best < 0:
            break
        f, t = split_feature[best], split_bin[best]
        a, b = start[best], end[best]
        n_left, n_right = 0, 0
        for i in range(a, b):  # a stable partition: the order of rows, and so of sums, stays that of the table
            r = order[i]
            if bins[f, r] > t:
                spare[n_right] = r
                n_right += 1
            else:
                order[a + n_left] = r
                n_left += 1
        order[a + n_left : b] = spare[:n_right]
        left, right = n_nodes, n_nodes + 1
        n_nodes, n_leaves = n_nodes + 2, n_leaves + 1
        tree.feature[best], tree.threshold[best] = f, t
        tree.left[best], tree.right[best] = left, right
        start[left], end[left] = a, a + n_left
        start[right], end[right] = a + n_left, b
        small, large = (left, right) if n_left <= n_right else (right, left)
        _histogram(bins, order[start[small] : end[small]], target, weight, features, histograms[small])
        histograms[large] = histograms[best] - histograms[small]
        for node in (left, right):
            gain[node], split_feature[node], split_bin[node] = _best_split(
                histograms[node], n_bins, features, min_weight, penalty
            )
    for node in range(n_nodes):
        total_weight, total = 0.0, 0.0
        for i in range(start[node], end[node]):
            total_weight += weight[order[i]]
            total += weight[order[i]] * target[order[i]]
        tree.weight[node] = total_weight
        tree.value[node] = total / (total_weight + penalty) if total_weight > 0.0 else 0.0
    return Tree(
        tree.feature[:n_nodes],
        tree.threshold[:n_nodes],
        tree.left[:n_nodes],
        tree.right[:n_nodes],
        tree.value[:n_nodes],
        tree.weight[:n_nodes],
    )


@jit
def leaf_of(tree: Tree, bins: Bins, out: Ints) -> None:
    """Write the leaf that each row falls into."""
    for r in range(bins.shape[1]):
        node = 0
        while tree.feature[node] >= 0:
            node = tree.right[node] if bins[tree.feature[node], r] > tree.threshold[node] else tree.left[node]
        out[r] = node


def upper_leaves(tree: Tree) -> npt.NDArray[np.bool_] | None:
    """Return the set of leaves of high value that, against the rest, explains most of the tree; None for a stump.

    The two-valued function nearest to the tree: leaves sorted by value and cut in two where the squares between the
    groups are largest.
    """
    leaves = np.flatnonzero(tree.feature < 0)
    if len(leaves) < 2:  # noqa: PLR2004 (a rule tells two groups apart)
        return None
    order = leaves[np.argsort(tree.value[leaves], kind="stable")]
    weight, total = np.cumsum(tree.weight[order]), np.cumsum(tree.weight[order] * tree.value[order])
    between = total[:-1] ** 2 / weight[:-1] + (total[-1] - total[:-1]) ** 2 / (weight[-1] - weight[:-1])
    upper = np.zeros(len(tree.feature), dtype=np.bool_)
    upper[order[int(np.argmax(between)) + 1 :]] = True
    return upper
