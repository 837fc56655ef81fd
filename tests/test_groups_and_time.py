"""Rows that belong together, and rows in time: no fit learns from what it is judged by."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dln
from commands import run
from dln.tune import search
from models import bytes_of, network, small


def levels(n_groups=100, n_rows=8, seed=1, first=0):
    """Return a table in which each group, one after the other, has a level of its own, and its number as a column."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), n_rows)
    level = rng.permutation(np.resize([-1.5, 1.5], n_groups))[group]
    X = np.column_stack([first + group, rng.normal(size=(len(group), 2))])
    y = 3.0 * (X[:, 1] > 0) + 2.0 * (X[:, 2] > 0.5) + level + rng.normal(size=len(group)) * 0.3
    return X, y, group


X, Y, GROUPS = levels()
NEW_X, NEW_Y, _ = levels(400, 10, 101, 100)


def fitted(cv=None, groups=None, **parameters):
    """Return a model of the table."""
    return small(**{"max_conditions": 60, "n_grown_rules": 100, "cv": cv, **parameters}).fit(X, Y, groups=groups)


class GroupedRidge(Ridge):
    """A regression that keeps the groups that it was fitted with."""

    seen: ClassVar[list[set[int]]] = []

    def fit(self, X, y, groups=None):
        """Fit."""
        self.seen.append(set(groups.tolist()))
        return super().fit(X, y)


@pytest.mark.parametrize(("cv", "groups"), [(None, GROUPS), (TimeSeriesSplit(5), None)], ids=["groups", "time"])
def test_held_out_r2_is_that_on_new_groups_and_later_rows(cv, groups):
    """Divided by groups or by time, held-out R² is that of groups to come; otherwise it is far above."""
    plain, divided = fitted(), fitted(cv, groups)
    assert plain.frontier_.own.r2 > plain.score(NEW_X, NEW_Y) + 0.4
    assert divided.frontier_.own.r2 == pytest.approx(divided.score(NEW_X, NEW_Y), abs=0.03)
    assert divided.score(NEW_X, NEW_Y) > plain.score(NEW_X, NEW_Y) + 0.2
    low, high = divided.predict_interval(NEW_X, 0.9).T
    assert 0.85 < np.mean((low <= NEW_Y) & (high >= NEW_Y)) < 0.95


def test_groups_reach_teachers_and_the_choice_of_the_target():
    """Teachers' out-of-fold R², the ceiling, is far lower where whole groups are out of fold."""
    plain, divided = (fitted(groups=groups, n_teachers=2, max_conditions=5) for groups in (None, GROUPS))
    assert plain.frontier_.ceiling > divided.frontier_.ceiling + 0.2


@pytest.mark.parametrize("kind", [small, network])
def test_the_order_of_rows_and_the_names_of_groups_do_not_matter(kind, tmp_path: Path):
    """Rows in another order give the same bytes, and so do integer weights and repeated rows, with groups as labels."""
    rows = np.random.default_rng(0).permutation(len(X))
    labels = np.array([f"patient {group:03}" for group in GROUPS])
    one = kind().fit(X, Y, groups=GROUPS)
    other = kind().fit(X[rows], Y[rows], groups=pl.Series(labels[rows]))
    assert bytes_of(one, tmp_path) == bytes_of(other, tmp_path)
    weight = np.random.default_rng(1).integers(0, 3, len(X)) * (GROUPS != 7)
    repeated = np.repeat(np.arange(len(X)), weight)
    weighted = kind().fit(X, Y, sample_weight=weight, groups=labels)
    assert weighted.circuit_ == kind().fit(X[repeated], Y[repeated], groups=labels[repeated]).circuit_


def test_equal_rows_are_merged_within_a_group_only():
    """Rows equal in all columns and in y are one row of a group, and two of two groups."""
    twice = np.concatenate([X[:40], X[:40]])
    y, groups = np.concatenate([Y[:40], Y[:40]]), np.repeat([0, 1], 40)
    assert small().fit(twice, y).training_facts_["distinct_rows"] == 40
    assert small().fit(twice, y, groups=groups).training_facts_["distinct_rows"] == 80
    assert small().fit(twice, y, groups=np.concatenate([GROUPS[:40]] * 2)).training_facts_["distinct_rows"] == 40


