"""``dln report`` and ``dln card``."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest

from commands import HOUSES, fit_houses, houses, run, write


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return a folder with a table and a model of it."""
    folder = tmp_path_factory.mktemp("houses")
    fit_houses(folder)
    return folder


@pytest.fixture
def folder(fitted, tmp_path, monkeypatch):
    """Work in a copy of that folder."""
    shutil.copytree(fitted, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_only_tested_rows_are_measured(folder):
    """Of the table that dln fit learned from, the page measures the rows that it tested on, and says so."""
    done = run("report", "house.dln", "--data", "houses.csv", "-o", "house.html", "--include-rows", "5")
    assert done.exit_code == 0, done.stderr
    assert "measured on 15 rows of houses.csv that dln fit tested on." in done.stderr
    text = (folder / "house.html").read_text(encoding="utf-8")
    assert "5 of the 15 rows of houses.csv that dln fit tested on" in text
    assert "dln.load(&#39;house.dln&#39;)" in text


def test_a_smaller_model_knows_its_table_in_any_format(folder):
    """A pruned model is not measured on rows that it learned from either, whatever format the table is in now."""
    assert run("prune", "house.dln", "--max-conditions", "3", "-o", "small.dln").exit_code == 0
    HOUSES.write_parquet(folder / "houses.parquet")
    done = run("report", "small.dln", "--data", "houses.parquet", "-o", "small.html")
    assert "measured on 15 rows of houses.parquet that dln fit tested on." in done.stderr


def test_another_table_is_measured_whole(folder):
    """A table that is not the one it was fitted to is measured whole, but for rows without a target."""
    table = HOUSES.with_columns(price=pl.when(pl.col("id") == 510).then(None).otherwise(pl.col("price") + 1))
    write(folder, {"other.csv": table.write_csv()})
    done = run("report", "house.dln", "--data", "other.csv", "-o", "x.html", "--title", "Prices & more")
    assert "measured on 59 rows of other.csv." in done.stderr
    assert "<h1><bdi>Prices &amp; more</bdi></h1>" in (folder / "x.html").read_text(encoding="utf-8")


def test_a_card_is_measured_on_the_same_rows(folder):
    """`dln card` measures what `dln report` measures, and writes Markdown or JSON by the ending."""
    done = run("card", "house.dln", "--data", "houses.csv", "-o", "card.json")
    assert done.exit_code == 0, done.stderr
    assert "measured on 15 rows of houses.csv that dln fit tested on." in done.stderr
    assert json.loads((folder / "card.json").read_text(encoding="utf-8"))["evaluation"]["n_rows"] == 15
    assert run("card", "house.dln", "-o", "card.md", "--quiet").stderr == ""
    assert (folder / "card.md").read_text(encoding="utf-8").startswith("# Model card: `price`\n")
    done = run("card", "house.dln", "-o", "card.pdf")
    assert done.exit_code == 2
    assert ".md or .json" in done.stderr


@pytest.mark.usefixtures("folder")
def test_rules_of_a_column_are_added_up_on_request():
    """`dln show --by column` has bands instead of rules on one column, `--by rule` has every rule by itself."""
    assert "rules added up" in run("show", "house.dln", "--by", "column").stdout
    assert "rules added up" not in run("show", "house.dln", "--by", "rule").stdout
    assert run("show", "house.dln", "--by", "row").exit_code == 2


def test_it_needs_no_table(folder):
    """Without a table the page has the scores of the fit; with --quiet nothing is printed."""
    done = run("report", "house.dln", "-o", "x.html", "--quiet")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "x.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("command", "output", "facts"),
    [
        ("report", "x.html", {"rows": 15, "source": "houses.csv that dln fit tested on"}),
        ("card", "x.md", {"rows": 15, "source": "houses.csv that dln fit tested on"}),
        ("plot", "x.svg", {"rules_drawn": 2}),
    ],
)
def test_what_was_written_as_json(command, output, facts, folder):
    """With --json, commands that write a page, a card or a picture print what they wrote, and nothing else."""
    if command == "plot":
        pytest.importorskip("pygraphviz")
    options = ("--max-rules", "2") if command == "plot" else ("--data", "houses.csv")
    done = run(command, "house.dln", "-o", output, "--json", *options)
    printed = json.loads(done.stdout)
    assert printed == {**printed, "model": "house.dln", "file": output, **facts}
    assert (folder / output).exists()
    assert done.stderr == ""


@pytest.mark.usefixtures("folder")
def test_a_table_may_come_through_a_pipe():
    """- is standard input."""
    done = run("report", "house.dln", "--data", "-", "-o", "x.html", stdin=houses().encode())
    assert "of standard input that dln fit tested on" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--data", "cars.csv", "-o", "x.html"), "house.dln needs the column 'area', but cars.csv has none"),
        (("--data", "bare.csv", "-o", "x.html"), "bare.csv has no column 'price', the target that predictions are"),
        (("--data", "empty.csv", "-o", "x.html"), "the target 'price' is missing in every row of empty.csv"),
        (("--data", "houses.csv", "-t", "district", "-o", "x.html"), "the target 'district' must hold numbers"),
        (("--data", "none.csv", "-o", "x.html"), "there is no file 'none.csv'"),
        (("-o", "there.html"), "'there.html' is there already and was not touched"),
        (("-o", "x.pdf"), "a page's name must end in .html, got 'x.pdf'"),
        (("-o", "nowhere/x.html"), "there is no folder 'nowhere'"),
        (("--include-rows", "5", "-o", "x.html"), "--include-rows needs a table: give it with --data"),
        (("--target", "price", "-o", "x.html"), "--target needs a table: give it with --data"),
    ],
)
def test_bad_input_gets_one_sentence(folder, arguments, sentence):
    """Another table, a missing target, a file that is there: one sentence says what to do, and nothing is written."""
    write(
        folder,
        {
            "cars.csv": "speed,price\n1,2\n",
            "bare.csv": HOUSES.drop("price").write_csv(),
            "empty.csv": HOUSES.with_columns(price=pl.lit(None, dtype=pl.Float64)).write_csv(),
            "there.html": "mine",
        },
    )
    done = run("report", "house.dln", *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"dln: {sentence}")
    assert done.stderr.count("\n") == 1
    assert not (folder / "x.html").exists()
    assert (folder / "there.html").read_text() == "mine"


def test_force_replaces(folder):
    """--force replaces a page that is there."""
    write(folder, {"there.html": "mine"})
    assert run("report", "house.dln", "-o", "there.html", "--force").exit_code == 0
    assert "mine" not in (folder / "there.html").read_text(encoding="utf-8")[:4]
