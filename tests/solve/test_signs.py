"""Least squares with signs against a plain solver."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from dln.solve._select import Budget, Candidates
from dln.solve._weights import Loss, solve_weights, solve_with_signs


@given(st.integers(0, 10_000), st.integers(0, 12))
def test_weights_are_those_of_a_plain_solver(seed, n):
    """Weights have their signs and minimise the squares among all that do."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n + 3, n)) * 10.0 ** rng.integers(-2, 3)
    target = rng.normal(size=n + 3)
    signs = rng.integers(-1, 2, n)
    matrix, right = root.T @ root + 1e-6 * np.eye(n), root.T @ target
    weights = solve_with_signs(matrix, right, signs)
    assert (signs * weights >= 0.0).all()
    if n:
        bounds = np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)
        rows = np.vstack([root, 1e-3 * np.eye(n)])
        plain = lsq_linear(rows, np.append(target, np.zeros(n)), bounds, method="bvls", tol=1e-14, max_iter=1000)
        value, best = (w @ matrix @ w / 2 - right @ w for w in (weights, plain.x))
        np.testing.assert_allclose(value, best, rtol=1e-6, atol=1e-9)


def test_every_loss_keeps_the_signs():
    """Weights solved for under any loss have their signs, though y goes the other way."""
    rng = np.random.default_rng(0)
    rules = rng.random((3, 200)) < 0.5
    y = np.array([2.0, -3.0, 1.0]) @ rules + rng.normal(size=200)
    for loss in ("squared_error", "huber", "absolute_error", "quantile"):
        _, weights = solve_weights(rules, y, np.ones(200), 1e-3, Loss(loss), signs=np.array([-1, -1, 0]))
        assert weights[0] == 0.0
        assert weights[1] < -2.0 < 0.5 < weights[2]


def test_a_rule_and_its_opposite_are_both_candidates_if_signs_differ():
    """Of a rule and its opposite, the one whose sign fits is chosen; without signs one stands for both."""
    rng = np.random.default_rng(1)
    rule = rng.random(100) < 0.5
    y = np.where(rule, -1.0, 1.0)
    fires, sizes = np.array([rule, ~rule]), np.array([1, 1])
    for signs, expected in ((None, [0]), ([1, 1], [1]), ([-1, -1], [0]), ([1, -1], [])):
        candidates = Candidates.of(
            *(fires, sizes, y - y.mean(), np.ones(100)),
            penalty=0.1,
            min_share=0.05,
            signs=None if signs is None else np.array(signs),
        )
        assert candidates.select(Budget(1, 1, 1)) == expected
