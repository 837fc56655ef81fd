"""Search for parameters by cross-validation: ``pip install 'dln[tune]'``, or ``'dln[ray]'`` for a cluster.

Trials are asked for in rounds of four, and a round learns from all rounds before it. So up to four workers give the
same study as one, and so does a search that was stopped and goes on from its storage.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import joblib
import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_regressor
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from dln._atomic import AnyPath
from dln._dln import DLNRegressor
from dln._errors import FitInterruptedWarning, import_extra
from dln._pool import Lost, Pool
from dln._rule import RuleRegressor
from dln._version import __version__
from dln.data._target import check_target

__all__ = ["Space", "Study", "StudyError", "TrialRecord", "paper_space", "rule_space", "search"]

#: Trials of a round; with more workers, a multiple of it.
ROUND: Final = 4
#: Rows up to which a search has so many folds; above, it has 2. The paper: 2 to 4, more for smaller tables.
FOLDS: Final = ((1000, 4), (5000, 3))
#: Complete trials from which on others are pruned, and standard deviations that a trial may be behind the best.
ENOUGH_TRIALS: Final = 5
MARGIN: Final = 2.5
#: Seconds after which the lock of a journal is taken for that of a killed process.
LOCK_SECONDS: Final = 3

Rows: TypeAlias = npt.NDArray[np.intp]
Floats: TypeAlias = npt.NDArray[np.float64]
#: Called with an Optuna trial, whose ``suggest_…`` methods it uses; returns parameters to set.
Space: TypeAlias = Callable[[Any], dict[str, Any]]


def _draw(kind: type, grid: Mapping[str, Sequence[Any]], trial: Any) -> dict[str, Any]:
    """Return a point of a grid, in which the defaults of the class are contained."""
    default, drawn = kind().get_params(), {}
    for name, values in grid.items():
        by_label = {_label(value): value for value in (default[name], *values)}
        label = trial.suggest_categorical(name, list(by_label))
        drawn[name] = by_label.get(label, label)
    return drawn


def _label(value: Any) -> Any:
    """Return a value in a form that Optuna keeps: tuples as text."""
    return repr(tuple(value)) if isinstance(value, (list, tuple)) else value


#: Search space of `DLNRegressor`. The paper tunes τ, γ and τ_min in a grid that it does not print, and n_thresholds in
#: {6, 10}. The other parameters, and all values but those of n_thresholds, are our choice.
PAPER_GRID: Final[dict[str, list[Any]]] = {
    "hidden_layer_sizes": [(300,) * 2, (300,) * 3, (300,) * 4, (300,) * 5, (100,) * 4, (200,) * 4, (500,) * 4],
    "n_thresholds": [6, 10],
    "learning_rate": [0.001, 0.002, 0.005, 0.01],
    "temperature": [0.5, 1.0, 2.0],
    "temperature_decay": [0.95, 0.97, 0.985],
    "min_temperature": [0.01, 0.03, 0.1],
}
#: Search space of `RuleRegressor`, without `max_conditions`: how much a person wants to read is not a search's to say.
RULE_GRID: Final[dict[str, list[Any]]] = {
    "max_rule_length": [2, 3, 4, 6],
    "n_teachers": [0, 4],
    "n_synthetic_rows": [0, 3000, 6000],
    "n_grown_rules": [300, 600, 1200],
    "n_generations": [2, 4, 8],
}
paper_space: Space = partial(_draw, DLNRegressor, PAPER_GRID)
rule_space: Space = partial(_draw, RuleRegressor, RULE_GRID)


class StudyError(ValueError):
    """A storage that is damaged, or a search without a complete trial."""


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """Result of one trial.

    Attributes
    ----------
    number : int
        Counted from 0, the estimator as it was given.
    state : {"complete", "pruned", "failed"}
        How it ended.
    params : dict
        Parameters that were set.
    fold_values : tuple of float
        Mean squared error of each fold that was run.
    seconds : float
        Duration.
    error : str
        Message of the error, where the trial failed.

    """

    number: int
    state: Literal["complete", "pruned", "failed"]
    params: Mapping[str, Any]
    fold_values: tuple[float, ...] = ()
    seconds: float = 0.0
    error: str = ""

    @property
    def value(self) -> float | None:
        """Cross-validated mean squared error of a complete trial."""
        return sum(self.fold_values) / len(self.fold_values) if self.state == "complete" else None


@dataclass(frozen=True, slots=True)
class Study:
    """Result of a search.

    Attributes
    ----------
    estimator : regressor
        As it was given, with a seed.
    trials : tuple of TrialRecord
        By number.
    folds : int
        Folds of the cross-validation.
    seed : int
        The `random_state`, drawn if none was given.

    """

    estimator: Any
    trials: tuple[TrialRecord, ...]
    folds: int
    seed: int

    @property
    def best_trial(self) -> TrialRecord:
        """The trial with the lowest mean squared error, the first of equals."""
        return min((t for t in self.trials if t.value is not None), key=lambda trial: trial.value or 0.0)

    @property
    def best_params(self) -> dict[str, Any]:
        """Parameters of the best trial; empty if it is the estimator as it was given."""
        return dict(self.best_trial.params)

    @property
    def best_value(self) -> float:
        """Cross-validated mean squared error of the best trial, in the target's units squared."""
        return self.best_trial.value or 0.0

    def best_estimator(self) -> Any:
        """Return the estimator with the best parameters, to be fitted.

        Returns
        -------
        regressor

        """
        return clone(self.estimator).set_params(**self.best_params)


