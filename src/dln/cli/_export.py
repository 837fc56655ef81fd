"""``dln export``: a model as C, SQL, JavaScript, Python, ONNX, Verilog or an Excel workbook."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer

from dln.cli import _options
from dln.cli._mistakes import Mistake, complain

#: The exit code where an exported file does not give the model's predictions.
DIFFERS = 1


def export(
    model: _options.Model,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Ends in .c, .sql, .js, .mjs, .py, .onnx, .xlsx or .v; - is standard output.",
        ),
    ],
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="The format, whatever the ending.", show_default=False),
    ] = None,
    dialect: _options.Dialect = None,
    table: Annotated[
        str | None, typer.Option(metavar="TABLE", help="SQL: what to select from.", show_default="data")
    ] = None,
    *,
    contributions: Annotated[bool, typer.Option("--contributions", help="SQL: a column for each rule too.")] = False,
    integers: Annotated[bool, typer.Option("--integers", help="C: whole numbers only, no floating point.")] = False,
    latency: Annotated[int | None, typer.Option(min=0, help="Verilog: clock cycles.", show_default="0")] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="C, Verilog: what names begin with.", show_default="the target")
    ] = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not run and compare what is written.")] = False,
    force: _options.Force = False,
    quiet: _options.Quiet = False,
) -> None:
    """Take a model elsewhere: as a program, a query, a workbook or a circuit, run before it is handed over."""
    from dln.cli._model import open_model
    from dln.cli._output import check_output
    from dln.cli._table_file import STANDARD
    from dln.cli._terminal import console

    check_output(output, force=force)
    fitted = open_model(model)
    options: dict[str, Any] = {
        "table": table, "contributions": contributions, "integers": integers, "latency": latency, "name": name
    }  # fmt: skip
    options = {key: value for key, value in options.items() if value not in (None, False)}
    if output == STANDARD:
        if form is None:
            message = "standard output has no ending that names a format: give --format"
            raise Mistake(message)
        sys.stdout.buffer.write(_to_standard(fitted, form, dialect, options))
        return
    with warnings.catch_warnings(record=True):  # printed below, as a sentence
        warnings.simplefilter("always")
        try:
            done = fitted.export(output, form, dialect=dialect, verify=not no_verify, **options)
        except AssertionError as error:
            complain(f"{error}; nothing was written")
            raise typer.Exit(DIFFERS) from None
    if not quiet:
        console(stderr=True).print(f"{done}.", soft_wrap=True)


def _to_standard(fitted: Any, form: str, dialect: str | None, options: dict[str, Any]) -> bytes:
    """Return the exported bytes, verified on the way."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="dln-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = fitted.export(Path(folder) / "model", form, dialect=dialect, **options)
        return bytes(done.path.read_bytes())