def test_rows_never_held_out_take_no_part_in_the_choice():
    """Sizes and intervals are judged on the rows that folds test, as often as they do."""
    assert fitted(TimeSeriesSplit(5), max_conditions=5).intervals_.weight == 5 * (len(X) // 6)
    assert fitted([(np.arange(300), np.arange(300, 350))], max_conditions=5).intervals_.weight == 50


def test_a_network_validates_on_whole_groups_or_the_last_split(monkeypatch):
    """The rows that choose the epoch are whole groups, about a tenth of the rows; with `cv`, the last split's test."""
    seen = []
    original = dln.DLNRegressor._task

    def spy(self, rows, encoder, held_out, parts, *others):
        seen.append((rows.distinct.index, *parts))
        return original(self, rows, encoder, held_out, parts, *others)

    monkeypatch.setattr(dln.DLNRegressor, "_task", spy)
    network(max_epochs=1).fit(X, Y, groups=GROUPS)
    network(max_epochs=1, cv=TimeSeriesSplit(4, gap=10)).fit(X, Y)
    (index, held, trained), (later, last, before) = seen
    assert set(GROUPS[index[held > 0]]).isdisjoint(GROUPS[index[trained > 0]])
    assert (held > 0).mean() == pytest.approx(0.1)
    assert sorted(later[last > 0].tolist()) == list(range(640, 800))
    assert sorted(later[before > 0].tolist()) == list(range(630))


@pytest.mark.parametrize("kind", [small, network])
def test_a_model_file_keeps_the_kind_and_the_number_of_folds(kind, tmp_path: Path):
    """A splitter is a parameter like others until the model is saved: the file has its kind and number, and no code."""
    model = kind(cv=GroupKFold(4)).fit(X, Y, groups=GROUPS)
    assert clone(model).get_params()["cv"].n_splits == 4
    model.save(tmp_path / "m.dln")
    loaded = dln.load(tmp_path / "m.dln")
    assert loaded.get_params()["cv"] is None
    assert loaded.training_facts_["folds"] == {"kind": "GroupKFold", "n_folds": 4, "n_groups": 100, "column": None}
    assert "GroupKFold, 4 folds, 100 groups" in loaded.summary()
    loaded.save(tmp_path / "again.dln")
    assert (tmp_path / "again.dln").read_bytes() == (tmp_path / "m.dln").read_bytes()
    kind(cv=3).fit(X, Y).save(tmp_path / "m.dln")
    assert dln.load(tmp_path / "m.dln").cv == 3


def test_a_number_of_folds_is_used():
    """cv=3 validates every size on three folds: all rows are judged once."""
    assert small(cv=3).fit(X, Y).intervals_.weight == len(X)


def test_validation_data_and_cv_exclude_each_other():
    """Both say which rows validate: one of them has to go. Groups and validation data go together."""
    with pytest.raises(ValueError, match="X_val was given with cv, but only one of them can say which rows validate"):
        small(cv=3).fit(X, Y, X_val=NEW_X, y_val=NEW_Y)
    model = small().fit(X, Y, X_val=NEW_X, y_val=NEW_Y, groups=GROUPS)
    assert model.intervals_.weight == len(NEW_X)


def test_splits_that_hardly_leave_rows():
    """A fold may train on one row and test another: what can be learned is learned."""
    splits = [([0], [1]), (np.arange(1, 60), np.arange(60, 100)), ([5, 6], np.arange(100, 103))]
    assert np.isfinite(small(cv=splits, n_teachers=4).fit(X, Y).predict(X)).all()
    assert np.isfinite(network(cv=splits, refit=True, max_conditions=5).fit(X, Y).predict(X)).all()


def test_groups_go_through_pipelines_and_searches():
    """Groups reach `fit` as a parameter of a pipeline's step, and by request where scikit-learn routes metadata."""
    pipe = make_pipeline(StandardScaler(), small()).fit(X, Y, ruleregressor__groups=GROUPS)
    assert pipe[-1].training_facts_["folds"]["n_groups"] == 100
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), small().set_fit_request(groups=True))
        found = GridSearchCV(pipe, {"ruleregressor__max_conditions": [5]}, cv=GroupKFold(2)).fit(X, Y, groups=GROUPS)
    assert found.best_estimator_[-1].training_facts_["folds"]["n_groups"] == 100


