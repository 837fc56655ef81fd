"""``dln tune``: a search that can be stopped and goes on, and a sentence for each mistake."""

from __future__ import annotations

import json
import re
import sys

import optuna
import pytest

import dln
from commands import houses, run, write
from dln import DLNRegressor, RuleRegressor
from dln.tune import RULE_GRID

RULE_DEFAULTS = {name: RuleRegressor().get_params()[name] for name in RULE_GRID}
TUNE = ("tune", "houses.csv", "--target", "price")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with a table; networks of a few epochs are enough."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(DLNRegressor.__init__.__kwdefaults__, "max_epochs", 5)
    write(tmp_path, {"houses.csv": houses()})
    return tmp_path


def test_the_output_of_a_search(folder):
    """Progress, the best beside what it was before, and the line of Python are shown; trials are kept."""
    result = run(*TUNE, "--trials", "3")
    assert result.exit_code == 0, result.stderr
    assert "Trials are kept in houses.tune.log: the same command goes on from there." in result.stderr
    assert re.search(r"\n3 trials, 4 folds\.\n", result.stdout)
    assert re.search(r"\n as it was +-?\d\.\d{4} +[\d,]+\n best +-?\d\.\d{4} +[\d,]+\n", result.stdout)
    assert re.search(r"trial 2 of 3: RMSE [\d.e+]+, lowest RMSE [\d.e+]+, about \d:\d\d:\d\d left\n", result.stderr)
    assert re.search(r"trial 3 of 3: RMSE [\d.e+]+, lowest RMSE [\d.e+]+\n", result.stderr)
    assert (folder / "houses.tune.log").exists()


def test_the_line_of_python_makes_the_best_model(folder):
    """The line of Python has what was found and what was set on the command line."""
    search = (*TUNE, "--trials", "2", "--max-conditions", "30", "--set", "loss=huber")
    run(*search, "--quiet", "-o", "best.dln")
    shown = run(*search).stdout
    (line,) = re.findall(r"DLNRegressor\(.*\)", shown)
    model = eval(line, {"DLNRegressor": DLNRegressor})  # noqa: S307 (the line is meant to be run)
    assert model.get_params() == dln.load(folder / "best.dln").get_params()


def test_a_search_goes_on_where_it_was(folder):
    """The same line with more trials runs the rest; for a model alone, no trial is run again."""
    first = json.loads(run(*TUNE, "--trials", "2", "--json").stdout)
    second = json.loads(run(*TUNE, "--trials", "4", "--json").stdout)
    assert second["trials"][:2] == first["trials"]
    assert [trial["number"] for trial in second["trials"]] == [0, 1, 2, 3]
    third = json.loads(run(*TUNE, "--trials", "4", "--json", "-o", "best.dln").stdout)
    assert third["trials"] == second["trials"]
    model = dln.load(folder / "best.dln")
    for name, value in third["best"]["params"].items():
        assert model.get_params()[name] == (tuple(value) if isinstance(value, list) else value)
    assert model.target_name_ == "price"
    assert "Saved to" not in run(*TUNE, "--trials", "4", "--quiet").stdout


def test_rules_are_searched_for_within_the_limits_of_the_user(monkeypatch):
    """`--learner rules` searches RuleRegressor, and what the user sets is not searched for."""
    calls = []

    def stop(model, *_, **options):
        calls.append((model, options["space"]))
        raise KeyboardInterrupt

    monkeypatch.setattr("dln.tune.search", stop)
    assert run(*TUNE, "--learner", "rules", "--max-conditions", "9", "--max-rule-length", "2").exit_code == 130
    ((model, space),) = calls
    assert isinstance(model, RuleRegressor)
    assert (model.max_conditions, model.max_rule_length) == (9, 2)
    params = space(optuna.trial.FixedTrial(RuleRegressor().get_params()))
    assert params == {**RULE_DEFAULTS, "max_rule_length": 2, "max_conditions": 9}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("tune", "houses.csv", "-t", "prise"), r"dln: --target: .* has no column 'prise'; did you mean 'price'\?"),
        ((*TUNE, "--max-rule-length", "5"), "dln: --max-rule-length does not go with the network, .*"),
        ((*TUNE, "--learner", "trees"), "dln: invalid value for '--learner': .*"),
        ((*TUNE, "--trials", "0"), "dln: invalid value for '--trials': .*"),
        ((*TUNE, "--jobs", "0"), "dln: n_jobs must be a number above 0, -1 for one per core, or None, got 0"),
        ((*TUNE, "--time-limit", "soon"), "dln: --time-limit must be a length of time above zero like .*, got 'soon'"),
        (
            (*TUNE, "-o", "-"),
            "dln: a model cannot be written to standard output: give -o the name of a file, like house.dln",
        ),
        (
            (*TUNE, "--storage", "houses.csv"),
            r"dln: houses.csv is not a study that can be read \(it is not .*\): delete it, or name another file",
        ),
        ((*TUNE, "--storage", "."), "dln: storage must be the path of a file in a folder that exists, got '.'"),
    ],
)  # fmt: skip
def test_one_sentence_for_each_mistake(arguments, sentence):
    """Bad input ends with exit code 2 and one sentence, without a traceback."""
    result = run(*arguments, "--quiet")
    assert result.exit_code == 2
    assert re.fullmatch(sentence, result.stderr.strip().splitlines()[-1])


@pytest.mark.parametrize(("missing", "options"), [("optuna", ()), ("ray", ("--ray", "auto"))])
def test_missing_extras_are_named(missing, options, monkeypatch):
    """Without its package, the command says what to install."""
    monkeypatch.setitem(sys.modules, missing, None)
    result = run(*TUNE, *options, "--quiet")
    assert result.exit_code == 2
    extra = {"optuna": "tune", "ray": "ray"}[missing]
    assert result.stderr.strip().endswith(f"which is not installed: in a clone of dln, pip install '.[{extra}]'")


def test_a_time_limit_ends_the_search():
    """However short, the first trial ends."""
    found = json.loads(run(*TUNE, "--time-limit", "0.01s", "--json").stdout)
    assert len(found["trials"]) == 1
