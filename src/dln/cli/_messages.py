"""Messages on standard error: errors in one sentence each, status, and names as messages show them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from dln._errors import ColumnWarning, NotVerifiedWarning, PrecisionWarning, UnknownCategoryWarning
from dln._text import clean, closest

#: Names listed in a message before it ends with "…".
LISTED: Final = 8
#: Characters of a value that a message shows.
MAX_VALUE: Final = 32


class UsageError(Exception):
    """Bad input. Its text is one sentence: what was required, what was received, what to do."""


def print_error(sentence: str, program: str = "dln") -> None:
    """Print an error; names and values in it cannot drive the terminal."""
    sys.stderr.write(f"{program}: {clean(sentence)}\n")


def print_status(sentence: str) -> None:
    sys.stderr.write(f"{clean(sentence)}\n")


@contextmanager
def errors_as_sentences(rephrased: Callable[[str], str] = str) -> Iterator[None]:
    """Raise a `UsageError` in place of a ValueError of the library."""
    try:
        yield
    except ValueError as error:
        raise UsageError(rephrased(str(error))) from error


@contextmanager
def warnings_as_sentences(rephrased: Callable[[str], str] = str) -> Iterator[None]:
    """Run a fit or a search and print its warnings as sentences afterwards; a ValueError becomes a `UsageError`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", ColumnWarning)  # columns are judged and shown before
        with errors_as_sentences(rephrased):
            yield
    for warning in caught:
        print_error(rephrased(str(warning.message)))


@contextmanager
def warnings_are_messages() -> Iterator[None]:
    """Print warnings of the library as sentences, without the line of Python that Python would show with them."""
    with warnings.catch_warnings():
        for category in (NotVerifiedWarning, PrecisionWarning, UnknownCategoryWarning):
            warnings.simplefilter("default", category)
        shown = warnings.showwarning

        def show_warning(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
            if category.__module__ == ColumnWarning.__module__:
                print_error(str(message))
            else:
                shown(message, category, *place, **options)

        warnings.showwarning = show_warning
        yield


def quoted(value: object) -> str:
    """Return a value of a table in quotes, cut after a few characters."""
    text = str(value)
    return repr(text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…")


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a question with the most similar name, or a list of those there are."""
    names = list(names)
    if (meant := closest(name, names)) is not None:
        return f"did you mean {quoted(meant)}?"
    return f"there are {listed(names)}" if names else "there are none"


def listed(names: Iterable[str]) -> str:
    names = list(names)
    more = [f"… ({len(names)} in all)"] if len(names) > LISTED else []
    return ", ".join([*(quoted(name) for name in names[:LISTED]), *more])
