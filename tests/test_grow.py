"""Rules grown from trees."""

from __future__ import annotations

import numpy as np

from dln.training._grow import fire_matrix, grow_rules, polish, polish_helps
from dln.training._select import solve_weights


def unexplained(rules, inputs, y, weight) -> float:
    """The share of the variance that rules leave."""
    fires = fire_matrix(rules, inputs)
    intercept, weights = solve_weights(fires, y, weight)
    return float(np.mean((y - intercept - weights @ fires) ** 2))


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
    assert polish_helps(8, inputs, y, weight, none, **how)
    assert not polish_helps(8, inputs, noise, weight, none, **how)
    few = np.arange(30)
    assert not polish_helps(8, inputs.at(few), y[few], weight[few], none[:, few], **how)
