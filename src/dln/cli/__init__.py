"""The command line: ``dln fit``, ``dln predict``, ``dln show`` and the rest.

This file and the tops of the others import nothing slow, so that ``dln --help`` answers at once.
"""

from __future__ import annotations

import os
import threading
from typing import Annotated

import typer

from dln.cli import _compare, _edit, _export, _fit, _predict, _report, _show, _tune
from dln.cli._program import INTERRUPTED, Program

__all__ = ["app", "main"]

app = typer.Typer(
    name="dln",
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Regression models that people can read: a page of logic rules, learned from a table.",
    epilog="A first model: dln fit houses.csv --target price -o house.dln",
)


def _version(wanted: bool) -> None:  # noqa: FBT001 (typer calls it with the option's value)
    if wanted:
        from dln import __version__

        typer.echo(f"dln {__version__}")
        raise typer.Exit


@app.callback()
def _before(
    *,
    _: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Regression models that people can read: sums of logic rules, learned from a table."""


for panel, commands in {
    "Learn": (_fit.fit, _tune.tune, _show.prune, _edit.edit),
    "Read": (_show.show, _show.explain, _compare.diff, _report.report, _report.card, _report.plot),
    "Use": (_predict.predict, _compare.monitor, _export.export, _export.verify),
}.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)


@app.command("demo", rich_help_panel="Try")
def _demo() -> None:
    """Train on a small table that comes along, compare with other models, show the rules."""
    from dln.demo import main as demo

    demo()


def main() -> None:
    """Run the program."""
    try:
        app(prog_name="dln")
    except SystemExit as end:
        if end.code == INTERRUPTED and threading.active_count() > 1:  # Python would wait for those of the fit
            os._exit(INTERRUPTED)
        raise
