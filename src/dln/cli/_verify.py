"""``dln verify``: runs an exported model and compares it with the model that it came from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dln.cli import _options
from dln.cli._export import DIFFERS
from dln.cli._mistakes import complain

if TYPE_CHECKING:
    import polars as pl

    from dln import RuleRegressor


def verify(
    model: _options.Model,
    exported: Annotated[str, typer.Argument(metavar="FILE", help="What dln export wrote.", show_default=False)],
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Rows to run it on, besides those that it is always run on.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="The format, whatever the ending.", show_default=False),
    ] = None,
    dialect: _options.Dialect = None,
    *,
    as_json: _options.Json = False,
) -> None:
    """Run an exported model with the real thing and compare every bit with the model; exit code 1 if any differs."""
    from dln.cli._model import open_model
    from dln.cli._table_file import existing_file
    from dln.cli._terminal import print_json, show

    fitted = open_model(model)
    path = existing_file(exported, what="a file that dln export wrote")
    X = None if table is None else _rows(fitted, Path(model).name, table)
    try:
        verification = fitted.verify(path, X, format=form, dialect=dialect)
    except AssertionError as error:
        if as_json:
            print_json({"file": exported, "equal": False, "reason": str(error)})
        else:
            complain(str(error))
        raise typer.Exit(DIFFERS) from None
    if as_json:
        print_json({"file": exported, "equal": True, "engine": verification.engine, "rows": verification.n_rows})
    else:
        show(f"{exported}: {verification}.")


def _rows(model: RuleRegressor, model_name: str, table: str) -> pl.DataFrame:
    """Return the model's columns of a table."""
    from dln.cli._model_columns import model_columns, needed_columns
    from dln.cli._table_file import open_table

    with open_table(table) as file:
        needed_columns(file, model.circuit_, model_name)
        return model_columns(file, file.read(), model.circuit_)
