"""Options of `dln fit` and `dln tune`, and what `dln --help` shows."""

import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import dln
from commands import HOUSES, houses, run, write

QUICK = ("--set", "hidden_layer_sizes=20,20", "--set", "max_epochs=3")


@pytest.fixture
def table(tmp_path):
    """Write the houses."""
    write(tmp_path, {"t.csv": houses()})
    return str(tmp_path / "t.csv")


def fit(table, tmp_path, *options):
    """Run a short fit."""
    return run("fit", table, "-t", "price", "-o", str(tmp_path / "m.dln"), *QUICK, *options)


def test_a_dry_run_shows_the_columns(table, tmp_path):
    """`--dry-run` shows kind, missing values, examples and reasons, as text and as JSON, and learns nothing."""
    shown = run("fit", table, "-t", "price", "--dry-run").stdout
    for words in (
        "column",
        "missing",
        "examples",
        "'centre', 'hills', 'north'",
        "3 different",
        "it is the same in every row",
    ):
        assert words in shown
    facts = json.loads(run("fit", table, "-t", "price", "--dry-run", "--json").stdout)
    assert [(fact["name"], fact["kind"]) for fact in facts["columns"]][:2] == [("id", "left out"), ("area", "numbers")]
    assert facts["columns"][1]["examples"] == ["50.0", "87.0", "124.0"]
    assert list(tmp_path.iterdir()) == [tmp_path / "t.csv"]


def test_any_parameter_can_be_set(table, tmp_path):
    """`--set`, `--loss` and `--jobs` are parameters of the learner, read as Python reads them."""
    options = ("--loss", "quantile", "--jobs", "1", "--set", "max_categories=none", "--set", "quantile=0.9")
    assert fit(table, tmp_path, *options).exit_code == 0
    model = dln.load(tmp_path / "m.dln")
    assert (model.hidden_layer_sizes, model.max_epochs, model.loss) == ((20, 20), 3, "quantile")
    assert (model.max_categories, model.quantile) == (None, 0.9)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("max_epoch=3", "--set: DLNRegressor has no parameter 'max_epoch'; did you mean 'max_epochs'?"),
        ("max_epochs=0", "--set: The 'max_epochs' parameter of DLNRegressor must be an int in the range [1, inf)."),
        ("quantile=0.9", "--set: quantile=0.9 needs loss='quantile', got loss='squared_error'"),
        ("max_epochs", "--set must be a name and a value like loss=huber, got 'max_epochs'"),
        ("n_jobs=0", "--set: The 'n_jobs' parameter of DLNRegressor must be an int in the range (-inf, -1]"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "tune"])
def test_wrong_settings(command, setting, sentence, table, tmp_path):
    """A parameter that is not there, or a value that it cannot have, gets one sentence before anything is read."""
    if command == "tune":
        pytest.importorskip("optuna")
    result = run(command, table, "-t", "price", "-o", str(tmp_path / "m.dln"), "--set", setting)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_at_most_three_lines_on_what_to_do_next(table, tmp_path):
    """The end of `dln fit` names three commands, all of which work with the model that it saved."""
    result = fit(table, tmp_path)
    lines = result.stdout.partition("What to do next:\n")[2].splitlines()
    assert [line.split()[:2] for line in lines] == [["dln", "show"], ["dln", "predict"], ["dln", "report"]]


def test_a_skewed_target_gets_a_hint(tmp_path):
    """A positive target whose logarithm is far less skewed gets a hint to learn that, and no other target does."""
    skewed = np.exp(np.random.default_rng(0).normal(0, 1.5, 60))
    for values, expected in ((skewed, True), (skewed - skewed.min(), False), (np.arange(60.0), False)):
        write(tmp_path, {"t.csv": HOUSES.with_columns(price=pl.Series(values)).write_csv()})
        result = fit(str(tmp_path / "t.csv"), tmp_path, "--force")
        assert ("func=np.log" in result.stdout) is expected


def test_few_rows_can_be_learned_from_without_a_test(tmp_path):
    """With `--test-size 0` few rows are enough, as in Python."""
    write(tmp_path, {"t.csv": "area,price\n1,2\n2,3\n3,5\n"})
    assert fit(str(tmp_path / "t.csv"), tmp_path).exit_code == 2
    assert fit(str(tmp_path / "t.csv"), tmp_path, "--test-size", "0").exit_code == 0


def test_unknown_categories_in_a_table(table, tmp_path):
    """`dln predict` names categories that the training table did not have, with their rows, but not with `--quiet`."""
    fit(table, tmp_path, "--learner", "network")
    write(tmp_path, {"n.csv": houses(district=["moon"] * 3 + ["hills"] * 57)})
    arguments = ("predict", str(tmp_path / "m.dln"), str(tmp_path / "n.csv"))
    assert "'moon' in column 'district' (3 rows)" in run(*arguments).stderr
    assert not run(*arguments, "--quiet").stderr


def test_help_groups_the_commands():
    """`dln --help` lists the commands by task."""
    shown = run("--help").stdout
    places = [shown.index(words) for words in ("─ Learn ─", "│ fit ", "─ Read ─", "│ show ", "─ Use ─", "│ predict ")]
    assert places == sorted(places)


@pytest.mark.parametrize(("words", "expected"), [("dln pre", "predict"), ("dln fit --dry", "--dry-run")])
def test_shells_complete_commands_and_options(words, expected):
    """The completion of bash knows commands and options."""
    environment = {
        **os.environ,
        "_DLN_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    command = [sys.executable, "-m", "dln.cli"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert expected in done.stdout.split()
