"""The command line: ``dln-bench list``, ``run`` and ``report``. Slow modules are imported by the commands."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dln.cli import _options
from dln.cli._messages import UsageError, print_error, print_status
from dln.cli._program import INTERRUPTED, Program

if TYPE_CHECKING:
    from dln_bench._results import Result
    from dln_bench._run import Done
    from dln_bench._split import Protocol

__all__ = ["app", "main"]

#: Exit code of a run in which units failed.
FAILED: Final = 1
#: Rows from which on a table is large.
LARGE: Final = 2000
MINUTE: Final = 60
#: Datasets, models, seeds and trials of a small run of everything.
QUICK: Final = (["yacht,estate,mpg"], ["linear,tree,dln"], "1", ["0,2"])

app = typer.Typer(
    name="dln-bench",
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="The evaluation of dln: the paper's tables and models, ours and their peers.",
    epilog="Does everything work here? dln-bench run --quick --out quick.jsonl",
)


def main() -> None:
    """Run the program."""
    app(prog_name="dln-bench")


@app.command("list")
def list_all(*, as_json: _options.Json = False) -> None:
    """List the datasets, with rows, columns and licence, the models, and groups of models."""
    from rich.table import Table

    from dln.circuit._words import thousands
    from dln.cli._printing import print_json, show
    from dln_bench import datasets as library
    from dln_bench.models._models import GROUPS, MODELS

    known = {name: library.facts(name) for name in library.names()}
    if as_json:
        datasets = {
            name: {"title": fact.title, "rows": fact.expected_rows, "target": fact.target, "licence": fact.licence}
            for name, fact in known.items()
        }
        print_json(
            {"datasets": datasets, "models": {name: one.title for name, one in MODELS.items()}, "groups": GROUPS}
        )
        return
    table, models, groups = (Table(box=None, padding=(0, 2, 0, 0)) for _ in range(3))
    for heading in ("dataset", "rows", "numbers", "categories", "target", "licence", "origin"):
        table.add_column(heading, justify="right" if heading in {"rows", "numbers", "categories"} else "left")
    for name, fact in known.items():
        counts = (thousands(fact.expected_rows), str(len(fact.continuous)), str(len(fact.categorical)))
        table.add_row(name, *counts, fact.target, fact.licence, fact.origin)
    for heading in ("model", "title", "search"):
        models.add_column(heading)
    for name, model in MODELS.items():
        models.add_row(name, model.title, (model.searched_as or "own") if model.space else "none")
    for heading in ("group", "models"):
        groups.add_column(heading)
    for name, members in GROUPS.items():
        groups.add_row(name, ", ".join(members))
    show(table, "", models, "", groups)


@app.command("run")
def run(
    *,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help=f"Datasets, separated by commas; small, large: below {LARGE} rows, the others. Default: all fifteen.",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Models or groups of them, see dln-bench list. Default: the paper's ten."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="N", help="Number of splits, from seed 0 on; or seeds like 3,4 or 5-9. Default: 10."),
    ] = None,
    trials: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N",
            help="Trials of a search; 32,64,128: one search of 128 answers for all; 0: without a search. Default: 128.",
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="paper: features and target clipped as recovered from the paper; plain: the target as it is.",
        ),
    ] = "paper",
    minutes: Annotated[
        float | None,
        typer.Option(min=0.0, help="Minutes of a search, after which no trial is begun; default: no limit."),
    ] = None,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The result file.")] = "results.jsonl",
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes; each uses one thread.")] = 1,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on a Ray cluster: auto, or its address.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three small datasets and models, one seed, two trials.")
    ] = False,
    quiet: _options.Quiet = False,
) -> None:
    """Search, fit and test each model on each dataset and seed; stop it and start it again at will.

    Each finished unit is a line of the result file.
    """
    from dln.tune import StudyError
    from dln_bench import _run
    from dln_bench._download import DownloadError
    from dln_bench._results import ResultFileError, read_results
    from dln_bench.datasets import DatasetError

    if quick:
        datasets, models = datasets or QUICK[0], models or QUICK[1]
        seeds, trials = seeds or QUICK[2], trials or QUICK[3]
    try:
        wanted = _run.units_of(
            _datasets(datasets),
            _models(models),
            seeds=_seeds(seeds or "10"),
            trials=_trials(trials or ["128"]),
            protocol=_protocol(protocol),
        )
        there = {result.unit for result in read_results([out])} if Path(out).exists() else set()
        watch = _Watch(len(wanted), sum(unit in there for unit in wanted), quiet=quiet)
        if not quiet:
            print_status(f"{len(wanted)} units, {watch.done} of them are there")
            if minutes is not None:
                print_status(f"A search begins no trial after {minutes:g} minutes; results say how many trials it had.")
        seconds = None if minutes is None else MINUTE * minutes
        failures = _run.run(out, wanted, jobs=jobs, ray=ray, seconds=seconds, progress=watch)
    except KeyboardInterrupt:
        print_error("interrupted; finished units and trials are kept, the same command goes on from there", "dln-bench")
        raise typer.Exit(INTERRUPTED) from None
    except (DatasetError, DownloadError, _run.RunError, ResultFileError, StudyError, ConnectionError) as error:
        raise UsageError(str(error)) from None
    except (NotADirectoryError, FileExistsError) as error:
        message = f"--out must be a file in a folder, got {out!r}: {error.strerror}"
        raise UsageError(message) from None
    for failure in failures:
        print_status(f"failed: {failure.work.units[-1]}: {failure.error}")
    if not quiet:
        print_status(f"{len(wanted)} units in {out}; tables and figures of them: dln-bench report {out}")
    if failures:
        raise typer.Exit(FAILED)


@app.command("report")
def report(
    results: Annotated[list[str], typer.Argument(metavar="RESULTS...", help="Result files.", show_default=False)],
    *,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FOLDER", help="Default: report/ beside the first file.")
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A page of docs whose parts <!-- name --> … <!-- end --> are written anew."),
    ] = None,
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Fit and draw models of insurance, estate and yacht.")
    ] = True,
    quiet: _options.Quiet = False,
) -> None:
    """Write tables and figures, ours beside the paper's: report.md and figures/*.svg."""
    from dln.cli._printing import show
    from dln_bench._results import ResultFileError, read_results
    from dln_bench.report._report import NoResultsError, write_report

    folder = Path(out) if out is not None else Path(results[0]).parent / "report"
    try:
        written = write_report(
            read_results(results), folder, pictures=pictures, page=None if page is None else Path(page)
        )
    except (NoResultsError, ResultFileError) as error:
        raise UsageError(str(error)) from None
    except FileNotFoundError as error:
        message = f"--page must be a file, got {page!r}: {error.strerror}"
        raise UsageError(message) from None
    except (NotADirectoryError, FileExistsError) as error:
        message = f"--out must be a folder, got {str(folder)!r}: {error.strerror}"
        raise UsageError(message) from None
    if not quiet:
        show(f"{written}")


