from __future__ import annotations

import datetime as dt
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dln
from dln import DLNRegressor, ModelFileError, RuleRegressor
from dln.circuit._circuit import IsIn
from dln.readers.model_file import _write
from models import SMALL, SMALL_NETWORK, frame, models, target


def roundtrip(model: RuleRegressor, folder: Path) -> RuleRegressor:
    """Save and load a model."""
    model.save(folder / "model.dln")
    return dln.load(folder / "model.dln")


def file_of(model: RuleRegressor, folder: Path) -> bytes:
    """Return the bytes of a model's file."""
    model.save(folder / "model.dln")
    return (folder / "model.dln").read_bytes()


@pytest.mark.parametrize("which", range(10))
def test_a_loaded_model_is_the_model(which, tmp_path: Path):
    """load(save(model)) predicts the same bits, has the same attributes and parameters, and saves the same bytes."""
    model, table = models()[which]
    loaded = roundtrip(model, tmp_path)
    assert loaded.predict(table).tobytes() == model.predict(table).tobytes()
    assert file_of(loaded, tmp_path) == file_of(model, tmp_path)
    assert loaded.circuit_ == model.circuit_
    kept = [name for name in vars(model) if not name.startswith("_")]  # the rest is only for working on a fit
    assert {name for name in vars(loaded) if not name.startswith("_")} == set(kept)
    for name in kept:
        if name.endswith("_"):
            assert str(getattr(loaded, name)) == str(getattr(model, name)), name
            assert type(getattr(loaded, name)) is type(getattr(model, name)), name
    changed = {"n_jobs": None}  # how a fit is run is no part of the model
    if isinstance(model.categorical_features, list):
        changed["categorical_features"] = tuple(model.categorical_features)
    assert loaded.get_params() == {**model.get_params(), **changed}


def test_a_loaded_model_can_be_fitted_again(tmp_path: Path):
    """A loaded model, fitted on the same data, is the same model again."""
    table = frame()
    model = RuleRegressor(**SMALL).fit(table, target(table))
    again = clone(roundtrip(model, tmp_path)).fit(table, target(table))
    assert file_of(again, tmp_path) == file_of(model, tmp_path)


@pytest.mark.parametrize("changes", [{"n_jobs": 2}, {"verbose": 1}])
def test_how_a_fit_is_run_does_not_change_the_file(changes, tmp_path: Path, capsys):
    """The number of threads and progress bars leave no trace in the file."""
    table = frame()
    settings = {**SMALL, "n_teachers": 2}
    model = RuleRegressor(**settings).fit(table, target(table))
    other = RuleRegressor(**{**settings, **changes}).fit(table, target(table))
    capsys.readouterr()
    assert file_of(other, tmp_path) == file_of(model, tmp_path)


def test_what_is_given_as_numpy_is_saved_as_numbers(tmp_path: Path):
    """Parameters that are numpy's numbers and arrays come back as Python's; a generator comes back as None."""
    table = frame()
    generator = np.random.RandomState(0)
    page = RuleRegressor(**{**SMALL, "n_grown_rules": np.int64(9), "random_state": generator}, quantile=np.float32(0.5))
    settings = {"hidden_layer_sizes": np.array([4, 4]), "max_epochs": np.int64(2), "random_state": generator}
    network = DLNRegressor(**{**SMALL_NETWORK, **settings}, learning_rate=np.float32(0.5))
    loaded = roundtrip(page.fit(table, target(table)), tmp_path)
    assert (type(loaded), type(loaded.n_grown_rules), loaded.quantile) == (RuleRegressor, int, 0.5)
    assert loaded.random_state is None
    loaded = roundtrip(network.fit(table, target(table)), tmp_path)
    assert (type(loaded), type(loaded.max_epochs), loaded.learning_rate) == (DLNRegressor, int, 0.5)
    assert loaded.hidden_layer_sizes == (4, 4)
    assert loaded.random_state is None


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path: Path):
    """Saving before fitting says that the model is not fitted, and makes no file."""
    with pytest.raises(NotFittedError):
        RuleRegressor().save(tmp_path / "model.dln")
    assert not list(tmp_path.iterdir())


