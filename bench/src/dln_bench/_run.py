"""A run: all units that have no result yet, one per core, each written when it is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from filelock import FileLock, Timeout

from dln._atomic import AnyPath
from dln._pool import Lost, Pool
from dln._text import closest
from dln_bench import datasets as _datasets
from dln_bench._results import Result, Unit, append_results, read_results
from dln_bench._split import PROTOCOLS, Protocol
from dln_bench._unit import Work, works_of
from dln_bench.models._models import MODELS

#: Environment variables that workers on other machines need to find the data.
ENVIRONMENT: Final = ("DLN_DATA_HOME", "DLN_DATA_URL", "DLN_CACHE")


@dataclass(frozen=True, slots=True)
class Done:
    """A piece of work has ended: with results, or with an error."""

    work: Work
    results: tuple[Result, ...] = ()
    error: str = ""


#: Called when a piece of work has ended.
Progress: TypeAlias = Callable[[Done], None]


class RunError(ValueError):
    """A run that cannot be: an unknown model, or a file that another run writes.

    >>> units_of(["yacht"], ["trees"], seeds=[0], trials=[2])
    Traceback (most recent call last):
    dln_bench._run.RunError: there is no model 'trees'; did you mean 'tree'?
    """


def units_of(
    datasets: Sequence[str],
    models: Sequence[str],
    *,
    seeds: Sequence[int],
    trials: Sequence[int],
    protocol: Protocol = "paper",
) -> list[Unit]:
    """Return the units of a run: seed by seed, model by model, small tables first.

    >>> units = units_of(["yacht"], ["linear", "tree"], seeds=[0], trials=[4, 2])
    >>> [str(unit) for unit in units]
    ['yacht, linear, seed 0', 'yacht, tree, seed 0, 2 trials', 'yacht, tree, seed 0, 4 trials']
    """
    rows = {name: _datasets.facts(name).expected_rows for name in datasets}
    for model in models:
        if model not in MODELS:
            meant = closest(model, MODELS)
            hint = f"there are {', '.join(MODELS)}" if meant is None else f"did you mean {meant!r}?"
            message = f"there is no model {model!r}; {hint}"
            raise RunError(message)
    if protocol not in PROTOCOLS:
        message = f"protocol must be {' or '.join(PROTOCOLS)}, got {protocol!r}"
        raise RunError(message)
    for name, values in (("seeds", seeds), ("trials", trials)):
        if not values or min(values) < 0:
            message = f"{name} must be at least 0, got {min(values, default='none')}"
            raise RunError(message)
    return [
        Unit(dataset, model, seed, budget, protocol)
        for seed in dict.fromkeys(seeds)
        for model in dict.fromkeys(models)
        for dataset in sorted(rows, key=lambda name: (rows[name], name))
        for budget in (sorted(set(trials)) if MODELS[model].space else [0])
        if budget or not MODELS[model].weighs_operations  # without trials there is nothing to weigh
    ]


def run(
    file: AnyPath,
    units: Sequence[Unit],
    *,
    jobs: int = 1,
    ray: str | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> list[Done]:
    """Run all units that have no result in a file yet, and return the work that failed.

    A run can be stopped at any time and started again: units are lines of the file, and finished trials of a search
    are in a folder beside it.

    Parameters
    ----------
    file : path
        The result file; it is made if need be.
    units : list of Unit
        See `units_of`.
    jobs : int, default=1
        Processes, each with one thread.
    ray : str, optional
        "auto" or the address of a Ray cluster to work on. Its machines must see the folder.
    seconds : float, optional
        Seconds of a search after which no trial is begun.
    progress : callable, optional
        Called with each `Done`.

    """
    file = Path(file)
    if jobs < 1:
        message = f"jobs must be at least 1, got {jobs}"
        raise RunError(message)
    for name in dict.fromkeys(unit.dataset for unit in units):
        _datasets.path(name)  # downloaded now, not by every worker at once
    studies = file.with_name(f"{file.stem}.studies").absolute()
    studies.mkdir(parents=True, exist_ok=True)
    lock = FileLock(studies / ".lock")
    try:
        with lock.acquire(blocking=False):
            known = {result.unit for result in read_results([file])} if file.exists() else set()
            works = works_of(unit for unit in units if unit not in known)
            environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
            work = partial(do, studies=studies, seconds=seconds, environment=environment)
            return [done for done in _ended(work, works, jobs, ray, file, progress) if done.error]
    except Timeout:
        message = f"another run writes {str(file)!r}: wait for its end, or give another file"
        raise RunError(message) from None


def _ended(
    work: Callable[[Work], Done],
    works: Sequence[Work],
    jobs: int,
    ray: str | None,
    file: Path,
    progress: Progress | None,
) -> Iterator[Done]:
    pool: Pool[Work, Done] = Pool(work, None if ray else jobs, ray)
    try:
        with closing(pool.run(works)) as ended:
            for each, result in ended:
                done = Done(each, error=result.reason) if isinstance(result, Lost) else result
                append_results(file, done.results)
                if progress is not None:
                    progress(done)
                yield done
    finally:
        pool.close()


def do(work: Work, *, studies: Path, seconds: float | None, environment: dict[str, str]) -> Done:
    """Do a piece of work; an error ends it, not the run."""
    from dln_bench import _unit

    os.environ.update(environment)
    try:
        return Done(work, tuple(_unit.run_work(work, studies, seconds)))
    except Exception as error:  # noqa: BLE001 (one unit's error must not end the others)
        text = " ".join(str(error).split()) or "no reason was given"
        return Done(work, error=f"{type(error).__name__}: {text}")
