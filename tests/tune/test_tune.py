"""The search as its users meet it: reproducible, resumable, and not to be stopped by a trial that fails."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import cloudpickle
import numpy as np
import optuna
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dln import DLNRegressor, FitInterruptedWarning, MissingExtraError, PaperDLNRegressor
from dln.tune import Context, DLNSearchCV, StudyError, default_space, paper_space, search
from dln.tune._data import split
from dln.tune._folds import Folds
from dln.tune._prune import ENOUGH_TRIALS, MARGIN, Thresholds
from dln.tune._space import own_space
from dln.tune._trial import Job, OutOfTimeError, Trial, evaluate
from models import SMALL

X, Y = make_friedman1(200, n_features=5, noise=1.0, random_state=0)
QUICK = PaperDLNRegressor(hidden_layer_sizes=(16, 8), max_epochs=30, n_iter_no_change=10)


def alphas(trial, context):
    """Return a regularisation for ridge regression."""
    del context
    return {"alpha": trial.suggest_float("alpha", 1e-3, 1e3, log=True)}


def rates(trial, context):
    """Return parameters that matter even in thirty epochs."""
    del context
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.001, 0.3, log=True),
        "n_thresholds": trial.suggest_int("n_thresholds", 2, 12),
    }


def ridge(n_trials=6, **options):
    """Search for a ridge regression, in a blink."""
    return search(Ridge(), options.pop("X", X), Y, space=alphas, n_trials=n_trials, **{"random_state": 0, **options})


def network(n_trials=12, **options):
    """Search for a network, with trials that are pruned."""
    return search(QUICK, X, Y, space=rates, n_trials=n_trials, **{"random_state": 0, **options})


def told(study):
    """Return all of a study that has to be the same every time."""
    return [(trial.number, trial.state, trial.value, trial.params, trial.fold_values) for trial in study.trials]


class Obedient(RegressorMixin, BaseEstimator):
    """A regressor that predicts the mean plus its parameter, and does to the fit what the parameter says."""

    def __init__(self, shift=0.0, order=None):
        self.shift = shift
        self.order = order

    def fit(self, X, y):
        """Follow the order, then learn the mean."""
        del X
        if callable(self.order):
            self.order(self)
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        """Return the mean, shifted."""
        return np.full(X.shape[0], self.mean_ + self.shift)


@pytest.fixture
def sent_by_value():
    """Let other processes have the classes of this file, which they cannot import."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def shifts(trial, context):
    """Return a shift."""
    del context
    return {"shift": trial.suggest_float("shift", 1.0, 2.0)}


# --- what a search comes to -------------------------------------------------------------------------------------------


def test_the_first_trial_is_the_estimator_as_it_was_given():
    """Trial 0 changes nothing, so the best is never worse than what was there."""
    study = search(Obedient(), X, Y, space=shifts, n_trials=5, random_state=0)
    assert study.trials[0].params == {}
    assert study.best_trial.number == 0
    assert study.best_params == {}
    assert study.best_value == study.trials[0].value


def test_the_best_is_the_lowest_cross_validated_error():
    """The best value is the mean squared error over the folds, in the target's units, of the lowest trial."""
    study = ridge(8)
    assert study.best_value == min(trial.value for trial in study.trials if trial.value is not None)
    job = Job(Ridge(random_state=0), Folds(X, Y, split(len(Y), study.folds, 0)))
    assert evaluate(job, Trial(0, study.best_params, Thresholds())).value == study.best_value


def test_the_best_model_is_fitted_on_all_rows_once():
    """`best_model` has the best parameters, has seen all rows, also where fewer were searched on, and is one object."""
    study = ridge(6, max_rows=50)
    model = study.best_model
    assert model is study.best_model
    expected = Ridge(random_state=0, **study.best_params).fit(X, Y)
    assert np.array_equal(model.predict(X), expected.predict(X))


