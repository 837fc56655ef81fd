"""What is shown: results on standard output, other talk on standard error; nothing but text where nobody looks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.control import Control
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from dln._clean import clean

#: Where output goes to a file, a line is as long as it is: nobody wants a table broken at 80 characters.
UNBROKEN: Final = 100_000


def console(*, stderr: bool = False) -> Console:
    """Return a console that takes text as it is: names of columns are not markup, numbers are not links."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else UNBROKEN
    made = Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)
    made.push_render_hook(_Cleaner())
    return made


class _Cleaner(RenderHook):
    """Cleans all text on its way to a console: names, categories and values come from files and tables.

    What rich itself writes to move the cursor and to colour is not text to it, and stays.
    """

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Return what is shown in place of what was to be."""
        return [renderable if isinstance(renderable, Control) else _Cleaned(renderable) for renderable in renderables]


@dataclass(frozen=True, slots=True)
class _Cleaned:
    """Something to show, with its text cleaned."""

    shown: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.shown, options):
            yield segment if segment.control else Segment(clean(segment.text), segment.style)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self.shown)


def show(*pages: RenderableType) -> None:
    """Print results on standard output; where nobody looks, without the blanks that fill a table's last column."""
    out = console()
    if out.is_terminal:
        for page in pages:
            out.print(page)
        return
    with out.capture() as capture:
        for page in pages:
            out.print(page)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def facts(rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Return lines of a short word each and what it stands for, which wraps beside it."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for word, text in rows:
        grid.add_row(Text(f"  {word}"), Text(text))
    return grid


def print_json(value: Any) -> None:
    """Print one JSON document for machines; NaN and infinity, which JSON lacks, are null."""
    sys.stdout.write(clean(json.dumps(_plain(value), ensure_ascii=False, indent=2)) + "\n")  # JSON's own escapes


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value
