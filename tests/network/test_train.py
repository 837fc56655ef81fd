"""Epochs, validation, phases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dln.network._network import Architecture, Data, Network, build_network
from dln.network._train import take, train
from plans import PLAN


def problem(seed: int = 0, n: int = 90) -> tuple[Network, Data]:
    """A small network, and data that a rule or two explain."""
    rng = np.random.default_rng(seed)
    numbers = rng.uniform(size=(n, 3)).astype(np.float32)
    target = (numbers[:, 0] > 0.5).astype(np.float32) - (numbers[:, 1] > 0.3) * 0.5
    data = Data(numbers, np.zeros((n, 0), np.float32), target.astype(np.float32), np.ones(n, np.float32))
    network = build_network(
        [np.array([0.3, 0.5], np.float32)] * 3,
        0,
        Architecture((20, 10), 5, 4, 8, concatenate_inputs=True),
        rng,
    )
    return network, data


def every(data: Data) -> np.ndarray:
    """Return all rows of the data."""
    return np.arange(len(data.target))


def test_training_lowers_the_loss():
    """After some epochs the loss of the best is a fraction of the first's."""
    network, data = problem()
    epochs = train(network, data, every(data), None, replace(PLAN, max_epochs=60), seed=0).epochs
    assert min(e.training_loss for e in epochs) < 0.3 * epochs[0].training_loss


def split(data: Data) -> tuple[np.ndarray, Data]:
    """Return the rows to train on, and every fourth as validation data."""
    held_out = np.arange(0, len(data.target), 4)
    return np.delete(np.arange(len(data.target)), held_out), take(data, held_out, np.ones(len(held_out)))


def test_the_best_epoch_is_that_of_the_lowest_validation_loss():
    """The network returned is the one of the epoch with the lowest validation loss."""
    network, data = problem()
    rows, validation = split(data)
    trained = train(network, data, rows, validation, replace(PLAN, max_epochs=30), seed=0)
    losses = [e.validation_loss for e in trained.epochs]
    assert trained.best_epoch == int(np.argmin(losses)) + 1
    assert [e.is_best for e in trained.epochs][trained.best_epoch - 1]


def test_without_validation_data_the_last_epoch_is_kept():
    """All rows are trained on, and the network is that of the last epoch, wherever training ends."""
    network, data = problem()
    trained = train(network, data, every(data), None, PLAN, seed=0)
    shorter = train(network, data, every(data), None, PLAN, seed=0, after_epoch=lambda epoch: epoch.epoch == 2)
    assert trained.best_epoch == len(trained.epochs) == PLAN.max_epochs
    assert shorter.best_epoch == len(shorter.epochs) == 2


@pytest.mark.parametrize("validated", [True, False])
def test_held_out_rows_are_as_good_as_taken_out(validated):
    """Training on some rows of the data where they are gives the same bits as training on a copy of them."""
    network, data = problem()
    data = data._replace(weight=np.random.default_rng(1).uniform(0.1, 3.0, len(data.target)).astype(np.float32))
    rows, validation = split(data)
    plan, held_out = replace(PLAN, max_epochs=5), validation if validated else None
    there = train(network, data, rows, held_out, plan, seed=0)
    copy = Data(*(part[rows] for part in data))
    copied = train(network, copy, every(copy), held_out, plan, seed=0)
    assert there.epochs == copied.epochs
    np.testing.assert_array_equal(there.network.parameters.flat, copied.network.parameters.flat)


def test_taken_rows_have_weights_of_mean_one():
    """Held-out rows get the weights that they are held out with, scaled to a mean of one."""
    _, data = problem()
    taken = take(data, np.array([3, 5]), np.array([2.0, 6.0]))
    assert taken.weight.tolist() == [0.5, 1.5]
    np.testing.assert_array_equal(taken.numbers, data.numbers[[3, 5]])


def test_training_leaves_the_given_network_alone():
    """The untrained network keeps its values."""
    network, data = problem()
    before = network.parameters.flat.copy()
    train(network, data, every(data), None, PLAN, seed=0)
    np.testing.assert_array_equal(network.parameters.flat, before)


def test_alternating_phases_train_functions_and_links_in_turns():
    """In even epochs links stand still, in odd epochs gates and thresholds; weights move in both."""
    network, data = problem()
    snapshots = [network.with_parameters(network.parameters.flat.copy()).parameters]
    plans = [replace(PLAN, phases="alternating", max_epochs=n) for n in (1, 2)]
    snapshots += [train(network, data, every(data), None, plan, seed=0).network.parameters for plan in plans]
    start, first, second = (s.groups() for s in snapshots)
    for name in ("link_logits", "sum_logits"):
        np.testing.assert_array_equal(start[name], first[name])
        assert (first[name] != second[name]).any()
    for name in ("bias", "slope", "gate_logits"):
        assert (start[name] != first[name]).any()
        np.testing.assert_array_equal(first[name], second[name])
    assert (start["weights"] != first["weights"]).any()
    assert (first["weights"] != second["weights"]).any()


@pytest.mark.parametrize("trained", [False, True])
def test_links_of_the_sum_move_only_if_they_are_trained(trained):
    """Untrained, they stay where they start, and all else moves."""
    network, data = problem()
    start = network.parameters.groups()
    plan = replace(PLAN, max_epochs=2, train_sum_links=trained)
    end = train(network, data, every(data), None, plan, seed=0).network.parameters.groups()
    for name, values in end.items():
        assert (values != start[name]).any() == (trained or name != "sum_logits"), name


def test_the_last_short_batch_is_used():
    """Rows beyond the last full batch take part in training: with one extra row the result differs."""
    network, data = problem(n=33)
    without = Data(*(part[:32] for part in data))
    a = train(network, data, every(data), None, replace(PLAN, max_epochs=1), seed=0)
    b = train(network, without, every(without), None, replace(PLAN, max_epochs=1), seed=0)
    assert (a.network.parameters.flat != b.network.parameters.flat).any()


def test_temperature_falls_to_its_minimum_and_stays():
    """τ never rises, and never leaves [τ_min, τ], even where τ_min is above τ."""
    plan = replace(PLAN, temperature=2.0, temperature_decay=0.9, min_temperature=0.5)
    temperatures = [plan.temperature_at(epoch) for epoch in range(50)]
    assert temperatures == sorted(temperatures, reverse=True)
    assert temperatures[-1] == 0.5
    assert replace(plan, temperature=0.2).temperature_at(3) == 0.2


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
@pytest.mark.parametrize("max_epochs", [1, 2, 100])
def test_learning_rates_stay_positive_and_below_the_base(schedule, max_epochs):
    """No schedule leaves (0, base]."""
    plan = replace(PLAN, max_epochs=max_epochs, learning_rate=0.1, learning_rate_schedule=schedule)
    rates = [plan.learning_rate_at(epoch) for epoch in range(max_epochs)]
    assert all(0 < rate <= 0.1 for rate in rates)
