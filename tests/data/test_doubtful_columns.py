"""Columns that are probably not what they are taken for, and categories that are new."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2

from dln import ColumnWarning, DLNRegressor, RuleRegressor, UnknownCategoryWarning, load, load_predictor
from dln.circuit._circuit import Column
from dln.data._categories import codes_of, fingerprint
from dln.data._column_kinds import predicts_alone
from dln.data._reader import learn_table
from models import SMALL

FRAMES = [pd.DataFrame, pl.DataFrame]


def texts(n=300, odd="many"):
    """Return numbers as text, one of them none."""
    return [odd, *(str(i % 40) for i in range(n - 1))]


@pytest.mark.parametrize("frame", FRAMES)
def test_numbers_held_as_text(frame):
    """Text that reads as numbers in nearly all rows is warned of, unless it was named as categories."""
    X = frame({"x": texts(), "z": [f"{i % 3:02d}" for i in range(300)]})
    with pytest.warns(ColumnWarning, match="'x' holds text that reads as numbers in 299 of 300 rows"):
        learn_table(X)
    learn_table(X, ["x", "z"])
    learn_table(X.drop("x", axis=1) if isinstance(X, pd.DataFrame) else X.drop("x"))


@pytest.mark.parametrize("frame", FRAMES)
def test_dates_held_as_text(frame):
    """Text that reads as dates, as a CSV file gives it, is warned of by that name, even if all dates are different."""
    with pytest.warns(ColumnWarning, match="'sold' holds text that reads as dates in 30 of 30 rows.* it to dates"):
        learn_table(frame({"sold": [f"2024-03-{day:02d}" for day in range(1, 31)]}))
    learn_table(frame({"month": [f"2024-{1 + row % 12:02d}" for row in range(30)]}))


@pytest.mark.parametrize("frame", FRAMES)
def test_a_text_of_its_own_in_every_row(frame):
    """A column of texts that are all different is warned of where there are rows enough to judge."""
    with pytest.warns(ColumnWarning, match="'who' holds 30 different texts in 30 rows, which name the rows"):
        learn_table(frame({"who": [f"p{i}" for i in range(30)]}))
    learn_table(frame({"who": [f"p{i}" for i in range(10)]}))


@pytest.mark.parametrize("name", ["rownames", "Unnamed: 0", "", "order_id", "customerId", "index"])
def test_row_numbers(name):
    """Whole numbers, all different, in a column that is named as row numbers are, get a warning."""
    with pytest.warns(ColumnWarning, match=f"column '{name}' numbers the rows"):
        learn_table(pd.DataFrame({name: range(5, 305), "area": np.arange(300) / 2}))
    learn_table(pd.DataFrame({name: [i % 200 for i in range(300)], "paid": range(300)}))


@pytest.mark.filterwarnings("ignore::dln.TimeLimitWarning")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", [RuleRegressor, DLNRegressor])
def test_a_column_that_contains_the_target(kind, frame):
    """A column that predicts the target by itself is warned of once, by name, with what to do; others are not."""
    rng = np.random.default_rng(0)
    wage = rng.lognormal(size=300).round(3)
    table = {"years": rng.integers(0, 40, 300), "noisy": wage + rng.normal(scale=0.3, size=300), "half": wage > 1}
    settings = {"max_seconds": 0.01, "random_state": 0}
    for log in (np.log(wage), -np.where(np.arange(300) % 3 == 0, np.nan, wage)):
        with pytest.warns(ColumnWarning, match="'log_wage' predicts the target .* leave it out if") as caught:
            kind(**settings).fit(frame({**table, "log_wage": log}), wage)
        assert sum(one.category is ColumnWarning for one in caught) == 1
        assert next(one for one in caught if one.category is ColumnWarning).filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnWarning)
        kind(**settings).fit(frame(table), wage)
        kind(**settings).fit(frame({"log_wage": np.log(wage)}), wage)


def test_tables_without_a_leak():
    """Columns that are only strongly related to the target are no leaks."""
    tables = [
        load_diabetes(return_X_y=True),
        make_friedman1(2000, random_state=0),
        make_friedman2(2000, random_state=0),
    ]
    froude = np.arange(280) // 20 * 0.025 + 0.125
    resistance = np.exp(20 * froude) * np.random.default_rng(0).uniform(0.95, 1.05, 280)
    for X, y in [*tables, (froude.reshape(-1, 1), resistance)]:
        assert not any(predicts_alone(column, y) for column in X.T)


@pytest.mark.parametrize(
    "y",
    [
        pd.date_range("2024-01-01", periods=30),
        pd.date_range("2024-01-01", periods=30).date,
        np.arange(30) * np.timedelta64(1, "D"),
    ],
)
def test_a_target_of_dates(y):
    """Dates are no target."""
    with pytest.raises(ValueError, match="y must hold numbers, but it holds dates"):
        RuleRegressor(**SMALL).fit(np.arange(30.0).reshape(-1, 1), pd.Series(y))


@pytest.fixture(scope="module")
def towns():
    """Return a table whose target depends on one of three towns, and a model of it."""
    X = pd.DataFrame({"town": np.array(["Aas", "Bergen", "Oslo"])[np.arange(60) % 3], "area": np.arange(60) % 7})
    return X, RuleRegressor(**SMALL).fit(X, 10.0 * (X.town == "Oslo"))


def test_unknown_categories(towns, tmp_path):
    """A category that the training table did not have is warned of, once a call, also by a model from a file."""
    X, model = towns
    model.save(tmp_path / "m.dln")
    new = X.assign(town=["Moss", "Moss", "Hamar", *X.town[3:]])
    message = r"'Moss' in column 'town' \(2 rows\), 'Hamar' in column 'town' \(1 row\)"
    for one in (model, load(tmp_path / "m.dln"), load_predictor(tmp_path / "m.dln")):
        one.predict(X)  # no rule names Aas or Bergen, and they are not new
        with pytest.warns(UnknownCategoryWarning, match=message) as caught:
            one.predict(new)
        assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownCategoryWarning)
        assert (model.predict(new) >= 0).all()
    with pytest.warns(UnknownCategoryWarning):
        model.explain(new)


def test_what_a_file_knows_of_categories(towns, tmp_path):
    """A model file holds 16 bits of each category, and not its text."""
    _, model = towns
    model.save(tmp_path / "m.dln")
    assert b"Bergen" not in (tmp_path / "m.dln").read_bytes()
    assert model.circuit_.columns[0].seen == tuple(sorted(map(fingerprint, ("Aas", "Bergen", "Oslo"))))


def test_unknown_rows_are_counted_by_value():
    """Rows are counted by category; missing ones and categories that were seen do not count."""
    unknown = Counter()
    column = Column("c", ("a",), seen=(fingerprint("a"), fingerprint("b")))
    codes_of(np.array(["a", "b", "x", "x", None, 3], dtype=object), column, 0, unknown)
    assert unknown == {("c", "x"): 2, ("c", 3): 1}
    codes_of(np.array(["\ud800"], dtype=object), column, 0, unknown)
    assert unknown["c", "\ud800"] == 1, "half a character is a new category like any other"


def test_columns_that_the_model_does_not_know(towns):
    """Columns besides those of the fit, like the target, do no harm; columns that are missing are named."""
    X, model = towns
    np.testing.assert_array_equal(model.predict(X.assign(price=1.0)), model.predict(X))
    with pytest.raises(ValueError, match="now missing:\n- area"):
        model.predict(X.drop(columns="area"))
