"""Models whose user has constrained them: what they keep, what they say of it, and what is refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import dln
from circuits import worst_step
from dln import ConstraintError, DLNRegressor, ModelFileError
from dln import _rule as rule_module
from dln.circuit._graph import node_columns
from dln.readers.model_file import sealed
from dln.rules import _constants
from learned import seeds
from models import bytes_of, small

COLUMNS = ("age", "bmi", "town")


def some_rows(seed: int, n_rows: int = 60) -> tuple[pd.DataFrame, pd.Series]:
    """Return a small table whose target goes up and down with its columns, which interact."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(0, 6, n_rows).astype(float),
            "bmi": rng.integers(0, 6, n_rows).astype(float),
            "town": rng.choice(["a", "b", "c"], n_rows),
        }
    )
    y = rng.normal(0, 2) * X["age"] + rng.normal(0, 2) * X["bmi"] + rng.normal(0, 6) * (X["town"] == "a")
    y += rng.normal(0, 3) * X["age"] * X["bmi"] * (X["town"] == "b") + rng.normal(size=n_rows)
    X.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    return X, y.rename("charges")


@settings(max_examples=8)
@given(
    seeds,
    st.tuples(st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 0, 1])),
    st.sampled_from([None, "no_interactions", "pairwise", [["age", "town"]], [[2, 1], ["age", "bmi"]]]),
    st.sampled_from(["squared_error", "quantile", "absolute_error", "huber"]),
)
def test_every_size_keeps_the_constraints_in_every_case(seed, directions, interactions, loss):
    """Of any fit all models of the frontier follow the constraints on every combination of values, for every loss."""
    X, y = some_rows(seed)
    monotonic = dict(zip(COLUMNS, directions, strict=False))
    model = small(
        monotonic_cst=monotonic, interaction_cst=interactions, loss=loss, quantile=0.8 if loss == "quantile" else 0.5
    ).fit(X, y)
    circuits = [point.circuit for point in model.frontier_ if point.circuit is not None]
    assert model.circuit_ in circuits
    groups = {
        None: [{0, 1, 2}],
        "no_interactions": [{0}, {1}, {2}],
        "pairwise": [{0, 1}, {0, 2}, {1, 2}],
    }.get(interactions if not isinstance(interactions, list) else "", [{0, 2}, {1}])
    if interactions == [[2, 1], ["age", "bmi"]]:
        groups = [{1, 2}, {0, 1}]
    for circuit in circuits:
        for j, direction in enumerate(directions):
            assert direction == 0 or worst_step(circuit, j, direction) == 0.0
        for rule in circuit.rules:
            columns = set(node_columns(circuit, rule.node))
            assert any(columns <= group for group in groups)


def test_averaged_models_keep_the_constraints(monkeypatch):
    """The mean of several models keeps the constraints that each of them keeps, and so do those before it."""
    monkeypatch.setattr(_constants, "MEMBER", 8)
    X, y = some_rows(3)
    model = small(max_conditions=24, monotonic_cst={"age": 1, "bmi": -1}).fit(X, y)
    for point in model.frontier_:
        if point.circuit is not None:
            assert worst_step(point.circuit, 0, 1) == worst_step(point.circuit, 1, -1) == 0.0
    assert max(point.max_conditions for point in model.frontier_) >= 24


def test_weights_of_all_rows_keep_the_signs(monkeypatch):
    """Where rules are searched on some rows and weighted on all, the weights keep the constraints too."""
    monkeypatch.setattr("dln.rules._constants.MAX_ROWS", 40)
    X, y = some_rows(5, n_rows=200)
    model = small(monotonic_cst={"age": -1, "bmi": -1}).fit(X, y)
    assert worst_step(model.circuit_, 0, -1) == worst_step(model.circuit_, 1, -1) == 0.0


