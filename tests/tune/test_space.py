"""Each learner is searched in its own space, which contains its defaults."""

from __future__ import annotations

import optuna
import pytest
from sklearn.linear_model import Ridge

from dln import DLNRegressor, RuleRegressor
from dln.tune import PAPER_GRID, RULE_GRID, paper_space, rule_space, search
from models import SMALL
from searches import X, Y, alphas

SPACES = [(paper_space, PAPER_GRID, DLNRegressor), (rule_space, RULE_GRID, RuleRegressor)]


@pytest.mark.parametrize(("space", "grid", "kind"), SPACES)
def test_every_point_of_a_space_is_a_valid_setting(space, grid, kind):
    """Parameters that are drawn are valid, of the grid's own values and types, and leave the size to the user."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for i in range(60):
        params = space(optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=i)).ask())
        kind().set_params(**params)._validate_params()
        assert set(params) == set(grid)
        assert all(value in (*grid[name], getattr(kind(), name)) for name, value in params.items())
    assert "max_conditions" not in grid


def test_the_papers_grid_has_what_the_paper_states():
    """6 or 10 thresholds, and τ, γ and τ_min are searched."""
    assert PAPER_GRID["n_thresholds"] == [6, 10]
    assert {"temperature", "temperature_decay", "min_temperature"} <= set(PAPER_GRID)


@pytest.mark.parametrize(("space", "grid", "kind"), SPACES)
def test_the_sampler_learns_from_the_defaults(space, grid, kind, tmp_path):
    """The first trial is the class as it is, and a point of the space."""
    quick = type("Quick", (kind,), {"fit": lambda self, *_: self, "predict": lambda _, X: 0 * X[:, 0]})
    path = tmp_path / "study.log"
    search(quick(), X, Y, space=space, n_trials=1, storage=path, random_state=0)
    journal = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    (trial,) = optuna.load_study(study_name=None, storage=journal).trials
    assert set(trial.params) == set(grid)
    assert space(optuna.trial.FixedTrial(trial.params)) == {name: getattr(kind(), name) for name in grid}


def test_an_estimator_that_is_no_point_of_the_space_is_the_first_trial_all_the_same():
    """Trial 0 is what was given, also where the space does not contain it."""
    study = search(Ridge(alpha=1e6), X, Y, space=alphas, n_trials=3, random_state=0)
    assert study.trials[0].params == {}
    assert study.trials[1].params["alpha"] <= 1e3


def test_the_best_parameters_are_those_of_the_last_fit(tmp_path):
    """The best estimator has the best parameters exactly, also when they come from a storage."""
    path = tmp_path / "study.log"
    model = RuleRegressor(**SMALL)
    runs = [search(model, X[:60], Y[:60], n_trials=4, cv=2, random_state=3, storage=path) for _ in range(2)]
    for study in runs:
        best = study.best_estimator.get_params()
        assert {name: best[name] for name in study.best_params} == study.best_params
        assert study.best_params == runs[0].best_params
    assert all(trial.params.keys() == RULE_GRID.keys() for trial in runs[1].trials[1:])


def test_other_estimators_need_a_space():
    """Only our own classes have a space of their own."""
    with pytest.raises(ValueError, match="space must be a function"):
        search(Ridge(), X, Y)
