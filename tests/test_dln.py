"""`DLNRegressor`: the published method by default, and each improvement as a named option."""

from __future__ import annotations

import pickle
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import dln
from dln import DLNRegressor
from dln._regressor import draw_seed
from dln.network._circuits import discretize
from models import network


def test_the_default_is_the_networks_hard_forward_pass(houses):
    """The default model predicts what the discretised network predicts, simplified or not, bit for bit."""
    X, y = houses
    with mock.patch("dln._dln.discretize", side_effect=discretize) as frozen:
        model = network(random_state=3).fit(X, y)
    raw = discretize(**frozen.call_args.kwargs, **dict(zip(["network"], frozen.call_args.args, strict=True)))
    values = model._values(X)
    np.testing.assert_array_equal(raw.evaluate(frozen.call_args.kwargs["values"]), model.circuit_.evaluate(values))
    assert model.network_circuit_ == model.circuit_


@pytest.mark.parametrize("settings", [{}, {"refit": True}, {"max_conditions": 3}])
def test_a_network_is_measured_on_the_categories_of_the_table(settings):
    """How often rules fire and what they explain is counted right where the network names few of the categories."""
    rng = np.random.default_rng(0)
    town = rng.integers(12, size=300)
    X, y = pd.DataFrame({"town": np.array(list("abcdefghijkl"))[town]}), 5.0 * (town > 8) + rng.normal(size=300)
    model = network(hidden_layer_sizes=(4,), random_state=0, **settings).fit(X, y, X_val=X, y_val=y)
    assert 0 < len(model.circuit_.columns[0].categories) < 12
    fires = model.circuit_.rule_values(model._values(X))
    np.testing.assert_allclose(model.support_, [rule.mean() for rule in fires])
    judged = [point.r2 for point in model.frontier_ if point.circuit == model.circuit_]
    assert judged == pytest.approx([model.score(X, y)] * len(judged), abs=1e-3)
    assert judged


def test_refitted_weights_are_no_worse_than_the_networks(houses):
    """With `refit` the weights are solved for on all rows: the training error does not rise, the rules stay."""
    X, y = houses
    plain, refitted = network(random_state=3).fit(X, y), network(random_state=3, refit=True).fit(X, y)
    assert refitted.score(X, y) >= plain.score(X, y) - 1e-3
    assert len(refitted.rules_) == pytest.approx(len(plain.rules_), abs=2)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile"])
@pytest.mark.parametrize("n_networks", [1, 2])
def test_conditions_are_limited(houses, loss, n_networks):
    """At most `max_conditions` conditions, for every loss; larger models come nearer to the whole network."""
    X, y = houses
    settings = {"hidden_layer_sizes": (40, 40), "random_state": 3, "loss": loss, "n_networks": n_networks}
    few, more = (network(**settings, max_conditions=n).fit(X, y) for n in (3, 20))
    assert 0 < few.rules_.n_conditions <= 3
    assert 3 < more.rules_.n_conditions <= 20
    assert few.network_circuit_ == more.network_circuit_
    whole = few.network_circuit_.evaluate(few._values(X))
    assert np.mean((more.predict(X) - whole) ** 2) < np.mean((few.predict(X) - whole) ** 2)


def test_open_links_keep_all_rules(houses):
    """With `sum_links="open"` no rule leaves the sum during training; learned links let rules go."""
    X, y = houses
    settings = {"hidden_layer_sizes": (20, 20), "max_epochs": 60, "learning_rate": 0.1}
    assert set(network(**settings, sum_links="open").fit(X, y).history_["open_rules"]) == {20}
    assert min(network(**settings).fit(X, y).history_["open_rules"]) < 20


def test_the_temperature_falls_over_the_epochs_that_there_are(houses):
    """Without a decay, the minimum is reached after 85 % of the epochs, however many; with 1 it stays."""
    X, y = houses
    for epochs in (10, 40):
        temperature = network(max_epochs=epochs).fit(X, y).history_["temperature"]
        assert temperature[0] == 1.0
        assert temperature[-1] == 0.03
        assert temperature[int(0.8 * epochs)] > 0.03
    assert set(network(temperature_decay=1.0).fit(X, y).history_["temperature"]) == {1.0}


def test_the_learning_rate_follows_the_number_of_steps(houses):
    """By default the rate falls with the root of the steps, up to a limit; a number is taken as it is."""
    X, y = houses
    rates = [network(max_epochs=n).fit(X, y).history_["learning_rate"][0] for n in (1, 100, 400)]
    assert rates[0] == 0.02
    assert rates[1] / rates[2] == pytest.approx(2.0)
    assert set(network(learning_rate=0.05).fit(X, y).history_["learning_rate"]) == {0.05}


