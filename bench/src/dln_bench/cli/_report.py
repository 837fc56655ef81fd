"""``dln-bench report``: tables and figures of benchmark results, ours beside the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dln.cli import _options
from dln.cli._mistakes import Mistake, nearest


def report(
    results: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULTS...",
            help="Folders written by dln-bench run, or result files in them; several are merged.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where to write; default: report/ beside the first results."),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=0, help="The budget of the main tables; default: the one with the most results."),
    ] = None,
    pictures: Annotated[
        bool,
        typer.Option("--pictures/--no-pictures", help="Fit and draw models of insurance, estate and yacht."),
    ] = True,
    quiet: _options.Quiet = False,
) -> None:
    """Write tables and figures, ours beside the paper's: report.html, report.md, figures/, tables/."""
    first = check_places(results)
    folder = Path(out) if out is not None else (first if first.is_dir() else first.parent) / "report"
    if folder.exists() and not folder.is_dir():
        message = f"--out must be a folder, but {str(folder)!r} is a file: give another name"
        raise Mistake(message)

    from dln.cli._terminal import console
    from dln_bench._results import ResultFileError
    from dln_bench.report._report import NoResultsError
    from dln_bench.report._report import report as write_report

    talk = console(stderr=True)
    try:
        written = write_report(
            results,
            folder,
            trials=trials,
            pictures=pictures,
            say=None if quiet else lambda sentence: talk.print(sentence, soft_wrap=True),
        )
    except (NoResultsError, ResultFileError) as error:
        raise Mistake(str(error)) from None
    if not quiet:
        for sentence in written.summary:
            talk.print(sentence, soft_wrap=True)
        units = "1 unit" if written.units == 1 else f"{written.units:,} units"
        talk.print(f"{units} reported in {written.html} and {written.markdown}.", soft_wrap=True)


def check_places(results: list[str]) -> Path:
    """Return the first place, and raise a `Mistake` if one is not there."""
    for name in results:
        path = Path(name)
        if not path.exists():
            parent = path.parent
            others = [str(parent / other.name) for other in parent.iterdir()] if parent.is_dir() else []
            hint = nearest(str(parent / path.name), others)
            hint = hint if hint.startswith("did you mean") else "dln-bench run --out FOLDER makes results"
            message = f"there is no file or folder {name!r}; {hint}"
            raise Mistake(message)
    return Path(results[0])