def test_a_search_holds_out_whole_groups():
    """`dln.tune.search` cross-validates by groups or a splitter, and passes groups to fits that take them."""
    ridge = {"estimator": Ridge(), "X": X, "y": Y, "space": lambda _: {}, "n_trials": 1, "random_state": 0}
    assert search(**ridge, groups=GROUPS).folds == 4
    by_group = search(**ridge, cv=GroupKFold(3), groups=GROUPS)
    folds = list(GroupKFold(3).split(X, Y, GROUPS))
    expected = [np.mean((Y[b] - Ridge().fit(X[a], Y[a]).predict(X[b])) ** 2) for a, b in folds]
    np.testing.assert_allclose(by_group.trials[0].fold_values, expected)
    search(**{**ridge, "estimator": GroupedRidge()}, groups=GROUPS)
    assert len(set().union(*GroupedRidge.seen)) == 100
    assert all(len(groups) == 75 for groups in GroupedRidge.seen)
    with pytest.raises(ValueError, match="cv=5 needs at least 5 groups, got 4"):
        search(**ridge, cv=5, groups=GROUPS % 4)
    assert search(**ridge, cv=KFold(2)).folds == 2


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Return a folder with a table of visits: of patients, on days."""
    rng = np.random.default_rng(0)
    X, y, group = levels(30, 6, 3)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(len(y)) // 2, unit="D")
    table = pd.DataFrame({"patient": [f"p{g}" for g in group], "a": X[:, 1], "b": X[:, 2], "day": days, "y": y})
    folder = tmp_path_factory.mktemp("visits")
    table.to_csv(folder / "visits.csv", index=False)
    return folder


def fit_visits(folder: Path, *options: str) -> dln.RuleRegressor | dln.DLNRegressor:
    """Return the model of `dln fit` with some options."""
    name = str(folder / "visits.dln")
    result = run("fit", str(folder / "visits.csv"), "-t", "y", "-o", name, "--force", *options)
    assert result.exit_code == 0, result.stderr
    return dln.load(name)


def test_fit_by_group_on_the_command_line(visits: Path):
    """The column of --group is no input, its groups are tested whole, and a report finds the rows tested on."""
    model = fit_visits(visits, "--group", "patient", "--max-conditions", "5")
    assert "patient" not in model.feature_names_in_
    assert model.training_facts_["rows"] % 6 == 0
    assert model.training_facts_["folds"]["column"] == "patient"
    assert "held out by" in run("show", str(visits / "visits.dln")).stdout
    page = ("report", str(visits / "visits.dln"), "--data", str(visits / "visits.csv"), "-o", str(visits / "m.html"))
    n_tested = 180 - model.training_facts_["rows"]
    assert f"measured on {n_tested} rows of visits.csv that dln fit tested on" in run(*page, "--force").stderr


def test_fit_by_time_on_the_command_line(visits: Path):
    """With --time the latest rows test, days as a whole, and each fold validates later rows than it trains on."""
    model = fit_visits(visits, "--time", "day", "--max-conditions", "5")
    assert "ForwardChaining" in model.summary()
    table = pl.read_csv(visits / "visits.csv", try_parse_dates=True).sort("day")
    start = table["day"][180 - 45]
    assert model.training_facts_["rows"] == table.filter(pl.col("day") < start).height
    page = ("report", str(visits / "visits.dln"), "--data", str(visits / "visits.csv"), "-o", str(visits / "m.html"))
    assert "that dln fit tested on" in run(*page, "--force").stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--group", "patient", "--time", "day"), "--group and --time were both given"),
        (("--group", "nobody"), "has no column 'nobody'; there are 'patient'"),
        (("--group", "y"), "the column 'y' was given to both --target and --group"),
        (("--time", "patient"), "--time 'patient' must hold dates like 2024-12-31, or numbers, but it holds text"),
    ],
)
def test_mistakes_on_the_command_line(visits: Path, options, sentence):
    """One sentence says what was required and what was received."""
    result = run("fit", str(visits / "visits.csv"), "-t", "y", "-o", str(visits / "x.dln"), *options)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_groups_that_are_missing_on_the_command_line(tmp_path: Path):
    """A row without a group, or too few groups, is named before anything is learned."""
    for name, column, sentence in (
        ("missing", ["a", ""] * 10, "--group 'g' must hold a value in every row, but row 2 of"),
        ("few", ["a", "b"] * 10, "--group 'g' must hold at least 3 different values, got 2"),
    ):
        pd.DataFrame({"g": column, "x": np.arange(20.0) % 7, "y": np.arange(20.0)}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
        result = run("fit", str(tmp_path / f"{name}.csv"), "-t", "y", "-o", str(tmp_path / "m.dln"), "--group", "g")
        assert result.exit_code == 2
        assert sentence in result.stderr
