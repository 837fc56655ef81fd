"""Each model is searched in its own space, whose every point is a setting that it takes."""

from __future__ import annotations

import optuna
import pytest
from sklearn.linear_model import Ridge

from dln import DLNRegressor, RuleRegressor
from dln.tune import Context, default_space, paper_space, search
from dln.tune._space import own_space
from searches import QUICK, X, Y


@pytest.mark.parametrize(("space", "kind"), [(paper_space, DLNRegressor), (default_space, RuleRegressor)])
def test_our_own_spaces_give_parameters_that_a_dln_takes(space, kind):
    """Whatever is drawn for whatever table is a valid setting of every parameter that it names."""
    for i, context in enumerate([Context(50, 1, 0), Context(10_000, 0, 30), Context(500, 300, 7)] * 20):
        trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=i)).ask()
        model = kind().set_params(**space(trial, context))
        model._validate_params()
        assert max(getattr(model, "hidden_layer_sizes", [0])) <= 800
        size = ("max_conditions", "max_rule_length", "max_rules")
        assert all(getattr(model, name) == getattr(kind(), name) for name in size if hasattr(model, name))


def test_the_space_fits_the_model():
    """The paper's model is searched in the paper's space, the default model in its own."""
    paper = search(QUICK, X, Y, n_trials=2, folds=2, random_state=0)
    assert "gradient_factor" in paper.trials[1].params
    assert own_space(RuleRegressor()) is default_space
    assert own_space(QUICK) is paper_space
    with pytest.raises(ValueError, match="space must be given for Ridge"):
        own_space(Ridge())
