"""Models changed by hand: rules dropped, added, changed, frozen, and weights solved for again."""

from __future__ import annotations

import copy
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dln
from dln import ConstraintError, DLNRegressor, RuleRegressor, RuleSyntaxError
from models import bytes_of, network, small, some_table


def refitted(model: RuleRegressor | DLNRegressor, *rows: Any) -> RuleRegressor | DLNRegressor:
    """Return a model of either class with weights solved for again: a network's `refit` is a parameter."""
    return model.refit(*rows) if isinstance(model, RuleRegressor) else model.refit_weights(*rows)


KINDS = ["rules", "network", "part of a network"]


@cache
def data() -> tuple[pd.DataFrame, pd.Series]:
    """Return a table with a category that no rule names."""
    X, y = some_table("300 rows")
    return X.assign(colour=np.where(np.arange(len(X)) % 2, "red", "blue")), y.rename("cost")


@cache
def fitted(kind: str = "rules", loss: str = "squared_error") -> RuleRegressor | DLNRegressor:
    """Return a fitted model."""
    if kind == "rules":
        return small(loss=loss).fit(*data())
    return network(loss=loss, max_conditions=20 if kind != "network" else None).fit(*data())


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_is_a_new_model_and_leaves_the_old_one_alone(kind: str, tmp_path: Path) -> None:
    """Dropped rules are gone, changed ones keep their weight, new ones weigh nothing, and the model is as it was."""
    model, (X, _) = fitted(kind), data()
    before, old = bytes_of(model, tmp_path), model.rules_
    edited = model.edit(drop=[1], add=["age > 61.5 and bmi ≤ 27"], change={0: "bmi > 30.125"}, freeze=[2])
    assert bytes_of(model, tmp_path) == before
    rules = {row.rule: row.weight for row in edited.rules_}
    expected = {row.rule: row.weight for row in old if row.index not in {old[0].index, old[1].index}}
    assert rules == expected | {"age > 61.5 and bmi ≤ 27": 0.0, "bmi > 30.125": old[0].weight}
    fires = X["bmi"].to_numpy() > 30.125
    replaced = model.edit(drop=[0, 1]).predict(X) + old[0].weight * fires
    np.testing.assert_allclose(edited.predict(X), replaced)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "absolute_error", "quantile"])
@pytest.mark.parametrize("kind", KINDS)
def test_frozen_weights_stay_and_others_are_solved_for(kind: str, loss: str) -> None:
    """Refitted to another target, a frozen rule keeps its weight to the last bit, the same rules fit the new target."""
    model, (X, y) = fitted(kind, loss), data()
    frozen = model.rules_[0]
    new = refitted(model.edit(freeze=[0], add=["age > 61.5"]), X, 3.7 * y + 11)
    weights = {row.rule: row.weight for row in new.rules_}
    assert weights.keys() == {row.rule for row in model.rules_} | {"age > 61.5"}
    assert weights[frozen.rule] == frozen.weight
    assert refitted(new.edit(freeze=[]), X, 3.7 * y + 11).score(X, 3.7 * y + 11) > 0.6
    assert new.predict(X).mean() == pytest.approx((3.7 * y + 11).mean(), rel=0.3)


def test_refit_is_least_squares() -> None:
    """The weights of a refit explain the rows as well as least squares on the same rules does, nearly."""
    X, y = data()
    new = fitted().refit(X, y)
    fires = np.column_stack(new.circuit_.rule_values(new._values(X)))
    design = np.column_stack([np.ones(len(y)), fires])
    best = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert np.mean((y - new.predict(X)) ** 2) < 1.01 * np.mean((y - best) ** 2)


def test_refit_knows_no_order_of_rows_and_weights_are_repeats() -> None:
    """Rows in another order give the same circuit; a weight of two is a row twice."""
    X, y = data()
    model, order = fitted().edit(freeze=[1]), np.random.default_rng(0).permutation(len(y))
    weight = np.where(np.arange(len(y)) % 3 == 0, 2, 1)
    weighted = model.refit(X, y, sample_weight=weight)
    repeated = np.repeat(order, weight[order])
    assert model.refit(X.iloc[repeated], y.iloc[repeated]).circuit_ == weighted.circuit_


def test_what_is_known_of_a_refitted_model_is_of_its_rows() -> None:
    """Support, intervals, held-out R² and facts are those of the rows of the refit."""
    model, (X, y) = fitted(), data()
    new = model.refit(X[:150], y[:150] * 10)
    assert new.training_facts_["rows"] == 150
    assert new.training_facts_["target_max"] == 10 * y[:150].max()
    fires = new.circuit_.rule_values(new._values(X[:150]))
    assert new.support_ == [pytest.approx(rule.mean()) for rule in fires]
    low, high = new.predict_interval(X[150:]).T
    assert 0.75 < np.mean((low <= 10 * y[150:]) & (10 * y[150:] <= high)) < 1
    assert 0.5 < new.frontier_[0].r2 < 1