def test_fewer_rows_are_searched_on():
    """With `max_rows` a trial sees so many rows, and the space is told."""
    seen = set()

    def space(trial, context):
        seen.add(context)
        return alphas(trial, context)

    study = search(Ridge(), X, Y, space=space, n_trials=2, max_rows=40, folds=2, random_state=0)
    assert seen == {Context(40, 5, 0)}
    assert study.folds == 2


def test_trials_with_the_same_parameters_are_run_once():
    """A space with few points is not fitted over and over."""
    fits = []
    model = Obedient(order=lambda _: fits.append(1))

    def space(trial, context):
        del context
        return {"shift": trial.suggest_categorical("shift", [1.0])}

    study = search(model, X, Y, space=space, n_trials=30, folds=2, random_state=0, prune=False)
    assert study.n_trials == 30
    assert len(fits) <= 2 * 6


def test_tables_of_any_kind():
    """Arrays, frames, lists and sparse matrices of the same numbers come to the same, as far as their solvers do."""
    names = list("abcde")
    expected = told(ridge(3))
    for table in (X.tolist(), pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), sparse.csr_array(X)):
        assert [t[2] for t in told(ridge(3, X=table))] == pytest.approx([t[2] for t in expected], rel=1e-3)


def test_a_dln_inside_a_pipeline_is_searched_too():
    """The DLN at the end of a pipeline gets a seed, and its parameters by their long names."""

    def space(trial, context):
        return {f"paperdlnregressor__{name}": value for name, value in rates(trial, context).items()}

    pipeline = make_pipeline(FunctionTransformer(), QUICK)
    study = search(pipeline, X, Y, space=space, n_trials=12, random_state=0)
    assert [(t.state, t.value) for t in study.trials] == [(t.state, t.value) for t in network().trials]
    assert study.best_estimator()["paperdlnregressor"].random_state == 0


@pytest.mark.parametrize(
    ("space", "kind", "widest"), [(paper_space, PaperDLNRegressor, 800), (default_space, DLNRegressor, 500)]
)
def test_our_own_spaces_give_parameters_that_a_dln_takes(space, kind, widest):
    """Whatever is drawn for whatever table is a valid setting of every parameter that it names."""
    for i, context in enumerate([Context(50, 1, 0), Context(10_000, 0, 30), Context(500, 300, 7)] * 20):
        trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=i)).ask()
        model = kind().set_params(**space(trial, context))
        model._validate_params()
        assert max(model.hidden_layer_sizes) <= widest
        size = ("max_conditions", "max_rule_length", "max_rules")
        assert all(getattr(model, name) == getattr(kind(), name) for name in size if hasattr(model, name))


def test_the_space_fits_the_model():
    """The paper's model is searched in the paper's space, the default model in its own."""
    paper = search(QUICK, X, Y, n_trials=2, folds=2, random_state=0)
    assert "gradient_factor" in paper.trials[1].params
    assert own_space(DLNRegressor()) is default_space
    assert own_space(QUICK) is paper_space
    with pytest.raises(ValueError, match="space must be given for Ridge"):
        own_space(Ridge())


def test_a_page_is_searched_for_too():
    """A search over a page of rules finds parameters, judges no network by its epochs, and keeps the size."""

    def space(trial, context):
        del context
        return {"n_grown_rules": trial.suggest_int("n_grown_rules", 10, 30), "n_networks": 1}

    study = search(DLNRegressor(**SMALL), X[:80], Y[:80], space=space, n_trials=3, folds=2, random_state=0)
    assert [trial.state for trial in study.trials] == ["complete"] * 3
    job = Job(DLNRegressor(**SMALL), Folds(X[:80], Y[:80], split(80, 2, 0)))
    assert evaluate(job, Trial(0, {}, Thresholds())).curve == {}
    assert study.best_model.rules_.n_conditions <= SMALL["max_conditions"]


