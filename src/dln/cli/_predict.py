"""``dln predict``: from a model file and a table to predictions, in batches."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dln.cli import _options
from dln.cli._mistakes import Mistake

if TYPE_CHECKING:
    import polars as pl

    from dln import DLNRegressor
    from dln.cli._inputs import Input
    from dln.cli._read import TableFile

#: The column of results.
PREDICTION: Final = "prediction"

#: Rows to a row group of a Parquet output: what a reader of it holds in memory at a time.
ROW_GROUP: Final = 1 << 18

#: Rows that are read at a time to find a mistake.
BATCH: Final = 1 << 16

_ROW: Final = "\0row"  # no column of a file is named like this


def predict(
    model: _options.Model,
    table: _options.Table,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="CSV, TSV or Parquet, by its ending; - is standard output."
        ),
    ] = "-",
    *,
    with_input: Annotated[bool, typer.Option("--with-input", help="Write the table's own columns too.")] = False,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Predict for every row of a table, in order, in batches: the table may be larger than memory."""
    from dln.cli._inputs import find_inputs
    from dln.cli._model import open_model
    from dln.cli._read import STANDARD, check_output, open_table, output_kind
    from dln.cli._terminal import console, print_json, thousands

    kind = output_kind(output)
    check_output(output, force=force)
    if as_json and output == STANDARD:
        message = "--json prints a summary where the predictions would go: give -o a file for the predictions"
        raise Mistake(message)
    fitted = open_model(model)
    start = time.perf_counter()
    with open_table(table) as file:
        if with_input and PREDICTION in file.names:
            message = f"{file.said} has a column {PREDICTION!r} already: rename it, or leave out --with-input"
            raise Mistake(message)
        run = _Run(fitted, file, find_inputs(file, fitted.circuit_, Path(model).name), with_input=with_input)
        n_rows = run.write(output, kind, show=not (quiet or as_json))
    took = time.perf_counter() - start
    if as_json:
        print_json({"model": model, "table": file.said, "output": output, "rows": n_rows, "seconds": took})
    elif not quiet and output != STANDARD:
        console(stderr=True).print(
            f"{thousands(n_rows)} predictions written to {output} in {took:.1f} s.", soft_wrap=True
        )


class _Run:
    """One pass over a table: what is read, what came of it so far."""

    def __init__(self, model: DLNRegressor, file: TableFile, inputs: list[Input], *, with_input: bool) -> None:
        self.model, self.file, self.inputs, self.with_input = model, file, inputs, with_input
        self.n_rows = 0
        self.mistake: Exception | None = None
        self.advance: Any = lambda _rows: None

    def write(self, output: str, kind: str, *, show: bool) -> int:
        """Write all predictions and return how many there are."""
        import polars as pl

        from dln.cli._inputs import sources
        from dln.cli._read import whole_or_nothing

        # The row number rides along, so that a message can name the file's own row.
        scan = self.file.scan()
        taken = list(self.file.names) if self.with_input else sources(self.inputs)
        schema = {name: dtype for name, dtype in scan.collect_schema().items() if self.with_input}
        rows = scan.select(taken).with_row_index(_ROW)
        query = rows.map_batches(
            self._batch,
            schema={**schema, PREDICTION: pl.Float64},
            streamable=True,
            predicate_pushdown=False,
            projection_pushdown=False,
            slice_pushdown=False,
        )
        try:
            with whole_or_nothing(output) as place, _progress(self, show=show and output != "-"):
                if kind == "parquet":
                    query.sink_parquet(place, row_group_size=ROW_GROUP, engine="streaming")
                else:
                    query.sink_csv(place, separator="\t" if kind == "tsv" else ",", engine="streaming")
                if not self.n_rows:
                    message = f"{self.file.said} has a header but no rows: there is nothing to predict"
                    raise Mistake(message)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            if self.mistake is None:
                raise self.file.unreadable() from None
            for frame in rows.collect_batches(chunk_size=BATCH):  # batches ran side by side: tell the first mistake
                self._predictions(frame)
            raise self.mistake from None
        return self.n_rows

    def _batch(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the predictions of some rows. A mistake is kept: polars would wrap it in words of its own."""
        import polars as pl

        own = frame.drop(_ROW).get_columns() if self.with_input else []
        if not frame.height:
            return pl.DataFrame([*own, pl.Series(PREDICTION, [], dtype=pl.Float64)])
        try:
            predictions = self._predictions(frame)
        except Mistake as mistake:
            self.mistake = mistake
            raise
        self.n_rows += frame.height
        self.advance(frame.height)
        return pl.DataFrame([*own, pl.Series(PREDICTION, predictions)])

    def _predictions(self, frame: pl.DataFrame) -> Any:
        from dln.cli._inputs import inputs_of

        X = inputs_of(self.file, frame, self.inputs, int(frame[_ROW][0]) + 1)
        try:
            return self.model.predict(X)
        except ValueError as error:
            raise Mistake(str(error)) from error


def _progress(run: _Run, *, show: bool) -> Any:
    """Return a progress bar over rows on standard error, if somebody looks."""
    from contextlib import nullcontext

    if not show or not sys.stderr.isatty():
        return nullcontext()
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from dln.cli._terminal import console

    bar = Progress(
        TextColumn("predicting"),
        BarColumn(),
        TextColumn("{task.completed:,} rows"),
        TimeRemainingColumn(compact=True),
        console=console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=run.file.n_rows())
    run.advance = lambda rows: bar.update(task, advance=rows)
    return bar
