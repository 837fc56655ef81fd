"""A run: all units of work, in an order that gives something of everything early, each exactly once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from filelock import FileLock, Timeout

from dln._atomic import AnyPath, write_atomically
from dln._closest import closest
from dln.tune._pool import Lost, Pool
from dln_bench import datasets as _datasets
from dln_bench._names import MODELS, ORDER, TITLES
from dln_bench._results import Result, append_results, read_results
from dln_bench._split import PROTOCOLS, Protocol
from dln_bench._unit import Limits, Work
from dln_bench.models._models import find

#: In the folder of results: the searches, and what the run was asked to do.
STUDIES: Final = "studies"
SETTINGS: Final = "run.json"
#: Seconds between looks at units that another process is running.
LOOK: Final = 1.0
#: What workers elsewhere must know to find the data.
ENVIRONMENT: Final = ("DLN_DATA_HOME", "DLN_DATA_URL", "DLN_CACHE")


@dataclass(frozen=True, slots=True)
class Claimed:
    """A piece of work is begun."""

    work: Work


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial has ended: how many have, and the smallest error so far."""

    work: Work
    done: int
    best: float | None


@dataclass(frozen=True, slots=True)
class Done:
    """A piece of work has ended: with results, or with what went wrong."""

    work: Work
    results: tuple[Result, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """All work that is left is being done by other processes."""

    n_works: int


#: What is told as a run goes on.
Event: TypeAlias = Claimed | Trial | Done | Waiting
Tell: TypeAlias = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Report:
    """What a run came to: the results of all its units, those of earlier runs included, and the work that failed."""

    results: tuple[Result, ...]
    failures: tuple[Done, ...]


class RunError(ValueError):
    """A run that cannot be: an unknown model, or a folder that holds results of another kind of run.

    >>> works_of(["yacht"], ["trees"], seeds=[0], trials=[2])
    Traceback (most recent call last):
    dln_bench._protocol.RunError: there is no model 'trees'; did you mean 'tree'?
    """


def works_of(
    datasets: Sequence[str],
    models: Sequence[str],
    *,
    seeds: Sequence[int],
    trials: Sequence[int],
    protocol: Protocol = "paper",
) -> list[Work]:
    """Return the work of a run: seed by seed, cheap models and small tables first.

    >>> works = works_of(["yacht"], ["tree", "linear"], seeds=[0], trials=[4, 2])
    >>> [str(unit) for work in works for unit in work.units]
    ['yacht, linear, seed 0', 'yacht, tree, seed 0, 2 trials', 'yacht, tree, seed 0, 4 trials']
    """
    rows = {name: _datasets.facts(name).expected_rows for name in datasets}
    for model in models:
        if model not in ORDER:
            meant = closest(model, ORDER)
            hint = f"there are {', '.join(TITLES)}" if meant is None else f"did you mean {meant!r}?"
            message = f"there is no model {model!r}; {hint}"
            raise RunError(message)
    if protocol not in PROTOCOLS:
        message = f"protocol must be {' or '.join(PROTOCOLS)}, got {protocol!r}"
        raise RunError(message)
    for name, values, least in (("seeds", seeds, 0), ("trials", trials, 1)):
        if not values or min(values) < least:
            message = f"{name} must be at least {least}, got {min(values, default='none')}"
            raise RunError(message)
    return [
        Work(dataset, model, seed, tuple(sorted(set(trials))) if find(model).space else (0,), protocol)
        for seed in dict.fromkeys(seeds)
        for model in sorted(set(models), key=ORDER.index)
        for dataset in sorted(rows, key=lambda name: (rows[name], name))
    ]


def run(
    out: AnyPath,
    *,
    datasets: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1, 2),
    trials: Sequence[int] = (16,),
    protocol: Protocol = "paper",
    jobs: int = 1,
    ray: str | None = None,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    tell: Tell | None = None,
) -> Report:
    """Run all units that have no result yet in the folder `out`, and return what there is in the end.

    Every (dataset, model, seed, trials) is one unit and becomes one line of ``out/results.jsonl``. A run can be stopped
    at any time and started again; several processes can run the same folder at once, and no unit is run twice.

    Parameters
    ----------
    out : path
        The folder of results; it is made if need be.
    datasets, models : list of str, optional
        Their names; None: the paper's datasets, and the models of the main tables.
    seeds : list of int
        Splits and seeds.
    trials : list of int
        Budgets: one search with the largest answers for all.
    protocol : {"paper", "plain"}, default="paper"
        Whether targets are clipped as the paper's must have been; seeds 0 to 9 are its splits either way.
    jobs : int, default=1
        Local processes; each uses one thread.
    ray : str, optional
        "auto" or the address of a Ray cluster: work is done there. Its machines must see the folder.
    limits : Limits
        What searches may take.
    tell : callable, optional
        Called with what happens; of single trials only where the work is done in this process.

    """
    out = Path(out)
    if jobs < 1:
        message = f"jobs must be at least 1, got {jobs}"
        raise RunError(message)
    datasets = _datasets.names() if datasets is None else datasets
    works = works_of(
        datasets, list(MODELS) if models is None else models, seeds=seeds, trials=trials, protocol=protocol
    )
    for name in dict.fromkeys(work.dataset for work in works):
        _datasets.fetch(name)  # downloaded now, not by every worker at once
    out.mkdir(parents=True, exist_ok=True)
    (out / STUDIES).mkdir(exist_ok=True)
    _check_settings(out, limits)
    failures = _Run(out, tell or (lambda _event: None), limits).up_to_the_end(works, jobs, ray)
    wanted = {unit for work in works for unit in work.units}
    return Report(tuple(result for result in read_results([out]) if result.unit in wanted), tuple(failures))


