"""The units of one search: split, search, fit, test. A function of its arguments alone, on one thread."""

from __future__ import annotations

import os
import platform
import subprocess
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

import dln
from dln_bench import datasets
from dln_bench._results import Result, Unit
from dln_bench._split import Protocol, Split, split
from dln_bench.models._measures import measures
from dln_bench.models._models import MODELS

#: Networks that are fitted where operations are weighed, too.
N_WEIGHED: Final = 4


@dataclass(frozen=True, slots=True)
class Work:
    """Units of one dataset, seed and search: one search answers for all its budgets, and for models that share it."""

    dataset: str
    searched: str
    seed: int
    protocol: Protocol
    units: tuple[Unit, ...]

    @property
    def name(self) -> str:
        """Name of the search's storage."""
        plain = "" if self.protocol == "paper" else f"-{self.protocol}"
        return f"{self.dataset}-{self.searched}-{self.seed}{plain}"


@dataclass(frozen=True, slots=True)
class Searched:
    """Best parameters of a budget's trials; without a search, none."""

    params: Mapping[str, Any]
    cv_mse: float | None = None
    folds: int = 0
    trials: int = 0
    seconds: float = 0.0
    #: Parameters of complete trials whose error is within one standard error of the lowest.
    as_good: tuple[Mapping[str, Any], ...] = ()


def run_work(work: Work, studies: Path, seconds: float | None = None) -> list[Result]:
    """Return the results of a work's units. Its search is kept in the folder `studies`, and goes on from there.

    Where a search has a limit of time, no trial is begun after so many seconds; the results say how many there were.
    """
    from threadpoolctl import threadpool_limits

    rows = split(work.dataset, work.seed, work.protocol)
    results: list[Result] = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other libraries: a Lasso that did not converge is one of many trials
        searched = _search(work, rows, studies, seconds)
        fitted: list[tuple[str, Mapping[str, Any], dict[str, Any]]] = []
        for unit in work.units:
            best = searched[unit.trials]
            params = best.params
            if MODELS[unit.model].weighs_operations and best.as_good:
                params = min(_smallest(unit, best.as_good), key=lambda each: _fit(unit, each, rows)["select"])
            # Budgets often agree on the best parameters: then the model is the same.
            known = (found for model, same, found in fitted if (model, same) == (unit.model, params))
            if (found := next(known, None)) is None:
                found = _fit(unit, params, rows)
                fitted.append((unit.model, params, found))
            results.append(_result(unit, best, found))
    return results


def _smallest(unit: Unit, as_good: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return parameters of the smallest networks, by the rules in the sum, then by neurons, then by thresholds."""

    def size(params: Mapping[str, Any]) -> tuple[int, int, int]:
        network = _made(unit.model, unit.dataset, unit.seed).set_params(**params)
        return network.hidden_layer_sizes[-1], sum(network.hidden_layer_sizes), network.n_thresholds

    return sorted(as_good, key=size)[:N_WEIGHED]


def _made(model: str, dataset: str, seed: int) -> Any:
    """Return a model with its changes."""
    entry = MODELS[model]
    made = entry.make(datasets.facts(dataset), seed)
    return made.set_params(**{f"{entry.prefix}{name}": value for name, value in entry.changes.items()})


def _fit(unit: Unit, params: Mapping[str, Any], rows: Split) -> dict[str, Any]:
    """Return the measures of a model that is fitted with the best parameters, and those parameters."""
    entry = MODELS[unit.model]
    changes = {f"{entry.prefix}{name}": value for name, value in entry.changes.items()}
    model = entry.make(datasets.facts(unit.dataset), unit.seed).set_params(**{**params, **changes})
    start = time.perf_counter()
    model.fit(rows.X_train, rows.y_train)
    seconds = time.perf_counter() - start
    if entry.finish is not None:
        entry.finish(model, rows)
    chosen = {name.removeprefix(entry.prefix): _plain(value) for name, value in {**params, **changes}.items()}
    return {**measures(model, rows), "params": chosen, "fit_seconds": round(seconds, 3)}


def _result(unit: Unit, best: Searched, found: Mapping[str, Any]) -> Result:
    return Result(
        dataset=unit.dataset,
        model=unit.model,
        seed=unit.seed,
        trials=unit.trials,
        protocol=unit.protocol,
        trials_run=best.trials,
        cv_mse=best.cv_mse,
        folds=best.folds,
        search_seconds=round(best.seconds, 3),
        version=dln.__version__,
        commit=_commit(),
        machine=_machine(),
        **found,
    )


def _search(work: Work, rows: Split, studies: Path, limit: float | None) -> dict[int, Searched]:
    """Return the best parameters of each budget, by cross-validation on the training rows."""
    from dln.tune import search

    found = {0: Searched({})}
    budgets = sorted({unit.trials for unit in work.units} - {0})
    if not budgets:
        return found
    spent = 0.0

    def is_over(trial: Any) -> bool:
        nonlocal spent
        spent += trial.seconds
        return limit is not None and spent >= limit

    study = search(
        _made(work.searched, work.dataset, work.seed),
        rows.X_train,
        rows.y_train,
        n_trials=budgets[-1],
        space=MODELS[work.searched].space,
        storage=studies / f"{work.name}.log",
        random_state=work.seed,
        callbacks=[is_over],
    )
    for budget in budgets:  # the first trials of a study are the same whether or not there are more
        first = [trial for trial in study.trials if trial.number < budget]
        complete = [trial for trial in first if trial.value is not None]
        if not complete:
            message = f"none of its {len(first)} trials was complete: {first[0].error}"
            raise ValueError(message)
        best = min(complete, key=lambda trial: (trial.value, trial.number))
        seconds = sum(trial.seconds for trial in first)
        error = float(np.std(best.fold_values, ddof=1)) / len(best.fold_values) ** 0.5
        as_good: list[Mapping[str, Any]] = []
        for trial in complete:
            if trial.value <= best.value + error and trial.params not in as_good:
                as_good.append(trial.params)
        found[budget] = Searched(dict(best.params), best.value, study.folds, len(first), seconds, tuple(as_good))
    return found


def works_of(units: Iterator[Unit]) -> list[Work]:
    """Return units put together by the search that they share, in the order of the first of each."""
    grouped: dict[tuple[str, str, int, Protocol], list[Unit]] = {}
    for unit in units:
        searched = MODELS[unit.model].searched_as or unit.model
        grouped.setdefault((unit.dataset, searched, unit.seed, unit.protocol), []).append(unit)
    return [Work(*key, tuple(units)) for key, units in grouped.items()]


def _plain(value: Any) -> Any:
    """Return a value that JSON has: numbers of numpy as Python's, tuples as lists."""
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


@cache
def _commit() -> str:
    """Return the commit of the checkout that dln is run from, or the version of an installed one."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        described = subprocess.run(  # noqa: S603 (fixed words)
            command, cwd=Path(dln.__file__).parent, capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return f"dln {dln.__version__}"
    return described.stdout.strip()


@cache
def _machine() -> str:
    """Return processor, cores and system, but not the machine's name."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.is_file():
        models = [line for line in information.read_text(encoding="utf-8").splitlines() if "model name" in line]
        name = models[0].partition(":")[2].strip() if models else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
