"""Search for parameters by cross-validation: with the extra ``tune``, or ``ray`` for a cluster.

Trials are drawn in rounds of four, and a round learns from all rounds before it. So up to four workers give the
same study as one, and so does a search that was stopped and goes on from its storage.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import joblib
import narwhals as nw
import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import _safe_indexing, check_scalar
from sklearn.utils.validation import _num_samples, has_fit_parameter

from dln._atomic import AnyPath
from dln._dln import DLNRegressor
from dln._errors import import_extra
from dln._pool import Lost, Pool
from dln._rule import RuleRegressor
from dln._version import __version__
from dln.data._division import TESTED, TRAINED, Division, read_division
from dln.data._target import check_target

__all__ = ["Space", "Study", "StudyError", "TrialRecord", "paper_space", "rule_space", "search"]
#: Trials of a round; with more workers, a multiple of it.
ROUND: Final = 4
#: Rows up to which a search has so many folds; above, it has 2. The paper: 2 to 4, more for smaller tables.
FOLDS: Final = ((1000, 4), (5000, 3))
#: Complete trials from which others are pruned, and standard deviations that a trial may be behind the best.
ENOUGH_TRIALS: Final = 5
MARGIN: Final = 2.5
#: What the text of an object has of its place in memory.
ADDRESS: Final = re.compile(r" at 0x\w+")
#: Seconds after which the lock of a journal is taken for that of a killed process.
LOCK_SECONDS: Final = 3
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
#: Search space of `RuleRegressor`, without `max_conditions`, which is the reader's choice.
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

    """

    estimator: Any
    trials: tuple[TrialRecord, ...]
    folds: int

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

    @property
    def best_estimator(self) -> Any:
        """The estimator with the best parameters, not fitted."""
        return clone(self.estimator).set_params(**self.best_params)


