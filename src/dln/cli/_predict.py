"""``dln predict``: from a model file and a table to predictions, in batches."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dln.cli import _options
from dln.cli._files import check_output, open_saved, output_kind, whole_or_nothing
from dln.cli._messages import UsageError, errors_as_sentences, print_error, print_status
from dln.cli._table_file import STANDARD, TableFile, open_table

if TYPE_CHECKING:
    import polars as pl

#: The column of results, and those of the ends of its interval.
RESULTS: Final = ("prediction", "lower", "upper")
#: Rows to a row group of a Parquet output: what a reader of it holds in memory at a time.
ROW_GROUP: Final = 1 << 18
#: Rows that are read at a time to find a wrong value.
BATCH: Final = 1 << 16
ROW: Final = "\0row"  # no column of a file is named like this
_OS_ERROR: Final = re.compile(r"\(os error (\d+)\)|\[Errno (\d+)\]")


def predict(
    model: _options.Model,
    table: _options.Table,
    output: Annotated[str, _options.output("CSV, TSV or Parquet, by its ending; - is standard output.")] = "-",
    *,
    interval: Annotated[
        float | None, typer.Option(metavar="COVERAGE", help="Write lower and upper too: 0.9 covers nine rows of ten.")
    ] = None,
    with_input: Annotated[bool, typer.Option("--with-input", help="Write the table's own columns too.")] = False,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Predict for every row of a table, in order, in batches: the table may be larger than memory."""
    import polars as pl

    from dln._load import Predictor
    from dln.cli._model_columns import model_columns, needed_columns
    from dln.data._categories import unknown_text

    kind = output_kind(output)
    check_output(output, force=force)
    if as_json and output == STANDARD:
        raise UsageError("--json prints a summary where the predictions would go: give -o a file for the predictions")
    fitted = open_saved(model)
    ends = None
    if interval is not None:
        if fitted.intervals is None:
            raise UsageError(
                f"{Path(model).name} has no prediction intervals: dln fit computes them where it has test rows "
                "(--test-size)"
            )
        with errors_as_sentences("--interval: {}".format):
            fitted.intervals.half_width(interval)
        ends = partial(fitted.intervals.ends, coverage=interval)
    start = time.perf_counter()
    with open_table(table) as file:
        needed = needed_columns(file, fitted.circuit, Path(model).name)
        results = RESULTS[:1] if ends is None else RESULTS
        if with_input and (taken := next((name for name in results if name in file.names), None)):
            raise UsageError(f"{file.label} has a column {taken!r} already: rename it, or leave out --with-input")
        is_shown = sys.stderr.isatty() and not (quiet or as_json or output == STANDARD)
        with progress(file.count_rows()) if is_shown else nullcontext(lambda _: None) as advance:
            predictor, unknown = Predictor(fitted), list[Counter[Any]]()

            def predicted(frame: pl.DataFrame) -> pl.DataFrame:
                numbers: Any = []
                if frame.height:
                    columns = model_columns(file, frame, fitted.circuit, int(frame[ROW][0]) + 1)
                    found: Counter[Any] = Counter()  # one for each batch, since batches run side by side
                    numbers = predictor._predict_and_count(columns, found)  # noqa: SLF001 (one sentence for the table)
                    unknown.append(found)
                advance(frame.height)
                made = [pl.Series(RESULTS[0], numbers, dtype=pl.Float64)]
                if ends is not None:
                    made += map(pl.Series, RESULTS[1:], ends(made[0].to_numpy()))
                return frame.drop(ROW).hstack(made) if with_input else pl.DataFrame(made)

            n_rows = write_rows(output, kind, file, list(file.names) if with_input else needed, predicted)
    took = time.perf_counter() - start
    if any(unknown) and not quiet:
        print_error(unknown_text(sum(unknown, Counter())))
    if as_json:
        from dln.cli._printing import print_json

        print_json({"model": model, "table": file.label, "output": output, "rows": n_rows, "seconds": took})
    elif not quiet and output != STANDARD:
        from dln.circuit._words import counted

        print_status(f"{counted(n_rows, 'prediction')} written to {output} in {took:.1f} s.")


def write_rows(
    output: str, kind: str, file: TableFile, taken: list[str], predicted: Callable[..., pl.DataFrame]
) -> int:
    """Write what is predicted for all rows, batch by batch, and return their number."""
    import polars as pl

    # Row numbers, so that a message can name the file's own row.
    rows = file.scan().select(taken).with_row_index(ROW)
    first = predicted(rows.limit(0).collect())
    n_rows: list[int] = []  # of each batch, since batches run side by side

    def counted(frame: pl.DataFrame) -> pl.DataFrame:
        n_rows.append(frame.height)
        return predicted(frame)

    query = rows.map_batches(counted, schema=first.schema, streamable=True, projection_pushdown=False)
    try:
        with whole_or_nothing(output) as place:
            if kind == "parquet":
                query.sink_parquet(place, row_group_size=ROW_GROUP, engine="streaming")
            else:
                zipped: Any = "gzip" if output.lower().endswith(".gz") else "uncompressed"
                separator = "\t" if kind == "tsv" else ","
                query.sink_csv(place, separator=separator, compression=zipped, engine="streaming")
            if not sum(n_rows):
                raise UsageError(f"{file.label} has a header but no rows: there is nothing to predict")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if code := _OS_ERROR.search(str(error)):  # the number that polars hides, of a full disk or a closed pipe
            raise OSError(number := int(code[1] or code[2]), os.strerror(number)) from None
        with file.reading():  # batches run side by side: in order, the first wrong value is found
            for frame in rows.collect_batches(chunk_size=BATCH):
                predicted(frame)
        raise file.unreadable() from None
    return sum(n_rows)


@contextmanager
def progress(n_rows: int) -> Iterator[Callable[[int], None]]:
    """Yield what counts rows on standard error, with the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    rows = TextColumn("{task.completed:,} of {task.total:,} rows, left")
    with Progress(BarColumn(20), rows, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as counter:
        task = counter.add_task("", total=n_rows)
        yield lambda rows: counter.update(task, advance=rows)
