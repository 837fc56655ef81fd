"""``dln-bench run``: the units that are asked for, those that are not there yet."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dln.cli import _options
from dln.cli._mistakes import INTERRUPTED, Mistake, complain

if TYPE_CHECKING:
    from dln_bench._cuts import Budget
    from dln_bench._protocol import Report

#: The exit code of a run in which units failed.
FAILED: Final = 1

#: Packages that single models need, beyond those of the benchmark itself.
MODEL_NEEDS: Final = {"lightgbm": ("lightgbm",), "ebm": ("interpret",), "mlp": ("torch",)}


def run(
    *,
    datasets: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Datasets, apart by commas or given again; default: all fifteen."),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Models, or ablations (all ablations: ablations); default: all models."),
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Splits and seeds, from 0 on; default: 3.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials of each search; default: 16.")] = None,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FOLDER", help="Where the results go.")] = "results",
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes; each uses one thread.")] = 1,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on a Ray cluster: auto, or its address.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three small datasets, two models, one seed: does everything work?")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Cut no budgets: days instead of hours.")] = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Search, fit and test each model on each dataset and seed; stop it and start it again at will.

    Each finished unit is a line of results.jsonl in the folder. Processes may share the folder.
    """
    from dln.tune import StudyError
    from dln_bench import _protocol
    from dln_bench._download import DownloadError
    from dln_bench._results import ResultFileError
    from dln_bench.cli._progress import Watch
    from dln_bench.datasets import DatasetError

    if quick and full:
        message = "--quick and --full exclude each other: give one of them"
        raise Mistake(message)
    budget: Budget = "quick" if quick else "full" if full else "cut"
    try:
        chosen = _datasets(datasets, quick=quick)
        wanted = _models(models, quick=quick)
        n_seeds = seeds or (1 if quick else 3)
        n_trials = trials or (_protocol.QUICK_TRIALS if quick else 16)
        units = _protocol.units_of(chosen, wanted, seeds=n_seeds, trials=n_trials)
        _check_extras(wanted)
        _fetch(chosen, quiet=quiet or as_json)
        if not (quiet or as_json):
            _tell_plan(chosen, wanted, budget, n_units=len(units))
        with Watch(out, units, jobs=jobs, silent=quiet or as_json) as watch:
            report = _protocol.run(
                out,
                datasets=chosen,
                models=wanted,
                seeds=n_seeds,
                trials=n_trials,
                jobs=jobs,
                ray=ray,
                budget=budget,
                tell=watch.tell,
            )
    except KeyboardInterrupt:
        complain("interrupted; what is finished is kept, and the same command goes on from there")
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
    from dln_bench import datasets as library
    from dln_bench._protocol import QUICK_DATASETS

    if given is not None:
        return _names(given) or library.names()
    return list(QUICK_DATASETS) if quick else library.names()


def _models(given: list[str] | None, *, quick: bool) -> list[str]:
    from dln_bench._names import ABLATIONS, MODELS
    from dln_bench._protocol import QUICK_MODELS

    if given is None:
        return list(QUICK_MODELS if quick else MODELS)
    found: list[str] = []
    for name in _names(given):
        found += ABLATIONS if name == "ablations" else [name]
    return list(dict.fromkeys(found)) or list(MODELS)


def _check_extras(models: Iterable[str]) -> None:
    """Say what is not installed before anything is run."""
    from importlib.util import find_spec

    from dln import MissingExtraError

    needed = {"dln bench": ("pandas", "optuna")} | {
        f"the model {model!r}": MODEL_NEEDS[model] for model in models if model in MODEL_NEEDS
    }
    for feature, packages in needed.items():
        for package in packages:
            if find_spec(package) is None:
                raise MissingExtraError(feature, "bench", {"interpret": "interpret-core"}.get(package, package))


def _fetch(names: Iterable[str], *, quiet: bool) -> None:
    """Download the datasets that are not here, with a bar for each."""
    from dln_bench import datasets as library

    if library.HOME in os.environ:
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from dln.cli._terminal import console

    talk = console(stderr=True)
    bar = Progress(
        TextColumn("downloading {task.description}"),
        BarColumn(bar_width=20),
        DownloadColumn(),
        console=talk,
        disable=quiet or not talk.is_terminal,
        transient=True,
    )
    with bar:
        for name in names:
            task = bar.add_task(name, total=library.facts(name).bytes, visible=False)

            def progress(there: int, expected: int, task: int = task) -> None:
                bar.update(task, completed=there, total=expected or None, visible=True)  # type: ignore[arg-type]

            library.path(name, progress=progress)
            bar.update(task, visible=False)


# --- what is said -----------------------------------------------------------------------------------------------------


def _tell_plan(datasets: list[str], models: list[str], budget: Budget, *, n_units: int) -> None:
    from dln.cli._terminal import console
    from dln_bench._cuts import cut_of

    talk = console(stderr=True)
    talk.print(f"{n_units} units of work: {len(datasets)} datasets, {len(models)} models")
    cuts = [(model, text) for model in models if (text := str(cut_of(model, budget)))]
    if cuts:
        talk.print("Budgets that are cut" + (":" if budget == "quick" else " (--full cuts none):"))
        width = max(len(model) for model, _ in cuts)
        for model, text in cuts:
            talk.print(f"  {model:<{width}}  {text}")


def _tell_report(out: str, report: Report, *, as_json: bool, quiet: bool) -> None:
    from dln.cli._terminal import console, print_json, show

    if as_json:
        print_json(
            {
                "out": out,
                "results": len(report.results),
                "failures": [
                    {"dataset": d.unit.dataset, "model": d.unit.model, "seed": d.unit.seed, "error": d.error}
                    for d in report.failures
                ],
            }
        )
    elif not quiet:
        show(f"{len(report.results)} results in {out}. What to do next:")
        show(f"  dln-bench report {out}")
    for failure in report.failures:
        console(stderr=True).print(f"failed: {failure.unit}: {failure.error}")
