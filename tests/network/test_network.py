"""The network's shape, candidates and initial values."""

from __future__ import annotations

import numpy as np
import pytest

from dln.circuit._gates import CANDIDATE_ORDER
from dln.network._network import CLOSED_LOGIT, Architecture, Network, build_network, open_links, tree_cutoffs

CUTOFFS = [np.array([0.2, 0.5], np.float32), np.array([0.7], np.float32)]


def network(seed: int = 0, **changes: object) -> Network:
    """A network of three layers on two bits and three thresholds."""
    settings = {
        "hidden_layer_sizes": (6, 5, 4),
        "n_thresholds": 5,
        "n_candidate_links": 3,
        "n_candidate_gates": 8,
        "concatenate_inputs": True,
    }
    return build_network(CUTOFFS, 2, Architecture(**{**settings, **changes}), np.random.default_rng(seed))


@pytest.mark.parametrize("concatenate", [True, False])
def test_candidates_come_before_their_neuron(concatenate):
    """A neuron chooses among rows that are evaluated before it: the order of rows is an order of evaluation."""
    wiring = network(concatenate_inputs=concatenate).wiring
    own = wiring.first_neuron + np.arange(wiring.n_neurons)
    assert (wiring.links < own).all()


def test_candidates_of_a_neuron_are_distinct():
    """No candidate is drawn twice for the same input of a neuron."""
    wiring = network().wiring
    for links in wiring.links:
        assert all(len(set(column)) == 3 for column in links.T)


def test_without_concatenation_later_layers_see_only_the_layer_before():
    """With `concatenate_inputs` off, layer two reads neurons alone."""
    wiring = network(concatenate_inputs=False).wiring
    second = slice(6, 11)
    first_layer = set(range(wiring.first_neuron, wiring.first_neuron + 6))
    assert set(wiring.links[:, :, second].ravel()) <= first_layer
    assert wiring.n_thresholds == 3


def test_every_layer_has_its_own_thresholds_with_the_same_start():
    """With concatenation each layer reads a copy of the thresholds of its own, all starting alike."""
    net = network()
    assert net.wiring.n_thresholds == 9
    copies = net.parameters.bias.reshape(3, 3)
    np.testing.assert_array_equal(copies, np.tile(np.float32([0.2, 0.5, 0.7]), (3, 1)))
    assert (net.parameters.slope == 2.0).all()


def test_spare_candidates_are_closed_for_ever():
    """If a layer has fewer inputs than candidates, the spare ones carry no probability."""
    net = network(n_candidate_links=20)
    first = net.parameters.link_logits[0, :, 0]
    assert (first == np.float32(CLOSED_LOGIT)).sum() == 20 - 5
    assert (first > -1).sum() == 5


def test_initial_logits_and_gates():
    """Gate and link logits start in (-0.1, 0.1), those of the sum open; candidate gates follow a fixed order."""
    net = network()
    for logits in (net.parameters.gate_logits, net.parameters.link_logits, net.parameters.sum_logits - 2.0):
        assert np.abs(logits).max() <= 0.1 + 1e-6
    assert open_links(net.parameters.sum_logits, 1.0, 0.8).all()
    assert tuple(net.wiring.gates) == CANDIDATE_ORDER[:8]


def test_same_seed_same_network():
    """A seed decides wiring and values."""
    one, two, other = network(1), network(1), network(2)
    np.testing.assert_array_equal(one.parameters.flat, two.parameters.flat)
    np.testing.assert_array_equal(one.wiring.links, two.wiring.links)
    assert (one.parameters.flat != other.parameters.flat).any()


def test_parameter_groups_are_views_of_one_vector():
    """Changing a group changes the flat vector, and a network with other parameters shares nothing."""
    net = network()
    parameters = net.parameters
    copy = net.with_parameters(parameters.flat.copy()).parameters
    parameters.weights[:] = 7.0
    assert (parameters.flat[-4:] == 7.0).all()
    assert not (copy.weights == 7.0).any()


def test_tree_cutoffs_split_where_the_target_changes():
    """A one-feature tree finds the step of a step function, and leaves missing values out."""
    values = np.array([0.1, 0.2, 0.3, 0.8, 0.9, -1.0], np.float32)
    target = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 100.0])
    cutoffs = tree_cutoffs(values, target, np.ones(6), 1)
    assert len(cutoffs) == 1
    assert 0.3 < cutoffs[0] < 0.8


@pytest.mark.parametrize("values", [[-1.0, -1.0], [0.5], [0.5, 0.5, 0.5]])
def test_tree_cutoffs_may_be_none(values):
    """A column of missing, single or equal values has no place to cut."""
    n = len(values)
    assert len(tree_cutoffs(np.array(values, np.float32), np.arange(n, dtype=float), np.ones(n), 6)) == 0