# --- the same every time ----------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_study():
    """A search with a seed can be repeated, and another seed gives another."""
    assert told(network()) == told(network())
    assert told(ridge()) != told(ridge(random_state=1))


def test_a_search_in_parts_is_the_same_as_in_one(tmp_path):
    """Stopped and continued, with more trials each time, a search comes to what it would have been at once."""
    for n_trials in (1, 5, 6, 12):
        study = network(n_trials, storage=tmp_path / "study.log")
        assert study.n_trials == n_trials
    assert told(study) == told(network())
    assert "pruned" in {trial.state for trial in study.trials}
    assert told(network(3, storage=tmp_path / "study.log")) == told(study)  # fewer than there are: all are told


def test_a_search_without_a_seed_goes_on_with_the_one_it_had(tmp_path):
    """Without `random_state`, the seed is drawn once and kept with the trials."""
    path = tmp_path / "study.log"
    first = ridge(4, storage=path, random_state=None)
    second = ridge(9, storage=path, random_state=None)
    assert second.seed == first.seed
    assert told(second) == told(ridge(9, random_state=first.seed))


def test_a_search_that_was_killed_while_it_wrote_goes_on(tmp_path):
    """Wherever the storage ends, the trials in it that are whole are kept and the rest is run again."""
    whole = tmp_path / "study.log"
    expected = told(ridge(7, storage=whole))
    content = whole.read_bytes()
    for i, end in enumerate([*range(0, len(content), 197), len(content) - 1]):
        path = tmp_path / f"{i}.log"
        path.write_bytes(content[:end])
        assert told(ridge(7, storage=path)) == expected


def test_a_lock_that_was_left_behind_is_no_obstacle(tmp_path):
    """A search that was killed while it wrote leaves a lock; the next one soon goes on all the same."""
    path = tmp_path / "study.log"
    ridge(2, storage=path)
    (tmp_path / "study.log.lock").touch()
    assert told(ridge(4, storage=path)) == told(ridge(4))
    assert not (tmp_path / "study.log.lock").exists()


@pytest.mark.usefixtures("sent_by_value")
def test_processes_give_the_same_study_and_one_that_dies_is_replaced(tmp_path):
    """With trials side by side, and a process lost on the way, the study is the same as one by one."""
    flag = tmp_path / "flag"

    def die_once(_):
        if not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    study = search(Obedient(order=die_once), X, Y, space=shifts, n_trials=9, random_state=0, n_jobs=2)
    assert flag.exists()
    assert told(study) == told(search(Obedient(), X, Y, space=shifts, n_trials=9, random_state=0))


@pytest.mark.usefixtures("sent_by_value")
def test_a_trial_that_always_kills_its_process_has_failed():
    """A trial whose process dies every time is given up, and the search goes on."""

    def die_if_shifted(model):
        if model.shift:
            os.kill(os.getpid(), signal.SIGKILL)

    study = search(Obedient(order=die_if_shifted), X, Y, space=shifts, n_trials=2, random_state=0, n_jobs=2)
    assert [trial.state for trial in study.trials] == ["complete", "failed"]
    assert study.trials[1].error == "the process that ran it died 3 times, the last time with SIGKILL(-9)"


# --- storages that are refused ----------------------------------------------------------------------------------------


