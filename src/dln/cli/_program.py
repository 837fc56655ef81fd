"""What every command of a program shares: mistakes told in one sentence, and exit codes that say how it went."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from dln._errors import ExportError, MissingExtraError, ModelFileError
from dln.cli._mistakes import BAD_INPUT, INTERRUPTED, NO_READER, NOT_WRITTEN, Mistake, complain

#: What the system says where a disk is full, broken or not to be written to.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


class _NoReaderError(Exception):
    """Nobody reads standard output any more."""


class Program(TyperGroup):
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
        name = prog_name or self.name or "dln"
        try:
            code = super().main(
                args=args,
                prog_name=name,
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
            complain("interrupted", name)
            code = INTERRUPTED
        except Exception as error:
            sentence = _sentence(error, name)
            if sentence is None:
                raise
            complain(sentence, name)
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


def _sentence(error: Exception, program: str) -> str | None:
    """Return what to tell the user, or None if the error is ours and not theirs."""
    if isinstance(error, (Mistake, MemoryError)):
        return str(error) or "there was not enough memory: give a smaller table, or a machine with more"
    if hasattr(error, "format_message"):  # typer's own: an option or a command that is not there
        text = str(error.format_message()).strip().removesuffix(".")
        return f"{text[:1].lower()}{text[1:]} ({program} --help lists commands and options)"
    if isinstance(error, OSError) and error.strerror:
        name = repr(error.filename) if error.filename else "the output could not be written"
        return f"{name}: {error.strerror}"
    return str(error) if isinstance(error, (ModelFileError, MissingExtraError, ExportError)) else None