@pytest.mark.parametrize("kind", KINDS)
def test_history_is_in_the_file_the_summary_and_the_page(kind: str, tmp_path: Path) -> None:
    """A file keeps the edits and the frozen rules, and `refit` after `load` is `refit`; summary and page list them."""
    X, y = data()
    edited = fitted(kind).edit(drop=[1], add=["age > 61.5"], change={2: "bmi > 30.125"}, freeze=[0])
    new = refitted(edited, X, y)
    assert [set(edit) for edit in new.edits_] == [{"dropped", "added", "changed", "frozen"}, {"refitted"}]
    new.save(tmp_path / "new.dln")
    again = dln.load(tmp_path / "new.dln")
    assert again.edits_ == new.edits_
    assert bytes_of(again, tmp_path) == (tmp_path / "new.dln").read_bytes()
    np.testing.assert_array_equal(again.predict(X), new.predict(X))
    assert refitted(again, X, 2 * y).circuit_ == refitted(new, X, 2 * y).circuit_
    text = f"dropped [{fitted(kind).rules_[1].rule}]; added [age > 61.5]"
    assert text in new.summary()
    assert "weights solved for on 300 rows" in new.summary()
    assert "Edited by hand" in new.report(tmp_path / "new.html").read_text(encoding="utf-8")


def test_freezing_adds_nothing_and_loses_nothing() -> None:
    """A model whose rules are only frozen predicts as before, and keeps its intervals and support."""
    model, (X, _) = fitted(), data()
    edited = model.edit(freeze=[0, 1])
    assert edited.circuit_ == model.circuit_
    assert edited.rules_ == model.rules_
    assert edited.frontier_[-1].r2 == model.frontier_.own.r2
    np.testing.assert_array_equal(edited.predict_interval(X), model.predict_interval(X))


def test_rules_stay_frozen_until_others_are() -> None:
    """Rules stay frozen through further edits; a list of others, or none, replaces them."""
    model = fitted().edit(freeze=[0, 1])
    rule = model.rules_[1]
    dropped = model.edit(drop=[0])
    assert [dropped.circuit_.rules[k].weight for k in dropped.frozen_] == [rule.weight]
    assert not hasattr(dropped.edit(freeze=[]), "frozen_")


def test_numbers_may_come_from_numpy_and_repeat() -> None:
    """Arrays and repeated numbers are lists of rules like any other; rules may come from a generator."""
    edited = fitted().edit(drop=np.array([0, 0]), freeze=np.array([1]), add=(text for text in ["age > 61.5"]))
    assert edited.circuit_ == fitted().edit(drop=[0], freeze=[1], add=["age > 61.5"]).circuit_
    assert edited.edits_[0]["dropped"] == [fitted().rules_[0].rule]


def test_categories_that_no_rule_names_come_from_rows() -> None:
    """A model forgets categories that it does not name: `X` tells of them, without it they are refused."""
    X, y = data()
    with pytest.raises(RuleSyntaxError, match="none is known; others must be in the rows of X"):
        fitted().edit(add=['colour = "red"'])
    edited = fitted().edit(add=['colour = "red" and age > 40'], X=X)
    new = edited.refit(X, y + 50 * (X["colour"] == "red") * (X["age"] > 40))
    assert next(row for row in new.rules_ if "colour" in row.rule).weight == pytest.approx(50, abs=2)
    assert new.circuit_.columns[list(X).index("colour")].categories == ("red",)


def test_a_fit_forgets_edits() -> None:
    """After another fit, nothing is left of edits."""
    model = copy.copy(fitted().edit(freeze=[0]))
    model.set_params(n_grown_rules=5).fit(*data())
    assert not hasattr(model, "edits_")
    assert not hasattr(model, "frozen_")


def test_a_model_without_rules_can_be_edited() -> None:
    """A constant model gets rules by hand, and weights by a refit; all rules can be dropped."""
    X, y = data()
    model = small().fit(X, np.full(len(y), 3.5)).edit(add=["age > 50"]).refit(X, y)
    assert len(model.rules_) == 1
    assert model.score(X, y) > 0.4
    assert model.edit(drop=[0]).refit(X, y).predict(X) == pytest.approx(np.full(len(y), y.mean()), rel=1e-3)


