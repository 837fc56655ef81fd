"""Models from files: estimators of the class that was saved, and predictors that start fast."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dln
from commands import HOUSES, fit_houses, run
from dln import RuleRegressor
from models import SMALL

CHARGES = Path(__file__).parent.parent / "examples" / "charges.dln"
ROWS = [[52, 33.1, 2, "no", "northeast"], [60.5, None, 1, "yes", None], [19, float("nan"), 0, "maybe", "southwest"]]
IDS = [2**60, 2**60 + 1, 2**60 + 2]

#: Packages that take long to import, and that predictions of a few rows do not need.
SLOW = ("sklearn", "scipy", "numba", "pandas", "polars")


def printed(code: str, *arguments: object) -> list[str]:
    """Run code in a process of its own and return the lines that it prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def mixed() -> pl.DataFrame:
    """Return a table of numbers, identifiers beyond 2^53, text, Booleans and dates, with missing values in each."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "x": rng.normal(size=90),
            "id": rng.choice(IDS, 90),
            "town": rng.choice(["Aas", "Oslo", "Voss"], 90),
            "old": rng.random(90) < 0.4,
            "when": pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 3, 30), "1d", eager=True),
        }
    )
    return table.with_columns(pl.when(pl.int_range(90) % 9 == 3).then(None).otherwise(pl.all()).name.keep())


@pytest.fixture(scope="module")
def model(mixed: pl.DataFrame) -> RuleRegressor:
    """Fit a model that reads all columns of the table."""
    known = {name: (mixed[name] == value).fill_null(value=False) for name, value in (("id", IDS[1]), ("town", "Oslo"))}
    sunday = (mixed["when"].dt.weekday() == 7).fill_null(value=False)
    y = 3.0 * known["id"] + 2.0 * mixed["old"].fill_null(value=False) + 4.0 * sunday + known["town"]
    X = mixed.with_columns(pl.col("id").cast(pl.String))
    return RuleRegressor(**SMALL).fit(X, y.to_numpy() + (mixed["x"].fill_null(0) > 0).to_numpy())


def test_load_returns_the_class_that_was_saved(model: RuleRegressor, tmp_path: Path):
    """A loaded model is a fitted estimator of its class, at once."""
    model.save(tmp_path / "m.dln")
    loaded = dln.load(tmp_path / "m.dln")
    assert type(loaded) is RuleRegressor
    assert loaded.circuit_ == model.circuit_


def test_a_predictor_needs_no_slow_imports():
    """A predictor of lists or arrays imports neither Numba, polars, pandas, SciPy nor scikit-learn."""
    code = (
        "import sys, dln, numpy as np\n"
        f"nan, model = float('nan'), dln.load_predictor({str(CHARGES)!r})\nrows = {ROWS!r}\n"
        "array = np.array(rows, dtype=object)\n"
        "print(model.predict(rows).tolist(), model.predict(array).tolist(), len(model.circuit_.rules))\n"
        f"print([name for name in {SLOW!r} if name in sys.modules])"
    )
    predicted, imported = printed(code)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        expected = dln.load(CHARGES).predict(ROWS).tolist()
    assert predicted == f"{expected} {expected} 5"
    assert imported == "[]"


@pytest.mark.parametrize("many", [0, 10**9], ids=["compiled", "plain"])
def test_a_predictor_predicts_the_same_bits(many, model, mixed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Frames of any kind and order, lists and arrays get the estimator's predictions, few rows as well as many."""
    monkeypatch.setattr("dln._load.MANY", many)
    model.save(tmp_path / "m.dln")
    predictor = dln.load_predictor(tmp_path / "m.dln")
    X = mixed.with_columns(pl.col("id").cast(pl.String))
    assert model.score(X, model.predict(X)) == 1
    assert len({literal.column for literal in model.circuit_.literals}) > 3
    expected = model.predict(X).tobytes()
    for table in (X, X.to_pandas(), X.to_arrow(), X.select(sorted(X.columns)), X.rows(), mixed):
        assert predictor.predict(table).tobytes() == expected
    assert predictor.predict(np.array(X.rows(), dtype=object)).tobytes() == expected
    assert repr(predictor) == f"Predictor({len(model.circuit_.columns)} columns, {len(model.circuit_.rules)} rules)"


