"""Tables of any kind, shape and names are learned from and predicted for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import make_friedman1

from dln import UnknownCategoryWarning
from models import small, some_table


@pytest.mark.parametrize("to", [pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_all_kinds_give_the_same_model(houses, to):
    """pandas, polars and pyarrow tables lead to the same circuit and predictions."""
    X, y = houses
    model = small().fit(X, y)
    other = small().fit(to(X), y)
    assert other.circuit_ == model.circuit_
    np.testing.assert_array_equal(model.predict(to(X)), other.predict(X))


def test_columns_may_stand_in_another_order(houses):
    """Named columns are found by name."""
    X, y = houses
    model = small().fit(X, y)
    np.testing.assert_array_equal(model.predict(X[X.columns[::-1]]), model.predict(X))


def test_a_missing_column_is_named(houses):
    """A table without a column of the fit gets one sentence that names it."""
    X, y = houses
    model = small().fit(X, y)
    with pytest.raises(ValueError, match="area"):
        model.predict(X.drop(columns="area"))


def test_unknown_categories_and_missing_values_are_predicted(houses):
    """A category never seen and a missing value give finite predictions."""
    X, y = houses
    model = small().fit(X, y)
    row = X.iloc[[0]].copy()
    row["district"] = "atlantis"
    row["area"] = np.nan
    with pytest.warns(UnknownCategoryWarning, match="'atlantis' in column 'district'"):
        assert np.isfinite(model.predict(row)).all()


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_is_refused(bad):
    """Infinite values get a clear error: in fit in any column, in predict in those that rules read."""
    X = np.arange(40.0).reshape(20, 2)
    y = np.arange(20.0)
    model = small().fit(X, y)
    X[3, model._prepared_circuit().program.used] = bad
    with pytest.raises(ValueError, match="inf"):
        small().fit(X, y)
    with pytest.raises(ValueError, match="inf"):
        model.predict(X)


def test_constant_columns_lead_to_the_mean():
    """If no column varies, the model is the mean."""
    model = small().fit(np.ones((10, 3)), np.arange(10.0))
    assert model.predict(np.ones((1, 3)))[0] == pytest.approx(4.5)
    assert model.circuit_.rules == ()


def test_one_row_one_column_and_many_columns():
    """The smallest and the widest tables are fitted."""
    assert small().fit([[1.0, 2.0]], [5.0]).predict([[1.0, 2.0]])[0] == 5.0
    y = np.arange(30.0)
    assert small().fit(y[:, None], y).score(y[:, None], y) > 0.5
    wide = np.random.default_rng(0).normal(size=(30, 1000))
    assert np.isfinite(small().fit(wide, y).predict(wide)).all()


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.float32, np.float16])
def test_array_dtypes(dtype):
    """Integer, Boolean and short float arrays are taken as numbers."""
    X = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(dtype)
    y = X[:, 0] * 3.0
    assert small().fit(X, y).score(X, y) > 0.9


def test_float32_and_float64_predict_alike():
    """A model fitted on float64 predicts the same for the same rows in float32."""
    X, y = make_friedman1(200, random_state=0)
    model = small().fit(X, y)
    np.testing.assert_array_equal(model.predict(X.astype(np.float32)), model.predict(X))


def test_hostile_names_do_no_harm():
    """Names with quotes, line breaks and markup are columns like others."""
    names = ['a"b', "line\nbreak", "<script>alert(1)</script>", "ünï 🎉", "[bold]"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 5)), columns=names)
    model = small().fit(X, X[names[0]] + X[names[1]] * 2)
    assert len(repr(model.circuit_).splitlines()) == len(model.circuit_.rules) + 1


def test_shared_categories_are_named_by_no_rule():
    """Of a column with more categories than may be named, rules name the frequent ones only, one by one."""
    X, y = some_table("mixed")
    model = small(max_categories=3, max_conditions=60).fit(X[["town"]], y)
    assert all(len(literal.codes) == 1 for literal in model.circuit_.literals)
    with pytest.warns(UnknownCategoryWarning, match="'elsewhere' in column 'town' .300 rows."):
        assert len(set(model.predict(X.assign(town="elsewhere")[["town"]]))) == 1