def test_parameters_that_could_not_be_read_are_not_saved(tmp_path: Path):
    """A parameter that was set to nonsense after the fit is refused at once, not when the file is read."""
    table = frame()
    model = RuleRegressor(**SMALL).fit(table, target(table)).set_params(n_generations="ten")
    with pytest.raises(ValueError, match="n_generations"):
        model.save(tmp_path / "model.dln")
    assert not list(tmp_path.iterdir())


def test_parameters_are_checked_on_loading(tmp_path: Path):
    """The error for a parameter names the file, the place and the parameter."""
    from dln.readers.model_file import sealed

    model, _ = models()[0]
    text = file_of(model, tmp_path).split(b"\n")[1]
    path = tmp_path / "wrong.dln"
    path.write_bytes(sealed(text.replace(b'"n_grown_rules":20', b'"n_grown_rules":-1')))
    with pytest.raises(ModelFileError, match=r"wrong\.dln.*at parameters: The 'n_grown_rules' parameter") as error:
        dln.load(path)
    assert error.value.path == str(path)


# --- other ways to keep a model ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, 1, 6])
def test_pickle_and_joblib(which, tmp_path: Path):
    """A model that went through pickle or joblib predicts the same bits and saves the same bytes."""
    model, table = models()[which]
    joblib.dump(model, tmp_path / "model.joblib")
    for other in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):  # noqa: S301 (our own)
        assert other.predict(table).tobytes() == model.predict(table).tobytes()
        assert file_of(other, tmp_path) == file_of(model, tmp_path)


@pytest.mark.parametrize("which", [0, 1, 6])
def test_skops(which, tmp_path: Path):
    """A model that went through skops predicts the same bits; no types but our own need to be trusted."""
    model, table = models()[which]
    data = skops.io.dumps(model)
    untrusted = skops.io.get_untrusted_types(data=data)
    assert "dln._rule.RuleRegressor" in untrusted
    assert all(name.startswith("dln.") for name in untrusted)
    other = skops.io.loads(data, trusted=untrusted)
    assert other.predict(table).tobytes() == model.predict(table).tobytes()
    assert file_of(other, tmp_path) == file_of(model, tmp_path)


# --- other machines ---------------------------------------------------------------------------------------------------

_ELSEWHERE = """
import locale, sys
import numpy as np, pandas as pd
import dln
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    pass
table = pd.read_pickle(sys.argv[2])
model = dln.load(sys.argv[1])
np.save(sys.argv[3], model.predict(table))
model.save(sys.argv[4])
"""


