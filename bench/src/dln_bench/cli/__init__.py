"""The command line: ``dln-bench run``, ``report``, ``table`` and ``list``.

This file and the tops of the others import nothing slow, so that ``dln-bench --help`` answers at once.
"""

from __future__ import annotations

import typer

from dln.cli._program import Program
from dln_bench.cli import _list, _report, _run, _table

__all__ = ["app", "main"]

app = typer.Typer(
    name="dln-bench",
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="The evaluation of dln: the paper's datasets and models, ours and its peers, and what came of it.",
    epilog="Does everything work here? dln-bench run --quick --out quick",
)

app.command("run")(_run.run)
app.command("report")(_report.report)
app.command("table")(_table.table)
app.command("list")(_list.list_all)


def main() -> None:
    """Run the program."""
    app(prog_name="dln-bench")
