"""Hopeless trials end early, and the winner is not among them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from dln.tune._data import split
from dln.tune._folds import Folds
from dln.tune._prune import ENOUGH_TRIALS, MARGIN, Thresholds
from dln.tune._trial import Job, Trial, evaluate
from searches import QUICK, Obedient, X, Y, network


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


def test_without_pruning_all_trials_run_to_their_end():
    """`prune=False` leaves every trial alone."""
    assert {trial.state for trial in network(prune=False).trials} == {"complete"}
