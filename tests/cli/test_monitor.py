"""``dln monitor``: its table, its limits, and its exit codes."""

import json

import polars as pl
import pytest

import dln
from commands import HOUSES, fit_houses, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with house.dln, and houses twice as large in large.csv, which no test changes."""
    folder = tmp_path_factory.mktemp("houses")
    fit_houses(folder, "--learner", "rules", "--test-size", "0")
    HOUSES.with_columns(pl.col("area") * 2).write_csv(folder / "large.csv")
    HOUSES.head(0).write_csv(folder / "empty.csv")
    return folder


def monitor(folder, table, *options):
    """Run ``dln monitor`` on a table of the folder."""
    return run("monitor", str(folder / "house.dln"), str(folder / table), *options)


def test_limits_decide_the_exit_code(folder):
    """Without limits, or within them, the exit code is 0; beyond one it is 1, and the figure is named."""
    assert monitor(folder, "houses.csv", "--max-psi", "0.1", "--max-outside", "0").exit_code == 0
    assert monitor(folder, "large.csv").exit_code == 0
    result = monitor(folder, "large.csv", "--max-psi", "0.25", "--max-outside", "0.9")
    assert result.exit_code == 1
    assert "column area: PSI" in result.stdout
    assert "the limit is 0.25" in result.stdout
    assert "outside the range" not in result.stdout
    assert result.stderr == ""


def test_figures_are_those_of_python(folder):
    """JSON has the figures of `model.monitor`, and what is beyond the limits."""
    result = monitor(folder, "large.csv", "--json", "--max-outside", "0.1")
    shown = json.loads(result.stdout)
    assert result.exit_code == 1
    assert shown["rows"] == 60
    assert len(shown["beyond"]) == 1
    model = dln.load(folder / "house.dln")
    rules = [row for row in shown["figures"] if row["kind"] == "rule"]
    assert sorted(row["name"] for row in rules) == sorted(row.rule for row in model.rules_)


def test_unknown_categories_are_figures(folder):
    """Categories that are new stand in the table; no line of Python is printed besides."""
    HOUSES.with_columns(district=pl.lit("moon")).write_csv(folder / "moon.csv")
    result = monitor(folder, "moon.csv")
    assert "100.0% (" in result.stdout
    assert result.stderr == ""
    shown = run("explain", str(folder / "house.dln"), str(folder / "moon.csv")).stderr
    assert shown.startswith("dln: categories that the training data did not have")
    assert shown.count("\n") == 1


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ("empty.csv", [], "has a header but no rows: there is nothing to compare"),
        ("nowhere.csv", [], "there is no file"),
        ("large.csv", ["--max-psi", "-1"], "greater than or equal to 0"),
        ("large.csv", ["--max-psi", "much"], "invalid value for '--max-psi'"),
    ],
)
def test_mistakes_get_one_sentence(table, options, words, folder):
    """Each mistake is named in one line, and the exit code is 2."""
    result = monitor(folder, table, *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
