"""Epochs, early stopping, phases, resuming."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dln.network._layout import Data
from dln.network._loop import TrainingState, split_off, take, train
from dln.network._network import Network, build_network
from dln.network._schedules import learning_rate_at, temperature_at
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
        layer_sizes=(20, 10),
        n_candidate_links=4,
        n_candidate_gates=8,
        concatenate_inputs=True,
        initial_sum_logit=2.0,
        rng=rng,
    )
    return network, data


def test_training_lowers_the_loss():
    """After some epochs the loss of the best is a fraction of the first's."""
    network, data = problem()
    epochs = train(network, data, None, replace(PLAN, max_epochs=60), seed=0).epochs
    assert min(e.training_loss for e in epochs) < 0.3 * epochs[0].training_loss


def test_the_best_epoch_is_that_of_the_lowest_validation_loss():
    """The network returned is the one of the epoch with the lowest validation loss."""
    network, data = problem()
    split = split_off(data, np.arange(0, 90, 4))
    trained = train(network, split.data, split.validation, replace(PLAN, max_epochs=30), seed=0, rows=split.rows)
    losses = [e.validation_loss for e in trained.epochs]
    assert trained.best_epoch == int(np.argmin(losses)) + 1
    assert [e.is_best for e in trained.epochs][trained.best_epoch - 1]


def test_early_stopping_waits_and_stops():
    """Training ends after as many epochs without a better one as the plan says."""
    network, data = problem()
    split = split_off(data, np.arange(0, 90, 4))
    plan = replace(PLAN, max_epochs=500, patience=5)
    trained = train(network, split.data, split.validation, plan, seed=0, rows=split.rows)
    assert len(trained.epochs) == trained.best_epoch + 5


@pytest.mark.parametrize("validated", [True, False])
def test_rows_set_aside_are_as_good_as_taken_out(validated):
    """Training on some rows of the data where they are gives the same bits as training on a copy of them."""
    network, data = problem()
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(data.target)).astype(np.float32)
    data = data._replace(weight=weight)
    aside = np.arange(0, 90, 4)
    split = split_off(data, aside)
    validation = split.validation if validated else None
    plan = replace(PLAN, max_epochs=5)
    there = train(network, split.data, validation, plan, seed=0, rows=split.rows)
    copied = train(network, take(data, np.delete(np.arange(90), aside)), validation, plan, seed=0)
    assert there.epochs == copied.epochs
    np.testing.assert_array_equal(there.network.parameters.flat, copied.network.parameters.flat)


def test_rows_set_aside_have_weights_of_their_own():
    """Weights of the rows to train on have mean one, and so have those of the rows set aside; no row is in both."""
    _, data = problem()
    data = data._replace(weight=np.random.default_rng(1).uniform(0.1, 3.0, len(data.target)).astype(np.float32))
    split = split_off(data, np.arange(0, 90, 4))
    assert split.data.weight[split.rows].mean() == pytest.approx(1.0, abs=1e-6)
    assert split.validation.weight.mean() == pytest.approx(1.0, abs=1e-6)
    assert split.rows.tolist() == [i for i in range(90) if i % 4]
    assert split.data.numbers is data.numbers


def test_training_goes_on_from_a_state_as_if_never_interrupted():
    """Stopped after any epoch and continued, training ends with the same bits."""
    network, data = problem()
    plan = replace(PLAN, max_epochs=8)
    whole = train(network, data, None, plan, seed=3)
    state = TrainingState.start(network)
    train(network, data, None, plan, seed=3, state=state, after_epoch=lambda s: len(s.epochs) == 3)
    assert len(state.epochs) == 3
    rest = train(network, data, None, plan, seed=3, state=state)
    np.testing.assert_array_equal(rest.network.parameters.flat, whole.network.parameters.flat)
    assert rest.epochs == whole.epochs


def test_training_leaves_the_given_network_alone():
    """The untrained network keeps its values."""
    network, data = problem()
    before = network.parameters.flat.copy()
    train(network, data, None, PLAN, seed=0)
    np.testing.assert_array_equal(network.parameters.flat, before)


def test_alternating_phases_train_functions_and_links_in_turns():
    """In even epochs links stand still, in odd epochs gates and thresholds; weights move in both."""
    network, data = problem()
    snapshots = [network.parameters.copy()]
    train(
        network,
        data,
        None,
        replace(PLAN, phases="alternating", max_epochs=2),
        seed=0,
        after_epoch=lambda s: snapshots.append(network.with_parameters(s.flat.copy()).parameters) or False,
    )
    start, first, second = (s.groups() for s in snapshots)
    for name in ("link_a_logits", "link_b_logits", "sum_logits"):
        np.testing.assert_array_equal(start[name], first[name])
        assert (first[name] != second[name]).any()
    for name in ("bias", "slope", "gate_logits"):
        assert (start[name] != first[name]).any()
        np.testing.assert_array_equal(first[name], second[name])
    assert (start["weights"] != first["weights"]).any()
    assert (first["weights"] != second["weights"]).any()


def test_links_of_the_sum_learn_at_a_rate_of_their_own():
    """At rate 0 they stay where they start, and all else moves; at rate 1 they move too."""
    network, data = problem()
    start = network.parameters.groups()
    for rate, moves in ((0.0, False), (1.0, True)):
        trained = train(network, data, None, replace(PLAN, max_epochs=2, sum_link_rate=rate), seed=0)
        for name, values in trained.network.parameters.groups().items():
            assert (values != start[name]).any() == (moves or name != "sum_logits"), name


def test_the_last_short_batch_is_used():
    """Rows beyond the last full batch take part in training: with one extra row the result differs."""
    network, data = problem(n=33)
    without = Data(*(part[:32] for part in data))
    a = train(network, data, None, replace(PLAN, max_epochs=1), seed=0)
    b = train(network, without, None, replace(PLAN, max_epochs=1), seed=0)
    assert (a.network.parameters.flat != b.network.parameters.flat).any()


def test_temperature_falls_to_its_minimum_and_stays():
    """τ never rises, and never leaves [τ_min, τ], even where τ_min is above τ."""
    temperatures = [temperature_at(e, 2.0, 0.9, 0.5) for e in range(50)]
    assert temperatures == sorted(temperatures, reverse=True)
    assert temperatures[-1] == 0.5
    assert temperature_at(3, 0.2, 0.9, 0.5) == 0.2


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
@pytest.mark.parametrize("max_epochs", [1, 2, 100])
def test_learning_rates_stay_positive_and_below_the_base(schedule, max_epochs):
    """No schedule leaves (0, base]."""
    rates = [learning_rate_at(e, max_epochs, 0.1, schedule) for e in range(max_epochs)]
    assert all(0 < rate <= 0.1 for rate in rates)