@app.command("pack")
def pack(
    results: Annotated[list[str], typer.Argument(metavar="RESULTS...", help="Result files.", show_default=False)],
    *,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The compressed file.")] = "results.jsonl.gz",
) -> None:
    """Merge result files into one compressed file, sorted by unit."""
    from dln_bench._results import ResultFileError, compress, read_results

    try:
        compress(read_results(results), Path(out))
    except (ResultFileError, OSError) as error:
        raise UsageError(str(error)) from None


class _Watch:
    """Prints a line per finished unit, with the time left."""

    def __init__(self, n_units: int, done: int, *, quiet: bool) -> None:
        self.done = done
        self._units, self._begun, self._quiet = n_units, done, quiet
        self._start = time.monotonic()

    def __call__(self, done: Done) -> None:
        """Print the units of a finished work."""
        self.done += len(done.work.units)
        if self._quiet:
            return
        passed = time.monotonic() - self._start
        left = passed / (self.done - self._begun) * (self._units - self.done)
        for result in done.results:
            text = f"{self.done}/{self._units}  {_line(result)}  about {timedelta(seconds=round(left))} left"
            print_status(text)


def _line(result: Result) -> str:
    trials = f"  {result.trials_run} of {result.trials} trials" if result.trials else ""
    size = f"  {result.conditions} conditions" if result.conditions is not None else ""
    return f"{result.unit}{trials}  R² {result.r2:.3f}{size}  {result.seconds:.1f} s"


# --- options ----------------------------------------------------------------------------------------------------------


def _names(given: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))


def _datasets(given: list[str] | None) -> list[str]:
    from dln_bench import datasets as library

    known = library.names()
    small = [name for name in known if library.facts(name).expected_rows < LARGE]
    groups = {"small": small, "large": [name for name in known if name not in small]}
    names = _names(given or [])
    return list(dict.fromkeys(name for each in names for name in groups.get(each, [each]))) or known


def _models(given: list[str] | None) -> list[str]:
    from dln_bench.models._models import GROUPS

    return list(dict.fromkeys(name for each in _names(given or ["paper"]) for name in GROUPS.get(each, (each,))))


def _seeds(text: str) -> list[int]:
    """Return seeds.

    >>> _seeds("3"), _seeds("3,4"), _seeds("10-12")
    ([0, 1, 2], [3, 4], [10, 11, 12])
    """
    try:
        if text.strip().isdecimal():
            return list(range(int(text)))
        found: list[int] = []
        for part in text.split(","):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    except ValueError:
        message = f"--seeds must be a number like 3, or seeds like 3,4 or 10-12, got {text!r}"
        raise UsageError(message) from None
    return found


def _trials(given: list[str]) -> list[int]:
    names = _names(given)
    if not all(name.isdecimal() for name in names):
        message = f"--trials must be whole numbers like 32,64,128, got {','.join(given)!r}"
        raise UsageError(message)
    return [int(name) for name in names]


def _protocol(text: str) -> Protocol:
    from dln_bench._split import PROTOCOLS

    for name in PROTOCOLS:
        if name == text:
            return name
    message = f"--protocol must be {' or '.join(PROTOCOLS)}, got {text!r}"
    raise UsageError(message)


if __name__ == "__main__":
    main()
