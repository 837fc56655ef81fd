"""``dln diff``, ``dln monitor``, ``dln explain --reasons``: models, tables and rows against others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer

from dln._errors import UnknownCategoryWarning
from dln.cli import _options
from dln.cli._files import check_output, open_model, open_saved, output_kind
from dln.cli._messages import UsageError, errors_as_sentences, print_status
from dln.cli._predict import BATCH, ROW, write_rows
from dln.cli._program import BEYOND
from dln.cli._table_file import TableFile, open_table

if TYPE_CHECKING:
    import polars as pl

    from dln.circuit._circuit import Circuit, Values
    from dln.readers._reasons import Reference

Limit: TypeAlias = float | None


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
    from dln.cli._model_columns import model_values, needed_columns
    from dln.cli._printing import print_json, show
    from dln.report._diff import diff_models

    if html is not None:
        check_output(html, force=force, endings=(".html",), what="a page's name")
    models = open_model(old), open_model(new)
    with errors_as_sentences():
        found = diff_models(*models)  # first: models of different columns are not compared on any table
        if data is not None:
            values = []
            with open_table(data) as file:
                frame = file.read()
                for model, name in zip(models, (old, new), strict=True):
                    needed_columns(file, model.circuit_, Path(name).name)
                    values.append(model_values(file, frame, model.circuit_))
            found = diff_models(*models, *values)
    if as_json:
        print_json({"old": old, "new": new, **found.to_dict()})
    else:
        show(str(found))
    if html is not None:
        print_status(f"{found.report(html)} written.")


def monitor(
    model: _options.Model,
    table: _options.Table,
    *,
    max_psi: Annotated[Limit, typer.Option(min=0, help="Limit of each population stability index.")] = None,
    max_missing: Annotated[Limit, typer.Option(min=0, help="Limit of the rise of a share of missing values.")] = None,
    max_unknown: Annotated[
        Limit, typer.Option(min=0, help="Limit of the rise of a share of unknown categories.")
    ] = None,
    max_outside: Annotated[Limit, typer.Option(min=0, help="Limit of a share beyond the range of training.")] = None,
    as_json: _options.Json = False,
) -> None:
    """Compare a table with the training rows: stability of predictions, columns and rules; exit code 1 beyond a limit.

    The table is read in batches and may be larger than memory.
    """
    from dln.cli._printing import print_json, show
    from dln.readers import _monitor

    fitted = open_saved(model)
    with open_table(table) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownCategoryWarning)  # the figures have them
        batches = _batches(file, fitted.circuit, Path(model).name)
        target = fitted.target or "prediction"
        drift = _monitor.monitor(fitted.circuit, fitted.support, fitted.training, batches, target)
    beyond = drift.beyond(psi=max_psi, missing=max_missing, unknown=max_unknown, outside=max_outside)
    if as_json:
        facts = {"model": model, "table": file.label, "rows": drift.n_rows, "training_rows": drift.n_training}
        print_json({**facts, "figures": drift.to_dicts(), "beyond": beyond})
    else:
        show(str(drift), *(["", *beyond] if beyond else []))
    if beyond:
        raise typer.Exit(BEYOND)


def _batches(file: TableFile, circuit: Circuit, model_name: str) -> Iterator[Sequence[Values]]:
    """Yield the values of the model's columns, some rows at a time."""
    from dln.cli._model_columns import model_values, needed_columns

    n_rows, needed = 0, needed_columns(file, circuit, model_name)
    with file.reading():
        for frame in file.scan().select(needed).collect_batches(chunk_size=BATCH, maintain_order=True):
            if frame.height:
                yield model_values(file, frame, circuit, n_rows + 1)
            n_rows += frame.height
    if not n_rows:
        raise UsageError(f"{file.label} has a header but no rows: there is nothing to compare")


def write_reasons(
    model: str, table: str, output: str, texts: Sequence[str], reference: str, how: dict[str, Any], *, force: bool
) -> int:
    """Write the reasons for every row, and return their number.

    `reference` may be a row's number; `how` is for `ReasonFinder`.
    """
    import polars as pl

    from dln.cli._model_columns import model_values, needed_columns, one_row
    from dln.data._reader import read_table
    from dln.readers._reasons import ReasonFinder

    kind = output_kind(output)
    check_output(output, force=force)
    fitted = open_saved(model)
    circuit, compared = fitted.circuit, cast("Reference", reference)  # other words are refused by the finder
    with open_table(table) as file:
        needed = needed_columns(file, circuit, Path(model).name)
        if reference.isdecimal():
            row = one_row(file, circuit, needed, int(reference), "--reference")
            compared = read_table(row, circuit.columns).values
        with errors_as_sentences():
            finder = ReasonFinder(circuit, fitted.support, reference=compared, reason_texts=_texts(texts), **how)
        types = {name: pl.String if name.startswith("reason_") else pl.Float64 for name in finder.columns}

        def found(frame: pl.DataFrame) -> pl.DataFrame:
            if not frame.height:
                return pl.DataFrame(schema=types)
            columns = finder.find(model_values(file, frame, circuit, int(frame[ROW][0]) + 1))
            return pl.DataFrame({name: column.tolist() for name, column in columns.items()}, types).fill_nan(None)

        return write_rows(output, kind, file, needed, found)


def _texts(given: Sequence[str]) -> dict[str, str]:
    """Return the texts of options like ``age=Length of history``; names of rules may hold further signs."""
    texts = {}
    for option in given:
        name, sign, text = option.rpartition("=")
        if not (sign and name and text):
            raise UsageError(
                f"--reason-text must be like age=Length of history: a column or rule, =, its text; got {option!r}"
            )
        texts[name] = text
    return texts