def search(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_trials: int = 64,
    space: Space | None = None,
    cv: int | None = None,
    storage: AnyPath | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    ray: str | None = None,
    prune: bool = True,
    callbacks: Iterable[Callable[[TrialRecord], object]] = (),
) -> Study:
    """Search for the parameters with the lowest cross-validated mean squared error.

    The first trial is the estimator as it was given, so that the best is never worse. With a `random_state` the study
    is the same every time, with up to four trials side by side; with more, it depends on their number, too. Ctrl-C ends
    the search; with a `storage`, the same call goes on from there.

    Parameters
    ----------
    estimator : regressor
        Any scikit-learn regressor. Where a random_state in it is None, the search sets one, the same for all trials.
    X, y
        The table and the target, as for the estimator's `fit`.
    n_trials : int, default=64
        Trials in all: with a storage that has 40, 24 more are run.
    space : callable or None, default=None
        ``space(trial)`` uses the Optuna trial's ``suggest_float``, ``suggest_int`` and ``suggest_categorical`` and
        returns parameters to set. None: `paper_space` for `DLNRegressor`, `rule_space` for `RuleRegressor`.
    cv : int or None, default=None
        Folds of the cross-validation; None: 4 up to 1000 rows, 3 up to 5000, then 2.
    storage : path or None, default=None
        A file (an Optuna journal) that keeps every finished trial of this search and of others.
    random_state : int or None, default=None
        Seed of the folds, the trials and the estimator. None: drawn, or that of the storage.
    n_jobs : int or None, default=None
        Trials to run side by side, in processes; -1: one per core. None: one; on Ray one per processor of the cluster.
    ray : str or None, default=None
        Run trials on a Ray cluster: "auto" or its address.
    prune : bool, default=True
        End trials that are further behind the best after a fold than the folds that are left could make good.
    callbacks : list of callables, default=()
        Called with the `TrialRecord` of each trial, those of the storage first; one that returns True ends the search.

    Returns
    -------
    Study

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> def space(trial):
    ...     return {"alpha": trial.suggest_float("alpha", 0.001, 10, log=True)}
    >>> study = search(Ridge(), X, y, space=space, n_trials=12, random_state=0)
    >>> len(study.trials), study.best_value < study.trials[0].value, list(study.best_params)
    (12, True, ['alpha'])

    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    y = check_target(y, _num_samples(X), "y")
    n_folds = min(len(y), next((folds for rows, folds in FOLDS if len(y) <= rows), 2)) if cv is None else cv
    _check_whole("n_trials", n_trials, 1, None)
    _check_whole("cv", n_folds, 2, len(y))
    if random_state is not None:
        _check_whole("random_state", random_state, 0, 2**32 - 1)
    space = _own_space(estimator) if space is None else space
    with _quiet_optuna() as optuna:
        facts = {
            "estimator": _description(estimator),
            "space": _fingerprint(optuna, space, estimator),
            "data": _digest(X, y),
            "cv": n_folds,
            "prune": prune,
            "random_state": random_state if random_state is None else int(random_state),
            "version": __version__,
        }
        journal = _open_journal(optuna, storage, facts)
        seed = journal.user_attrs["seed"]
        seeded = _fill(estimator, "random_state", seed)
        run = _Search(optuna, space, seeded, seed, journal, prune, tuple(callbacks))
        if run.missing(n_trials) and not run.stopped:
            splits = tuple(KFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y))))
            is_alone = n_jobs in {None, 1} and ray is None
            work = _CrossValidation(seeded if is_alone else _fill(seeded, "n_jobs", 1), X, y, splits)
            with closing(Pool(work, n_jobs, ray)) as pool:
                run.to(n_trials, pool)
    trials = tuple(run.records[number] for number in sorted(run.records))
    if all(trial.value is None for trial in trials):
        message = f"all {len(trials)} trials failed, the first of them with {trials[0].error}"
        raise StudyError(message)
    return Study(seeded, trials, n_folds, seed)


# --- a trial ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rivals:
    """Earlier trials that a trial has to keep up with: the fold losses of the best, and a spread.

    The difference of two trials varies from fold to fold with a standard deviation, the spread. Its mean over all n
    folds, predicted from k of them, is off by a standard deviation of spread · √((n - k) / (n · k)).
    """

    best: tuple[float, ...] = ()
    spread: float = 0.0

    @classmethod
    def of(cls, losses: Sequence[tuple[float, ...]]) -> _Rivals:
        """Return the rivals, given the fold losses of the trials before the round."""
        n_folds = max(map(len, losses), default=0)
        whole = [each for each in losses if len(each) == n_folds > 1]
        if len(whole) < ENOUGH_TRIALS:
            return cls()
        best = min(whole, key=sum)
        deviations = [np.std(np.subtract(each, best), ddof=1) for each in whole if each is not best]
        return cls(best, float(np.median(deviations)))

    def rule_out(self, losses: Sequence[float]) -> bool:
        """Return whether a trial with these losses in its first folds is to be pruned."""
        n, k = len(self.best), len(losses)
        if k >= n:
            return False
        behind = (sum(losses) - sum(self.best[:k])) / k
        return behind > MARGIN * self.spread * math.sqrt((n - k) / (n * k))


@dataclass(frozen=True, slots=True)
class _Task:
    """A trial to run."""

    number: int
    params: Mapping[str, Any]
    rivals: _Rivals = _Rivals()


@dataclass(frozen=True, slots=True)
class _CrossValidation:
    """The work of a trial: fit and test fold by fold. Its result depends on its arguments alone."""

    estimator: Any
    X: Any
    y: Floats
    splits: Sequence[tuple[Rows, Rows]]

    def __call__(self, task: _Task) -> TrialRecord:
        start, losses, error = time.perf_counter(), list[float](), ""
        state: Literal["complete", "pruned", "failed"] = "complete"
        try:
            for train, test in self.splits:
                model = clone(self.estimator).set_params(**task.params)
                with warnings.catch_warnings():
                    warnings.simplefilter("error", FitInterruptedWarning)
                    model.fit(_safe_indexing(self.X, train), self.y[train])
                losses.append(_loss(model.predict(_safe_indexing(self.X, test)), self.y[test]))
                if task.rivals.rule_out(losses):
                    state = "pruned"
                    break
        except FitInterruptedWarning as interrupt:
            raise KeyboardInterrupt from interrupt
        except Exception as failure:  # noqa: BLE001 (kept with the trial; the search goes on)
            state, error = "failed", f"{type(failure).__name__}: {failure}"
        return TrialRecord(task.number, state, task.params, tuple(losses), time.perf_counter() - start, error)


def _loss(predicted: Any, y: Floats) -> float:
    error = np.asarray(predicted, dtype=np.float64).reshape(-1) - y
    loss = float(np.mean(error * error))
    if not math.isfinite(loss):
        message = "the predictions are not finite numbers, or too large to square"
        raise ValueError(message)
    return loss


# --- the loop ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Search:
    """The trials of a search as they come; those of the journal first."""

    optuna: Any
    space: Space
    estimator: Any
    seed: int
    journal: Any
    prune: bool
    callbacks: Sequence[Callable[[TrialRecord], object]]
    records: dict[int, TrialRecord] = field(default_factory=dict)
    frozen: dict[int, Any] = field(default_factory=dict)
    stopped: bool = False

    def __post_init__(self) -> None:
        for trial in self.journal.get_trials(deepcopy=False):
            kept = trial.user_attrs
            if kept["number"] not in self.records:
                params = self._params(trial, kept["number"])
                record = TrialRecord(**{**kept, "params": params, "fold_values": tuple(kept["fold_values"])})
                self._add(trial, record)

    def missing(self, n_trials: int) -> list[int]:
        """Return the numbers of the trials that are not finished."""
        return [number for number in range(n_trials) if number not in self.records]

    def to(self, n_trials: int, pool: Pool[_Task, TrialRecord]) -> None:
        """Run the missing trials up to this number, round by round."""
        size = ROUND * math.ceil(pool.n_jobs / ROUND)
        while (missing := self.missing(n_trials)) and not self.stopped:
            first = missing[0] // ROUND * ROUND
            self._round(range(first, min(first + size, n_trials)), pool)

    def _round(self, numbers: range, pool: Pool[_Task, TrialRecord]) -> None:
        before = [number for number in sorted(self.records) if number < numbers[0]]
        rivals = _Rivals.of([self.records[i].fold_values for i in before] if self.prune else [])
        asked = self._ask(numbers, before)
        tasks = []
        for number in [number for number in numbers if number not in self.records]:
            params, suggested = self._params(asked[number], number), asked[number].params
            twins = [
                i for i in before if self.frozen[i].params == suggested != {} and self.records[i].state != "failed"
            ]
            if twins:  # the same parameters give the same result
                self._keep(asked[number], replace(self.records[twins[0]], number=number, params=params, seconds=0.0))
            else:
                tasks.append(_Task(number, params, rivals))
        with closing(pool.run(tasks)) as results:
            for task, result in results:
                if isinstance(result, Lost):
                    self._keep(asked[task.number], TrialRecord(task.number, "failed", task.params, error=result.reason))
                else:
                    self._keep(asked[task.number], result)
                if self.stopped:
                    return

    def _ask(self, numbers: range, before: Sequence[int]) -> dict[int, Any]:
        """Return the Optuna trials of a round: they depend on those before it, their numbers and the seed alone."""
        study = self.optuna.create_study()
        study.add_trials([self.frozen[i] for i in before if self.frozen[i].params])
        asked = {}
        for number in numbers:
            seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
            study.sampler = self.optuna.samplers.TPESampler(seed=seed)
            asked[number] = study.ask() if number else self._as_given()
            if number:
                self.space(asked[number])
        return asked

    def _as_given(self) -> Any:
        """Return the first trial: a point of the space, where the space contains the estimator as it was given."""
        given = self.estimator.get_params()
        trial = self.optuna.trial.FixedTrial({name: _label(value) for name, value in given.items()})
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # Optuna warns of values out of range
                if all(_label(given[name]) == _label(value) for name, value in self.space(trial).items()):
                    return trial
        except (KeyError, ValueError, UserWarning):  # other names, or values that the space does not have
            pass
        return self.optuna.trial.FixedTrial({})

    def _params(self, trial: Any, number: int) -> dict[str, Any]:
        """Return the parameters that the space makes of the values suggested; none for the first trial."""
        return self.space(self.optuna.trial.FixedTrial(trial.params, number)) if number else {}

    def _keep(self, asked: Any, record: TrialRecord) -> None:
        """Add a finished trial, and write it to the journal as one line."""
        states = {"complete": "COMPLETE", "pruned": "PRUNED", "failed": "FAIL"}
        means = np.cumsum(record.fold_values) / np.arange(1, len(record.fold_values) + 1)
        trial = self.optuna.trial.create_trial(
            state=self.optuna.trial.TrialState[states[record.state]],
            value=record.value,
            params=asked.params,
            distributions=asked.distributions,
            intermediate_values=dict(enumerate(means.tolist(), start=1)),
            user_attrs={name: getattr(record, name) for name in ("number", "state", "fold_values", "seconds", "error")},
        )
        self.journal.add_trial(trial)
        self._add(trial, record)

    def _add(self, trial: Any, record: TrialRecord) -> None:
        self.records[record.number], self.frozen[record.number] = record, trial
        if any([callback(record) is True for callback in self.callbacks]):  # noqa: C419 (all are called)
            self.stopped = True


# --- setting out ------------------------------------------------------------------------------------------------------


def _check_whole(name: str, value: Any, least: int, most: int | None) -> None:
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        message = f"{name} must be a whole number {limits}, got {value!r}"
        raise ValueError(message)


def _own_space(estimator: Any) -> Space:
    if isinstance(estimator, DLNRegressor):
        return paper_space
    if isinstance(estimator, RuleRegressor):
        return rule_space
    message = f"space must be given for {estimator!r}: a function space(trial) that returns parameters to set"
    raise ValueError(message)


def _fill(estimator: Any, name: str, value: int) -> Any:
    """Return a copy in which a parameter, in all parts of the estimator, has this value where it is None."""
    copy = clone(estimator)
    names = [each for each, old in copy.get_params().items() if each.split("__")[-1] == name and old is None]
    return copy.set_params(**dict.fromkeys(names, value))


def _description(estimator: Any) -> str:
    """Return the parameters that a fit depends on, as text without addresses in memory."""
    if isinstance(estimator, type) or not is_regressor(estimator):
        message = f"estimator must be a scikit-learn regressor like DLNRegressor(), got {estimator!r}"
        raise ValueError(message)
    plain = clone(estimator)
    others = {each for each in plain.get_params() if each.split("__")[-1] in {"callbacks", "n_jobs", "verbose"}}
    params = plain.set_params(**dict.fromkeys(others)).get_params()
    texts = {name: re.sub(r" at 0x\w+", "", repr(value)) for name, value in sorted(params.items())}
    return f"{type(estimator).__name__} {json.dumps(texts)}"


def _digest(X: Any, y: Floats) -> str | None:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    columns = [(name, frame[name].to_numpy()) for name in frame.columns] if isinstance(frame, nw.DataFrame) else X
    digest: str | None = joblib.hash((columns, y))
    return digest


def _fingerprint(optuna: Any, space: Any, estimator: Any) -> str:
    """Return a draw and its distributions; refuse a space that sets what the estimator does not have."""
    trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0)).ask()
    params = space(trial) if callable(space) else None
    if not isinstance(params, dict):
        message = f"space must be a function space(trial) that returns a dict of parameters to set, got {space!r}"
        raise ValueError(message)
    clone(estimator).set_params(**params)
    return repr((params, trial.distributions))


# --- the storage ------------------------------------------------------------------------------------------------------


@contextmanager
def _quiet_optuna() -> Iterator[Any]:
    """Import Optuna, and keep it from logging every study that is made: a search makes one for every round."""
    optuna = import_extra("optuna", "search", "tune")
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)


def _open_journal(optuna: Any, path: AnyPath | None, facts: Mapping[str, Any]) -> Any:
    """Return the Optuna study of the search that these facts describe, in a journal or in memory."""
    storage = None if path is None else _open_storage(optuna, Path(path))
    name = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    study = optuna.create_study(study_name=name, storage=storage, load_if_exists=True)
    if "seed" not in study.user_attrs:
        study.set_user_attr("search", facts)
        seed = secrets.randbits(31) if facts["random_state"] is None else facts["random_state"]
        study.set_user_attr("seed", seed)
    return study


def _open_storage(optuna: Any, path: Path) -> Any:
    """Return the storage in a journal; the start of a line that a kill cut off is taken away."""
    if path.is_dir() or not path.parent.is_dir():
        message = f"storage must be the path of a file in a folder that exists, got {str(path)!r}"
        raise StudyError(message)
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    try:
        if not content.startswith(b'{"op_code"'[: len(content)]):
            raise ValueError("it is not an Optuna journal")  # noqa: EM101, TRY003, TRY301 (the reason alone)
        for line in whole.splitlines():
            json.loads(line)
        if len(whole) < len(content):
            os.truncate(path, len(whole))
        journal = optuna.storages.journal
        # A lock that is a file, not a link: links need rights that not everyone has on Windows.
        lock = journal.JournalFileOpenLock(str(path), grace_period=LOCK_SECONDS)
        return journal.JournalStorage(journal.JournalFileBackend(str(path), lock_obj=lock))
    except OSError:
        raise
    except Exception as error:  # whatever Optuna makes of the lines
        message = f"{path} is not a study that can be read ({error}): delete it, or name another file"
        raise StudyError(message) from error