def test_the_storage_of_another_search_is_refused(tmp_path):
    """Another table, seed, estimator, space or number of folds is named in one sentence, and nothing is changed."""
    path = tmp_path / "study.log"
    ridge(2, storage=path)
    before = path.read_bytes()
    start = f"{re.escape(str(path))} is the storage of another search: "
    end = "; delete it to start anew, or name another file$"
    cases = {
        "the table is not the same": lambda: ridge(3, storage=path, X=X + 1),
        "random_state was 0 and is 1": lambda: ridge(3, storage=path, random_state=1),
        "folds was 4 and is 2": lambda: ridge(3, storage=path, folds=2),
        "max_rows was None and is 50": lambda: ridge(3, storage=path, max_rows=50),
        "Ridge.random_state was None and is 3": lambda: search(
            Ridge(random_state=3), X, Y, space=alphas, n_trials=3, storage=path, random_state=0
        ),
        "Ridge.alpha was '1.0' and is '2.0'": lambda: search(
            Ridge(2.0), X, Y, space=alphas, n_trials=3, storage=path, random_state=0
        ),
        "the space is not the same": lambda: search(
            Ridge(), X, Y, space=lambda trial, _: {"alpha": trial.suggest_float("alpha", 0, 1)}, n_trials=3,
            storage=path, random_state=0,
        ),
    }  # fmt: skip
    for difference, run in cases.items():
        with pytest.raises(StudyError, match=start + re.escape(difference) + end):
            run()
    assert path.read_bytes() == before


def test_damaged_storages_are_refused(tmp_path):
    """A file that is no study, or no longer one, is refused in one sentence and left as it is."""
    good = tmp_path / "good.log"
    ridge(3, storage=good)
    lines = good.read_bytes().splitlines(keepends=True)
    nonsense = json.loads(lines[-1])
    nonsense["user_attrs"] = {"number": 1}
    contents = {
        "line 2 cannot be read": lines[0] + b"blub\n" + lines[2],
        "line 1 is not of an Optuna journal": b"[1, 2]\n",
        "it is not an Optuna journal": b"price,area",
        "a trial in it makes no sense": b"".join(lines[:-1]) + json.dumps(nonsense).encode() + b"\n",
    }
    for reason, content in contents.items():
        path = tmp_path / "bad.log"
        path.write_bytes(content)
        with pytest.raises(StudyError, match=f"bad.log is not a study that can be read.*{reason}.*delete it"):
            ridge(3, storage=path)
        assert path.read_bytes() == content


def test_the_study_of_another_program_is_refused(tmp_path):
    """A journal that Optuna wrote for someone else is not added to."""
    path = tmp_path / "study.log"
    backend = optuna.storages.journal.JournalFileBackend(str(path))
    optuna.create_study(study_name="theirs", storage=optuna.storages.JournalStorage(backend))
    with pytest.raises(StudyError, match=r"an Optuna study of another program \('theirs'\): name another file"):
        ridge(2, storage=path)


