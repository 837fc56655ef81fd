"""``dln diff``: what changed between two models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dln.cli import _options
from dln.cli._messages import UsageError, print_status

if TYPE_CHECKING:
    import polars as pl

    from dln._regressor import CircuitRegressor
    from dln.circuit._circuit import Values
    from dln.cli._table_file import TableFile


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A model file.", show_default=False)],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A later model of the same columns.", show_default=False)],
    data: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Rows to compare predictions on; - is standard input.")
    ] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write a page, too: ends in .html.")] = None,
    *,
    force: _options.Force = False,
    as_json: _options.Json = False,
) -> None:
    """Show what changed between two models: rules, and with --data the predictions and what changed them."""
    from dln.cli._files import check_output, open_model
    from dln.cli._printing import print_json, show
    from dln.cli._table_file import open_table
    from dln.report._diff import diff_models

    if html is not None:
        check_output(html, force=force, endings=(".html",), what="a page's name")
    models = open_model(old), open_model(new)
    try:
        found = diff_models(*models)  # first: models of different columns are not compared on any table
        if data is not None:
            with open_table(data) as file:
                frame = file.read()
                values = [_values(file, frame, *one) for one in zip(models, (old, new), strict=True)]
            found = diff_models(*models, *values)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if as_json:
        print_json({"old": old, "new": new, **found.to_dict()})
    else:
        show(str(found))
    if html is not None:
        print_status(f"{found.report(html)} written.")


def _values(file: TableFile, frame: pl.DataFrame, model: CircuitRegressor, name: str) -> Sequence[Values]:
    """Return the rows of a table as a model reads them."""
    from dln.cli._model_columns import model_columns, needed_columns
    from dln.data._reader import read_table

    needed_columns(file, model.circuit_, Path(name).name)
    return read_table(model_columns(file, frame, model.circuit_), model.circuit_.columns).values
