"""Trials without hope end early, and the winner is not among them."""

from __future__ import annotations

import numpy as np
import pytest

from dln.tune import MARGIN, loss_limits, search
from searches import Scripted, X, Y, ridge


def test_a_trial_can_end_between_folds():
    """A trial that is far worse than others on the same fold is not fitted on the rest."""

    def far(trial):
        return {"shift": trial.suggest_float("shift", 1.0, 2.0) + 100 * (trial.number >= 8)}

    fits = []
    model = Scripted(script=lambda model: fits.append(model.shift))
    study = search(model, X, Y, space=far, n_trials=12, cv=4, random_state=0)
    assert [trial.state for trial in study.trials] == 8 * ["complete"] + 4 * ["pruned"]
    assert sum(shift > 100 for shift in fits) == 4


def test_a_trial_may_be_behind_by_what_folds_differ():
    """After a fold a trial is pruned if it is further behind the best than the other folds could make good."""
    best = (1.0, 2.0, 3.0, 4.0)
    shifted = [tuple(loss + 1 + 0.1 * sign * (-1) ** k for k, loss in enumerate(best)) for sign in (1, -1, 1, -1)]
    sigma = 0.1 * (4 / 3) ** 0.5
    expected = [sum(best[:k]) + MARGIN * sigma * (k * (4 - k) / 4) ** 0.5 for k in (1, 2, 3)]
    assert loss_limits([*shifted, best, (0.5,)]) == pytest.approx(expected)
    assert loss_limits(shifted) == ()  # too few


def test_pruning_does_not_lose_the_winner():
    """In studies of trials whose losses have a level of their own and noise per fold, the best trial is kept."""
    kept = saved = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        trials = 1 + rng.exponential(0.3, 32)[:, None] + rng.normal(0, 0.3, 4) + rng.normal(0, 0.05, (32, 4))
        known = []
        for first in range(0, 32, 4):
            limits = loss_limits(known)
            for losses in trials[first : first + 4].tolist():
                seen = next((k for k, limit in enumerate(limits, start=1) if sum(losses[:k]) > limit), 4)
                known.append(tuple(losses[:seen]))
                saved += 4 - seen
        kept += len(known[int(trials.mean(axis=1).argmin())]) == 4
    assert kept >= 198
    assert saved > 0.3 * 200 * 32 * 4


def test_without_pruning_all_trials_run_to_their_end():
    """`prune=False` runs all folds of every trial."""
    assert {trial.state for trial in ridge(20).trials} == {"complete", "pruned"}
    assert {trial.state for trial in ridge(20, prune=False).trials} == {"complete"}
