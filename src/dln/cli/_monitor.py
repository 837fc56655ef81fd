"""``dln monitor``: how a table of today differs from the one that a model learned from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dln.cli import _options
from dln.cli._messages import UsageError
from dln.cli._predict import BATCH
from dln.cli._program import BEYOND

if TYPE_CHECKING:
    from dln.circuit._circuit import Circuit, Values
    from dln.cli._table_file import TableFile

Limit: TypeAlias = float | None


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
    from dln.cli._files import open_saved
    from dln.cli._printing import print_json, show
    from dln.cli._table_file import open_table
    from dln.readers import _monitor

    fitted = open_saved(model)
    with open_table(table) as file:
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


def _batches(file: TableFile, circuit: Circuit, model_name: str) -> Iterator[list[Values]]:
    """Yield the values of the model's columns, some rows at a time."""
    from dln.cli._model_columns import model_columns, needed_columns
    from dln.data._reader import read_table

    n_rows, needed = 0, needed_columns(file, circuit, model_name)
    with file.reading():
        for frame in file.scan().select(needed).collect_batches(chunk_size=BATCH, maintain_order=True):
            if frame.height:
                yield list(read_table(model_columns(file, frame, circuit, n_rows + 1), circuit.columns).values)
            n_rows += frame.height
    if not n_rows:
        raise UsageError(f"{file.label} has a header but no rows: there is nothing to compare")
