"""A model is a page: whatever the table, its conditions and rules stay within the limits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from dln import RuleRegressor
from models import small, some_table

TABLES = ("mixed", "missing", "one column", "constant", "one row", "25 rows", "wide")


@pytest.mark.parametrize("kind", TABLES)
def test_a_default_fit_is_one_page(kind):
    """Whatever the table, a fit with the default sizes has at most 100 conditions, and no rule more than 6."""
    X, y = some_table(kind)
    model = small(max_conditions=RuleRegressor().max_conditions).fit(X, y)
    conditions = [row.conditions for row in model.rules_]
    assert model.rules_.n_conditions == sum(conditions) <= 100
    assert max(conditions, default=0) <= 6
    assert np.isfinite(model.predict(X)).all()
    if kind not in {"constant", "one row"}:
        assert model.score(X, y) > 0.2
        assert sum(conditions) > 0


def test_the_defaults_are_one_page(houses):
    """With nothing but the defaults, teachers and all, the model is within its page and good."""
    X, y = houses
    model = RuleRegressor(random_state=0, n_jobs=2).fit(X[:200], y[:200])
    assert model.rules_.n_conditions <= 100
    assert max(row.conditions for row in model.rules_) <= 6
    assert model.score(X[200:], y[200:]) > 0.9


@pytest.mark.parametrize("kind", ["mixed", "missing"])
@pytest.mark.parametrize(
    "limits",
    [
        {"max_conditions": 1},
        {"max_conditions": 7, "max_rule_length": 3},
        {"max_conditions": 50, "max_rules": 3},
        {"max_conditions": 40, "max_rule_length": 1},
        {"max_conditions": 40, "max_rule_length": 10, "max_rules": 5},
        {"max_conditions": 10, "max_rule_length": 20},
    ],
)
def test_limits_are_kept(kind, limits):
    """Conditions, the length of a rule and the number of rules stay within the limits, at every size."""
    X, y = some_table(kind)
    model = small(**limits).fit(X, y)
    for point in model.frontier_:
        if point.circuit is None:
            continue
        smaller = model.prune(point.conditions)
        assert smaller.rules_.n_conditions <= min(point.max_conditions, limits["max_conditions"])
        assert len(smaller.rules_) <= limits.get("max_rules", limits["max_conditions"])
        assert max(row.conditions for row in smaller.rules_) <= limits.get("max_rule_length", 6)


def test_unlimited_conditions_on_a_small_table():
    """`max_conditions=None` takes what helps, more than a page where that pays."""
    X, y = make_friedman1(60, random_state=0)
    model = small(max_conditions=None, n_generations=0, max_rule_length=2).fit(X, y)
    assert model.score(X, y) > 0.9


def test_rules_are_limited_only_where_asked():
    """Larger sizes are validated with as many rules as they have conditions, unless max_rules is smaller."""
    assert RuleRegressor(max_conditions=10)._config().budget.resized(400).rules >= 400
    assert RuleRegressor(max_conditions=10, max_rules=18)._config().budget.resized(400).rules == 18


def test_few_rows_get_few_conditions():
    """With too few rows to validate on, a model has a condition for every four of them at the most."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 4))
    y = 2 * X[:, 0] + (X[:, 1] > 0) + rng.normal(size=25)
    model = small(max_conditions=100).fit(X, y)
    assert 1 <= model.rules_.n_conditions <= 6
    assert model.score(X, y) > 0.3
