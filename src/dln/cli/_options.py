"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, written by dln fit.", show_default=False)]
Table = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="CSV, TSV or Parquet, also gzipped; - is standard input.", show_default=False),
]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; may be given again.")]
Categorical = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="A column of categories, whatever it looks like.")
]
Keep = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="A column to learn from even if it looks like row numbers.")
]
Missing = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help="Text that means: no value, besides NA, ?, null and the like.")
]
MaxRules = Annotated[int | None, typer.Option(min=1, help="Rules to keep, at most.", show_default=False)]
Paper = Annotated[bool, typer.Option("--paper", help="The paper's model instead of our defaults.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it is there already.")]