@pytest.mark.parametrize(
    ("storage", "reason"), [(".", "is a folder"), ("nowhere/study.log", "there is no folder nowhere")]
)
def test_paths_that_cannot_be(storage, reason, tmp_path, monkeypatch):
    """A storage must be a file in a folder that is there."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StudyError, match=f"storage must be the path of a file, but .*{reason}"):
        ridge(2, storage=storage)


# --- trials that do not end -------------------------------------------------------------------------------------------


def epochs_of(thresholds):
    """Run a network under thresholds; return what it came to and the epochs that it ran."""
    epochs = []
    model = clone(QUICK).set_params(random_state=0, callbacks=[epochs.append], n_iter_no_change=30)
    job = Job(model, Folds(X, Y, split(len(Y), 2, 0)))
    return evaluate(job, Trial(0, {}, thresholds)), [epoch.epoch for epoch in epochs]


def test_a_hopeless_trial_ends_within_an_epoch():
    """A network worse than those before it ends at the first epoch that is judged, without a fold."""
    outcome, epochs = epochs_of(Thresholds.of([{1: 1e-9}] * ENOUGH_TRIALS, []))
    assert outcome.state == "pruned"
    assert outcome.losses == ()
    assert epochs == [1, 2, 3, 4, 5, 6, 7, 8, 9]  # 0.3 of the thirty epochs are every trial's


def test_a_hopeful_trial_is_left_alone():
    """A network as good as the others, or one of too few to say, runs to its end."""
    assert epochs_of(Thresholds.of([{1: 1e9}] * ENOUGH_TRIALS, []))[0].state == "complete"
    assert epochs_of(Thresholds.of([{1: 1e-9}] * (ENOUGH_TRIALS - 1), []))[0].state == "complete"


def test_a_trial_can_end_between_folds():
    """Any estimator that is far worse than the others on the same folds is not fitted on the rest."""
    fits = []
    model = Obedient(order=lambda _: fits.append(1))
    job = Job(model, Folds(X, Y, split(len(Y), 4, 0)))
    fine = evaluate(job, Trial(0, {}, Thresholds()))
    fits.clear()
    thresholds = Thresholds.of([], [[loss + i * k for k, loss in enumerate(fine.losses)] for i in range(ENOUGH_TRIALS)])
    assert evaluate(job, Trial(1, {"shift": 100.0}, thresholds)).state == "pruned"
    assert len(fits) == 1
    assert evaluate(job, Trial(2, {}, thresholds)).state == "complete"


def test_a_trial_may_be_behind_by_what_folds_differ():
    """After a fold a trial is given up if it is further behind the best than the other folds could make good."""
    best = (1.0, 2.0, 3.0, 4.0)
    shifted = [tuple(loss + 1 + 0.1 * sign * (-1) ** k for k, loss in enumerate(best)) for sign in (1, -1, 1, -1)]
    thresholds = Thresholds.of([], [*shifted, best])
    assert thresholds.best == best
    assert thresholds.spread == pytest.approx(0.1 * (4 / 3) ** 0.5)
    margin = MARGIN * thresholds.spread * (3 / 4) ** 0.5
    assert not thresholds.rules_out_fold([1.0 + 0.99 * margin])
    assert thresholds.rules_out_fold([1.0 + 1.01 * margin])
    assert not thresholds.rules_out_fold([9.0, 9.0, 9.0, 9.0])  # nothing is left to save
    assert Thresholds.of([], shifted).best == ()  # too few to say


def test_pruning_does_not_lose_the_winner():
    """In studies of trials whose losses have a level of their own and noise per fold, the best trial is kept."""
    kept = saved = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        trials = 1 + rng.exponential(0.3, 32)[:, None] + rng.normal(0, 0.3, 4) + rng.normal(0, 0.05, (32, 4))
        known = []
        for first in range(0, 32, 4):
            thresholds = Thresholds.of([], known)
            for losses in trials[first : first + 4].tolist():
                seen = next((k for k in (1, 2, 3) if thresholds.rules_out_fold(losses[:k])), 4)
                known.append(losses[:seen])
                saved += 4 - seen
        kept += len(known[int(trials.mean(axis=1).argmin())]) == 4
    assert kept >= 198
    assert saved > 0.3 * 200 * 32 * 4


def test_the_first_steps_of_a_pipeline_are_fitted_once_for_each_fold():
    """Trials that change the last step share what comes before it, with the results of fitting all of it each time."""
    fits = []

    class Counted(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            fits.append(len(X))
            return super().fit(X, y, sample_weight)

    def inner(trial, context):
        return {f"ridge__{name}": value for name, value in alphas(trial, context).items()}

    shared = search(make_pipeline(Counted(), Ridge()), X, Y, space=inner, n_trials=5, folds=3, random_state=0)
    assert len(fits) == 3

    def outer(trial, context):
        return {**inner(trial, context), "counted__with_mean": True}

    fits.clear()
    apart = search(make_pipeline(Counted(), Ridge()), X, Y, space=outer, n_trials=5, folds=3, random_state=0)
    assert len(fits) > 3
    assert [trial.fold_values for trial in shared.trials] == [trial.fold_values for trial in apart.trials]


def test_without_pruning_all_trials_run_to_their_end():
    """`prune=False` leaves every trial alone."""
    assert {trial.state for trial in network(prune=False).trials} == {"complete"}


# --- trials that fail -------------------------------------------------------------------------------------------------


def fail_if_shifted(model):
    """Refuse to fit."""
    if model.shift > 1.5:
        message = "too far"
        raise ValueError(message)


def test_a_trial_that_fails_is_told_and_the_search_goes_on():
    """What a fit raises is kept with the trial."""
    study = search(Obedient(order=fail_if_shifted), X, Y, space=shifts, n_trials=8, random_state=0)
    failed = [trial for trial in study.trials if trial.state == "failed"]
    assert failed
    assert all(trial.error == "ValueError: too far" and trial.value is None for trial in failed)
    assert study.n_trials == 8


def test_if_all_trials_fail_the_error_says_why():
    """With nothing to show for, the first message is told."""
    model = Obedient(shift=9.0, order=fail_if_shifted)
    with pytest.raises(StudyError, match="all 3 trials failed, the first of them with ValueError: too far"):
        search(model, X, Y, space=lambda *_: {}, n_trials=3, random_state=0)


def test_predictions_that_are_not_numbers_are_a_failure():
    """A model that predicts infinity cannot win, nor end the search."""
    study = search(Obedient(), X, Y, space=lambda *_: {"shift": np.inf}, n_trials=2, random_state=0)
    assert study.trials[1].error == "ValueError: the predictions are not finite numbers, or too large to square"


# --- time, Ctrl-C, callbacks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [QUICK, Ridge()])
def test_when_the_time_is_over_the_first_trial_still_ends(estimator):
    """However short the time, there is a result, and only one."""
    space = rates if estimator is QUICK else alphas
    study = search(estimator, X, Y, space=space, timeout=1e-6, random_state=0)
    assert [trial.state for trial in study.trials] == ["complete"]


def test_the_running_trial_ends_with_the_time():
    """A network is stopped after its epoch when the time is over, and has no outcome."""
    model = clone(QUICK).set_params(max_epochs=10**6, n_iter_no_change=10**6, early_stopping=False)
    job = Job(model, Folds(X, Y, split(len(Y), 2, 0)))
    end = time.monotonic() + 0.3
    with pytest.raises(OutOfTimeError):
        evaluate(job, Trial(0, {}, Thresholds()), lambda: time.monotonic() > end)


def test_ctrl_c_keeps_what_is_finished():
    """Ctrl-C ends the search with a warning; the trials so far are there."""
    model = Obedient(order=lambda model: os.kill(os.getpid(), signal.SIGINT) if model.shift > 1.5 else None)
    with pytest.warns(FitInterruptedWarning, match="the search was interrupted after [1-7] of 8 trials"):
        study = search(model, X, Y, space=shifts, n_trials=8, random_state=0)
    assert {trial.state for trial in study.trials} <= {"complete", "pruned"}


def test_ctrl_c_in_a_network_ends_the_search(tmp_path):
    """The network of a trial that is interrupted is not taken for a result: the trial is run again."""
    sent = []

    def interrupt(epoch):
        if len(sent) == 60:
            os.kill(os.getpid(), signal.SIGINT)
        sent.append(epoch)

    model = clone(QUICK).set_params(callbacks=[interrupt])
    path = tmp_path / "study.log"
    with pytest.warns(FitInterruptedWarning, match=r"of 12 trials. The same search goes on from its storage"):
        study = search(model, X, Y, space=rates, n_trials=12, random_state=0, storage=path, folds=2)
    assert study.n_trials < 12
    expected = search(QUICK, X, Y, space=rates, n_trials=12, random_state=0, folds=2)
    assert told(search(QUICK, X, Y, space=rates, n_trials=12, storage=path, folds=2)) == told(expected)


def test_sigterm_ends_the_process_and_keeps_the_trials(tmp_path):
    """SIGTERM ends a process that searches; the trials that were finished are in the storage."""
    script = """
