"""Rules that a fit must have: they are in the model of every size, within its limits, and the rest is learned."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dln
from dln import ConstraintError, RuleRegressor, RuleSyntaxError
from models import bytes_of, small, some_table

FIXED = ["age > 60.25 and smoker = true", "bmi ≤ 25.5"]


@cache
def fitted(**settings: Any) -> RuleRegressor:
    """Return a model with fixed rules."""
    return small(fixed_rules=FIXED, **settings).fit(*some_table("300 rows"))


def test_fixed_rules_are_in_the_model_of_every_size() -> None:
    """The model and all smaller ones have the fixed rules as they were written, and keep the limit on conditions."""
    model = fitted()
    assert model.rules_.n_conditions <= 20
    sizes = [point.max_conditions for point in model.frontier_ if point.can_be_pruned_to]
    assert sizes[0] == 3
    for size in sizes:
        smaller = model.prune(size)
        assert set(FIXED) <= {row.rule for row in smaller.rules_}
        assert smaller.rules_.n_conditions <= size


def test_the_rest_is_learned() -> None:
    """The model is nearly as good as one without fixed rules, its R² is that of the target, and weights are joint."""
    (X, y), model = some_table("300 rows"), fitted()
    free = small().fit(X, y)
    assert model.score(X, y) > free.score(X, y) - 0.02
    assert model.frontier_.own.r2 == pytest.approx(free.frontier_.own.r2, abs=0.03)
    fires = np.column_stack([np.ones(len(y)), *model.circuit_.rule_values(model._values(X))])
    best = fires @ np.linalg.lstsq(fires, y, rcond=None)[0]
    assert np.mean((y - model.predict(X)) ** 2) < 1.01 * np.mean((y - best) ** 2)


def test_a_rule_that_matters_explains_what_is_left_for_no_other() -> None:
    """A target that is one rule, given as fixed, is learned exactly, with its weight."""
    X, _ = some_table("300 rows")
    fires = (X["age"] > 60.25) & X["smoker"]
    model = small(fixed_rules=FIXED[:1]).fit(X, 5.0 + 30.0 * fires)
    weights = {row.rule: row.weight for row in model.rules_}
    assert weights[FIXED[0]] == pytest.approx(30.0, rel=1e-3)
    np.testing.assert_allclose(model.predict(X), 5.0 + 30.0 * fires, atol=0.1)


def test_fixed_rules_are_a_parameter(tmp_path: Path) -> None:
    """They stand in the file, are there after loading, and the same fit gives the same bytes whatever the order."""
    X, y = some_table("300 rows")
    before = bytes_of(fitted(), tmp_path)
    again = dln.load(tmp_path / "model.dln")
    assert list(again.get_params()["fixed_rules"]) == FIXED
    order = np.random.default_rng(0).permutation(len(y))
    assert bytes_of(small(fixed_rules=FIXED).fit(X.iloc[order], y.iloc[order]), tmp_path) == before
    assert bytes_of(again.fit(X, y), tmp_path) == before


@pytest.mark.parametrize(
    "settings",
    [
        {"max_conditions": 3},
        {"max_rules": 2},
        {"max_rules": 4},
        {"loss": "quantile", "quantile": 0.9},
        {"n_teachers": 1},
        {"max_conditions": None, "n_grown_rules": 5},
    ],
)
def test_other_settings(settings: dict[str, Any]) -> None:
    """Fixed rules go with limits that leave nothing for others, with other losses, and with teachers."""
    model = fitted(**settings)
    assert set(FIXED) <= {row.rule for row in model.rules_}
    assert len(model.rules_) <= (settings.get("max_rules") or 1000)
    assert model.rules_.n_conditions <= (settings.get("max_conditions", 20) or 3200)


@pytest.mark.filterwarnings("ignore::dln.UnknownCategoryWarning")
def test_rows_to_validate_on() -> None:
    """Validated on the user's rows, R² is that of the target there."""
    X, y = some_table("300 rows")
    model = small(fixed_rules=FIXED).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    assert model.frontier_.own.r2 == pytest.approx(model.score(X[200:], y[200:]), abs=0.05)


def test_few_rows_and_nothing_to_learn() -> None:
    """One row, or a constant target, leaves the fixed rules, without weight."""
    X, y = some_table("300 rows")
    for model in (small(fixed_rules=FIXED).fit(X[:1], y[:1]), small(fixed_rules=FIXED).fit(X, 0 * y + 4)):
        assert {row.rule: row.weight for row in model.rules_} == dict.fromkeys(FIXED, 0.0)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"fixed_rules": FIXED, "max_conditions": 2}, "within max_conditions=2, but they have 3 conditions"),
        ({"fixed_rules": FIXED, "max_rule_length": 1}, "within max_rule_length=1, but they have 2 conditions in one"),
        ({"fixed_rules": FIXED, "max_rules": 1}, "within max_rules=1, but they have 2 rules"),
        ({"fixed_rules": "age > 3"}, "fixed_rules"),
        ({"fixed_rules": [3]}, "fixed_rules must hold rules as text"),
        ({"fixed_rules": ["age > 3 and age ≤ 2"]}, "never holds"),
        ({"fixed_rules": ["age > 3", "age>3.0"]}, "is in the model already"),
        ({"fixed_rules": [""]}, "expected a column and a comparison"),
    ],
)
def test_mistakes_are_named(settings: dict[str, Any], sentence: str) -> None:
    """Fixed rules that cannot be are refused in one sentence, before anything is learned."""
    with pytest.raises(ValueError, match=sentence):
        small(**settings).fit(*some_table("300 rows"))


def test_names_and_categories_are_those_of_the_table() -> None:
    """A column or a category that the table does not have is named."""
    X, y = some_table("300 rows")
    with pytest.raises(RuleSyntaxError, match="the nearest is age"):
        small(fixed_rules=["agee > 3"]).fit(X, y)
    with pytest.raises(RuleSyntaxError, match="a category of region"):
        small(fixed_rules=['region = "z"']).fit(X, y)


def test_fixed_rules_keep_constraints() -> None:
    """Weights of fixed rules have the signs that the constraints ask for; rules that no sign saves are refused."""
    X, y = some_table("300 rows")
    model = small(fixed_rules=["age ≤ 33.5", "age > 60.25 and smoker = true"], monotonic_cst={"age": 1}).fit(X, y)
    weights = {row.rule: row.weight for row in model.rules_}
    assert weights["age ≤ 33.5"] <= 0 <= weights["age > 60.25 and smoker = true"]
    assert all(row.proved for row in model.constraints_)
    assert model.score(X, y) > 0.8
    with pytest.raises(ConstraintError, match="never falls as age rises"):
        small(fixed_rules=["40 < age ≤ 50"], monotonic_cst={"age": 1}).fit(X, y)
    with pytest.raises(ConstraintError, match="age, smoker"):
        small(fixed_rules=FIXED, interaction_cst="no_interactions").fit(X, y)
