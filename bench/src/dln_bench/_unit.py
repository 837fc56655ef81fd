"""One unit of work: load, split, search, fit, test. A function of its arguments alone, on one thread."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from dln._cost import operations
from dln._errors import FitInterruptedWarning
from dln._version import __version__
from dln.tune import TrialRecord, search
from dln_bench import datasets
from dln_bench._cuts import Budget, Cut, cut_of
from dln_bench._results import Result, Unit
from dln_bench.models._baselines import find, inner_params, own_params

#: Share of the rows that a model is tested on, as in the paper.
TEST_SHARE: Final = 0.25

#: Called with the trials that are done, and the smallest error so far (None: none has finished).
TrialProgress: TypeAlias = Callable[[int, float | None], None]


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search came to; without one, the model's defaults."""

    params: dict[str, Any]
    #: The names of all parameters that were searched for; where the defaults are best, `params` is empty.
    tuned: tuple[str, ...] = ()
    cv_mse: float | None = None
    folds: int = 0
    rows: int = 0
    trials: int = 0
    seconds: float = 0.0


def study_name(unit: Unit) -> str:
    """Return the name of a unit's study: units that differ in their trials share it."""
    return f"{unit.dataset}-{unit.model}-{unit.seed}"


def run_unit(unit: Unit, studies: Path, budget: Budget, progress: TrialProgress | None = None) -> Result:
    """Do one unit of work. Its search is kept in the folder `studies`, and goes on from what is there."""
    from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score
    from sklearn.model_selection import train_test_split
    from threadpoolctl import threadpool_limits

    facts, cut, entry = datasets.facts(unit.dataset), cut_of(unit.model, budget), find(unit.model)
    X, y = datasets.load(unit.dataset)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=TEST_SHARE, random_state=unit.seed)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other libraries: a Lasso that did not converge is one of many trials
        # A search or fit that is interrupted returns what it has; here that would be a wrong result.
        warnings.simplefilter("error", FitInterruptedWarning)
        try:
            searched = _search(unit, cut, X_train, y_train, studies, progress)
            model = entry.make(facts, unit.seed)
            model.set_params(**{**searched.params, **inner_params(unit.model, cut.final)})
            start = time.perf_counter()
            model.fit(X_train, y_train)
        except FitInterruptedWarning:
            raise KeyboardInterrupt from None
        fit_seconds = time.perf_counter() - start
        predicted = np.asarray(model.predict(X_test), dtype=np.float64)
    if not np.isfinite(predicted).all():
        message = f"{unit.model} predicted values that are not finite with {own_params(unit.model, searched.params)}"
        raise ValueError(message)
    circuit = getattr(model, "circuit_", None)
    all_params = model.get_params(deep=True)
    chosen = {name: all_params[name] for name in searched.tuned}
    return Result(
        dataset=unit.dataset,
        model=unit.model,
        seed=unit.seed,
        trials=unit.trials,
        folds=searched.folds,
        search_rows=searched.rows,
        train_rows=len(y_train),
        params={key: _plain(value) for key, value in own_params(unit.model, chosen).items()},
        cv_mse=searched.cv_mse,
        r2=float(r2_score(y_test, predicted)),
        rmse=float(mean_squared_error(y_test, predicted)) ** 0.5,
        mae=float(mean_absolute_error(y_test, predicted)),
        ops=operations(model).total,
        select_ops=None if circuit is None else operations(circuit, "select").total,
        rules=None if circuit is None else len(circuit.rules),
        literals=None if circuit is None else len(circuit.literals),
        search_seconds=round(searched.seconds, 3),
        fit_seconds=round(fit_seconds, 3),
        cut=cut.told(unit.trials, len(y_train)),
        version=__version__,
        run_trials=searched.trials,
    )


def _search(unit: Unit, cut: Cut, X: Any, y: Any, studies: Path, progress: TrialProgress | None) -> Searched:
    """Return the best parameters by cross-validation."""
    entry = find(unit.model)
    trials = unit.trials if cut.max_trials is None else min(unit.trials, cut.max_trials)
    if not trials:
        return Searched({})
    if entry.space is None:
        trials = 1  # nothing to find, but its error is told all the same
    model = entry.make(datasets.facts(unit.dataset), unit.seed)
    model.set_params(**inner_params(unit.model, cut.search))
    best = _Best(progress)
    study = search(
        model,
        X,
        y,
        n_trials=trials,
        space=entry.space or (lambda _trial, _context: {}),
        max_rows=cut.max_rows,
        storage=studies / f"{study_name(unit)}.log",
        random_state=unit.seed,
        callbacks=[best],
    )
    # A study that a larger budget shares may have more trials; the first so many are the same as without them.
    records = [record for record in study.trials if record.number < trials]
    ended = [record for record in records if record.value is not None]
    if not ended:
        message = f"none of its {trials} trials ran to the end: {records[0].error}"
        raise ValueError(message)
    chosen = min(ended, key=lambda record: (record.value, record.number))
    rows = len(y) if cut.max_rows is None else min(len(y), cut.max_rows)
    seconds = sum(record.seconds for record in records)
    tuned = tuple(dict.fromkeys(name for record in records for name in record.params))
    return Searched(dict(chosen.params), tuned, chosen.value, study.folds, rows, len(records), seconds)


class _Best:
    """Tells the trials that have ended, and the smallest error of them."""

    def __init__(self, progress: TrialProgress | None) -> None:
        self._progress = progress
        self._value: float | None = None

    def __call__(self, record: TrialRecord) -> None:
        if record.value is not None and (self._value is None or record.value < self._value):
            self._value = record.value
        if self._progress is not None:
            self._progress(record.number + 1, self._value)


def _plain(value: Any) -> Any:
    """Return a value that JSON has: numbers of numpy as Python's, tuples as lists."""
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
