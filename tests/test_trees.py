"""Small trees on binned inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from dln.training._trees import Tree, grow, leaf_of, upper_leaves


def inputs(seed: int, n: int = 200, n_features: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random bins, their number per feature, and a target."""
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 8, (n_features, n)).astype(np.uint8)
    y = (bins[0] > 3) * 2.0 + (bins[1] > 5) * (bins[2] > 1) + rng.normal(0, 0.1, n)
    return bins, np.full(n_features, 8, np.int32), y


def grown(
    bins: np.ndarray, n_bins: np.ndarray, y: np.ndarray, weight: np.ndarray, leaves: int, least: float = 1.0
) -> Tree:
    """A tree on all rows and features."""
    rows = np.arange(bins.shape[1], dtype=np.int32)
    return grow(bins, n_bins, rows, y, weight, np.arange(len(bins), dtype=np.int32), leaves, least, 0.0)


def leaf_values(tree: Tree, bins: np.ndarray) -> np.ndarray:
    """The tree's prediction of every row."""
    leaves = np.empty(bins.shape[1], np.int32)
    leaf_of(tree, bins, leaves)
    return tree.value[leaves]


@given(seed=st.integers(0, 10_000), leaves=st.integers(2, 12))
def test_trees_fit_as_well_as_scikit_learns(seed, leaves):
    """Grown best leaf first, the squared error is that of scikit-learn's tree of as many leaves."""
    bins, n_bins, y = inputs(seed)
    ours = leaf_values(grown(bins, n_bins, y, np.ones(len(y)), leaves), bins)
    theirs = DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=0).fit(bins.T, y).predict(bins.T)
    assert np.mean((y - ours) ** 2) == pytest.approx(np.mean((y - theirs) ** 2), rel=0.05, abs=1e-9)


@given(st.integers(0, 10_000))
def test_integer_weights_equal_repeated_rows(seed):
    """A row of weight three grows the tree that three rows grow."""
    bins, n_bins, y = inputs(seed, 60)
    y = y.round(1)
    counts = np.random.default_rng(seed).integers(1, 4, 60)
    weighted = grown(bins, n_bins, y, counts.astype(float), 6)
    repeated = grown(np.repeat(bins, counts, axis=1), n_bins, np.repeat(y, counts), np.ones(counts.sum()), 6)
    np.testing.assert_allclose(leaf_values(weighted, bins), leaf_values(repeated, bins), atol=1e-9)


def test_leaves_are_not_smaller_than_asked():
    """No leaf holds less weight than the least."""
    bins, n_bins, y = inputs(0)
    tree = grown(bins, n_bins, y, np.ones(len(y)), 30, least=15.0)
    assert tree.weight[tree.feature < 0].min() >= 15


def test_a_constant_target_is_not_split():
    """Where nothing can be gained the tree is a single leaf, and no rule."""
    bins, n_bins, _ = inputs(0)
    tree = grown(bins, n_bins, np.zeros(200), np.ones(200), 8)
    assert len(tree.feature) == 1
    assert upper_leaves(tree) is None


@given(st.integers(0, 10_000))
def test_the_rule_of_a_tree_is_its_best_cut_in_two(seed):
    """No other cut of the sorted leaf values explains more of the tree."""
    bins, n_bins, y = inputs(seed)
    tree = grown(bins, n_bins, y, np.ones(len(y)), 8)
    upper = upper_leaves(tree)
    leaves = np.empty(len(y), np.int32)
    leaf_of(tree, bins, leaves)
    values = tree.value[leaves]

    def explained(fires: np.ndarray) -> float:
        fitted = np.where(fires, values[fires].mean(), values[~fires].mean())
        return float(np.var(fitted))

    best = max(explained(values > cut) for cut in np.unique(values)[:-1])
    assert explained(upper[leaves]) == pytest.approx(best)
