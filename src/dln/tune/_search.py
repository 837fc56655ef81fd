"""`search`: ask for parameters, run the trial, keep what it came to, until there are enough."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any, Final

import numpy as np
from sklearn.base import clone

from dln._atomic import AnyPath
from dln._closest import closest
from dln._errors import FitInterruptedWarning
from dln._regressor import draw_seed
from dln.tune import _data as data
from dln.tune._context import Space
from dln.tune._facts import parameters
from dln.tune._folds import Folds
from dln.tune._optuna import fingerprint, first_draw, optuna, quietly
from dln.tune._pool import Pool, check_pool, jobs_here
from dln.tune._progress import Progress
from dln.tune._run import ROUND, Run, Workers
from dln.tune._space import own_space
from dln.tune._storage import Storage
from dln.tune._study import Study, TrialRecord
from dln.tune._trial import Job, evaluate, single_threaded

#: What numpy and scikit-learn take.
LARGEST_SEED: Final = 2**32 - 1


def search(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_trials: int = 64,
    space: Space | None = None,
    folds: int | None = None,
    timeout: float | None = None,
    max_rows: int | None = None,
    storage: AnyPath | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    ray: str | None = None,
    prune: bool = True,
    verbose: int = 0,
    callbacks: Sequence[Callable[[TrialRecord], object]] | None = None,
) -> Study:
    """Search for the parameters with the lowest cross-validated mean squared error.

    The first trial is the estimator as it was given, so the best is never worse than that. With a `random_state` the
    study is the same every time, also when it is interrupted and goes on from its storage, and with any number of up to
    four trials side by side, here or on a cluster; only `timeout` makes it depend on the machine. With more side by
    side, `n_jobs` is part of what the study depends on.

    Parameters
    ----------
    estimator : regressor
        Any scikit-learn regressor. Where its random_state is None, the search sets one, the same for all trials.
    X, y
        The table and the target, as for the estimator's `fit`.
    n_trials : int, default=64
        Trials in all: with a storage that has 40 finished trials, 24 more are run.
    space : callable or None, default=None
        ``space(trial, context)`` uses the Optuna trial's ``suggest_float``, ``suggest_int`` and ``suggest_categorical``
        and returns parameters to set; the `Context` tells rows and columns. None: `paper_space` for
        `DLNRegressor`, `default_space` for `RuleRegressor`.
    folds : int or None, default=None
        Folds of the cross-validation; None: 4 up to 1000 rows, 3 up to 5000, then 2.
    timeout : float or None, default=None
        Seconds after which no trial is begun; a running one is given up as soon as can be, but the first always ends.
    max_rows : int or None, default=None
        Search on at most so many rows, drawn by the seed. The best model is fitted on all.
    storage : path or None, default=None
        A file (an Optuna journal) that keeps every finished trial. The same search, started again, goes on from there;
        the storage of another search is refused.
    random_state : int, RandomState or None, default=None
        Seed of the folds, the trials and the estimator.
    n_jobs : int or None, default=None
        Trials to run side by side in processes of their own; -1 means one per core. None: one, in this process; on Ray
        as many as the cluster has processors.
    ray : str or None, default=None
        Run trials on a Ray cluster: "auto" or its address.
    prune : bool, default=True
        Give up trials that are further behind the best after a fold than the folds that are left could make good; where
        the estimator is a network alone, also after an epoch, if most trials before it are far better.
    verbose : int, default=0
        1 shows the trials that are done, the best so far and the time left.
    callbacks : list of callables or None, default=None
        Called after every trial with its `TrialRecord`; one that returns True ends the search.

    Returns
    -------
    Study

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> def space(trial, context):
    ...     return {"alpha": trial.suggest_float("alpha", 0.001, 10, log=True)}
    >>> study = search(Ridge(), X, y, space=space, n_trials=12, random_state=0)
    >>> study.n_trials, study.best_value < study.trials[0].value, list(study.best_params)
    (12, True, ['alpha'])
    >>> study.best_model.predict(X[:1]).shape
    (1,)

    """
    optuna()
    _check(n_trials=n_trials, folds=folds, max_rows=max_rows, timeout=timeout)
    check_pool(n_jobs, ray)
    data.check_estimator_kind(estimator)
    X, y_values = data.check_data(X, y)
    space = own_space(estimator) if space is None else space
    if not callable(space):
        message = f"space must be a function space(trial, context), or None, got {space!r}"
        raise ValueError(message)
    with quietly():
        kept = Storage(storage)
        seed = _seed(random_state, kept.seed())
        digest, _ = data.describe(estimator, X, y_values)
        X_searched, y_searched = data.thin(X, y_values, max_rows, seed)
        _, context = data.describe(estimator, X_searched, y_searched)
        n_folds = data.choose_folds(len(y_searched), folds)
        seeded = _seeded(estimator, seed)
        folds_of_rows = Folds(X_searched, y_searched, data.split(len(y_searched), n_folds, seed))
        job = Job(seeded, folds_of_rows)
        _check_space(estimator, first_draw(space, context))
        facts = {
            "estimator": type(estimator).__name__,
            **{f"{type(estimator).__name__}.{name}": value for name, value in parameters(estimator).items()},
            "space": fingerprint(space, context),
            "data": digest,
            "rows": len(y_values),
            "max_rows": None if max_rows is None or max_rows >= len(y_values) else max_rows,
            "folds": n_folds,
            "prune": prune,
            "round": ROUND,
            "random_state": seed,
        }
        evaluations = kept.begin(facts, space, context)
        with Progress(verbose, n_trials, timeout) as progress:
            run = Run(space, context, kept, evaluations, seed=seed, prune=prune, progress=progress, callbacks=callbacks)
            interrupted = run.up_to(n_trials, timeout, lambda seconds_left: _open_pool(job, n_jobs, ray, seconds_left))
    if interrupted:
        if not any(evaluation.outcome.state == "complete" for evaluation in run.evaluations):
            raise KeyboardInterrupt
        more = "" if storage is None else ". The same search goes on from its storage"
        message = f"the search was interrupted after {len(run.evaluations)} of {n_trials} trials{more}"
        warnings.warn(message, FitInterruptedWarning, stacklevel=2)
    return Study(seeded, X, y, run.evaluations, folds=n_folds, seed=seed)


def _open_pool(job: Job, n_jobs: int | None, ray: str | None, seconds_left: Callable[[], float]) -> Workers:
    """Return where to run the trials: here they are given up when the time is over, elsewhere the pool does that."""
    if ray is None and jobs_here(n_jobs) == 1:
        return Pool(lambda task: evaluate(job, task, lambda: seconds_left() <= 0))
    return Pool(partial(evaluate, single_threaded(job)), n_jobs, ray)


def _seed(random_state: Any, kept: int | None) -> int:
    """Return the seed of the search; without a wish, that of the search that is gone on with."""
    if isinstance(random_state, Integral):
        seed = int(random_state)
        if not 0 <= seed <= LARGEST_SEED:
            message = f"random_state must be a whole number from 0 to {LARGEST_SEED}, got {seed}"
            raise ValueError(message)
        return seed
    if random_state is None and kept is not None:
        return kept
    return draw_seed(random_state)


def _seeded(estimator: Any, seed: int) -> Any:
    """Return a copy of the estimator in which all that is random has a seed."""
    seeded = clone(estimator)
    params = seeded.get_params(deep=True)
    open_seeds = [name for name, value in params.items() if name.split("__")[-1] == "random_state" and value is None]
    return seeded.set_params(**dict.fromkeys(open_seeds, seed))


def _check(*, n_trials: Any, folds: Any, max_rows: Any, timeout: Any) -> None:
    least = {"n_trials": (n_trials, 1), "folds": (folds, 2), "max_rows": (max_rows, 2)}
    for name, (value, smallest) in least.items():
        if value is None and name != "n_trials":
            continue
        if isinstance(value, bool) or not isinstance(value, Integral) or value < smallest:
            message = f"{name} must be a whole number of at least {smallest}, got {value!r}"
            raise ValueError(message)
    if timeout is not None and not timeout > 0:
        message = f"timeout must be a number of seconds above 0, or None, got {timeout!r}"
        raise ValueError(message)


def _check_space(estimator: Any, params: Mapping[str, Any]) -> None:
    """Refuse a space that sets what the estimator does not have, before anything is fitted."""
    known = estimator.get_params(deep=True)
    for name in params:
        if name.split("__")[0] not in known:
            meant = closest(name, known)
            hint = f"it has {', '.join(map(repr, sorted(known)))}" if meant is None else f"did you mean {meant!r}?"
            message = f"the space sets {name!r}, which {type(estimator).__name__} does not have; {hint}"
            raise ValueError(message)
