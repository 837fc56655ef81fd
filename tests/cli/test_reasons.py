"""``dln explain --reasons``: what it writes for a whole table, and its mistakes."""

import io

import polars as pl
import pytest

import dln
from commands import fit_houses, run
from dln.cli._model_columns import model_columns
from dln.cli._table_file import open_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with houses.csv and house.dln, which no test changes."""
    folder = tmp_path_factory.mktemp("houses")
    fit_houses(folder, "--learner", "rules")
    return folder


def explain(folder, *options):
    """Run ``dln explain`` with the model and the table of the folder."""
    return run("explain", str(folder / "house.dln"), str(folder / "houses.csv"), *options)


@pytest.mark.parametrize("reference", ["best", "mean", "3"])
def test_reasons_are_those_of_python(reference, folder):
    """The CSV holds what `reasons` returns, in the order of the table; a number is a row of it."""
    model = dln.load(folder / "house.dln")
    with open_table(str(folder / "houses.csv")) as file:
        X = model_columns(file, file.read(), model.circuit_)
    expected = model.reasons(X, 3, "lower", X[2] if reference == "3" else reference).to_polars()
    result = explain(folder, "--reasons", "3", "--direction", "lower", "--reference", reference)
    types = {name: pl.String if name.startswith("reason") else pl.Float64 for name in expected.columns}
    assert pl.read_csv(io.BytesIO(result.stdout_bytes), schema=types).equals(expected.cast(types))
    assert expected.height == 60


def test_reasons_go_to_a_file(folder, tmp_path):
    """`-o` writes a whole file and says how many rows it has; texts replace sentences."""
    output = tmp_path / "reasons.parquet"
    result = explain(folder, "--reasons", "2", "-o", str(output), "--reason-text", "area=Size of the house")
    assert "reasons for 60 rows written to" in result.stderr
    assert "Size of the house" in set(pl.read_parquet(output)["reason_1"])
    assert explain(folder, "--reasons", "2", "-o", str(output)).exit_code == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--reasons", "0"], "greater than or equal to 1"),
        (["--reasons", "2", "--row", "3"], "leave out --row and --json"),
        (["--reasons", "2", "--reference", "worst"], 'reference must be "best", "mean" or one row, got \'worst\''),
        (["--reasons", "2", "--reference", "0"], "--reference must be one of the 60 rows"),
        (["--reasons", "2", "--reference", "61"], "--reference must be one of the 60 rows"),
        (["--reasons", "2", "--reason-text", "area"], "--reason-text must be like"),
        (["--reasons", "2", "--reason-text", "aera=Size"], "reason_texts must name columns or rules of the model"),
        (["--direction", "lower"], "give --reasons 4, too"),
    ],
)
def test_mistakes_get_one_sentence(options, words, folder):
    """Each bad option is named in one line, and the exit code is 2."""
    result = explain(folder, *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