def test_another_locale(tmp_path: Path):
    """A model saved here predicts the same bits, and saves the same bytes, in a process of another language."""
    model, table = models()[0]
    model.save(tmp_path / "model.dln")
    table.to_pickle(tmp_path / "table.pickle")
    paths = [str(tmp_path / name) for name in ("model.dln", "table.pickle", "predictions.npy", "again.dln")]
    for settings in ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "de_DE.UTF-8"}):
        subprocess.run([sys.executable, "-c", _ELSEWHERE, *paths], check=True, env={**os.environ, **settings})
        assert np.load(paths[2]).tobytes() == model.predict(table).tobytes()
        assert Path(paths[3]).read_bytes() == Path(paths[0]).read_bytes()


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", ">f4"])
def test_byte_order_and_width_of_arrays(dtype, tmp_path: Path):
    """A model learned from numbers in one byte order and width predicts the same from any other that holds them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)).astype(np.float32)  # numbers that all four types hold
    model = RuleRegressor(**SMALL).fit(X.astype(dtype), X[:, 0] * X[:, 1])
    loaded = roundtrip(model, tmp_path)
    expected = model.predict(X)
    for other in ("<f8", ">f8", "<f4", ">f4"):
        assert loaded.predict(X.astype(other)).tobytes() == expected.tobytes()
    assert file_of(RuleRegressor(**SMALL).fit(X, X[:, 0] * X[:, 1]), tmp_path) == file_of(model, tmp_path)


def test_frames_of_any_kind(tmp_path: Path):
    """A model learned from a float32 frame predicts the same from pandas and polars, float32 and float64."""
    numbers = frame()[["age", 'say "bmi"\n']].astype(np.float32)
    model = RuleRegressor(**SMALL).fit(numbers, target(frame()))
    loaded = roundtrip(model, tmp_path)
    expected = model.predict(numbers).tobytes()
    assert loaded.predict(numbers.astype(np.float64)).tobytes() == expected
    assert loaded.predict(numbers[numbers.columns[::-1]]).tobytes() == expected
    polars = pl.read_parquet(io.BytesIO(numbers.to_parquet()))
    assert loaded.predict(polars).tobytes() == expected
    assert loaded.predict(polars.cast(pl.Float64)).tobytes() == expected
    assert loaded.predict(pd.DataFrame(numbers)).tobytes() == expected


@pytest.mark.filterwarnings("ignore::dln.ColumnWarning")
def test_unused_categories_are_not_written(tmp_path: Path):
    """Categories that no rule names do not appear in the file, and predictions of rows that have them stay the same."""
    rng = np.random.default_rng(0)
    people = [f"person {i}" for i in range(300)]
    table = pd.DataFrame({"name": people, "town": rng.choice(["Aas", "Oslo", "Voss"], 300), "age": rng.random(300)})
    model = RuleRegressor(**SMALL, max_categories=3).fit(table, 5.0 * (table["town"] == "Oslo") + (table["age"] > 0.5))
    file = file_of(model, tmp_path)
    printed = " ".join(row.rule for row in model.rules_)
    assert [name for name in people if f'"{name}"'.encode() in file and name not in printed] == []
    assert dln.load(tmp_path / "model.dln").predict(table).tobytes() == model.predict(table).tobytes()
    loaded = dln.load(tmp_path / "model.dln")
    written = [loaded.circuit_, *(point.circuit for point in loaded.frontier_ if point.circuit)]
    for column, j in ((column, j) for j, column in enumerate(loaded.circuit_.columns) if column.categories is not None):
        used = {
            code
            for circuit in written
            for literal in circuit.literals
            if isinstance(literal, IsIn) and literal.column == j
            for code in literal.codes
        }
        assert used == set(range(len(column.categories)))


def test_a_model_that_is_too_large_to_load_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`save` refuses a model that `load` would refuse for its size, and names a remedy; the file stays as it was."""
    model, _ = models()[0]
    path = tmp_path / "model.dln"
    path.write_text("before")
    monkeypatch.setattr(_write.schema, "MAX_BYTES", 1000)
    with pytest.raises(ValueError, match=r"would have \d+ bytes, more than the 1000 that are read again: fit fewer"):
        model.save(path)
    assert path.read_text() == "before"


def test_many_long_categories_are_saved_and_loaded(tmp_path: Path):
    """A column of 100 000 long categories, of which rules name few, is a small file."""
    n = 100_000
    names = [f"{i:0170d}" if i % 3 else "usual" for i in range(n)]
    table = pl.DataFrame({"id": names, "x": np.arange(n) % 7})
    y = np.where(np.arange(n) % 3, 0.0, 5.0) + table["x"].to_numpy()
    model = RuleRegressor(**SMALL, max_categories=2).fit(table, y)
    assert "usual" in repr(model.rules_)
    assert len(file_of(model, tmp_path)) < 10**6
    assert roundtrip(model, tmp_path).predict(table).tobytes() == model.predict(table).tobytes()


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame])
def test_dates_are_saved_as_parts(frame_of, tmp_path: Path):
    """A model of dates has rules about their parts; loaded, it knows the table's own columns and predicts the same."""
    when = [dt.datetime(2024, 1 + i % 12, 1 + i % 28, i % 24) for i in range(200)]  # noqa: DTZ001
    table = frame_of({"sold_at": when, "area": np.arange(200.0) % 50})
    y = np.array([float(w.month > 6) for w in when]) * 10
    model = RuleRegressor(**SMALL).fit(table, y)
    assert any("sold_at (month)" in row.rule for row in model.rules_)
    assert model.n_features_in_ == 2
    assert list(model.feature_names_in_) == ["sold_at", "area"]
    loaded = roundtrip(model, tmp_path)
    assert list(loaded.feature_names_in_) == ["sold_at", "area"]
    assert loaded.n_features_in_ == 2
    assert loaded.predict(table).tobytes() == model.predict(table).tobytes()
    assert loaded.explain(table)[0].prediction == model.predict(table)[0]
    assert file_of(loaded, tmp_path) == file_of(model, tmp_path)