def test_numbers_are_predicted_from_any_array(tmp_path: Path):
    """A model of numbers predicts arrays of any number type, masked ones too, and tables of one row."""
    X = np.random.default_rng(0).integers(0, 9, size=(60, 2)).astype(float)
    model = RuleRegressor(**SMALL).fit(X, X[:, 0] > 4)
    model.save(tmp_path / "m.dln")
    predictor = dln.load_predictor(tmp_path / "m.dln")
    arrays = (X, X.astype(np.float32), X.astype(np.int8), np.ma.array(X, mask=False), X.tolist(), X[:1])
    for other in arrays:
        assert predictor.predict(other).tobytes() == model.predict(other).tobytes()
    for frame in (pd.DataFrame(X), pa.table(list(X.T), ["b", "a"])):
        assert predictor.predict(frame).tobytes() == model.predict(X).tobytes(), "nameless: by position"


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([[1.0]], "X has 1 features, but dln is expecting 5 features"),
        ([[1.0, 2.0], [1.0]], "inhomogeneous"),
        ([], "Expected 2D array"),
        (np.zeros((0, 5)), "minimum of 1 is required"),
        ([["old", 1.0, 2.0, "no", "northeast"]], "column 'age' must hold numbers, but it holds text"),
        ([[float("inf"), 1.0, 2.0, "no", "northeast"]], "row 0 holds inf"),
        (pd.DataFrame({"age": [1.0]}), "yet now missing:\n- bmi"),
    ],
)
def test_a_predictor_refuses_what_the_estimator_refuses(X, sentence):
    """Rows that are no table, too short, infinite or of the wrong type get the estimator's sentence."""
    model, predictor = dln.load(CHARGES), dln.load_predictor(CHARGES)
    with pytest.raises((ValueError, TypeError), match=sentence) as refused:
        predictor.predict(X)
    with pytest.raises(type(refused.value)) as also:
        model.predict(X)
    assert str(also.value) == str(refused.value)


def test_the_command_line_predicts_as_the_estimator(model, mixed, tmp_path: Path):
    """`dln predict` gives the estimator's predictions, bit for bit, of typed and of text files."""
    model.save(tmp_path / "m.dln")
    X = mixed.with_columns(pl.col("id").cast(pl.String))
    X.write_parquet(tmp_path / "text.parquet")
    mixed.write_parquet(tmp_path / "t.parquet")
    mixed.write_csv(tmp_path / "t.csv")
    for name in ("text.parquet", "t.parquet", "t.csv"):
        done = run(
            "predict", str(tmp_path / "m.dln"), str(tmp_path / name), "-o", str(tmp_path / "o.parquet"), "--force"
        )
        assert done.exit_code == 0, done.stderr
        made = pl.read_parquet(tmp_path / "o.parquet")["prediction"].to_numpy()
        assert made.tobytes() == model.predict(X).tobytes(), name


def test_the_command_line_imports_what_it_uses(tmp_path: Path):
    """`dln predict` starts without scikit-learn, SciPy, Numba and pandas: within half a second of processor time."""
    model = fit_houses(tmp_path)
    code = (
        "import sys\nfrom dln.cli import app\napp(sys.argv[1:], standalone_mode=False)\n"
        f"print(*(name for name in {SLOW!r} if name in sys.modules))"
    )
    assert printed(code, "predict", model, tmp_path / "houses.csv", "-o", tmp_path / "out.csv")[-1] == "polars"
    assert (tmp_path / "out.csv").exists()


def test_infinity_and_rounded_identifiers(tmp_path: Path):
    """Infinity among numbers, and floats that may be rounded identifiers, get one sentence each."""
    model = fit_houses(tmp_path)
    HOUSES.with_columns(area=pl.when(pl.int_range(60) == 7).then(float("inf")).otherwise("area")).write_parquet(
        tmp_path / "t.parquet"
    )
    result = run("predict", str(model), str(tmp_path / "t.parquet"))
    assert result.exit_code == 2
    assert "column 'area' must hold finite numbers or nothing, but row 8 of" in result.stderr
    ids = pl.DataFrame({"id": IDS * 4, "price": [0.0, 1.0, 0.0] * 4})
    RuleRegressor(**SMALL, categorical_features=["id"]).fit(ids.select("id"), ids["price"]).save(tmp_path / "ids.dln")
    for frame, sentence in ((ids, ""), (ids.cast(pl.Float64), "the categories of column 'id' must be exact")):
        frame.write_parquet(tmp_path / "t.parquet")
        result = run("predict", str(tmp_path / "ids.dln"), str(tmp_path / "t.parquet"))
        assert sentence in result.stderr
        assert result.exit_code == (2 if sentence else 0)
