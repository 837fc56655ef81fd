"""The command line: ``dln fit``, ``dln predict``, ``dln show`` and the rest, one file per command.

This file and the tops of the others import nothing slow, so that ``dln --help`` answers at once.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dln.cli import _bench, _demo, _explain, _export, _fit, _plot, _predict, _prune, _report, _show, _tune, _verify
from dln.cli._mistakes import BAD_INPUT, INTERRUPTED, NO_READER, NOT_WRITTEN, Mistake, complain

__all__ = ["app", "main"]

#: What the system says where a disk is full, broken or not to be written to.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


class _NoReaderError(Exception):
    """Nobody reads standard output any more."""


class _Program(TyperGroup):
    """The commands, with every mistake told in one sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; typer has its own answers to Ctrl-C and to a reader that has gone: hide them."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _NoReaderError from error
        except KeyboardInterrupt as error:
            raise typer.Abort from error

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 (the parent's signature)
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002 (the parent's signature)
        **extra: Any,
    ) -> Any:
        """Run a command and end the process with its exit code."""
        try:
            code = super().main(
                args=args,
                prog_name=prog_name or "dln",
                complete_var=complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )
            sys.stdout.flush()
        except (BrokenPipeError, _NoReaderError):
            # The reader of a pipe has seen enough, as in `dln show model.dln | head`: nothing is to be said.
            _forget_output()
            code = NO_READER
        except (KeyboardInterrupt, typer.Abort):
            complain("interrupted")
            code = INTERRUPTED
        except Exception as error:
            sentence = _sentence(error)
            if sentence is None:
                raise
            complain(sentence)
            code = BAD_INPUT
            if isinstance(error, OSError) and error.errno in DISK_ERRORS:
                _forget_output()
                code = NOT_WRITTEN
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _forget_output() -> None:
    """Let what standard output still holds go nowhere: Python would try to write it once more at the end, and fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: Exception) -> str | None:
    """Return what to tell the user, or None if the error is ours and not theirs."""
    if isinstance(error, (Mistake, MemoryError)):
        return str(error) or "there was not enough memory: give a smaller table, or a machine with more"
    if hasattr(error, "format_message"):  # typer's own: an option or a command that is not there
        text = str(error.format_message()).strip().removesuffix(".")
        return f"{text[:1].lower()}{text[1:]} (dln --help lists commands and options)"
    if isinstance(error, OSError) and error.strerror:
        name = repr(error.filename) if error.filename else "the output could not be written"
        return f"{name}: {error.strerror}"
    dln_errors = sys.modules.get("dln._errors")
    if dln_errors is not None and isinstance(
        error, (dln_errors.ModelFileError, dln_errors.MissingExtraError, dln_errors.ExportError)
    ):
        return str(error)
    return None


app = typer.Typer(
    name="dln",
    cls=_Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Regression models that people can read: a page of logic rules, learned from a table.",
    epilog="A first model: dln fit houses.csv --target price -o house.dln",
)


def _version(asked: bool) -> None:  # noqa: FBT001 (typer calls it with the option's value)
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"dln {version('dln')}")
        except PackageNotFoundError:  # a source tree on the path
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


app.command("fit")(_fit.fit)
app.command("predict")(_predict.predict)
app.command("show")(_show.show_model)
app.command("prune")(_prune.prune)
app.command("explain")(_explain.explain)
app.command("plot")(_plot.plot)
app.command("report")(_report.report)
app.command("export")(_export.export)
app.command("verify")(_verify.verify)
app.command("tune")(_tune.tune)
app.command("demo")(_demo.demo)
app.add_typer(_bench.app, name="bench")


def main() -> None:
    """Run the program."""
    app(prog_name="dln")