def test_several_networks_are_one_model_of_their_mean(houses):
    """The model of several networks predicts the mean of what each of them predicts, trained alone."""
    X, y = houses
    settings = {"hidden_layer_sizes": (20, 20), "validation_fraction": None}
    seeds = np.random.default_rng(draw_seed(3)).integers(2**31, size=2).tolist()
    together = network(**settings, random_state=3, n_networks=3).fit(X, y)
    assert set(together.history_["network"]) == {0, 1, 2}
    with mock.patch("dln._dln.draw_seed", side_effect=[draw_seed(3), *seeds]):
        alone = [network(**settings).fit(X, y).predict(X) for _ in range(3)]
    assert not np.array_equal(alone[0], alone[1])
    np.testing.assert_allclose(together.predict(X), np.mean(alone, axis=0), atol=1e-3 * np.std(y))


@pytest.mark.parametrize("settings", [{}, {"max_conditions": 20}, {"refit": True, "loss": "absolute_error"}])
def test_threads_change_nothing(houses, settings):
    """The model of several networks is the same on any number of threads."""
    X, y = houses
    one, other = (network(random_state=0, n_networks=3, n_jobs=n, **settings).fit(X, y) for n in (1, 3))
    assert one.circuit_ == other.circuit_
    assert one.score(X, y) > 0.5


@pytest.mark.parametrize("settings", [{}, {"max_conditions": 12}])
def test_integer_weights_equal_repeated_rows(settings):
    """A row of weight 3 is three rows, also where inputs recur with other targets and part of a row is held out."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (120, 3)).astype(float)
    y = np.round(X[:, 0] * X[:, 1] + rng.normal(0, 1, 120))
    weight = rng.integers(1, 4, 120)
    order = rng.permutation(int(weight.sum()))
    weighted = network(random_state=0, **settings).fit(X, y, sample_weight=weight)
    repeated = network(random_state=0, **settings).fit(np.repeat(X, weight, 0)[order], np.repeat(y, weight)[order])
    assert weighted.circuit_ == repeated.circuit_
    assert weighted.frontier_ == repeated.frontier_


def test_the_frontier_of_a_whole_network_is_computed_when_it_is_needed(houses, tmp_path):
    """A pickle and a model file have it, in the user's categories, and hold no rows; every size keeps its limit."""
    X, y = houses
    model = network(random_state=0, hidden_layer_sizes=(40, 40)).fit(X, y)
    assert "_pending" in vars(model)
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301 (our own)
    assert "_pending" not in vars(copied)
    model.save(tmp_path / "m.dln")
    assert dln.load(tmp_path / "m.dln").frontier_ == copied.frontier_ == model.frontier_
    *smaller, own = model.frontier_
    assert own.circuit == model.circuit_
    assert len(smaller) > 3
    for point in smaller:
        assert point.conditions <= point.max_conditions
        assert point.r2 <= 1.0
    small = model.prune(5)
    assert 0 < small.rules_.n_conditions <= 5
    assert small.predict(X).shape == y.shape
    assert small.network_circuit_ == model.network_circuit_


def test_held_out_r2_is_that_of_rows_not_trained_on():
    """On pure noise no size explains anything of the held-out rows."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 4)), rng.normal(size=600)
    model = network(random_state=0, max_conditions=30, validation_fraction=0.3).fit(X, y)
    assert max(point.r2 for point in model.frontier_) < 0.15
    assert all(point.r2 is None for point in network(validation_fraction=None, max_conditions=9).fit(X, y).frontier_)


def test_summary_shows_what_was_trained(houses, tmp_path):
    """`print(model)` shows layers, epochs, temperature, rules, gates, operations and inputs, also of a loaded model."""
    X, y = houses
    model = network(random_state=0, max_conditions=5).fit(X, y)
    text = str(model)
    assert text == model.summary()
    for part in (
        "layers of 12, 8 neurons",
        "15 epochs",
        "of 8",
        "20, simplified to",
        "multiply",
        "select",
        "inputs used",
    ):
        assert part in text
    assert f"{len(model.network_circuit_.rules)} rules" in text
    assert f"{model.rules_.n_conditions} conditions" in text
    model.save(tmp_path / "m.dln")
    assert str(dln.load(tmp_path / "m.dln")) == text
    assert str(DLNRegressor(n_networks=2)) == "DLNRegressor(n_networks=2)"
    best = max(epoch for epoch, is_best in enumerate(model.history_["is_best"]) if is_best)
    assert f"the kept one at temperature {model.history_['temperature'][best]:.3g}" in text
    assert f"inputs used      0 of {X.shape[1]}\n" in model.prune(0).summary()


def test_a_callback_ends_the_training(houses):
    """One that returns True ends it after its epoch, without a warning; the best epoch so far is the model."""
    X, y = houses
    model = network(callbacks=[lambda epoch: epoch.epoch == 4]).fit(X, y)
    assert model.n_iter_ == 4


@pytest.mark.parametrize("column", ["constant", "one row"])
def test_a_table_that_tells_nothing_apart_gives_its_mean(column):
    """Constant columns or a single row leave the mean of the target, with any option."""
    X, y = (np.ones((9, 2)), np.arange(9.0)) if column == "constant" else (np.array([[1.0, 2.0]]), np.array([3.5]))
    for settings in ({}, {"max_conditions": 5}, {"refit": True, "n_networks": 2}):
        model = network(**settings).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y.mean())
        assert model.frontier_[-1].r2 is None or model.frontier_[-1].r2 <= 0
        assert model.summary()
