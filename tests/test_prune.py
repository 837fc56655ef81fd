"""Smaller models: what `prune` gives can be saved, and counts what it prints."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import dln
from dln import PaperDLNRegressor


@pytest.fixture(scope="module")
def network() -> PaperDLNRegressor:
    """Return a network of the paper's kind, whose smaller models are not simplified until they are asked for."""
    X, y = make_friedman1(200, random_state=0)
    return PaperDLNRegressor(hidden_layer_sizes=(30, 20), max_epochs=5, random_state=0).fit(X, y)


def test_every_smaller_model_can_be_saved(network: PaperDLNRegressor, tmp_path: Path):
    """A pruned model is written and read again, whatever simplification made of it; its point counts what it prints."""
    X, _ = make_friedman1(50, random_state=1)
    for point in network.frontier_:
        smaller = network.prune(point.conditions)
        smaller.save(tmp_path / "m.dln")
        again = dln.load(tmp_path / "m.dln")
        np.testing.assert_array_equal(again.predict(X), smaller.predict(X))
        own = [p for p in again.frontier_ if p.circuit is not None][-1]
        assert own.conditions == again.rules_.n_conditions <= point.conditions
        assert own.circuit == again.circuit_


def test_two_sizes_of_the_same_rules(network: PaperDLNRegressor, tmp_path: Path):
    """Where two sizes came to the same rules the model stands in its file once."""
    *smaller, own = network.frontier_.points
    frontier = replace(network.frontier_, points=(*smaller, own, replace(own, max_conditions=own.max_conditions + 1)))
    network._frontier, whole = frontier, network._frontier
    try:
        network.save(tmp_path / "m.dln")
    finally:
        network._frontier = whole
    assert len(dln.load(tmp_path / "m.dln").frontier_) == len(frontier)
