"""``dln-bench run``: the units that are asked for, those that are not there yet."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dln.cli import _options
from dln.cli._mistakes import INTERRUPTED, Mistake, complain

if TYPE_CHECKING:
    from dln_bench._protocol import Report
    from dln_bench._split import Protocol
    from dln_bench._unit import Limits, Work

#: The exit code of a run in which units failed.
FAILED: Final = 1
#: A table of fewer rows is small.
SMALL: Final = 2000
MINUTE: Final = 60


def run(
    *,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Datasets, apart by commas or given again; small, large: those under 2000 rows, the others; held-out: "
            "data that our defaults were not chosen on. Default: the paper's fifteen.",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Models, or groups of them: paper, ablations, defaults, sizes, without. Default: those of the tables.",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="N", help="So many splits, from seed 0 on; or which: 3,4 or 10-12. Default: 3."),
    ] = None,
    trials: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N", help="Trials of a search; 32,64,128: one search of 128 answers for all. Default: 16."
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="paper: features and target clipped as recovered from the paper, scores of the clipped target; "
            "plain: scores of the target as it is.",
        ),
    ] = "paper",
    minutes: Annotated[
        float | None,
        typer.Option(min=0.0, help="Minutes of a search, after which no trial is begun; default: no limit."),
    ] = None,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FOLDER", help="Where the results go.")] = "results",
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes; each uses one thread.")] = 1,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on a Ray cluster: auto, or its address.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three small datasets, two models, one seed: does everything work?")
    ] = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Search, fit and test each model on each dataset and seed; stop it and start it again at will.

    Each finished unit is a line of results.jsonl in the folder. Processes may share the folder.
    """
    from dln.tune import StudyError
    from dln_bench import _protocol, _quick
    from dln_bench._download import DownloadError
    from dln_bench._results import ResultFileError
    from dln_bench._unit import Limits
    from dln_bench.cli._progress import Watch
    from dln_bench.datasets import DatasetError

    limits = Limits(None if minutes is None else MINUTE * minutes, quick)
    silent = quiet or as_json
    try:
        chosen = _datasets(datasets, quick=quick)
        wanted = _models(models, quick=quick)
        which = _seeds(seeds or ("1" if quick else "3"))
        budgets = _trials(trials or [str(_quick.TRIALS if quick else 16)])
        works = _protocol.works_of(chosen, wanted, seeds=which, trials=budgets, protocol=_protocol_name(protocol))
        _fetch(chosen, quiet=silent)
        if not silent:
            _tell_plan(works, limits)
        with Watch(out, works, jobs=jobs, silent=silent) as watch:
            report = _protocol.run(
                out,
                datasets=chosen,
                models=wanted,
                seeds=which,
                trials=budgets,
                protocol=_protocol_name(protocol),
                jobs=jobs,
                ray=ray,
                limits=limits,
                tell=watch.tell,
            )
    except KeyboardInterrupt:
        complain("interrupted; what is finished is kept, and the same command goes on from there", "dln-bench")
        raise typer.Exit(INTERRUPTED) from None
    except (DatasetError, DownloadError, _protocol.RunError, ResultFileError, StudyError) as error:
        raise Mistake(str(error)) from None
    except NotADirectoryError as error:
        message = f"--out must be a folder, got {out!r}: {error.strerror}"
        raise Mistake(message) from None
    except FileExistsError:
        message = f"--out must be a folder, but {out!r} is a file: give another name"
        raise Mistake(message) from None
    _tell_report(out, report, as_json=as_json, quiet=quiet)
    if report.failures:
        raise typer.Exit(FAILED)


# --- what is asked for ------------------------------------------------------------------------------------------------


def _names(given: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))


def _datasets(given: list[str] | None, *, quick: bool) -> list[str]:
    from dln_bench import _quick
    from dln_bench import datasets as library

    if given is None or not _names(given):
        return list(_quick.DATASETS) if quick else library.names()
    groups = {
        "small": [name for name in library.names() if library.facts(name).expected_rows < SMALL],
        "large": [name for name in library.names() if library.facts(name).expected_rows >= SMALL],
        "held-out": list(library.HELD_OUT),
    }
    return list(dict.fromkeys(name for each in _names(given) for name in groups.get(each, [each])))


def _models(given: list[str] | None, *, quick: bool) -> list[str]:
    from dln_bench import _quick
    from dln_bench._names import GROUPS, MODELS

    if given is None or not _names(given):
        return list(_quick.MODELS if quick else MODELS)
    return list(dict.fromkeys(name for each in _names(given) for name in GROUPS.get(each, (each,))))


def _seeds(text: str) -> list[int]:
    """Return the seeds that are meant.

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
        raise Mistake(message) from None
    return found


def _trials(given: list[str]) -> list[int]:
    names = _names(given)
    if not all(name.isdecimal() for name in names):
        message = f"--trials must be whole numbers like 32,64,128, got {','.join(given)!r}"
        raise Mistake(message)
    return [int(name) for name in names]


def _protocol_name(text: str) -> Protocol:
    from dln_bench._split import PROTOCOLS

    for name in PROTOCOLS:
        if name == text:
            return name
    message = f"--protocol must be {' or '.join(PROTOCOLS)}, got {text!r}"
    raise Mistake(message)


def _fetch(names: Iterable[str], *, quiet: bool) -> None:
    """Download the datasets that are not here, with a bar for each."""
    from dln_bench import datasets as library

    if library.HOME in os.environ:
        return
    from dln.cli._terminal import console

    talk = console(stderr=True)
    for name in names:
        if not quiet and not library.is_here(name):
            talk.print(f"downloading {name}")
        library.fetch(name)


# --- what is said -----------------------------------------------------------------------------------------------------


def _tell_plan(works: list[Work], limits: Limits) -> None:
    from dln.cli._terminal import console

    talk = console(stderr=True)
    models = list(dict.fromkeys(work.model for work in works))
    n_units = sum(len(work.units) for work in works)
    n_datasets = len({work.dataset for work in works})
    talk.print(f"{n_units} units of work: {n_datasets} datasets, {len(models)} models")
    if limits.seconds is not None:
        talk.print(f"A search begins no trial after {limits.seconds / MINUTE:g} minutes; its result says so.")
    told = [(model, settings) for model in models if (settings := limits.settings(model))]
    if told:
        talk.print("Nothing is done well in a quick run:")
        width = max(len(model) for model, _ in told)
        for model, settings in told:
            talk.print(f"  {model:<{width}}  {', '.join(f'{key}={value}' for key, value in settings.items())}")


def _tell_report(out: str, report: Report, *, as_json: bool, quiet: bool) -> None:
    from dln.cli._terminal import console, print_json, show

    if as_json:
        print_json(
            {
                "out": out,
                "results": len(report.results),
                "failures": [
                    {"dataset": d.work.dataset, "model": d.work.model, "seed": d.work.seed, "error": d.error}
                    for d in report.failures
                ],
            }
        )
    elif not quiet:
        show(f"{len(report.results)} results in {out}. What to do next:")
        show(f"  dln-bench report {out}")
    for failure in report.failures:
        console(stderr=True).print(f"failed: {failure.work.units[-1]}: {failure.error}")