@dataclass(slots=True)
class _Run:
    """A run as it goes on."""

    out: Path
    tell: Tell
    limits: Limits
    claims: dict[Work, FileLock] = field(default_factory=dict)
    failures: list[Done] = field(default_factory=list)

    def up_to_the_end(self, works: list[Work], jobs: int, ray: str | None) -> list[Done]:
        """Do all work that is missing, here and by whoever shares the folder."""
        if not self._missing(works):
            return []
        studies = (self.out / STUDIES).resolve()
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        is_here = ray is None and jobs == 1
        work = partial(do, studies=studies, limits=self.limits, environment=environment)
        pool: Pool[Work, Done] = Pool(partial(work, tell=self.tell) if is_here else work, None if ray else jobs, ray)
        try:
            while missing := self._missing(works):
                with closing(pool.run(self._claimed(missing))) as ended:
                    for each, result in ended:
                        self._end(Done(each, error=result.reason) if isinstance(result, Lost) else result)
                if missing := self._missing(works):
                    self.tell(Waiting(len(missing)))
                    time.sleep(LOOK)
        finally:
            pool.close()
            for claim in self.claims.values():
                claim.release()
        return self.failures

    def _claimed(self, works: Sequence[Work]) -> Iterator[Work]:
        """Give the work that no other process has, claiming it as it is asked for."""
        for work in works:
            # Not of the thread: joblib asks in one of its own, and the claim is given back in another.
            claim = FileLock(self.out / STUDIES / f".{work.name}.lock", thread_local=False)
            try:
                claim.acquire(blocking=False)
            except Timeout:
                continue
            if not (left := self._missing([work])):
                claim.release()
                continue
            self.claims[left[0]] = claim
            self.tell(Claimed(left[0]))
            yield left[0]

    def _end(self, done: Done) -> None:
        if done.results:
            append_results(self.out, done.results)
        else:
            self.failures.append(done)
        self.claims.pop(done.work).release()
        self.tell(done)

    def _missing(self, works: Sequence[Work]) -> list[Work]:
        """Return the work that has units without a result, with those units only."""
        there = {result.unit for result in read_results([self.out])}
        there |= {unit for failure in self.failures for unit in failure.work.units}
        left = [replace(work, budgets=tuple(unit.trials for unit in work.units if unit not in there)) for work in works]
        return [work for work in left if work.budgets]


def do(work: Work, *, studies: Path, limits: Limits, environment: dict[str, str], tell: Tell | None = None) -> Done:
    """Do a piece of work; whatever goes wrong is told in what it comes to."""
    from dln_bench._unit import run_work

    os.environ.update(environment)

    def progress(done: int, best: float | None) -> None:
        if tell is not None:
            tell(Trial(work, done, best))

    try:
        return Done(work, tuple(run_work(work, studies, limits, progress)))
    except Exception as error:  # noqa: BLE001 (one unit's mistake must not end the others)
        text = " ".join(str(error).split()) or "no reason was given"
        return Done(work, error=f"{type(error).__name__}: {text}")


def _check_settings(out: Path, limits: Limits) -> None:
    """Remember whether a folder's run is a quick one: such results must not stand beside real ones."""
    file = out / SETTINGS
    asked: dict[str, Any] = {"quick": limits.quick}
    with FileLock(out / f".{SETTINGS}.lock"):
        if not file.exists():
            write_atomically(file, json.dumps(asked).encode() + b"\n")
            return
        try:
            there = bool(json.loads(file.read_bytes())["quick"])
        except (ValueError, KeyError, TypeError):
            message = f"{file} is damaged: remove it, or give another folder"
            raise RunError(message) from None
    if there != limits.quick:
        kinds = {True: "a quick run", False: "a real run"}
        message = (
            f"{str(out)!r} holds the results of {kinds[there]}, and this is {kinds[limits.quick]}: give another folder"
        )
        raise RunError(message)
