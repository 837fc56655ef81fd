"""Rules grown from trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from dln.training._grow import bin_inputs, fire_matrix, grow_rules, keep_cutoffs, polish, polish_helps, teach
from dln.training._select import solve_weights


@pytest.fixture(scope="module")
def friedman():
    """Binned inputs and a standardised target."""
    X, y = make_friedman1(500, noise=1.0, random_state=0)
    X = X.astype(np.float32)
    inputs = bin_inputs(X, np.zeros((500, 0), np.float32), 32)
    return inputs, (y - y.mean()) / y.std(), np.ones(500)


def unexplained(rules, inputs, y, weight) -> float:
    """The share of the variance that rules leave."""
    fires = fire_matrix(rules, inputs)
    intercept, weights = solve_weights(fires, y, weight)
    return float(np.mean((y - intercept - weights @ fires) ** 2))


def test_bins_lie_between_cutoffs():
    """A value is in bin b where exactly b cut-offs are below it; a missing one is in bin 0."""
    numbers = np.array([[-1.0], [0.0], [0.2], [0.2], [0.9]], np.float32)
    bits = np.array([[0.0], [1.0], [0.0], [1.0], [1.0]], np.float32)
    inputs = bin_inputs(numbers, bits, 10)
    assert inputs.bins.tolist() == [[0, 0, 1, 1, 2], [0, 1, 0, 1, 1]]
    assert inputs.n_bins.tolist() == [3, 2]
    assert (
        len(
            bin_inputs(np.linspace(0, 1, 1000, dtype=np.float32)[:, None], np.zeros((1000, 0), np.float32), 7).cutoffs[
                0
            ]
        )
        == 7
    )


def test_bins_fit_a_byte():
    """However many cut-offs are asked for, no bin number wraps round."""
    inputs = bin_inputs(np.linspace(0, 1, 1000, dtype=np.float32)[:, None], np.zeros((1000, 0), np.float32), 900)
    assert (np.diff(inputs.bins[0].astype(int)) >= 0).all()
    assert inputs.bins.max() + 1 == inputs.n_bins[0] <= 255


def test_a_few_rules_explain_most(friedman):
    """Sixty two-valued trees leave little of a smooth function."""
    inputs, y, weight = friedman
    rules = grow_rules(inputs, y, weight, 60, max_leaves=32, seed=0)
    assert unexplained(rules, inputs, y, weight) < 0.1


def test_the_seed_decides(friedman):
    """The same seed grows the same rules, another seed others."""
    inputs, y, weight = friedman
    one, two, other = (fire_matrix(grow_rules(inputs, y, weight, 5, max_leaves=8, seed=s), inputs) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_teachers_are_trusted_where_the_target_is_noise(friedman):
    """With a noisy target the teachers' mean is the better goal, with a clean one the target itself."""
    inputs, y, weight = friedman
    noisy = y + np.random.default_rng(0).normal(0, 2, len(y))
    lesson = teach(inputs, noisy, weight, 4, None, 0, 2)
    assert lesson.share < 1
    assert np.mean((lesson.prediction - y) ** 2) < 0.3 * np.mean((noisy - y) ** 2)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_do_not_change_the_lesson(friedman, n_threads):
    """Teachers learn the same in any number of threads."""
    inputs, y, weight = friedman
    np.testing.assert_array_equal(
        teach(inputs, y, weight, 3, None, 0, n_threads).prediction, teach(inputs, y, weight, 3, None, 0, 2).prediction
    )


def test_cutoffs_are_kept_where_they_are_worth_most(friedman):
    """Of many cut-offs as many as asked stay, most of them in the columns that matter; bins stay in order."""
    inputs, y, weight = friedman
    fewer = keep_cutoffs(inputs, teach(inputs, y, weight, 2, 8, 0, 1).gains, 40)
    counts = [len(cuts) for cuts in fewer.cutoffs]
    assert sum(counts) <= 40
    assert sum(counts[:5]) > sum(counts[5:])
    for k in range(10):
        assert (np.diff(fewer.bins[k][np.argsort(inputs.bins[k], kind="stable")].astype(int)) >= 0).all()
        assert fewer.bins[k].max() <= counts[k]


def test_polish_never_makes_the_fit_worse(friedman):
    """Rules grown anew against the rest explain as much or more."""
    inputs, y, weight = friedman
    rules = grow_rules(inputs, y, weight, 8, max_leaves=8, seed=0)
    better = polish(rules, inputs, y, weight, np.empty((0, 500), bool), sweeps=3, max_leaves=8, seed=0)
    assert unexplained(better, inputs, y, weight) < unexplained(rules, inputs, y, weight)


def test_polish_is_known_to_help_or_not(friedman):
    """On unseen rows polish helps where there is much to learn, and not where the target is noise or rows are few."""
    inputs, y, weight = friedman
    noise = np.random.default_rng(0).normal(size=500)
    none, how = np.empty((0, 500), bool), {"sweeps": 5, "max_leaves": 8, "seed": 0}
    assert polish_helps(8, inputs, y, y, weight, none, **how)
    assert not polish_helps(8, inputs, noise, noise, weight, none, **how)
    few = np.arange(30)
    assert not polish_helps(8, inputs.at(few), y[few], y[few], weight[few], none[:, few], **how)
