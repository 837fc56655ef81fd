"""The benchmark: all units of work, run in an order that gives something of everything early, each exactly once."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from dln._atomic import AnyPath, write_atomically
from dln_bench import datasets as _datasets
from dln_bench._cuts import ORDER, Budget
from dln_bench._lock import Lock
from dln_bench._names import ABLATIONS, MODELS
from dln_bench._results import Result, Unit, append_result, read_results
from dln_bench._workers import Done, Here, Processes, RayCluster, Trial, Workers

#: In the folder of results: the searches, and what the run was asked to do.
STUDIES: Final = "studies"
SETTINGS: Final = "run.json"
#: Seconds between looks at units that another process is running.
LOOK: Final = 1.0

#: For ``--quick``.
QUICK_DATASETS: Final = ("yacht", "estate", "mpg")
QUICK_MODELS: Final = ("tree", "dln-paper")
QUICK_TRIALS: Final = 2


@dataclass(frozen=True, slots=True)
class Claimed:
    """A unit is begun."""

    unit: Unit


@dataclass(frozen=True, slots=True)
class Waiting:
    """All units that are left are being run by other processes."""

    n_units: int


#: What is told as a run goes on.
Event: TypeAlias = Claimed | Trial | Done | Waiting


@dataclass(frozen=True, slots=True)
class Report:
    """What a run came to: the results of all its units, those of earlier runs included, and the units that failed."""

    results: tuple[Result, ...]
    failures: tuple[Done, ...]


class RunError(ValueError):
    """A run that cannot be: an unknown model, or a folder that holds results of another kind of run.

    >>> units_of(["yacht"], ["trees"], seeds=1, trials=2)
    Traceback (most recent call last):
    dln_bench._protocol.RunError: there is no model 'trees'; did you mean 'tree'?
    """


def units_of(datasets: Sequence[str], models: Sequence[str], *, seeds: int, trials: int) -> list[Unit]:
    """Return the units of a run: seed by seed, cheap models and small tables first.

    >>> [str(unit) for unit in units_of(["yacht"], ["tree", "linear"], seeds=1, trials=2)]
    ['yacht, linear, seed 0, 2 trials', 'yacht, tree, seed 0, 2 trials']
    """
    from difflib import get_close_matches

    rows = {name: _datasets.facts(name).expected_rows for name in datasets}
    for model in models:
        if model not in ORDER:
            close = get_close_matches(model.casefold(), ORDER, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join((*MODELS, *ABLATIONS))}"
            message = f"there is no model {model!r}; {hint}"
            raise RunError(message)
    for name, value in (("seeds", seeds), ("trials", trials)):
        if value < 1:
            message = f"{name} must be at least 1, got {value}"
            raise RunError(message)
    return [
        Unit(dataset, model, seed, trials)
        for seed in range(seeds)
        for model in sorted(set(models), key=ORDER.index)
        for dataset in sorted(rows, key=lambda name: (rows[name], name))
    ]


def run(
    out: AnyPath,
    *,
    datasets: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    seeds: int = 3,
    trials: int = 16,
    jobs: int = 1,
    ray: str | None = None,
    budget: Budget = "cut",
    tell: Callable[[Event], None] | None = None,
) -> Report:
    """Run all units that have no result yet in the folder `out`, and return what there is in the end.

    Every (dataset, model, seed, trials) is one unit of work and becomes one line of ``out/results.jsonl``. A run can be
    stopped at any time and started again; several processes can run the same folder at once, and no unit is run twice.

    Parameters
    ----------
    out : path
        The folder of results; it is made if need be.
    datasets, models : list of str, optional
        Their names; None: all datasets, and all models but the ablations.
    seeds : int, default=3
        Splits and seeds, from 0 on.
    trials : int, default=16
        Trials of each search.
    jobs : int, default=1
        Local processes; each uses one thread.
    ray : str, optional
        "auto" or the address of a Ray cluster: units run there.
    budget : {"cut", "full", "quick"}, default="cut"
        What is cut; see ``dln_bench._cuts``.
    tell : callable, optional
        Called with what happens.

    """
    out = Path(out)
    if jobs < 1:
        message = f"jobs must be at least 1, got {jobs}"
        raise RunError(message)
    datasets = _datasets.names() if datasets is None else datasets
    units = units_of(datasets, list(MODELS) if models is None else models, seeds=seeds, trials=trials)
    for name in dict.fromkeys(unit.dataset for unit in units):
        _datasets.path(name)  # downloaded now, not by every worker at once
    out.mkdir(parents=True, exist_ok=True)
    (out / STUDIES).mkdir(exist_ok=True)
    _check_settings(out, budget)
    failures = _run(out, units, tell or (lambda _event: None), jobs=jobs, ray=ray, budget=budget)
    wanted = set(units)
    return Report(tuple(result for result in read_results([out]) if result.unit in wanted), tuple(failures))


def _run(
    out: Path, units: list[Unit], tell: Callable[[Event], None], *, jobs: int, ray: str | None, budget: Budget
) -> list[Done]:
    failures: list[Done] = []
    missing = _missing(out, units)
    if not missing:
        return failures
    claims: dict[Unit, Lock] = {}
    with _workers((out / STUDIES).resolve(), tell, jobs=jobs, ray=ray, budget=budget) as workers:
        while True:
            elsewhere = 0
            for unit in missing:
                if len(claims) == workers.n_jobs:
                    break
                if unit in claims or (claim := _claim(out, unit)) is None:
                    elsewhere += unit not in claims
                    continue
                claims[unit] = claim
                tell(Claimed(unit))
                workers.start(unit)
            if claims:
                done = workers.finished()
                if done.result is not None:
                    append_result(out, done.result)
                else:
                    failures.append(done)
                claims.pop(done.unit).release()
                tell(done)
            elif elsewhere:
                tell(Waiting(elsewhere))
                time.sleep(LOOK)
            failed = {failure.unit for failure in failures}
            missing = [unit for unit in _missing(out, missing) if unit not in failed]
            if not missing:
                return failures


def _missing(out: Path, units: Sequence[Unit]) -> list[Unit]:
    there = {result.unit for result in read_results([out])}
    return [unit for unit in units if unit not in there]


def _claim(out: Path, unit: Unit) -> Lock | None:
    """Return a lock on a unit's study; None if another process has it, or has finished the unit meanwhile."""
    from dln_bench._unit import study_name

    lock = Lock(out / STUDIES / f".{study_name(unit)}.lock")
    if not lock.acquire(wait=False):
        return None
    if not _missing(out, [unit]):
        lock.release()
        return None
    return lock


@contextlib.contextmanager
def _workers(
    studies: Path, tell: Callable[[Event], None], *, jobs: int, ray: str | None, budget: Budget
) -> Iterator[Workers]:
    workers: Workers
    if ray is not None:
        workers = RayCluster(ray, studies, budget)
    elif jobs > 1:
        workers = Processes(jobs, studies, budget, tell)
    else:
        workers = Here(studies, budget, tell)
    try:
        yield workers
    finally:
        workers.close()


def _check_settings(out: Path, budget: Budget) -> None:
    """Remember a folder's budget: results that were cut and results that were not must not stand side by side."""
    file = out / SETTINGS
    with Lock(out / f".{SETTINGS}.lock").held():
        if not file.exists():
            write_atomically(file, json.dumps({"budget": budget}).encode() + b"\n")
            return
        try:
            there = json.loads(file.read_bytes())["budget"]
        except (ValueError, KeyError, TypeError):
            message = f"{file} is damaged: remove it, or give another folder"
            raise RunError(message) from None
    if there != budget:
        message = (
            f"{str(out)!r} holds the results of a run with the budget {there!r}, and this one has {budget!r}: give "
            "another folder"
        )
        raise RunError(message)