def test_few_rows_and_constant_targets() -> None:
    """Refits on a row, and on a constant target, give finite predictions of the same rules."""
    X, y = data()
    one = fitted().refit(X[:1], y[:1])
    assert one.predict(X[:1]) == pytest.approx(y[:1], rel=1e-6)
    assert not hasattr(one, "intervals_")
    constant = fitted().refit(X, np.full(len(y), 7.0))
    np.testing.assert_array_equal(constant.predict(X), np.full(len(y), 7.0))
    assert [row.rule for row in constant.rules_] != []


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        ({"drop": [99]}, r"drop must be a list of rules by number, from 0 to \d+, got 99"),
        ({"drop": [-1]}, r"got -1"),
        ({"drop": 3}, r"drop must be a list of rules by number, from 0 to \d+, got 3"),
        ({"drop": [True]}, r"got True"),
        ({"freeze": ["0"]}, r"freeze must be a list of rules by number, from 0 to \d+, got '0'"),
        ({"freeze": "01"}, r"freeze must be a list"),
        ({"change": {99: "age > 3"}}, r"change must be a list of rules by number, from 0 to \d+, got 99"),
        ({"drop": [1], "change": {1: "age > 3"}}, "rule 1 is both in drop and in change"),
        ({"drop": [1], "freeze": [1]}, "rule 1 is both in drop and in freeze"),
        ({"add": "age > 3"}, "add must hold rules as text"),
        ({"add": [3]}, "add must hold rules as text"),
        ({"add": [""]}, "expected a column and a comparison"),
        ({"add": ["agee > 3"]}, "the nearest is age"),
        ({"add": ["always"]}, "the rule 'always' always holds"),
        ({"add": ["age > 3 and age ≤ 2"]}, "never holds"),
        ({"add": ["(age > 3 or bmi > 2) and age ≤ 3 and bmi ≤ 2"]}, "never holds"),
        ({"add": ["age > 61.5", "age>61.50"]}, "is in the model already"),
        ({"add": ["age>61.50"], "change": {0: "age > 61.50"}}, "is in the model already"),
    ],
)
def test_mistakes_are_named(edit: dict[str, Any], sentence: str) -> None:
    """Each mistake of an edit is named in one sentence."""
    with pytest.raises(ValueError, match=sentence):
        fitted().edit(**edit)


def test_refused_where_it_makes_no_sense(tmp_path: Path) -> None:
    """Other columns, smaller sizes of an edited model, and predictors are refused in a sentence."""
    X, y = data()
    with pytest.raises(ValueError, match="now missing"):
        fitted().refit(X[["age"]], y)
    with pytest.raises(ValueError, match="is in the model already"):
        fitted().edit(add=[fitted().rules_[0].rule])
    with pytest.raises(ValueError, match="an edited model has no smaller models"):
        fitted().edit(drop=[0]).prune(3)
    fitted().save(tmp_path / "model.dln")
    with pytest.raises(AttributeError, match=r"a predictor only predicts, it has no 'edit': dln\.load"):
        dln.load_predictor(tmp_path / "model.dln").edit(drop=[0])
    damaged = fitted().edit(freeze=[0])
    damaged.frozen_ = [99]
    with pytest.raises(ValueError, match="expected places of rules"):
        damaged.save(tmp_path / "damaged.dln")


def test_the_how_to_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each output on the page is what the code before it prints."""
    page = Path(__file__).parents[1] / "docs" / "how-to" / "edit-the-rules.md"
    namespace: dict[str, Any] = {}
    blocks = re.findall(r"```(python|text)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert [kind for kind, _ in blocks].count("text") == 3
    for kind, text in blocks:
        if kind == "python":
            exec(text.replace("max_conditions=", "n_generations=0, n_teachers=0, max_conditions="), namespace)  # noqa: S102
        else:
            assert capsys.readouterr().out == text


@cache
def rising() -> RuleRegressor:
    """Return a model whose prediction never falls as age rises."""
    return small(monotonic_cst={"age": 1}).fit(*data())


def test_constraints_are_proved_again() -> None:
    """An edit that breaks a constraint is refused, and a refit finds weights that keep it."""
    (X, y), model = data(), rising()
    falling = model.edit(add=["age ≤ 33.5 and bmi > 27", "40 < age ≤ 50"])
    assert [row.proved for row in falling.constraints_] == [True]
    number = next(k for k, row in enumerate(model.rules_) if row.weight > 0 and "age >" in row.rule)
    with pytest.raises(ConstraintError, match="never falls as age rises"):
        model.edit(change={number: "age ≤ 33.5"})
    new = model.edit(add=["age ≤ 33.5 and bmi > 27"]).refit(X, y.iloc[::-1].reset_index(drop=True))
    weights = {row.rule: row.weight for row in new.rules_}
    assert weights["age ≤ 33.5 and bmi > 27"] <= 0
    assert new.refit(X, -y).score(X, -y) < 0.5  # falling targets cannot be followed
    assert np.ptp(new.refit(X[:1], y[:1]).predict(X[:1])) == 0


def test_columns_that_may_not_meet() -> None:
    """A rule that joins columns of different groups cannot be added."""
    X, y = data()
    model = small(interaction_cst="no_interactions").fit(X, y)
    with pytest.raises(ConstraintError, match="age, bmi"):
        model.edit(add=["age > 33.5 and bmi > 27"])
