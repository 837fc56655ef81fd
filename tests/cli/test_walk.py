"""Every command, fed with files and tables that try to drive the terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
import typer.main

import dln
from commands import HOUSES, run
from dln import ModelFileError
from dln._text import clean
from dln.cli import app
from dln.readers.model_file import sealed
from terminal import COLOUR, in_terminal

#: Characters that a terminal acts on: C0 and C1 control characters, and marks that turn the direction of writing.
DRIVING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

#: Colours, the title of the window, C1's own escape, a bell, backspaces, and text from right to left.
EVIL = "\x1b[31m\x1b]0;owned\x07\x9b2J\x08\x7f\u202e"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder with a hostile table, a model of it, and hostile files in place of models."""
    made = tmp_path_factory.mktemp("evil")
    table = HOUSES.rename({"area": f"ar{EVIL}ea", "price": f"pr{EVIL}ice"}).with_columns(
        pl.col("district") + EVIL, note=pl.lit(f"x{EVIL}")
    )
    table.write_parquet(made / "t.parquet")
    table.with_columns(pl.lit(EVIL).alias(f"ar{EVIL}ea")).write_parquet(made / "wrong.parquet")
    table.rename({f"ar{EVIL}ea": f"ar{EVIL}e"}).write_parquet(made / "other.parquet")
    (made / "evil.csv").write_text(f"a,b{EVIL}\n1,{EVIL}\n")
    result = run(
        "fit", str(made / "t.parquet"), "-t", f"pr{EVIL}ice", "-o", str(made / "m.dln"), "--time-limit", "1s", "--json"
    )
    assert result.exit_code == 0, result.stderr
    assert not DRIVING.search(result.stdout + result.stderr)
    part = json.loads((made / "m.dln").read_bytes().split(b"\n")[1])
    hostile = {
        "parameter": {**part, "parameters": {**part["parameters"], EVIL: 1}},
        "field": {**part, EVIL: 1},
        "literal": {**part, "literals": [{"test": EVIL, "column": 0}]},
        "names": {**part, "columns": [{"name": EVIL}, {"name": EVIL}]},
    }
    for name, value in hostile.items():
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        (made / f"{name}.dln").write_bytes(sealed(text))
    (made / "text.dln").write_text(EVIL)
    return made