def search(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_trials: int = 64,
    space: Space | None = None,
    cv: Any = None,
    groups: Any = None,
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
    cv : int, scikit-learn splitter, iterable of (train, test) row numbers or None, default=None
        Folds of the cross-validation; None: 4 up to 1000 rows, 3 up to 5000, then 2.
    groups : array-like of shape (n_samples,), optional
        A label for every row: the rows of a group are never on both sides of a split, nor within fits that take groups.
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
    >>> study = search(Ridge(), X, y, space=lambda t: {"alpha": t.suggest_float("alpha", 0.01, 1)}, n_trials=8)
    >>> len(study.trials), study.best_value < study.trials[0].value, list(study.best_params)
    (8, True, ['alpha'])

    """
    if isinstance(estimator, type) or not is_regressor(estimator):
        raise ValueError(f"estimator must be a scikit-learn regressor like DLNRegressor(), got {estimator!r}")
    X = X if hasattr(X, "shape") else np.asarray(X)
    y = check_target(y, _num_samples(X), "y")
    n_folds = min(len(y), next((folds for rows, folds in FOLDS if len(y) <= rows), 2)) if cv is None else cv
    is_number = not (hasattr(cv, "split") or isinstance(cv, Iterable))
    check_scalar(n_trials, "n_trials", Integral, min_val=1)
    if is_number:
        check_scalar(n_folds, "cv", Integral, min_val=2, max_val=len(y))
    division = read_division(cv, X, y, groups, None)
    if division.splits is not None:
        n_folds = len(division.splits)
    elif division.groups is not None:
        n_folds = min(n_folds, int(division.groups.max()) + 1)
    if random_state is not None:
        check_scalar(random_state, "random_state", Integral, min_val=0, max_val=2**32 - 1)
    if space is None:
        space = paper_space if isinstance(estimator, DLNRegressor) else None
        space = rule_space if isinstance(estimator, RuleRegressor) else space
    with _quiet_optuna() as optuna:
        drawn = _probe(optuna, space, estimator)
        # In a storage a search is known by all that the results of its trials depend on.
        folds = (cv if is_number else None, division.labels) if division.labels else n_folds
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        is_frame = isinstance(frame, nw.DataFrame)
        columns = [(name, frame[name].to_numpy()) for name in frame.columns] if is_frame else X
        facts = [__version__, _description(estimator), drawn, columns, y, folds, prune, random_state]
        kept = _open_storage(optuna, storage)
        journal = optuna.create_study(study_name=joblib.hash(facts), storage=kept, load_if_exists=True)
        seed = journal.user_attrs.get("seed", secrets.randbits(31) if random_state is None else int(random_state))
        journal.set_user_attr("seed", seed)
        seeded = _fill(estimator, "random_state", seed)
        run = _Search(optuna, space, seeded, seed, journal, prune, tuple(callbacks))
        if run.missing(range(n_trials)) and not run.stopped:
            splits = _splits(division, len(y), n_folds, seed)
            is_alone = n_jobs in {None, 1} and ray is None
            model = seeded if is_alone else _fill(seeded, "n_jobs", 1)
            work = partial(_run_trial, model, X, y, division.groups, splits)
            with closing(Pool(work, n_jobs, ray)) as pool:
                run.to(n_trials, pool)
    trials = tuple(run.records[number] for number in sorted(run.records))
    if all(trial.value is None for trial in trials):
        raise StudyError(f"all {len(trials)} trials failed, the first of them with {trials[0].error}")
    return Study(seeded, trials, n_folds)


def _splits(division: Division, n_rows: int, n_folds: int, seed: int) -> Sequence[tuple[Any, Any]]:
    """Return the training and the test rows of each fold."""
    if division.splits is not None:
        return [(np.flatnonzero(split == TRAINED), np.flatnonzero(split == TESTED)) for split in division.splits]
    splitter = KFold if division.groups is None else GroupKFold
    folds = splitter(n_folds, shuffle=True, random_state=seed)
    return tuple(folds.split(np.zeros(n_rows), groups=division.groups))


class _Task(NamedTuple):
    """A trial to run; it is pruned where the sum of its losses after 1, 2, … folds is above a limit."""

    number: int
    params: Mapping[str, Any]
    limits: tuple[float, ...]


def _run_trial(
    estimator: Any, X: Any, y: Any, groups: Any, splits: Sequence[tuple[Any, Any]], task: _Task
) -> TrialRecord:
    """Fit and test an estimator fold by fold. The result depends on the arguments alone."""
    start, losses, error = time.perf_counter(), list[float](), ""
    state: Literal["complete", "pruned", "failed"] = "complete"
    try:
        for train, test in splits:
            model = clone(estimator).set_params(**task.params)
            given = {"groups": groups[train]} if groups is not None and has_fit_parameter(model, "groups") else {}
            model.fit(_safe_indexing(X, train), y[train], **given)
            losses.append(mean_squared_error(y[test], model.predict(_safe_indexing(X, test))))
            if len(losses) <= len(task.limits) and sum(losses) > task.limits[len(losses) - 1]:
                state = "pruned"
                break
    except Exception as failure:  # noqa: BLE001 (kept with the trial; the search goes on)
        state, error = "failed", f"{type(failure).__name__}: {failure}"
    return TrialRecord(task.number, state, task.params, tuple(losses), time.perf_counter() - start, error)


def loss_limits(losses: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return the limits of a task, given the losses of earlier trials in their folds.

    The difference of two trials varies from fold to fold with a standard deviation σ, the median of those of complete
    trials to the best. Its mean over k of n folds differs from that over all n by a standard deviation of
    σ · √((n - k) / (n · k)), so its sum over k folds by σ · √(k · (n - k) / n).
    """
    n = max(map(len, losses), default=0)
    complete = [each for each in losses if len(each) == n > 1]
    if len(complete) < ENOUGH_TRIALS:
        return ()
    best = min(complete, key=sum)
    sigma = np.median([np.std(np.subtract(each, best), ddof=1) for each in complete if each is not best])
    return tuple(sum(best[:k]) + MARGIN * float(sigma) * math.sqrt(k * (n - k) / n) for k in range(1, n))


@dataclass(slots=True)
class _Search:
    """The trials of a search as they come; those of the journal first."""

    optuna: Any
    space: Any
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

    def missing(self, numbers: Iterable[int]) -> list[int]:
        """Return the numbers of the trials that are not finished."""
        return [number for number in numbers if number not in self.records]

    def to(self, n_trials: int, pool: Pool[_Task, TrialRecord]) -> None:
        """Run the missing trials up to this number, round by round."""
        size = ROUND * math.ceil(pool.n_jobs / ROUND)
        while (missing := self.missing(range(n_trials))) and not self.stopped:
            first = missing[0] // ROUND * ROUND
            self._round(range(first, min(first + size, n_trials)), pool)

    def _round(self, numbers: range, pool: Pool[_Task, TrialRecord]) -> None:
        before = [number for number in sorted(self.records) if number < numbers[0]]
        limits = loss_limits([self.records[i].fold_values for i in before if self.prune])
        drawn = self._ask(numbers, before)
        tasks = []
        for number in self.missing(numbers):
            params, values = self._params(drawn[number], number), drawn[number].params
            same = [self.records[i] for i in before if values and self.frozen[i].params == values]
            if same and same[0].state != "failed":  # the same parameters have the same result
                self._keep(drawn[number], replace(same[0], number=number, params=params, seconds=0.0))
            else:
                tasks.append(_Task(number, params, limits))
        with closing(pool.run(tasks)) as results:
            for task, result in results:
                if isinstance(result, Lost):
                    result = TrialRecord(task.number, "failed", task.params, error=result.reason)  # noqa: PLW2901
                self._keep(drawn[task.number], result)
                if self.stopped:
                    return

    def _ask(self, numbers: range, before: Sequence[int]) -> dict[int, Any]:
        """Return the Optuna trials of a round: they depend on those before it, their numbers and the seed alone."""
        study = self.optuna.create_study()
        study.add_trials([self.frozen[i] for i in before if self.frozen[i].params])
        drawn = {0: self._as_given()} if numbers[0] == 0 else {}
        for number in numbers[len(drawn) :]:
            seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
            study.sampler = self.optuna.samplers.TPESampler(seed=seed)
            drawn[number] = study.ask()
            self.space(drawn[number])
        return drawn

    def _as_given(self) -> Any:
        """Return the first trial: a point of the space, where the space contains the estimator as it was given."""
        given = {name: _label(value) for name, value in self.estimator.get_params().items()}
        trial = self.optuna.trial.FixedTrial(given)
        # Other names, or values that the space does not have.
        with suppress(KeyError, ValueError, UserWarning), warnings.catch_warnings():
            warnings.simplefilter("error")  # Optuna warns of values out of range
            if all(given[name] == _label(value) for name, value in self.space(trial).items()):
                return trial
        return self.optuna.trial.FixedTrial({})

    def _params(self, trial: Any, number: int) -> dict[str, Any]:
        """Return the parameters that the space makes of the values suggested; none for the first trial."""
        return dict(self.space(self.optuna.trial.FixedTrial(trial.params, number))) if number else {}

    def _keep(self, drawn: Any, record: TrialRecord) -> None:
        """Add a finished trial, and write it to the journal as one line."""
        means = np.cumsum(record.fold_values) / np.arange(1, len(record.fold_values) + 1)
        trial = self.optuna.trial.create_trial(
            state=self.optuna.trial.TrialState["FAIL" if record.state == "failed" else record.state.upper()],
            value=record.value,
            params=drawn.params,
            distributions=drawn.distributions,
            intermediate_values=dict(enumerate(means.tolist(), start=1)),
            user_attrs={name: getattr(record, name) for name in ("number", "state", "fold_values", "seconds", "error")},
        )
        self.journal.add_trial(trial)
        self._add(trial, record)

    def _add(self, trial: Any, record: TrialRecord) -> None:
        self.records[record.number], self.frozen[record.number] = record, trial
        for callback in self.callbacks:
            self.stopped |= callback(record) is True


def _fill(estimator: Any, name: str, value: int) -> Any:
    """Return a copy in which a parameter, in all parts of the estimator, has this value where it is None."""
    copy = clone(estimator)
    names = [each for each, old in copy.get_params().items() if each.split("__")[-1] == name and old is None]
    return copy.set_params(**dict.fromkeys(names, value))


def _description(estimator: Any) -> str:
    """Return the parameters that a fit depends on, as text without addresses in memory."""
    plain = clone(estimator)
    others = {name for name in plain.get_params() if name.split("__")[-1] in {"callbacks", "n_jobs", "verbose"}}
    params = plain.set_params(**dict.fromkeys(others)).get_params()
    return ADDRESS.sub("", f"{type(plain).__name__} {sorted((name, repr(params[name])) for name in params)}")


def _probe(optuna: Any, space: Space | None, estimator: Any) -> str:
    """Return a point of a space and its distributions, as text; refuse a space of parameters that do not exist."""
    trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0)).ask()
    params = space(trial) if callable(space) else None
    if not isinstance(params, dict):
        raise ValueError(
            f"space must be a function space(trial) that returns a dict of parameters to set, got {space!r}"
        )
    clone(estimator).set_params(**params)
    return ADDRESS.sub("", repr((params, trial.distributions)))


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


def _open_storage(optuna: Any, storage: AnyPath | None) -> Any:
    """Return the storage in a journal, or None; the start of a line that a kill cut off is taken away."""
    if storage is None:
        return None
    path = Path(storage)
    if path.is_dir() or not path.parent.is_dir():
        raise StudyError(f"storage must be the path of a file in a folder that exists, got {str(path)!r}")
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    try:
        if not content.startswith(b'{"op_code"'[: len(content)]):
            raise ValueError("it is not an Optuna journal")  # noqa: TRY301 (the reason alone)
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
        raise StudyError(
            f"{path} is not a study that can be read ({error}): delete it, or name another file"
        ) from error
