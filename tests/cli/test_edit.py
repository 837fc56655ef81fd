"""`dln edit`: the edits of Python on the command line, and weights for the rows of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dln
from commands import HOUSES, fit_houses, houses, run, write


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the file of a model of houses; the table is beside it."""
    folder = tmp_path_factory.mktemp("edit")
    return str(fit_houses(folder, "--learner", "rules", "--max-conditions", "8"))


def test_edits_are_those_of_python(model: str, tmp_path: Path) -> None:
    """`dln edit` drops, adds, changes and freezes as `edit` does, shows the rules with their numbers, and saves."""
    output = str(tmp_path / "edited.dln")
    result = run("edit", model, "--drop", "0", "--add", "area > 61.5", "--change", "1: area > 93", "-o", output)
    assert result.exit_code == 0, result.stderr
    edited = dln.load(model).edit(drop=[0], add=["area > 61.5"], change={1: "area > 93"})
    edited.save(tmp_path / "python.dln")
    assert Path(output).read_bytes() == (tmp_path / "python.dln").read_bytes()
    assert "no." in result.stdout
    assert f"Saved to {output}." in result.stdout
    assert run("edit", model, "--drop", "0", "-o", output, "--force", "--quiet").stdout == ""


def test_weights_are_solved_for_on_a_table(model: str, tmp_path: Path) -> None:
    """With `--data`, weights are those of its rows, frozen ones stay, and rules may name any category of the table."""
    output, table = str(tmp_path / "new.dln"), tmp_path / "new.csv"
    write(tmp_path, {"new.csv": houses(price=[2 * price for price in HOUSES["price"]])})
    frozen = dln.load(model).rules_[0]
    options = ("--freeze", "0", "--add", 'district = "hills"', "--data", str(table), "--json")
    result = run("edit", model, *options, "-o", output)
    assert result.exit_code == 0, result.stderr
    document, new = json.loads(result.stdout), dln.load(output)
    weights = {rule["rule"]: rule["weight"] for rule in document["rules"]}
    assert weights[frozen.rule] == frozen.weight
    assert 'district = "hills"' in weights
    assert [set(edit) for edit in document["edits"]] == [{"added", "frozen"}, {"refitted"}]
    assert new.training_facts_["rows"] == 60
    assert new.training_facts_["target_max"] == 2 * HOUSES["price"].max()
    refitted = run("edit", model, "--data", str(table), "-t", "area", "-o", output, "--force")
    assert refitted.exit_code == 0, refitted.stderr
    assert dln.load(output).target_name_ == "area"


def test_fixed_rules_are_in_the_model(model: str, tmp_path: Path) -> None:
    """`dln fit --fixed-rule` learns the rest, and keeps the rule; the network has none."""
    fit = ("fit", str(Path(model).parent / "houses.csv"), "-t", "price", "-o", str(tmp_path / "new.dln"), "--quiet")
    options = ("--fixed-rule", 'area > 99.5 and district = "hills"', "--time-limit", "1s", "--max-conditions", "8")
    assert run(*fit, *options, "--learner", "rules").exit_code == 0
    assert 'area > 99.5 and district = "hills"' in {row.rule for row in dln.load(tmp_path / "new.dln").rules_}
    assert "--fixed-rule does not go with the network" in run(*fit, *options, "--force").stderr
    wrong = run(*fit, "--fixed-rule", "rooms > 3", "--learner", "rules", "--force")
    assert wrong.exit_code == 2
    assert "expected a column that is known" in wrong.stderr


def test_numbers_are_those_of_show(model: str) -> None:
    """`dln show --numbers` numbers the rules from 0, in the order in which it prints them; --json has them always."""
    shown = run("show", model, "--numbers").stdout.splitlines()
    first = next(line for line in shown if line.split()[:1] == ["0"])
    assert first.endswith(dln.load(model).rules_[0].rule)
    assert [rule["number"] for rule in json.loads(run("show", model, "--json").stdout)["rules"]][:2] == [0, 1]
    assert "no." not in run("show", model).stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "there is nothing to edit"),
        (["--drop", "99"], "drop must be a list of rules by number"),
        (["--drop", "0", "--change", "0: area > 3"], "rule 0 is both in drop and in change"),
        (["--change", "area > 3"], "--change must be a rule's number"),
        (["--change", "0: area > 3", "--change", "0: area > 4"], "each once"),
        (["--change", "0:"], "expected a column and a comparison"),
        (["--add", "rooms > 3"], "expected a column that is known"),
        (["--add", 'district = "sea"', "--data", "houses.csv"], "expected a category of district"),
        (["--drop", "0", "--target", "price"], "--target needs a table"),
        (["--drop", "0", "--data", "houses.csv", "--target", "rent"], "has no column 'rent'"),
        (["--drop", "0", "--data", "nowhere.csv"], "nowhere.csv"),
        (["--drop", "0", "--data", "short.csv"], "needs the column"),
    ],
)
def test_mistakes_are_one_sentence(
    model: str, options: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mistake gives one sentence on standard error, exit code 2, and no file."""
    monkeypatch.chdir(Path(model).parent)
    write(Path(model).parent, {"short.csv": "price,id\n3,4\n5,6\n"})
    result = run("edit", model, *options, "-o", str(tmp_path / "new.dln"))
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "new.dln").exists()


def test_an_output_is_kept_unless_forced(model: str) -> None:
    """A file that is there is not touched without --force."""
    before = Path(model).read_bytes()
    assert "is there already" in run("edit", model, "--drop", "0", "-o", model).stderr
    assert Path(model).read_bytes() == before
