"""``dln-bench table``: R² of some models by dataset, with their sizes and times, as Markdown."""

from __future__ import annotations

from typing import Annotated

import typer

from dln.cli._mistakes import Mistake
from dln_bench.cli._report import check_places


def table(
    results: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULTS...", help="Folders written by dln-bench run, or result files.", show_default=False
        ),
    ],
    *,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Models or groups of them, apart by commas; default: all there are."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=0, help="The budget of searched models; default: the largest of each.")
    ] = None,
) -> None:
    """Print R² by dataset and model, on the splits that all of them have, and what they take."""
    check_places(results)
    from dln.cli._terminal import show
    from dln_bench._names import GROUPS
    from dln_bench._results import ResultFileError, read_results
    from dln_bench.report._plain import NothingInCommonError, plain_table

    names = [name.strip() for text in models or [] for name in text.split(",") if name.strip()]
    wanted = [name for each in names for name in GROUPS.get(each, (each,))]
    try:
        show(plain_table(read_results(results), wanted, trials))
    except (ResultFileError, NothingInCommonError) as error:
        raise Mistake(str(error)) from None
