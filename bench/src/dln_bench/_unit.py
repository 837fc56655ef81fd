"""One piece of work: load, split, search, fit, test. A function of its arguments alone, on one thread."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from dln import FitInterruptedWarning, RuleRegressor, __version__, operations
from dln.tune import Context, Space, TrialRecord, search
from dln_bench import _quick, _stamp, datasets
from dln_bench._results import Result, Unit
from dln_bench._split import Protocol, split
from dln_bench.models._models import Model, find, inner_params, own_params
from dln_bench.models._size import conditions, count_operations

#: Conditions that our model is pruned to beside its own size.
PRUNED: Final = (20, 50)

#: Called with the trials that are done, and the smallest error so far (None: none has finished).
TrialProgress: TypeAlias = Callable[[int, float | None], None]


@dataclass(frozen=True, slots=True)
class Work:
    """A dataset, a model and a seed, with all budgets that are asked for: one search answers for all of them."""

    dataset: str
    model: str
    seed: int
    budgets: tuple[int, ...]
    protocol: Protocol = "paper"

    @property
    def name(self) -> str:
        """The name of its study, which models may share."""
        name = f"{self.dataset}-{find(self.model).searched_as or self.model}-{self.seed}"
        return name if self.protocol == "paper" else f"{name}-{self.protocol}"

    @property
    def units(self) -> tuple[Unit, ...]:
        """Its units."""
        return tuple(Unit(self.dataset, self.model, self.seed, trials, self.protocol) for trials in self.budgets)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take."""

    #: Seconds of a search; no trial is begun after them. None: no limit.
    seconds: float | None = None
    quick: bool = False

    def settings(self, model: str) -> dict[str, Any]:
        """Return the parameters that are set for a model, in its search and in its last fit alike."""
        return _quick.settings(model) if self.quick else {}


@dataclass(frozen=True, slots=True)
class Searched:
    """What a budget's trials came to; without a search, the model as it is made."""

    params: dict[str, Any]
    #: The names of all parameters that were searched for; where the defaults are best, `params` is empty.
    tuned: tuple[str, ...] = ()
    cv_mse: float | None = None
    folds: int = 0
    trials: int = 0
    seconds: float = 0.0


def run_work(work: Work, studies: Path, limits: Limits, progress: TrialProgress | None = None) -> list[Result]:
    """Do one piece of work. Its search is kept in the folder `studies`, and goes on from what is there."""
    from threadpoolctl import threadpool_limits

    rows = split(work.dataset, work.seed, work.protocol)
    train, test = (rows.X_train, rows.y_train), (rows.X_test, rows.y_test)
    settings = limits.settings(work.model)
    results: list[Result] = []
    fitted: list[tuple[dict[str, Any], dict[str, Any]]] = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other libraries: a Lasso that did not converge is one of many trials
        # A search or fit that is interrupted returns what it has; here that would be a wrong result.
        warnings.simplefilter("error", FitInterruptedWarning)
        try:
            for trials, searched in _search(work, limits, *train, studies, progress):
                # Budgets often agree on the best parameters: then the model is the same.
                found = next((found for params, found in fitted if params == searched.params), None)
                if found is None:
                    last = inner_params(work.model, find(work.model).last)
                    model = _made(work, {**searched.params, **inner_params(work.model, settings), **last})
                    told = (*searched.tuned, *last)
                    found = _measured(work.model, model, told, train, test)
                    fitted.append((searched.params, found))
                results.append(_result(work, trials, searched, found, limits, len(rows.y_train)))
        except FitInterruptedWarning:
            raise KeyboardInterrupt from None
    return results


def _made(work: Work, params: Mapping[str, Any]) -> Any:
    return find(work.model).make(datasets.facts(work.dataset), work.seed).set_params(**params)


def _measured(
    name: str, model: Any, told: tuple[str, ...], train: tuple[Any, Any], test: tuple[Any, Any]
) -> dict[str, Any]:
    """Return what a model comes to when it is fitted and tested, as fields of a result."""
    from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

    start = time.perf_counter()
    model.fit(*train)
    seconds = time.perf_counter() - start
    predicted = np.asarray(model.predict(test[0]), dtype=np.float64)
    params = model.get_params(deep=True)
    chosen = own_params(name, {key: _plain(params[key]) for key in told})
    if not np.isfinite(predicted).all():
        message = f"{name} predicted values that are not finite with {chosen}"
        raise ValueError(message)
    found: dict[str, Any] = {
        "params": chosen,
        "r2": float(r2_score(test[1], predicted)),
        "rmse": float(mean_squared_error(test[1], predicted)) ** 0.5,
        "mae": float(mean_absolute_error(test[1], predicted)),
        "ops": count_operations(model),
        "conditions": conditions(model),
        "fit_seconds": round(seconds, 3),
    }
    circuit = getattr(model, "circuit_", None)
    if circuit is not None:
        found["select_ops"] = operations(circuit, "select").total
        found |= {"rules": len(circuit.rules), "literals": len(circuit.literals)}
        found["longest"] = max((rule.conditions for rule in model.rules_), default=0)
    if isinstance(model, RuleRegressor):
        found |= _page_facts(model, test)
    return found


