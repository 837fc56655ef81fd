"""Parameters are few, belong to one class, and a wrong one is named with what was required."""

from __future__ import annotations

import pytest

from dln import DLNRegressor, RuleRegressor
from models import network, small


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"max_conditions": 0}, "max_conditions"),
        ({"max_rule_length": 0}, "max_rule_length"),
        ({"max_rules": 0}, "max_rules"),
        ({"min_samples_rule": 0}, "min_samples_rule"),
        ({"min_samples_rule": 0.3}, "min_samples_rule"),
        ({"n_teachers": -1}, "n_teachers"),
        ({"loss": "mse"}, "loss"),
        ({"quantile": 1.0}, "quantile"),
        ({"quantile": 0.9}, "quantile=0.9 needs loss='quantile', got loss='squared_error'"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"categorical_features": ["nowhere"]}, "nowhere"),
    ],
)
def test_bad_parameters_get_one_sentence(houses, parameters, match):
    """A wrong parameter is named, with what was required."""
    X, y = houses
    with pytest.raises(ValueError, match=match):
        small(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"hidden_layer_sizes": ()}, "hidden_layer_sizes must hold at least one positive whole number"),
        ({"hidden_layer_sizes": (4, 0)}, "hidden_layer_sizes"),
        ({"hidden_layer_sizes": (4, 2.5)}, "hidden_layer_sizes"),
        ({"n_candidate_gates": 17}, "n_candidate_gates"),
        ({"temperature": 0.0}, "temperature"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"straight_through": "gumbel"}, "straight_through"),
        ({"sum_links": "closed"}, "sum_links"),
        ({"refit": "ridge"}, "refit"),
        ({"quantile": 0.9, "loss": "huber"}, "quantile=0.9 needs loss='quantile', got loss='huber'"),
        ({"max_conditions": 0}, "max_conditions"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"n_networks": 0}, "n_networks"),
        ({"min_temperature": 2.0}, "min_temperature must not be above temperature, got min_temperature=2 and temper"),
        ({"temperature_decay": 1.5}, "temperature_decay"),
    ],
)
def test_bad_parameters_of_a_network(houses, parameters, match):
    """A wrong parameter of a network is named, with what was required."""
    X, y = houses
    with pytest.raises(ValueError, match=match):
        network(**parameters).fit(X, y)


def test_each_class_refuses_the_parameters_of_the_other():
    """A parameter of the other class is a TypeError that names it."""
    with pytest.raises(TypeError, match="batch_size"):
        RuleRegressor(batch_size=10)
    with pytest.raises(TypeError, match="n_generations"):
        DLNRegressor(n_generations=10)


def test_parameters_are_few():
    """Few enough parameters to be read; the published method and its ablations need the most."""
    assert len(RuleRegressor().get_params()) <= 22
    assert len(DLNRegressor().get_params()) <= 31
