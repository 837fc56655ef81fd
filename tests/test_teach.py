"""Teachers, imagined rows, and what students find out."""

from __future__ import annotations

import numpy as np
import pytest

from dln import DLNRegressor
from dln.training import _boosted
from dln.training._binned import Inputs, bin_inputs, set_aside
from dln.training._boosted import boost
from dln.training._grow import MIN_LEAF
from dln.training._teach import (
    MIXED,
    N_IMAGINED,
    TRIALS_OF_FEW,
    imagine,
    imagined_weight,
    teach,
)
from dln.training._trees import grow, leaf_of


def test_teachers_are_trusted_where_the_target_is_noise(friedman):
    """With a noisy target the teachers' mean is the better goal, with a clean one the target itself."""
    inputs, y, weight = friedman
    noisy = y + np.random.default_rng(0).normal(0, 2, len(y))
    lesson = teach(inputs, noisy, weight, 4, None, 0, 2)
    assert lesson.share < 1
    assert np.mean((lesson.predict(inputs) - y) ** 2) < 0.3 * np.mean((noisy - y) ** 2)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_do_not_change_the_lesson(friedman, n_threads):
    """Teachers learn the same in any number of threads."""
    inputs, y, weight = friedman
    lesson, other = (teach(inputs, y, weight, 3, None, 0, threads) for threads in (n_threads, 2))
    assert (lesson.smooth_share, lesson.share, lesson.leaves) == (other.smooth_share, other.share, other.leaves)
    np.testing.assert_array_equal(lesson.goal(inputs, y), other.goal(inputs, y))


def test_the_smooth_teacher_is_heard_where_the_target_is_smooth():
    """A slope is the smooth teacher's; a few steps are the trees'."""
    X = np.random.default_rng(0).random((400, 3)).astype(np.float32)
    plain = bin_inputs(X, np.zeros((400, 0), np.float32), 64)
    noise = np.random.default_rng(1).normal(0, 0.3, 400)
    slope = teach(plain, X.sum(axis=1) * 3 + noise, np.ones(400), 4, 8, 0, 2)
    steps = teach(
        plain, np.where(X[:, 0] > 0.5, 1.0, -1.0) * np.where(X[:, 1] > 0.5, 1.0, -1.0), np.ones(400), 4, 8, 0, 2
    )
    assert slope.smooth_share > 0.5
    assert slope.smooth is not None
    assert steps.smooth_share == 0
    assert steps.smooth is None


def test_a_clean_target_stays_nearly_itself():
    """Where y is a few clear steps without noise, the target stays what it is, and small trees are enough."""
    X = np.random.default_rng(0).integers(0, 11, (400, 2)).astype(np.float32) / 10
    inputs = bin_inputs(X, np.zeros((400, 0), np.float32), 64)
    y = np.where(X[:, 0] > 0.5, 1.0, -1.0) * np.where(X[:, 1] > 0.3, 1.0, -1.0)
    lesson = teach(inputs, y, np.ones(400), 2, None, 0, 1)
    assert np.mean((lesson.goal(inputs, y) - y) ** 2) < 0.02
    assert lesson.leaves <= 8


def test_leaves_that_are_given_are_kept(friedman):
    """With max_leaves given, students only say how far to trust the teachers."""
    inputs, y, weight = friedman
    assert teach(inputs, y, weight, 1, 5, 0, 1).leaves == 5


def test_a_teacher_predicts_the_rows_it_was_trained_with_as_it_says(friedman):
    """A teacher's trees, run again, give its prediction; the lesson's goal is made of the same."""
    inputs, y, weight = friedman
    lesson = teach(inputs, y, weight, 2, 4, 0, 1)
    said = lesson.share * y + (1 - lesson.share) * lesson.predict(inputs)
    np.testing.assert_allclose(lesson.goal(inputs, y), said, rtol=1e-9, atol=1e-9)
    for teacher in lesson.boosted:
        np.testing.assert_allclose(teacher.predict(inputs), teacher.prediction, rtol=1e-12, atol=1e-12)
        assert not set(teacher.rows) & set(teacher.aside)


@pytest.mark.parametrize("column_share", [0.01, 0.5, 1.0])
def test_a_tree_uses_its_share_of_the_columns(column_share):
    """Columns are drawn anew for every tree, a category's bits together; over all trees every column gets its turn."""
    rng = np.random.default_rng(0)
    numbers, kind = rng.random((300, 3)).astype(np.float32), rng.integers(3, size=300)
    columns = np.array([0, 1, 2, 3, 3, 3])
    inputs = bin_inputs(numbers, np.eye(3, dtype=np.float32)[kind], 16, columns)
    y = numbers.sum(axis=1) + 0.3 * kind
    teacher = boost(inputs, y, np.ones(300), 12, column_share, (0,))
    is_leaf = teacher.trees.left == np.arange(len(teacher.trees.left))
    features = np.split(np.where(is_leaf, -1, teacher.trees.feature), teacher.trees.root[1:])
    used = [set(columns[some[some >= 0]].tolist()) for some in features]
    assert max(map(len, used)) == max(1, round(column_share * 4))
    assert set().union(*used) == {0, 1, 2, 3}


