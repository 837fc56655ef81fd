"""``dln predict``: from a model file and a table to predictions, in batches."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dln.cli import _options
from dln.cli._messages import UsageError, print_status

if TYPE_CHECKING:
    import polars as pl

    from dln._load import Predictor
    from dln.cli._table_file import TableFile
    from dln.readers.model_file import SavedModel

#: The column of results, and those of the ends of its interval.
PREDICTION: Final = "prediction"
LOWER: Final = "lower"
UPPER: Final = "upper"

#: Rows to a row group of a Parquet output: what a reader of it holds in memory at a time.
ROW_GROUP: Final = 1 << 18

#: Rows that are read at a time to find a wrong value.
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
    interval: Annotated[
        float | None,
        typer.Option(metavar="COVERAGE", help="Write lower and upper too: 0.9 covers nine rows of ten."),
    ] = None,
    with_input: Annotated[bool, typer.Option("--with-input", help="Write the table's own columns too.")] = False,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Predict for every row of a table, in order, in batches: the table may be larger than memory."""
    from dln._load import Predictor
    from dln.cli._files import check_output, open_saved, output_kind
    from dln.cli._model_columns import needed_columns
    from dln.cli._table_file import STANDARD, open_table

    kind = output_kind(output)
    check_output(output, force=force)
    if as_json and output == STANDARD:
        message = "--json prints a summary where the predictions would go: give -o a file for the predictions"
        raise UsageError(message)
    fitted = open_saved(model)
    half_width = None if interval is None else _half_width(fitted, Path(model).name, interval)
    start = time.perf_counter()
    with open_table(table) as file:
        needed = needed_columns(file, fitted.circuit, Path(model).name)
        run = Run(Predictor(fitted), file, needed, half_width, with_input=with_input)
        n_rows = run.write(output, kind, show=not (quiet or as_json))
    took = time.perf_counter() - start
    if as_json:
        from dln.cli._printing import print_json

        print_json({"model": model, "table": file.label, "output": output, "rows": n_rows, "seconds": took})
    elif not quiet and output != STANDARD:
        print_status(f"{n_rows:,} predictions written to {output} in {took:.1f} s.")


def _half_width(model: SavedModel, model_name: str, coverage: float) -> float:
    """Return the half-width of prediction intervals, or raise a `UsageError` if the model has none."""
    known = model.intervals
    if known is None:
        message = (
            f"{model_name} has no prediction intervals: dln fit computes them where it has test rows (--test-size)"
        )
        raise UsageError(message)
    try:
        return known.half_width(coverage)
    except ValueError as error:
        message = f"--interval: {error}"
        raise UsageError(message) from error


class Run:
    """One pass over a table, and its progress."""

    def __init__(
        self, predictor: Predictor, file: TableFile, needed: list[str], half_width: float | None, *, with_input: bool
    ) -> None:
        self.predictor, self.file, self.half_width, self.with_input = predictor, file, half_width, with_input
        self.taken = list(file.names) if with_input else needed
        self.results: tuple[str, ...] = (PREDICTION,) if half_width is None else (PREDICTION, LOWER, UPPER)
        self.texts: tuple[str, ...] = ()  # results that are text, not numbers
        self.n_rows = 0
        self.advance: Any = lambda _rows: None

    def write(self, output: str, kind: str, *, show: bool) -> int:
        """Write all predictions and return how many there are."""
        import polars as pl

        from dln.cli._files import whole_or_nothing, written_to

        if self.with_input and (taken := next((name for name in self.results if name in self.file.names), None)):
            message = f"{self.file.label} has a column {taken!r} already: rename it, or leave out --with-input"
            raise UsageError(message)
        scan = self.file.scan()
        rows = scan.select(self.taken).with_row_index(_ROW)  # so that a message can name the file's own row
        schema = {name: dtype for name, dtype in scan.collect_schema().items() if self.with_input}
        query = rows.map_batches(
            self._batch,
            schema=schema | {name: pl.String if name in self.texts else pl.Float64 for name in self.results},
            streamable=True,
            predicate_pushdown=False,
            projection_pushdown=False,
            slice_pushdown=False,
        )
        try:
            with whole_or_nothing(output) as output_file, _progress(self, show=show and output != "-"):
                with written_to(output_file) as sink:
                    if kind == "parquet":
                        query.sink_parquet(sink, row_group_size=ROW_GROUP, engine="streaming")
                    else:
                        query.sink_csv(sink, separator="\t" if kind == "tsv" else ",", engine="streaming")
                if not self.n_rows:
                    message = f"{self.file.label} has a header but no rows: there is nothing to predict"
                    raise UsageError(message)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            with self.file.reading():  # batches run side by side: in order, the first wrong value is found
                for frame in rows.collect_batches(chunk_size=BATCH):
                    self._predictions(frame)
            raise self.file.unreadable() from None
        return self.n_rows

    def _batch(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the results of some rows, beside their own columns if these are wanted."""
        import polars as pl

        made = self.made(frame)
        self.n_rows += frame.height
        self.advance(frame.height)
        return pl.DataFrame([*(frame.drop(_ROW).get_columns() if self.with_input else []), *made])

    def made(self, frame: pl.DataFrame) -> list[pl.Series]:
        """Return the results of some rows."""
        import polars as pl

        predicted = pl.Series(PREDICTION, self._predictions(frame) if frame.height else [], dtype=pl.Float64)
        if self.half_width is None:
            return [predicted]
        return [predicted, (predicted - self.half_width).alias(LOWER), (predicted + self.half_width).alias(UPPER)]

    def _predictions(self, frame: pl.DataFrame) -> Any:
        return self.predictor.predict(self.inputs(frame))

    def inputs(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the model's columns of some rows."""
        from dln.cli._model_columns import model_columns

        return model_columns(self.file, frame, self.predictor.circuit_, int(frame[_ROW][0]) + 1)


def _progress(run: Run, *, show: bool) -> Any:
    """Count rows on standard error, if that is a terminal."""
    from contextlib import nullcontext

    if not show or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("predicting: {task.completed:,} rows"), TimeElapsedColumn())
    counter = Progress(*columns, console=Console(stderr=True), transient=True)
    task = counter.add_task("", total=None)
    run.advance = lambda rows: counter.update(task, advance=rows)
    return counter