def test_a_constraint_that_the_data_keep_costs_little():
    """Where y rises with the columns, constrained rules explain it about as well as free ones, in either direction."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((400, 4)).round(2), columns=[*"abcd"])
    y = np.sqrt(X["a"]) + X["b"] * (X["a"] > 0.5) - X["c"] ** 2 + rng.normal(0, 0.05, 400)
    train, test = slice(250), slice(250, None)
    longer = {"max_conditions": 30, "n_grown_rules": 60}
    free = small(**longer).fit(X[train], y[train])
    bound = small(**longer, monotonic_cst={"a": 1, "b": 1, "c": -1}).fit(X[train], y[train])
    wrong = small(**longer, monotonic_cst={"a": -1, "b": -1, "c": 1}).fit(X[train], y[train])
    r2 = [model.score(X[test], y[test]) for model in (free, bound, wrong)]
    assert r2[1] > r2[0] - 0.03 > 0.85
    assert r2[2] < 0.2


def test_no_constraint_changes_nothing():
    """Directions of zero give the model of a fit without constraints, bit for bit."""
    X, y = some_rows(1)
    free, zero = small().fit(X, y), small(monotonic_cst=[0, 0, 0]).fit(X, y)
    assert free.circuit_ == zero.circuit_
    assert len(zero.constraints_) == 0
    assert str(zero.constraints_) == "no constraints"


def test_the_model_does_not_depend_on_the_order_of_rows(tmp_path):
    """Constrained fits give the same file for any order of the rows."""
    X, y = some_rows(2)
    order = np.random.default_rng(0).permutation(len(y))
    one = small(monotonic_cst={"age": 1}, interaction_cst="pairwise")
    other = clone(one).fit(X.iloc[order], y.iloc[order])
    assert bytes_of(one.fit(X, y), tmp_path) == bytes_of(other, tmp_path)


def test_outcomes_in_words_as_data_and_in_the_file(tmp_path):
    """`constraints_` has a sentence and a row of data for each constraint; a loaded and a pruned model has the same."""
    X, y = some_rows(4)
    model = small(monotonic_cst={"age": 1, "bmi": -1}, interaction_cst=[["age", "town"]]).fit(X, y)
    assert model.constraints_.sentences == [
        "charges never fall as age rises: proved",
        "charges never rise as bmi rises: proved",
        "every rule reads columns of one group only: {age, town}, {bmi}: proved",
    ]
    assert model.constraints_.to_pandas()["direction"].tolist()[:2] == [1, -1]
    assert model.constraints_.to_dicts()[2]["columns"] == (("age", "town"), ("bmi",))
    model.save(tmp_path / "m.dln")
    loaded = dln.load(tmp_path / "m.dln")
    assert loaded.constraints_ == model.prune(3).constraints_ == model.constraints_
    assert loaded.get_params()["monotonic_cst"] == {"age": 1, "bmi": -1}
    assert bytes_of(loaded, tmp_path) == bytes_of(model, tmp_path)
    assert re.search(r"^constraint +charges never fall as age rises: proved$", model.summary(), re.MULTILINE)


@pytest.mark.filterwarnings("ignore::dln.ColumnWarning")
def test_a_file_that_claims_too_much_is_refused(tmp_path):
    """A model file whose constraints its circuits break, or that name columns it lacks, is not read."""
    X, y = some_rows(4)
    X["rises"] = y.round()
    model = small(monotonic_cst={"rises": 1}).fit(X, y)
    document = json.loads(bytes_of(model, tmp_path).splitlines()[1])
    del document["monotone"]
    for constraint, reason in [
        (
            {"monotone": [{"column": 3, "direction": -1}]},
            "not proved: charges never rise|not proved: prediction never rises",
        ),
        ({"monotone": [{"column": 4, "direction": 1}]}, r"columns of constraints must be from 0 to 3$"),
        ({"monotone": [{"column": 3, "direction": 0}]}, "Invalid enum value 0"),
        (
            {"interactions": {"groups": [[0]], "most": 1}},
            "not proved: no rule reads more than one column: a rule reads rises",
        ),
        ({"interactions": {"groups": [[-1]], "most": 1}}, r"columns of constraints must be from 0 to 3$"),
    ]:
        text = json.dumps(document | constraint, ensure_ascii=False, separators=(",", ":"))
        (tmp_path / "wrong.dln").write_bytes(sealed(text.encode()))
        with pytest.raises(ModelFileError, match=reason):
            dln.load(tmp_path / "wrong.dln")


def test_without_a_proof_there_is_no_model(monkeypatch):
    """A fit whose circuit is not proved raises, and leaves the estimator unfitted."""
    X, y = some_rows(4)
    X["rises"] = y.round()
    monkeypatch.setattr(
        rule_module,
        "replace",
        lambda one, **changes: replace(one, **{**changes, **({"constraints": ()} if "constraints" in changes else {})}),
    )
    model = small(monotonic_cst={"rises": -1})
    with pytest.raises(ConstraintError, match=r"not proved: charges never rise as rises rise: it rises by .* above"):
        model.fit(X, y)
    assert not hasattr(model, "circuit_")


DATED = pd.DataFrame(
    {"age": [1.0, 2, 3, 4], "town": [*"abab"], "sold": pd.date_range("2020-01-01", periods=4, freq="300D")}
)


HAS = "X has ['age', 'town', 'sold']"
NO_ORDER = "it holds categories, which do not rise or fall"


@pytest.mark.parametrize(
    ("parameter", "value", "sentence"),
    [
        ("monotonic_cst", {"agee": 1}, f"monotonic_cst must name columns of X, got 'agee'; {HAS}"),
        ("monotonic_cst", {0: 1}, f"monotonic_cst must name columns of X, got 0; {HAS}"),
        ("monotonic_cst", {"town": 1}, f"monotonic_cst cannot constrain 'town': {NO_ORDER}"),
        ("monotonic_cst", [1, 1, 0], f"monotonic_cst cannot constrain 'town': {NO_ORDER}"),
        (
            "monotonic_cst",
            {"sold": 1},
            "monotonic_cst cannot constrain 'sold': it holds dates; constrain a part of them, like 'sold (year)'",
        ),
        ("monotonic_cst", {"age": 2}, "monotonic_cst must be -1, 0 or 1 for each column, got 2 for 'age'"),
        ("monotonic_cst", {"age": "+1"}, "monotonic_cst must be -1, 0 or 1 for each column, got '+1' for 'age'"),
        ("monotonic_cst", [1, 0], "monotonic_cst must have one value for each of the 3 columns of X, got 2"),
        (
            "interaction_cst",
            ["age", "town"],
            "interaction_cst must be a list of groups, like [['age', 'bmi'], ['region']], got the group 'age'",
        ),
        ("interaction_cst", [[0, 3]], f"interaction_cst must name columns of X, got 3; {HAS}"),
        ("interaction_cst", [["bmi"]], f"interaction_cst must name columns of X, got 'bmi'; {HAS}"),
        ("interaction_cst", [[-1]], f"interaction_cst must name columns of X, got -1; {HAS}"),
    ],
)
def test_mistakes_get_one_sentence(parameter, value, sentence):
    """Each mistake in the parameters is named with the column, before anything is learned."""
    model = small(**{parameter: value})
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        model.fit(DATED, [1.0, 2.0, 3.0, 4.0])
    assert not hasattr(model, "circuit_")


@pytest.mark.parametrize("parameters", [{"monotonic_cst": 1}, {"monotonic_cst": "age"}, {"interaction_cst": "none"}])
def test_other_types_are_refused_as_everywhere(parameters):
    """Parameters of other types are refused in scikit-learn's words."""
    with pytest.raises(ValueError, match=f"The '{next(iter(parameters))}' parameter of RuleRegressor must be"):
        small(**parameters).fit(DATED, [1.0, 2.0, 3.0, 4.0])


def test_parts_of_dates_are_constrained_by_name_and_grouped_together():
    """A part of a date can be monotone; in groups, a date stands for all its parts, and parts may meet."""
    X = pd.DataFrame({"age": np.arange(60.0) % 7, "sold": pd.date_range("2020-01-01", periods=60, freq="31D")})
    y = X["age"] + 5.0 * (X["sold"].dt.year - 2020) * (X["sold"].dt.month > 6)
    model = small(monotonic_cst={"sold (year)": 1}, interaction_cst="no_interactions").fit(X, y)
    assert worst_step(model.circuit_, 1, 1) == 0.0
    assert any(node_columns(model.circuit_, rule.node) == [1, 2] for rule in model.circuit_.rules)
    assert not any({0, 1} <= set(node_columns(model.circuit_, rule.node)) for rule in model.circuit_.rules)


def test_networks_have_no_such_parameters():
    """A `DLNRegressor` refuses constraints as it refuses any parameter that it does not have."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'monotonic_cst'"):
        DLNRegressor(monotonic_cst={"age": 1})
