"""``dln tune``: a search that can be stopped and goes on, and a sentence for each mistake."""

from __future__ import annotations

import json
import re
import sys

import pytest

import dln
from commands import houses, run, write
from dln import DLNRegressor

#: The paper's model: its trials are short on sixty rows.
TUNE = ("tune", "houses.csv", "--target", "price", "--paper")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with a table; networks of a few epochs are enough."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(DLNRegressor.__init__.__kwdefaults__, "max_epochs", 5)
    write(tmp_path, {"houses.csv": houses()})
    return tmp_path


def test_a_search_says_what_it_found(folder):
    """Progress, the best beside what it was before, the storage and the line of Python are told."""
    result = run(*TUNE, "--trials", "3")
    assert result.exit_code == 0, result.stderr
    assert "Trials are kept in houses.tune.log: run again to go on." in result.stdout
    assert re.search(r"\n3 trials, 4 folds, [\d.,]+ s of fitting", result.stdout)
    assert re.search(r"\n as it was +-?\d\.\d{4} +[\d,]+\n best +-?\d\.\d{4} +[\d,]+\n", result.stdout)
    assert "3 of 3" in result.stderr
    assert "lowest RMSE" in result.stderr
    assert (folder / "houses.tune.log").exists()
    line = re.search(r"DLNRegressor\(random_state=0.*\)", result.stdout)
    assert line is not None
    model = eval(line[0], {"DLNRegressor": DLNRegressor})  # noqa: S307 (the line is meant to be run)
    assert isinstance(model, DLNRegressor)


def test_a_search_goes_on_where_it_was(folder):
    """The same line with more trials runs the rest; with a model asked for and no more trials, none is run."""
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


def test_a_search_can_start_anew(folder):
    """`--fresh` forgets the trials of earlier runs, but deletes nothing that is something else."""
    run(*TUNE, "--trials", "3", "--seed", "1")
    assert run(*TUNE, "--trials", "1").exit_code == 2
    fresh = json.loads(run(*TUNE, "--trials", "1", "--fresh", "--json").stdout)
    assert len(fresh["trials"]) == 1
    write(folder, {"diary.txt": "dear diary\n"})
    result = run(*TUNE, "--storage", "diary.txt", "--fresh")
    assert result.exit_code == 2
    assert (folder / "diary.txt").read_text() == "dear diary\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("tune", "houses.csv", "-t", "prise"), r"dln: --target: .* has no column 'prise'; did you mean 'price'\?"),
        ((*TUNE, "--max-rules", "5"), "dln: --max-rules does not go with --paper, whose network .*"),
        ((*TUNE, "--trials", "0"), "dln: invalid value for '--trials': .*"),
        ((*TUNE, "--jobs", "0"), "dln: --jobs must be a number of trials above 0, or -1 for one per core, got 0"),
        ((*TUNE, "--time-limit", "soon"), "dln: --time-limit must be a length of time above zero like .*, got 'soon'"),
        (
            (*TUNE, "-o", "-"),
            "dln: a model cannot be written to standard output: give -o the name of a file, like house.dln",
        ),
        (
            (*TUNE, "--storage", "houses.csv"),
            r"dln: houses.csv is not a study that can be read \(line 1 cannot be read\): delete it, or .* another file",
        ),
        ((*TUNE, "--storage", "."), "dln: storage must be the path of a file, but . is a folder"),
        ((*TUNE, "--ray", "127.0.0.1:9"), "dln: there is no Ray cluster at '127.0.0.1:9': start one with .*"),
    ],
)  # fmt: skip
def test_one_sentence_for_each_mistake(arguments, sentence):
    """Bad input ends with exit code 2 and one sentence, without a traceback."""
    result = run(*arguments, "--quiet")
    assert result.exit_code == 2
    assert re.fullmatch(sentence, result.stderr.strip().splitlines()[-1])


def test_the_storage_of_another_table_is_refused(folder):
    """Trials of a table that has changed since are not taken for those of this one."""
    run(*TUNE, "--trials", "1")
    write(folder, {"houses.csv": houses(area=[1.0 + i for i in range(60)])})
    result = run(*TUNE, "--trials", "2", "--quiet")
    assert result.exit_code == 2
    assert result.stderr == (
        "dln: houses.tune.log is the storage of another search: the table is not the same; delete it to start anew, "
        "or name another file; --fresh starts anew\n"
    )


@pytest.mark.parametrize(("missing", "options"), [("optuna", ()), ("ray", ("--ray", "auto"))])
def test_missing_extras_are_named(missing, options, monkeypatch):
    """Without its package, the command says what to install."""
    monkeypatch.setitem(sys.modules, missing, None)
    result = run(*TUNE, *options, "--quiet")
    assert result.exit_code == 2
    extra = {"optuna": "tune", "ray": "ray"}[missing]
    assert result.stderr.strip().endswith(f"which is not installed: pip install 'dln[{extra}]'")


def test_a_time_limit_ends_the_search():
    """However short, the first trial ends."""
    found = json.loads(run(*TUNE, "--timeout", "0.01s", "--json").stdout)
    assert len(found["trials"]) == 1
