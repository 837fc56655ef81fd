"""Error sentences and exit codes of a command line, written once for all its commands."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any, Final

import typer
from typer.core import TyperGroup

from dln._errors import ExportError, MissingExtraError, ModelFileError
from dln.cli._messages import UsageError, print_error, warnings_are_messages

# Exit codes: an exported file differs, a figure is beyond its limit, or the output cannot be written, bad input as in
# every command line made with typer, and after SIGINT and SIGPIPE as shells have them.
DIFFERS: Final = 1
BEYOND: Final = 1
NOT_WRITTEN: Final = 1
BAD_INPUT: Final = 2
INTERRUPTED: Final = 130
NO_READER: Final = 141
#: Error numbers of a disk that is full, broken or read-only.
DISK_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


class _NoReaderError(Exception):
    """The reader of standard output is gone."""


class Program(TyperGroup):
    """The commands, with every user error in one sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; Ctrl-C and a closed pipe are hidden from typer, which has its own answers to both."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _NoReaderError from error
        except KeyboardInterrupt as error:
            raise typer.Abort from error

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and end the process with its exit code."""
        standalone = options.pop("standalone_mode", True)
        name = options["prog_name"] = options.get("prog_name") or self.name or "dln"
        try:
            with warnings_are_messages():
                code = super().main(*args, **{**options, "standalone_mode": False})
            sys.stdout.flush()
        except (BrokenPipeError, _NoReaderError):  # as in `dln show model.dln | head`: no message
            _discard_output()
            code = NO_READER
        except (KeyboardInterrupt, typer.Abort):
            print_error("interrupted", name)
            code = INTERRUPTED
            sys.stdout.flush()
        except Exception as error:
            sentence = _sentence(error, name)
            if sentence is None:
                raise
            print_error(sentence, name)
            code = BAD_INPUT
            if isinstance(error, OSError) and error.errno in DISK_ERRORS:
                _discard_output()
                code = NOT_WRITTEN
        if not standalone:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _discard_output() -> None:
    """Discard what standard output has buffered: Python would try to write it once more at exit, and fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: Exception, program: str) -> str | None:
    """Return the sentence of a user error, or None for an error of the program itself."""
    if isinstance(error, MemoryError):
        return str(error) or "there was not enough memory: give a smaller table, or a machine with more"
    if hasattr(error, "format_message"):  # typer's own: no such option or command
        text = str(error.format_message()).strip().removesuffix(".")
        return f"{text[:1].lower()}{text[1:]} ({program} --help lists commands and options)"
    if isinstance(error, OSError) and error.strerror:
        name = repr(error.filename) if error.filename else "the output could not be written"
        return f"{name}: {error.strerror}"
    return str(error) if isinstance(error, (UsageError, ModelFileError, MissingExtraError, ExportError)) else None
