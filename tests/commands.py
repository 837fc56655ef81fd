"""Shared by the tests of the command line: a small table, and a way to run the program inside this process."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
from typer.testing import CliRunner, Result

from dln.cli import app

#: Sixty houses: an id, numbers, categories, a truth value, dates, a constant, and a price that depends on most of them.
HOUSES = pl.DataFrame(
    {
        "id": range(501, 561),
        "area": [50.0 + 37 * i % 101 for i in range(60)],
        "district": [("centre", "hills", "north")[i * 7 % 3] for i in range(60)],
        "garage": [("true", "false")[i * 11 % 5 % 2] for i in range(60)],
        "sold_at": [f"202{i % 4}-{i % 12 + 1:02d}-{i * 13 % 28 + 1:02d}" for i in range(60)],
        "country": ["NO"] * 60,
    }
).with_columns(
    price=1000 * pl.col("area")
    + 20000 * (pl.col("district") == "centre")
    + 5000 * pl.col("sold_at").str.slice(3, 1).cast(pl.Int64)
)


def houses(**columns: list[object]) -> str:
    """Return the houses as CSV, with some columns replaced or added."""
    return HOUSES.with_columns(pl.Series(name, values) for name, values in columns.items()).write_csv()


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    """Run the program; an exception that it should have reported in a sentence is raised."""
    result = CliRunner().invoke(app, list(arguments), input=stdin, prog_name="dln")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files into a folder."""
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def fit_houses(folder: Path, *options: str) -> Path:
    """Fit a model to the houses and return its file."""
    write(folder, {"houses.csv": houses()})
    model = folder / "house.dln"
    result = run("fit", str(folder / "houses.csv"), "-t", "price", "-o", str(model), "--time-limit", "1s", *options)
    assert result.exit_code == 0, result.stderr
    return model
