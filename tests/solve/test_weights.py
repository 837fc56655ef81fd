"""Weights of given rules, against scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import HuberRegressor, QuantileRegressor, Ridge

from dln.solve._weights import Loss, cross_validated_penalty, solve_weights


@pytest.fixture(scope="module")
def problem():
    """Return rules, a target with a few gross errors, and weights of rows."""
    rng = np.random.default_rng(0)
    rules = rng.random((6, 400)) < 0.4
    y = rules.T @ np.array([3.0, -2.0, 1.0, 0.5, 0.0, 1.5]) + rng.normal(scale=0.5, size=400)
    y[::40] += 25.0
    return rules, y, rng.integers(1, 4, 400).astype(np.float64)


def test_least_squares_is_ridge(problem):
    """The square loss gives scikit-learn's Ridge, weights of rows and intercept included."""
    rules, y, weight = problem
    share = weight / weight.mean()
    variance = np.mean([np.average((r - np.average(r, weights=share)) ** 2, weights=share) for r in rules])
    intercept, weights = solve_weights(rules, y, weight, 0.1)
    expected = Ridge(alpha=0.1 * variance * 400).fit(rules.T, y, share)
    np.testing.assert_allclose(weights, expected.coef_, rtol=1e-6)
    assert intercept == pytest.approx(expected.intercept_)


def test_weights_of_rows_are_repetitions(problem):
    """A row of weight two is two rows."""
    rules, y, weight = problem
    rows = np.repeat(np.arange(400), weight.astype(int))
    for loss in ("squared_error", "absolute_error"):
        one = solve_weights(rules, y, weight, 1e-3, Loss(loss))
        two = solve_weights(rules[:, rows], y[rows], np.ones(len(rows)), 1e-3, Loss(loss))
        np.testing.assert_allclose(one[1], two[1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantiles_are_nearly_the_best(problem, quantile):
    """The quantile loss is within two percent of that of scikit-learn's linear program."""
    rules, y, _ = problem
    ones = np.ones(400)
    intercept, weights = solve_weights(rules, y, ones, 1e-6, Loss("quantile", quantile))
    table = rules.T.astype(np.float64)
    best = QuantileRegressor(quantile=quantile, alpha=0.0).fit(table, y).predict(table)
    loss = Loss("quantile", quantile)
    assert loss.each(y - intercept - weights @ rules).sum() <= 1.02 * loss.each(y - best).sum()


def test_absolute_error_is_the_median(problem):
    """The absolute loss is the quantile loss of one half."""
    rules, y, weight = problem
    a = solve_weights(rules, y, weight, 1e-3, Loss("absolute_error"))
    b = solve_weights(rules, y, weight, 1e-3, Loss("quantile", 0.5))
    np.testing.assert_allclose(a[1], b[1], atol=2e-2)


def test_huber_is_not_led_astray(problem):
    """With gross errors, Huber's weights are near those of scikit-learn's, and nearer the truth than least squares."""
    rules, y, _ = problem
    truth = np.array([3.0, -2.0, 1.0, 0.5, 0.0, 1.5])
    ones = np.ones(400)
    _, huber = solve_weights(rules, y, ones, 1e-6, Loss("huber"))
    _, square = solve_weights(rules, y, ones, 1e-6)
    assert np.abs(huber - truth).max() < np.abs(square - truth).max()
    np.testing.assert_allclose(huber, HuberRegressor(alpha=0.0).fit(rules.T, y).coef_, atol=0.5)


def test_equal_and_constant_rules_do_no_harm():
    """Rules that repeat each other, or never change, leave finite weights; so do no rules at all."""
    rule = np.random.default_rng(0).random(50) < 0.5
    rules = np.array([rule, rule, ~rule, rule | True])
    intercept, weights = solve_weights(rules, 2.0 * rule, np.ones(50), 0.0)
    np.testing.assert_allclose(intercept + weights @ rules, 2.0 * rule, atol=1e-8)
    assert solve_weights(rules[:0], np.arange(50.0), np.ones(50), 0.1)[0] == 24.5


def test_the_penalty_does_not_collapse_on_a_small_noisy_table():
    """With as many rules as rows and little but noise, new rows are predicted hardly worse than by the mean."""
    errors, means = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rules = rng.random((40, 60)) < 0.5
        y = 0.5 * rules[0] + rng.normal(size=60)
        seen, new = slice(0, 40), slice(40, 60)
        penalty = cross_validated_penalty(rules[:, seen], y[seen], np.ones(40))
        intercept, weights = solve_weights(rules[:, seen], y[seen], np.ones(40), penalty)
        errors.append(np.mean((y[new] - intercept - weights @ rules[:, new]) ** 2))
        means.append(np.mean((y[new] - y[seen].mean()) ** 2))
    assert np.mean(errors) < 1.3 * np.mean(means)


def test_the_penalty_is_small_where_rules_are_right():
    """If the rules explain everything, hardly anything is shrunken."""
    rng = np.random.default_rng(0)
    rules = rng.random((5, 300)) < 0.5
    assert cross_validated_penalty(rules, rules.T @ np.arange(5.0), np.ones(300)) == pytest.approx(1e-4)


@pytest.mark.parametrize(
    ("loss", "constant"),
    [
        (Loss(), np.mean),
        (Loss("absolute_error"), np.median),
        (Loss("quantile", 0.8), lambda y: np.quantile(y, 0.8, method="inverted_cdf")),
    ],
)
def test_what_is_explained_is_told_against_the_best_constant(loss, constant):
    """The best constant explains nothing, the target itself everything, and no constant more than nothing."""
    y = np.random.default_rng(0).exponential(size=101)
    ones = np.ones(101)
    assert loss.explained(y, np.full(101, constant(y)), ones) == pytest.approx(0.0)
    assert loss.explained(y, y, ones) == 1.0
    for other in np.quantile(y, [0.1, 0.5, 0.9]):
        assert loss.explained(y, np.full(101, other), ones) <= 1e-12
    assert loss.explained(np.ones(5), np.zeros(5), np.ones(5)) == 0.0


def test_explained_is_the_r2_of_scikit_learn():
    """For the square loss what is explained is R², weights of rows included."""
    from sklearn.metrics import r2_score

    rng = np.random.default_rng(0)
    y, predicted, weight = rng.normal(size=(3, 60))
    weight = np.abs(weight)
    assert Loss().explained(y, predicted, weight) == pytest.approx(r2_score(y, predicted, sample_weight=weight))


def test_hubers_loss_is_scikit_learns():
    """Huber's loss turns from square to line at one, as scikit-learn's does."""
    residual = np.linspace(-3, 3, 61)
    expected = np.where(np.abs(residual) <= 1, residual**2 / 2, np.abs(residual) - 0.5)
    assert Loss("huber").each(residual).sum() == pytest.approx(expected.sum())