def _page_facts(model: RuleRegressor, test: tuple[Any, Any]) -> dict[str, Any]:
    low, high = model.predict_interval(test[0], 0.9).T
    smaller = [size for size in PRUNED if size < model.rules_.n_conditions]
    return {
        "fired": round(float(sum(model.support_)), 1),
        "covered_90": round(float(np.mean((low <= test[1]) & (test[1] <= high))), 4),
        "pruned": {str(size): round(float(model.prune(size).score(*test)), 5) for size in smaller},
    }


def _result(
    work: Work, trials: int, searched: Searched, found: Mapping[str, Any], limits: Limits, train_rows: int
) -> Result:
    cuts = []
    if searched.trials < trials:
        minutes = (limits.seconds or 0.0) / 60
        cuts.append(f"{searched.trials} of {trials} trials, in {minutes:g} minutes")
    if settings := limits.settings(work.model):
        cuts.append(", ".join(f"{key}={value}" for key, value in settings.items()))
    return Result(
        dataset=work.dataset,
        model=work.model,
        seed=work.seed,
        trials=trials,
        protocol=work.protocol,
        folds=searched.folds,
        search_rows=train_rows if trials else 0,
        train_rows=train_rows,
        cv_mse=searched.cv_mse,
        search_seconds=round(searched.seconds, 3),
        cut="; ".join(cuts) or None,
        version=__version__,
        commit=_stamp.commit(),
        machine=_stamp.machine(),
        run_trials=searched.trials,
        **found,
    )


# --- the search -------------------------------------------------------------------------------------------------------


def _search(
    work: Work, limits: Limits, X: Any, y: Any, studies: Path, progress: TrialProgress | None
) -> list[tuple[int, Searched]]:
    """Return the best parameters of each budget by cross-validation on all rows, with the fits of the last one."""
    entry = find(work.model)
    if entry.space is None:
        return [(trials, Searched({})) for trials in work.budgets]
    model = _made(work, inner_params(work.model, limits.settings(work.model)))
    watch = _Watch(limits.seconds, progress)

    def go_on(n_trials: int) -> Any:
        return search(
            model,
            X,
            y,
            n_trials=n_trials,
            space=_fixed(entry, work.model, limits),
            storage=studies / f"{work.name}.log",
            random_state=work.seed,
            callbacks=[watch],
        )

    study = go_on(1)  # what earlier runs have done, and the model as it is made
    watch.passed = study.seconds
    if not watch.is_over() and study.n_trials < max(work.budgets):
        study = go_on(max(work.budgets))
    return [(trials, _best(study.trials, trials, study.folds)) for trials in work.budgets]


def _fixed(entry: Model, name: str, limits: Limits) -> Space:
    """Return a model's space, with what a quick run sets."""
    settings = inner_params(name, limits.settings(name))
    space = entry.space or (lambda _trial, _context: {})

    def fixed(trial: Any, context: Context) -> dict[str, Any]:
        return {**space(trial, context), **settings}

    return fixed if settings else space


def _best(records: list[TrialRecord], trials: int, folds: int) -> Searched:
    """Return the best of the first so many trials, which are the same whether or not there are more."""
    first = [record for record in records if record.number < trials]
    ended = [record for record in first if record.value is not None]
    if not ended:
        message = f"none of its {len(first)} trials ran to the end: {first[0].error}"
        raise ValueError(message)
    best = min(ended, key=lambda record: (record.value, record.number))
    seconds = sum(record.seconds for record in first)
    tuned = tuple(dict.fromkeys(name for record in first for name in record.params))
    return Searched(dict(best.params), tuned, best.value, folds, len(first), seconds)


class _Watch:
    """Tells the trials that have ended, and ends a search whose time is over."""

    def __init__(self, limit: float | None, progress: TrialProgress | None) -> None:
        self._limit, self._progress = limit, progress
        self._value: float | None = None
        self.passed = 0.0

    def is_over(self) -> bool:
        """Whether all trials together, those of earlier runs included, have taken what they may."""
        return self._limit is not None and self.passed >= self._limit

    def __call__(self, record: TrialRecord) -> bool:
        self.passed += record.seconds
        if record.value is not None and (self._value is None or record.value < self._value):
            self._value = record.value
        if self._progress is not None:
            self._progress(record.number + 1, self._value)
        return self.is_over()


def _plain(value: Any) -> Any:
    """Return a value that JSON has: numbers of numpy as Python's, tuples as lists."""
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