@pytest.mark.parametrize("column_share", [0.5, 1.0])
def test_boosting_is_what_it_says(friedman, column_share):
    """In plain steps: a tree on what is left, of the rows and columns drawn, until the rest is predicted no better."""
    inputs, y, weight = friedman
    found = boost(inputs, y, weight, 6, column_share, (3,))
    rng = np.random.default_rng((3,))
    rows, aside = set_aside(len(y), _boosted.ASIDE, rng)
    n_columns = len(inputs.n_bins)
    n_drawn = round(column_share * n_columns)
    patience = round(_boosted.PATIENCE * (n_columns / n_drawn) ** 1.5)
    prediction = np.full(len(y), np.average(y[rows], weights=weight[rows]))
    gains = np.zeros_like(found.gains)
    errors, predictions = [], []
    while len(errors) < _boosted.MOST_TREES and len(errors) < (np.argmin(errors) + 1 if errors else 0) + patience:
        seen = rows[rng.random(len(rows)) < _boosted.ROW_SHARE].astype(np.int32)
        drawn = np.sort(np.argsort(rng.random(n_columns))[:n_drawn]) if n_drawn < n_columns else np.arange(n_columns)
        tree = grow(inputs.bins, inputs.n_bins, seen, y - prediction, weight, drawn.astype(np.int32), 6, MIN_LEAF, 1.0)
        leaves = np.empty(len(y), np.int32)
        leaf_of(tree, inputs.bins, leaves)
        prediction = prediction + _boosted.RATE * tree.value[leaves]
        predictions.append(prediction)
        errors.append(np.average((y[aside] - prediction[aside]) ** 2, weights=weight[aside]))
        squares = tree.weight * tree.value**2
        for node in np.flatnonzero(tree.feature >= 0):
            gain = squares[tree.left[node]] + squares[tree.right[node]] - squares[node]
            gains[tree.feature[node], tree.threshold[node]] += max(0.0, gain)
    best = int(np.argmin(errors))
    assert len(found.trees.root) == best + 1
    assert found.error == pytest.approx(errors[best], rel=1e-9)
    np.testing.assert_allclose(found.prediction, predictions[best], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.gains, gains, rtol=1e-7, atol=1e-9)


def random_inputs(n: int, n_columns: int) -> Inputs:
    """Columns of random numbers, in bins."""
    return bin_inputs(
        np.random.default_rng(0).random((n, n_columns), dtype=np.float32), np.empty((n, 0), np.float32), 99
    )


def test_imagined_rows_mix_two_rows():
    """Each imagined row takes every column's value from one of two rows, most from the first."""
    rows = imagine(random_inputs(50, 30), 30, np.ones(50), (0,))
    assert rows.shape == (30, N_IMAGINED)
    for column in rows.T:
        assert len(set(column.tolist())) <= 2
    counts = np.array([np.sort(np.bincount(column, minlength=50))[-1] for column in rows.T]) / 30
    assert abs(1 - MIXED - counts.mean()) < 0.1


def test_the_two_rows_are_not_far_apart():
    """Nearer to each other than two rows drawn by lot are."""
    inputs = random_inputs(200, 2)
    one, other = imagine(inputs, 2, np.ones(200), (0,))
    mixed = one != other
    places = inputs.bins / 99
    apart = np.abs(places[:, one[mixed]] - places[:, other[mixed]]).sum(axis=0).mean()
    by_lot = np.abs(places[:, one] - places[:, np.random.default_rng(1).permutation(one)]).sum(axis=0).mean()
    assert mixed.any()
    assert apart < 0.6 * by_lot


@pytest.mark.parametrize("n", [1, 2])
def test_the_fewest_rows_can_be_mixed(n: int):
    """One row only with itself, two with each other; also where all columns are constant or there are none."""
    assert (imagine(random_inputs(n, 3), 3, np.ones(n), (0,)) < n).all()
    assert imagine(random_inputs(n, 0), 2, np.ones(n), (0,)).shape == (2, N_IMAGINED)


def test_rows_are_imagined_by_weight():
    """A row of no weight is never drawn, a heavy one most; all imagined rows together weigh as much as all rows."""
    weight = np.array([0.0, 1.0, 8.0, 1.0])
    counts = np.bincount(imagine(random_inputs(4, 3), 3, weight, (1,)).ravel(), minlength=4)
    assert counts[0] == 0
    assert counts[2] > 0.5 * counts.sum()
    assert imagined_weight(weight, 16).sum() == pytest.approx(10.0)


def test_imagined_rows_are_as_many_as_asked_for():
    """However many rows there are; in a trial of few rows fewer."""
    assert imagine(random_inputs(40_000, 2), 2, np.ones(40_000), (0,)).shape == (2, N_IMAGINED)
    assert TRIALS_OF_FEW.n_imagined < N_IMAGINED
    assert imagine(random_inputs(400, 2), 2, np.ones(400), (0,), TRIALS_OF_FEW.n_imagined).shape == (2, 2500)


def test_the_inputs_of_one_column_stay_together():
    """An imagined row takes all bits of a category from the same row: it is never of two categories, nor of none."""
    bits = np.eye(3, dtype=np.float32)[np.random.default_rng(0).integers(3, size=60)]
    numbers = np.random.default_rng(1).random((60, 2)).astype(np.float32)
    inputs = bin_inputs(numbers, bits, 8, columns=[0, 1, 2, 2, 2])
    mixed = inputs.mixed(imagine(inputs, 3, np.ones(60), (2,)))
    assert (mixed.bins[2:].sum(axis=0) == 1).all()
    both = inputs.followed_by(mixed)
    assert both.n_rows == 60 + N_IMAGINED
    np.testing.assert_array_equal(both.bins[:, :60], inputs.bins)


@pytest.mark.parametrize("columns", [1, 3])
def test_noise_is_not_learned(columns):
    """On a target of pure noise the model predicts little but the mean, on rows that it has not seen."""
    rng = np.random.default_rng(0)
    X, y = rng.random((300, columns)), rng.normal(size=300)
    unseen, unseen_y = rng.random((300, columns)), rng.normal(size=300)
    model = DLNRegressor(n_networks=0, random_state=0).fit(X, y)
    assert model.score(unseen, unseen_y) > -0.15