import os, signal, sys
import numpy as np
from sklearn.linear_model import Ridge
from dln.tune import search

def send(trial):
    if trial.number == 2:
        os.kill(os.getpid(), signal.SIGTERM)

X = np.random.default_rng(0).normal(size=(40, 3))
space = lambda trial, context: {"alpha": trial.suggest_float("alpha", 0.1, 1)}
search(Ridge(), X, X[:, 0], space=space, storage=sys.argv[1], n_trials=9, folds=2, random_state=0, callbacks=[send])
print("went on")
"""
    path = tmp_path / "study.log"
    done = subprocess.run([sys.executable, "-c", script, path], check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert done.stdout == ""
    assert path.read_text().count('"losses"') == 3


def test_a_journal_that_lost_what_it_is_of(tmp_path):
    """A storage whose own description is damaged is refused in a sentence, not in a traceback."""
    path = tmp_path / "study.log"
    ridge(2, storage=path)
    whole = path.read_text()
    for damaged in (whole.replace("random_state", "random_stale"), whole.replace('{\\"estimator', '[\\"estimator')):
        path.write_text(damaged)
        with pytest.raises(StudyError, match="what it says of its search makes no sense"):
            ridge(2, storage=path)


def test_ctrl_c_before_anything_is_finished_is_ctrl_c():
    """Without a finished trial there is nothing to keep."""
    with pytest.raises(KeyboardInterrupt):
        search(Obedient(order=lambda _: os.kill(os.getpid(), signal.SIGINT)), X, Y, space=shifts, random_state=0)


def test_callbacks_see_every_trial_and_can_end_the_search():
    """A callback gets the record of each trial as it ends; True ends the search."""
    seen = []
    study = ridge(9, callbacks=[lambda trial: seen.append(trial.number), lambda trial: trial.number == 4])
    assert seen == [0, 1, 2, 3, 4]
    assert study.n_trials == 5


def test_progress_is_shown(capsys):
    """`verbose=1` tells the trials, the best so far and the time left, on standard error."""
    ridge(5, verbose=1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.search(r"5 of 5 .*lowest RMSE \d.* s left", shown.err)
    ridge(5)
    assert capsys.readouterr().err == ""


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_trials": 0}, "n_trials must be a whole number of at least 1, got 0"),
        ({"n_trials": 2.5}, "n_trials must be a whole number of at least 1, got 2.5"),
        ({"folds": 1}, "folds must be a whole number of at least 2, got 1"),
        ({"max_rows": 0}, "max_rows must be a whole number of at least 2, got 0"),
        ({"timeout": -1}, "timeout must be a number of seconds above 0, or None, got -1"),
        ({"n_jobs": 0}, "n_jobs must be a whole number above 0, -1 for one per core, or None, got 0"),
        ({"ray": 7}, "ray must be 'auto', the address of a cluster, or None, got 7"),
        ({"folds": 500}, "folds must be at most the number of rows, 200, got 500"),
        ({"random_state": -1}, "random_state must be a whole number from 0 to 4294967295, got -1"),
        ({"space": None}, "space must be given for Ridge"),
        ({"space": lambda *_: 7}, "space must return a dict of parameters to set"),
        ({"space": lambda *_: {"alhpa": 1}}, "sets 'alhpa', which Ridge does not have; did you mean 'alpha'?"),
        ({"space": "alpha"}, "space must be a function space(trial, context), or None, got 'alpha'"),
        ({"estimator": Ridge}, "estimator must be a scikit-learn regressor"),
        ({"estimator": LogisticRegression()}, "estimator must be a regressor"),
        ({"y": None}, "the target y is None"),
        ({"y": Y[:-1]}, "inconsistent numbers of samples"),
        ({"y": np.where(Y > 10, np.nan, Y)}, "Input y contains NaN"),
        ({"X": X[:1], "y": Y[:1]}, "a search needs at least 2 rows"),
    ],
)  # fmt: skip
def test_one_sentence_for_each_mistake(options, sentence):
    """What was required and what was received, before anything is fitted."""
    options = {"estimator": Ridge(), "X": X, "y": Y, "space": alphas, "n_trials": 2, "random_state": 0, **options}
    with pytest.raises(ValueError, match=re.escape(sentence)):
        search(options.pop("estimator"), options.pop("X"), options.pop("y"), **options)


@pytest.mark.parametrize(("missing", "options"), [("optuna", {}), ("ray", {"ray": "auto"})])
def test_missing_extras_are_named(missing, options, monkeypatch):
    """Without its package, the search says what to install."""
    monkeypatch.setitem(sys.modules, missing, None)
    extra = {"optuna": "tune", "ray": "ray"}[missing]
    with pytest.raises(MissingExtraError, match=re.escape(f"pip install 'dln[{extra}]'")):
        ridge(2, **options)


# --- DLNSearchCV ------------------------------------------------------------------------------------------------------


REFITTED = PaperDLNRegressor(hidden_layer_sizes=(16, 8), max_epochs=10)


@parametrize_with_checks([DLNSearchCV(REFITTED, n_trials=2, cv=2)])
def test_scikit_learns_checks(estimator, check):
    """Every check of scikit-learn passes."""
    check(estimator)


def test_the_search_as_an_estimator():
    """`DLNSearchCV` finds what `search` finds and predicts with it."""
    table = pd.DataFrame(X, columns=list("abcde"))
    model = DLNSearchCV(QUICK, space=rates, n_trials=12, random_state=0).fit(table, Y)
    study = network()
    assert model.best_params_ == study.best_params
    assert model.best_score_ == -study.best_value
    assert list(model.feature_names_in_) == list("abcde")
    assert np.array_equal(model.predict(table), study.best_model.predict(X))
    results = model.cv_results_
    assert results["rank_test_score"][model.best_index_] == 1
    assert [np.isnan(score) for score in results["mean_test_score"]] == [s != "complete" for s in results["state"]]
    assert results["params"][1] == study.trials[1].params
    assert results["param_learning_rate"].mask.tolist() == [True] + [False] * 11
    frame = pd.DataFrame(results)
    assert len(frame) == 12


def test_the_default_estimator_is_a_dln():
    """Without an estimator it is DLNRegressor() that is searched for."""
    assert DLNSearchCV()._estimator().get_params() == DLNRegressor().get_params()


def test_without_refit_there_is_nothing_to_predict_with():
    """`refit=False` searches only."""
    model = DLNSearchCV(Ridge(), space=alphas, n_trials=3, refit=False, random_state=0).fit(X, Y)
    assert model.best_params_ == ridge(3).best_params
    assert not hasattr(model, "predict")
    with pytest.raises(AttributeError, match="the data of this study is no longer there"):
        _ = model.study_.best_model


def test_a_fitted_search_does_not_carry_the_table_along():
    """A pickle of it is small, and predicts the same."""
    rows = np.repeat(X, 50, axis=0)
    model = DLNSearchCV(Ridge(), space=alphas, n_trials=2, random_state=0).fit(rows, np.repeat(Y, 50))
    content = pickle.dumps(model)
    assert len(content) < 20_000
    assert np.array_equal(pickle.loads(content).predict(X), model.predict(X))  # noqa: S301 (our own)


def test_a_search_that_is_not_fitted_says_so():
    """As everywhere in scikit-learn."""
    with pytest.raises(NotFittedError):
        DLNSearchCV().predict(X)


def test_the_storage_serves_the_estimator_too(tmp_path: Path):
    """A `DLNSearchCV` goes on from its storage."""
    path = tmp_path / "study.log"
    DLNSearchCV(Ridge(), space=alphas, n_trials=3, storage=path, random_state=0).fit(X, Y)
    model = DLNSearchCV(Ridge(), space=alphas, n_trials=8, storage=path, random_state=0).fit(X, Y)
    assert told(model.study_) == told(ridge(8))
