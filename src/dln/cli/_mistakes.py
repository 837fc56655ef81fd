"""Mistakes of the person at the terminal: one sentence each, and what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from dln._clean import clean
from dln._closest import closest

#: Names listed in a message before it says "…".
LISTED: Final = 8

#: Characters of a value that a message shows.
GLANCE: Final = 32

#: The exit code where the output could not be written.
NOT_WRITTEN: Final = 1

#: The exit code for bad input, as for every command line made with typer.
BAD_INPUT: Final = 2

#: The exit code after Ctrl-C, as shells have it.
INTERRUPTED: Final = 130

#: The exit code where the reader of a pipe has gone, as shells have it.
NO_READER: Final = 141


class Mistake(Exception):  # noqa: N818 (a person's mistake, not the program's)
    """Bad input. Its text is one sentence: what was required, what was received, what to do."""


def complain(sentence: str, program: str = "dln") -> None:
    """Say a sentence on standard error; what files and tables say in it cannot drive the terminal."""
    sys.stderr.write(f"{program}: {clean(sentence)}\n")


@contextmanager
def warnings_as_sentences(rephrased: Callable[[str], str] = str) -> Iterator[None]:
    """Let a fit or a search run; then tell its warnings as sentences. What it refuses is a `Mistake`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        except ValueError as error:
            raise Mistake(str(error)) from error
    for warning in caught:
        complain(rephrased(str(warning.message)))


def remark(sentence: str) -> None:
    """Say on standard error how it went."""
    sys.stderr.write(f"{clean(sentence)}\n")


def quoted(value: object) -> str:
    """Return a value of a table in quotes, no longer than a glance.

    >>> quoted("big"), quoted("9" * 400)
    ("'big'", "'99999999999999999999999999999999…'")
    """
    text = str(value)
    return repr(text if len(text) <= GLANCE else f"{text[:GLANCE]}…")


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a question with the most similar name, or a list of those there are.

    >>> nearest("prise", ["price", "area"])
    "did you mean 'price'?"
    >>> nearest("zzz", ["price", "area"])
    "there are 'price', 'area'"
    """
    names = list(names)
    if (meant := closest(name, names)) is not None:
        return f"did you mean {quoted(meant)}?"
    return f"there are {listed(names)}" if names else "there are none"


def listed(names: Iterable[str]) -> str:
    """Return the first few names, quoted.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    names = list(names)
    more = [f"… ({len(names)} in all)"] if len(names) > LISTED else []
    return ", ".join([*(quoted(name) for name in names[:LISTED]), *more])
