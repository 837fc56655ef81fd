"""``dln diff``: what it prints and writes, and its mistakes."""

import json
from pathlib import Path

import pytest

from commands import fit_houses, houses, run, write

CHARGES = Path(__file__).parents[2] / "examples" / "charges.dln"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with house.dln and a smaller small.dln, which no test changes."""
    folder = tmp_path_factory.mktemp("houses")
    fit_houses(folder, "--learner", "rules")
    run("prune", str(folder / "house.dln"), "--max-conditions", "3", "-o", str(folder / "small.dln"))
    return folder


def diff(folder, *options):
    """Run ``dln diff`` on the models of the folder."""
    return run("diff", str(folder / "house.dln"), str(folder / "small.dln"), *options)


def test_rules_and_predictions_are_compared(folder, tmp_path):
    """Without a table the rules are compared, with one the predictions, too, printed, as JSON and as a page."""
    shown = diff(folder)
    assert shown.exit_code == 0
    assert "removed" in shown.stdout
    assert "Mean change" not in shown.stdout
    page = tmp_path / "diff.html"
    shown = diff(folder, "--data", str(folder / "houses.csv"), "--html", str(page))
    assert "Mean change by column" in shown.stdout
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert shown.stderr == f"{page} written.\n"
    result = json.loads(diff(folder, "--data", str(folder / "houses.csv"), "--json").stdout)
    assert result["data"]["n_rows"] == sum(result["data"]["counts"]) == 60
    assert {rule["change"] for rule in result["rules"]} <= {"conditions", "weight", "removed", "added", "same"}


def test_mistakes_get_one_sentence(folder, tmp_path):
    """Other columns, a table without them, and a page that is there or has another ending are named in one line."""
    write(tmp_path, {"no_area.csv": houses().replace("area", "size"), "there.html": ""})
    table = str(folder / "houses.csv")
    for result, words in [
        (run("diff", str(folder / "house.dln"), str(CHARGES)), "only models of the same columns can be compared"),
        (diff(folder, "--data", str(tmp_path / "no_area.csv")), "needs the column 'area'"),
        (diff(folder, "--html", str(tmp_path / "there.html")), "is there already"),
        (diff(folder, "--data", table, "--html", "diff.txt"), "must end in .html"),
        (run("diff", str(folder / "house.dln"), str(folder / "nothing.dln")), "there is no file"),
    ]:
        assert result.exit_code == 2
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
