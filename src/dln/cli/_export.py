"""``dln export`` and ``dln verify``: a model as C, SQL, JavaScript, Python, ONNX, Verilog or a workbook."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from dln.cli import _options
from dln.cli._files import check_output, open_model
from dln.cli._messages import UsageError, print_error, print_status
from dln.cli._program import DIFFERS
from dln.cli._table_file import STANDARD, existing_file, open_table

Format = Annotated[
    str | None, typer.Option("--format", metavar="FORMAT", help="The format, whatever the ending.", show_default=False)
]


def export(
    model: _options.Model,
    output: Annotated[
        str, _options.output("Ends in .c, .sql, .js, .mjs, .py, .onnx, .xlsx or .v; - is standard output.")
    ],
    form: Format = None,
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
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Take a model elsewhere: as a program, a query, a workbook or a circuit, run before it is handed over."""
    import tempfile

    from dln.cli._printing import print_json

    check_output(output, force=force)
    fitted = open_model(model)
    options: dict[str, Any] = {
        "table": table, "contributions": contributions, "integers": integers, "latency": latency, "name": name
    }  # fmt: skip
    options = {key: value for key, value in options.items() if value not in (None, False)}
    if output == STANDARD and as_json:
        raise UsageError("--json prints a summary where the model would go: give -o a file for the model")
    if output == STANDARD and form is None:
        raise UsageError("standard output has no ending that names a format: give --format")
    with tempfile.TemporaryDirectory(prefix="dln-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the sentence below has what they say
        path = Path(folder) / "model" if output == STANDARD else Path(output)
        try:
            done = fitted.export(path, form, dialect=dialect, verify=not no_verify, **options)
        except AssertionError as error:
            print_error(f"{error}; nothing was written")
            raise typer.Exit(DIFFERS) from None
        if output == STANDARD:
            sys.stdout.buffer.write(path.read_bytes())
        elif as_json:
            engine = None if done.verification is None else done.verification.engine
            print_json({"file": output, "format": done.format, "engine": engine, "note": done.note})
        elif not quiet:
            print_status(f"{done}.")


def verify(
    model: _options.Model,
    exported: Annotated[str, typer.Argument(metavar="FILE", help="What dln export wrote.", show_default=False)],
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Rows to run it on, besides those that it is always run on.")
    ] = None,
    form: Format = None,
    dialect: _options.Dialect = None,
    *,
    as_json: _options.Json = False,
) -> None:
    """Run an exported model with the real thing and compare every bit with the model; exit code 1 if any differs."""
    from dln.cli._model_columns import model_columns, needed_columns
    from dln.cli._printing import print_json, show

    fitted = open_model(model)
    path = existing_file(exported, what="a file that dln export wrote")
    X = None
    if table is not None:
        with open_table(table) as file:
            needed_columns(file, fitted.circuit_, Path(model).name)
            X = model_columns(file, file.read(), fitted.circuit_)
    try:
        verification = fitted.verify(path, X, format=form, dialect=dialect)
    except AssertionError as error:
        if as_json:
            print_json({"file": exported, "equal": False, "reason": str(error)})
        else:
            print_error(str(error))
        raise typer.Exit(DIFFERS) from None
    if as_json:
        print_json({"file": exported, "equal": True, "engine": verification.engine, "rows": verification.n_rows})
    else:
        show(f"{exported}: {verification}.")
