"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, written by dln fit.", show_default=False)]
Table = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="CSV, TSV or Parquet, also gzipped; - is standard input.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it is there already.")]
