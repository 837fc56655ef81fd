"""Pooling rules and solving for their weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from dln._circuit import Above, Circuit, Column, Gate, Rule
from dln.training._select import LeastSquares, distinct, pool, solve_weights

COLUMNS = (Column("a"), Column("b"))


def circuit(cutoff: float) -> Circuit:
    """A circuit of two rules that share a literal."""
    return Circuit(COLUMNS, (Above(0, 1.0), Above(1, cutoff)), (Gate(1, 0, 1),), (Rule(2, 1.0), Rule(0, 2.0)), 0.0, 0)


def test_pooled_rules_stand_once():
    """Rules that two circuits share enter the pool once; their gates are shared."""
    builder, signals = pool(COLUMNS, [circuit(5.0), circuit(5.0), circuit(6.0)])
    assert len(signals) == 3
    pooled = builder.circuit(0.0, [(s, 1.0) for s in signals], decimals=0)
    assert (len(pooled.literals), len(pooled.gates), len(pooled.rules)) == (3, 2, 3)


def test_distinct_leaves_out_constants_equals_and_opposites():
    """Of rules that say the same about the data, the first is kept."""
    a = np.array([0, 1, 1, 0], dtype=bool)
    b = np.array([1, 1, 0, 0], dtype=bool)
    always = np.ones(4, dtype=bool)
    assert distinct([a, always, ~a, b, a.copy(), ~always, ~b]) == [0, 3]


@given(st.integers(0, 10_000))
def test_weights_of_rules_that_made_the_target_are_found(seed):
    """Without noise, the weights that made the target come back."""
    rng = np.random.default_rng(seed)
    rules = rng.integers(0, 2, (4, 200)).astype(bool)
    truth = rng.normal(0, 5, 4)
    intercept, weights = solve_weights(rules, truth @ rules + 3.0, np.ones(200))
    np.testing.assert_allclose(weights, truth, atol=1e-3)
    assert intercept == pytest.approx(3.0, abs=1e-3)


def test_rows_pull_by_their_weight():
    """With little noise the solution is weighted least squares, and its scale does not matter."""
    rng = np.random.default_rng(0)
    rules = rng.integers(0, 2, (3, 200)).astype(bool)
    y = np.array([3.0, -2.0, 5.0]) @ rules + rng.normal(0, 0.1, 200)
    counts = rng.integers(1, 9, 200).astype(float)
    expected = Ridge(alpha=1e-9).fit(rules.T, y, sample_weight=counts).coef_
    for scale in (1e-6, 1.0, 1e6):
        np.testing.assert_allclose(solve_weights(rules, y, counts * scale)[1], expected, rtol=1e-3)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_a_replaced_rule_is_as_if_it_had_always_been_there(seed, n_rules):
    """Products are brought up to date: the weights are those of all rules solved for anew."""
    rng = np.random.default_rng(seed)
    rules = rng.integers(0, 2, (n_rules, 50)).astype(bool)
    y, weight = rng.normal(size=50), rng.uniform(0.1, 3.0, 50)
    joint = LeastSquares(rules.astype(float), y, weight)
    rules[n_rules // 2] = rng.integers(0, 2, 50).astype(bool)
    joint.replace(n_rules // 2, rules[n_rules // 2])
    penalty, intercept, weights = joint.solve()
    expected_intercept, expected = solve_weights(rules, y, weight)
    np.testing.assert_allclose([intercept, *weights], [expected_intercept, *expected], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(joint.solve_with(penalty)[1], weights, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("loss", "quantile"), [("absolute_error", 0.5), ("quantile", 0.9), ("quantile", 0.1)])
def test_without_rules_the_intercept_is_the_losss_own_constant(loss, quantile):
    """With no rules, the fit is the median or the quantile asked for."""
    y = np.random.default_rng(0).exponential(size=2001)
    intercept, weights = solve_weights(np.empty((0, 2001), bool), y, np.ones(2001), loss=loss, quantile=quantile)
    assert len(weights) == 0
    assert np.mean(y <= intercept) == pytest.approx(quantile, abs=0.01)


def test_more_rules_than_rows_stay_finite():
    """Twice as many rules as rows: the penalty keeps weights finite."""
    rng = np.random.default_rng(0)
    rules = rng.integers(0, 2, (40, 20)).astype(bool)
    intercept, weights = solve_weights(rules, rng.normal(size=20), np.ones(20))
    assert np.isfinite(intercept)
    assert np.isfinite(weights).all()
    assert np.abs(weights).max() < 100


def test_one_row_gives_its_target():
    """From one row the intercept alone is learned."""
    intercept, weights = solve_weights(np.ones((1, 1), bool), np.array([7.0]), np.ones(1))
    assert intercept + weights.sum() == pytest.approx(7.0)
