"""The paper's network: how many rules it keeps, with what weights, and how its temperature falls."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from dln import FitInterruptedWarning
from dln._regressor import draw_seed
from models import network


def test_refit_weights_are_no_worse_than_the_networks(houses):
    """With refit="ridge" the weights are solved for on all rows: the training error does not rise."""
    X, y = houses
    plain, refitted = network(random_state=3, refit=None).fit(X, y), network(random_state=3).fit(X, y)
    assert refitted.score(X, y) >= plain.score(X, y) - 1e-3


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_the_papers_network_keeps_its_number_of_rules(houses, loss):
    """At most `max_rules` rules; None keeps what was trained, and more rules come nearer to what all of them say."""
    X, y = houses
    settings = {"hidden_layer_sizes": (40, 40), "random_state": 3, "loss": loss, "rule_tolerance": 0}
    whole, few, fewer = (network(**settings, max_rules=n).fit(X, y) for n in (None, 10, 3))
    assert len(whole.rules_) > 10
    assert len(few.rules_) <= 10
    assert len(fewer.rules_) <= 3
    said, near, far = (model.predict(X) for model in (whole, few, fewer))
    assert np.mean((said - near) ** 2) < np.mean((said - far) ** 2)


@pytest.mark.parametrize("given", [False, True])
def test_a_larger_tolerance_keeps_fewer_rules(houses, given):
    """The more the error on the rows set aside, or given to validate, may rise, the fewer rules are kept."""
    X, y = houses
    settings = {"hidden_layer_sizes": (40, 40), "random_state": 3, "max_rules": None}
    validation = {"X_val": X[250:], "y_val": y[250:]} if given else {}
    n = [len(network(**settings, rule_tolerance=t).fit(X[:250], y[:250], **validation).rules_) for t in (0, 0.1, 1.0)]
    assert n[0] >= n[1] >= n[2]
    assert n[0] > n[2]


def test_without_a_refit_the_papers_network_keeps_its_rules_and_weights(houses):
    """`max_rules` is for rules whose weights are solved for: the network's own are those that it was trained with."""
    X, y = houses
    settings = {"hidden_layer_sizes": (40, 40), "random_state": 3, "refit": None}
    one, other = (network(**settings, max_rules=n).fit(X, y) for n in (None, 3))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_the_temperature_falls_over_the_epochs_that_there_are(houses):
    """Without a decay, the minimum is reached after 85 % of the epochs, however many; with 1 it stays."""
    X, y = houses
    for epochs in (10, 40):
        fallen = network(max_epochs=epochs, early_stopping=False).fit(X, y).history_["temperature"]
        assert fallen[0] == 1.0
        assert fallen[-1] == 0.03
        assert fallen[int(0.8 * epochs)] > 0.03
    assert set(network(temperature_decay=1.0).fit(X, y).history_["temperature"]) == {1.0}


def test_several_networks_are_one_model_of_their_mean(houses):
    """With all rules, the model of several networks predicts the mean of what each of them predicts, trained alone."""
    X, y = houses
    settings = {"hidden_layer_sizes": (20, 20), "refit": None, "early_stopping": False}
    seeds = np.random.default_rng(draw_seed(3)).integers(2**31, size=2).tolist()
    together = network(**settings, random_state=3, n_networks=3).fit(X, y)
    assert set(together.history_["network"]) == {0, 1, 2}
    with mock.patch("dln._dln.draw_seed", side_effect=[draw_seed(3), *seeds]):
        alone = [network(**settings).fit(X, y).predict(X) for _ in range(3)]
    assert not np.array_equal(alone[0], alone[1])
    np.testing.assert_allclose(together.predict(X), np.mean(alone, axis=0), atol=1e-3 * np.std(y))


@pytest.mark.parametrize("settings", [{}, {"max_rules": None, "rule_tolerance": 0}, {"loss": "absolute_error"}])
def test_a_few_rules_of_several_networks_are_the_same_on_any_number_of_threads(houses, settings):
    """Rules of all networks may be kept, as many as of one at the most; threads change nothing."""
    X, y = houses
    one, other = (
        network(hidden_layer_sizes=(20, 20), random_state=0, n_networks=3, n_jobs=n, **settings).fit(X, y)
        for n in (1, 3)
    )
    assert one.circuit_ == other.circuit_
    assert 0 < len(one.rules_) <= 60
    assert one.score(X, y) > 0.5


def test_an_interrupted_training_of_several_networks_goes_on(houses, tmp_path):
    """From its checkpoint it ends in the same model as one that was not interrupted."""
    X, y = houses
    settings = {"hidden_layer_sizes": (10, 10), "random_state": 0, "n_networks": 2, "max_epochs": 12, "n_jobs": 1}
    whole = network(**settings).fit(X, y)
    file = tmp_path / "training"

    def interrupt(epoch):
        if epoch.network == 1 and epoch.epoch == 4:
            raise KeyboardInterrupt

    with pytest.warns(FitInterruptedWarning, match="best epoch so far: [0-9]+, [1-4]\\. "):
        network(**settings, checkpoint=file, callbacks=[interrupt]).fit(X, y)
    resumed = network(**settings, checkpoint=file).fit(X, y)
    assert resumed.circuit_ == whole.circuit_
    assert not file.exists()
