"""The circuit that `dln predict` runs, without the estimator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dln
from commands import HOUSES, fit_houses, run
from dln import RuleRegressor
from dln.cli import _run_circuit
from models import SMALL

IDS = [2**60, 2**60 + 1, 2**60 + 2]

#: Packages that take long to import, and that few rows can do without.
SLOW = ("sklearn", "scipy", "numba", "pandas", "narwhals")


def test_predict_imports_what_it_uses(tmp_path: Path):
    """`dln predict` starts without scikit-learn, scipy, numba and pandas: within half a second of processor time."""
    model = fit_houses(tmp_path)
    script = f"""
import sys
from dln.cli import app
app(sys.argv[1:], standalone_mode=False)
print(*(name for name in {SLOW!r} if name in sys.modules))
"""
    command = [sys.executable, "-c", script, "predict", model, tmp_path / "houses.csv", "-o", tmp_path / "out.csv"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == []
    assert (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("many", [1, 10**9], ids=["compiled", "plain"])
def test_the_same_bits_as_the_estimator(many, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Few rows by numpy and many by the compiler give the predictions of the estimator, bit for bit."""
    monkeypatch.setattr(_run_circuit, "MANY", many)
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "x": np.where(rng.random(90) < 0.1, np.nan, rng.normal(size=90)),
            "id": rng.choice(IDS, 90),
            "town": rng.choice(["Aas", "Oslo", "Voss"], 90),
            "old": rng.random(90) < 0.4,
        }
    ).with_columns(pl.when(pl.int_range(90) % 9 == 3).then(None).otherwise(pl.col("id", "town", "old")).name.keep())
    y = 3.0 * (table["id"] == IDS[1]).fill_null(value=False) + 2.0 * table["old"].fill_null(value=False)
    model = RuleRegressor(**SMALL, categorical_features=["id", "town", "old"]).fit(table, y.to_numpy())
    model.save(tmp_path / "m.dln")
    table.write_parquet(tmp_path / "t.parquet")
    arguments = (tmp_path / "m.dln", tmp_path / "t.parquet", "-o", tmp_path / "o.parquet")
    assert run("predict", *map(str, arguments)).exit_code == 0
    made = pl.read_parquet(tmp_path / "o.parquet")["prediction"].to_numpy()
    assert made.tobytes() == model.predict(table).tobytes()
    for other in (table.with_columns(old=pl.col("old").cast(pl.Float64)), table.with_columns(id=pl.lit(7))):
        values = _run_circuit.runner(model.circuit_, None)(other)
        assert values.tobytes() == model.predict(other).tobytes()


def test_infinity_and_rounded_identifiers(tmp_path: Path):
    """Infinity among numbers, and floats that may be rounded identifiers, get one sentence each."""
    model = fit_houses(tmp_path)
    infinite = HOUSES.with_columns(area=pl.lit(float("inf")))
    infinite.write_parquet(tmp_path / "t.parquet")
    result = run("predict", str(model), str(tmp_path / "t.parquet"))
    assert result.exit_code == 2
    assert "column 'area' must hold finite numbers or nothing, but it holds infinity" in result.stderr
    circuit = dln.Circuit(
        columns=(dln.circuit._circuit.Column("id", tuple(IDS)),),
        literals=(dln.circuit._circuit.IsIn(0, (1,)),),
        gates=(),
        rules=(dln.circuit._circuit.Rule(0, 1.0),),
        intercept=0.0,
        decimals=0,
    )
    ids = pl.DataFrame({"id": IDS})
    assert _run_circuit.runner(circuit, None)(ids).tolist() == [0, 1, 0]
    with pytest.raises(_run_circuit.Mistake, match="the categories of column 'id' must be exact, but it holds floats"):
        _run_circuit.runner(circuit, None)(ids.cast(pl.Float64))