#: For every command, ways to make it show what a file or a table says. A new command belongs here.
WALK = {
    "fit": [
        ["t.parquet", "-t", f"pr{EVIL}ice", "-o", "new.dln", "--time-limit", "1s", "--force"],
        ["t.parquet", "-t", f"pri{EVIL}", "-o", "new.dln", "--force"],
        ["evil.csv", "-t", f"b{EVIL}", "-o", "new.dln", "--force"],
        ["t.parquet", "-t", "note", "-o", "new.dln", "--force"],
        [EVIL, "-t", "y", "-o", "new.dln", "--force"],
    ],
    "predict": [
        ["m.dln", "wrong.parquet"],
        ["m.dln", "other.parquet"],
        ["m.dln", "t.parquet", "-o", "out.csv", "--force"],
        ["parameter.dln", "t.parquet"],
    ],
    "show": [["m.dln"], ["m.dln", "--json"], *([f"{name}.dln"] for name in ("parameter", "field", "literal", "names"))],
    "prune": [
        ["m.dln", "--max-conditions", "3", "-o", "small.dln", "--force"],
        ["m.dln", "--max-conditions", "3", "-o", "small.dln", "--force", "--json"],
        ["literal.dln", "--max-conditions", "3", "-o", "small.dln", "--force"],
    ],
    "explain": [
        ["m.dln", "t.parquet"],
        ["m.dln", "t.parquet", "--json"],
        ["text.dln", "t.parquet"],
        ["m.dln", "t.parquet", "--reasons", "2"],
        ["m.dln", "t.parquet", "--reasons", "2", "--reason-text", f"{EVIL}={EVIL}"],
    ],
    "diff": [
        ["m.dln", "m.dln"],
        ["m.dln", "m.dln", "--data", "t.parquet", "--html", "diff.html", "--force"],
        ["m.dln", "m.dln", "--data", "wrong.parquet"],
        ["m.dln", "m.dln", "--data", "other.parquet", "--json"],
        ["m.dln", "names.dln"],
    ],
    "monitor": [
        ["m.dln", "t.parquet"],
        ["m.dln", "wrong.parquet", "--max-psi", "0"],
        ["m.dln", "t.parquet", "--json", "--max-psi", "0"],
        ["m.dln", "other.parquet"],
    ],
    "edit": [
        ["m.dln", "--drop", "0", "-o", "edited.dln", "--force"],
        ["m.dln", "--drop", "0", "--data", "t.parquet", "-o", "edited.dln", "--force"],
        ["m.dln", "--drop", "0", "--data", "t.parquet", "-o", "edited.dln", "--force", "--json"],
        ["m.dln", "--data", "wrong.parquet", "-o", "edited.dln", "--force"],
        ["m.dln", "--data", "other.parquet", "-o", "edited.dln", "--force"],
        ["m.dln", "--add", EVIL, "-o", "edited.dln", "--force"],
        ["m.dln", "--change", EVIL, "-o", "edited.dln", "--force"],
        ["literal.dln", "--drop", "0", "-o", "edited.dln", "--force"],
    ],
    "plot": [["m.dln", "-o", "picture.svg", "--force"], ["literal.dln", "-o", "picture.svg", "--force"]],
    "report": [
        ["m.dln", "--data", "t.parquet", "-o", "page.html", "--force"],
        ["m.dln", "--data", "wrong.parquet", "-o", "page.html", "--force"],
        ["m.dln", "--data", "other.parquet", "-o", "page.html", "--force"],
        ["m.dln", "--data", "t.parquet", "-t", EVIL, "-o", "page.html", "--force"],
        ["m.dln", "-o", f"page{EVIL}.html", "--force"],
        ["literal.dln", "-o", "page.html", "--force"],
    ],
    "card": [
        ["m.dln", "--data", "t.parquet", "-o", "card.md", "--force"],
        ["m.dln", "--data", "wrong.parquet", "-o", "card.json", "--force"],
        ["m.dln", "-o", f"card{EVIL}.md", "--force"],
        ["literal.dln", "-o", "card.md", "--force"],
    ],
    "export": [
        ["m.dln", "-o", "model.py", "--force"],
        ["m.dln", "-o", "model.sql", "--force", "--no-verify"],
        ["literal.dln", "-o", "model.py", "--force"],
        ["m.dln", "-o", f"model.{EVIL}"],
    ],
    "verify": [
        ["m.dln", "text.dln", "--format", "python"],
        ["m.dln", "text.dln", "--format", EVIL],
        ["m.dln", EVIL],
        ["names.dln", "text.dln"],
    ],
    "tune": [
        ["t.parquet", "-t", f"pr{EVIL}ice", "--trials", "1", "--time-limit", "1s", "--storage", "study.log"],
        ["t.parquet", "-t", f"pr{EVIL}ice", "--storage", "text.dln"],
    ],
    "demo": [],  # reads nothing
}


@pytest.mark.parametrize("command", sorted(typer.main.get_command(app).commands))  # type: ignore[attr-defined]
def test_no_output_drives_the_terminal(command, folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Whatever a command shows, of names, values, messages or JSON, holds no control character from a file."""
    monkeypatch.chdir(folder)
    for arguments in WALK[command]:
        result = run(command, *arguments)
        assert not DRIVING.search(result.stdout), (arguments, result.stdout)
        assert not DRIVING.search(result.stderr), (arguments, result.stderr)
        assert result.stdout or result.stderr


def test_json_is_still_what_it_says(folder: Path):
    """Cleaned JSON reads back as the original."""
    shown = json.loads(run("show", str(folder / "m.dln"), "--json").stdout)
    assert shown["target"] == f"pr{EVIL}ice"


def test_terminals_too(folder: Path):
    """On a terminal, too, nothing but our own colours is left."""
    shown = in_terminal(100, "show", folder / "m.dln")
    assert not DRIVING.search(COLOUR.sub("", shown))
    assert "owned" in shown


def test_messages_in_python(folder: Path):
    """The message of a hostile file is harmless in a traceback as well."""
    for name in ("parameter", "field", "literal", "names"):
        with pytest.raises(ModelFileError) as caught:
            dln.load(folder / f"{name}.dln")
        assert not DRIVING.search(str(caught.value))


def test_clean_leaves_text_alone():
    """Letters, line ends and emoji pass; tabs and lone halves of characters are spelled out."""
    assert clean("süd 🏠\n∧") == "süd 🏠\n∧"
    assert clean("a\tb\ud800") == "a\\u0009b\\ud800"
