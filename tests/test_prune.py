"""Smaller models: what `prune` gives keeps its size, can be saved, and counts what it prints."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import dln
from dln import DLNRegressor, RuleRegressor, load
from models import bytes_of, network, small, some_table


@pytest.fixture(scope="module")
def fitted() -> DLNRegressor:
    """Return a network of the paper's kind, whose smaller models are not simplified until they are used."""
    X, y = make_friedman1(200, random_state=0)
    return DLNRegressor(hidden_layer_sizes=(30, 20), max_epochs=5, random_state=0).fit(X, y)


def test_every_smaller_model_can_be_saved(fitted: DLNRegressor, tmp_path: Path):
    """A pruned model is written and read again, whatever simplification made of it; its point counts what it prints."""
    X, _ = make_friedman1(50, random_state=1)
    for point in fitted.frontier_:
        smaller = fitted.prune(point.conditions)
        smaller.save(tmp_path / "m.dln")
        again = dln.load(tmp_path / "m.dln")
        np.testing.assert_array_equal(again.predict(X), smaller.predict(X))
        own = [p for p in again.frontier_ if p.circuit is not None][-1]
        assert own.conditions == again.rules_.n_conditions <= point.conditions
        assert own.circuit == again.circuit_


def test_two_sizes_of_the_same_rules(fitted: DLNRegressor, tmp_path: Path):
    """Two sizes with the same rules stand in the file once."""
    *smaller, own = fitted.frontier_.rows
    frontier = replace(fitted.frontier_, rows=(*smaller, own, replace(own, max_conditions=own.max_conditions + 1)))
    fitted._frontier, whole = frontier, fitted._frontier
    try:
        fitted.save(tmp_path / "m.dln")
    finally:
        fitted._frontier = whole
    assert len(dln.load(tmp_path / "m.dln").frontier_) == len(frontier)


def test_sizes_ascend_where_rules_are_few(tmp_path: Path):
    """If `max_rules` leaves sizes without a model of their own, the frontier is in order, and saved."""
    rng = np.random.default_rng(0)
    X = rng.random((80, 4)).round(2)
    y = 3.0 * (X[:, 0] > 0.5) * (X[:, 1] > 0.3) + X[:, 2] + rng.normal(0.0, 0.1, 80)
    quick = {"n_teachers": 0, "n_grown_rules": 60, "n_generations": 0}
    model = RuleRegressor(**quick, max_conditions=25, max_rules=2, random_state=0).fit(X, y)
    sizes = [point.max_conditions for point in model.frontier_]
    assert sizes == sorted(sizes)
    assert any(point.circuit is None for point in model.frontier_ if point.max_conditions < 25)
    model.save(tmp_path / "m.dln")
    assert dln.load(tmp_path / "m.dln").frontier_ == model.frontier_


def test_prune_keeps_its_size_and_survives_saving(tmp_path):
    """`prune(m)` has at most m conditions, `prune(0)` none; after load it gives the same bits; each can be saved."""
    X, y = some_table("missing")
    model = small(max_conditions=40).fit(X, y)
    model.save(tmp_path / "model.dln")
    loaded = load(tmp_path / "model.dln")
    assert loaded.frontier_ == model.frontier_
    for most in (1, 2, 4, 9, 17, 33, 40, 1000):
        smaller = model.prune(max_conditions=most)
        assert smaller.rules_.n_conditions <= most
        assert bytes_of(smaller, tmp_path) == bytes_of(loaded.prune(most), tmp_path)
        assert smaller.prune(1000).circuit_ == smaller.circuit_
        assert load(tmp_path / "model.dln").frontier_ == smaller.frontier_
    assert model.prune(1000).circuit_ == model.circuit_
    alone = model.prune(0)
    assert bytes_of(alone, tmp_path) == bytes_of(loaded.prune(0), tmp_path)
    assert (alone.rules_.n_conditions, len(alone.frontier_)) == (0, 1 + len(model.frontier_))
    assert np.ptp(alone.predict(X)) == 0
    assert alone.predict(X)[0] == pytest.approx(np.mean(y), abs=0.1 * np.std(y))


def test_the_papers_network_is_pruned_too(tmp_path):
    """Subsets of the network's rules have weights of their own, and no more conditions than their size."""
    X, y = some_table("missing")
    model = network(max_epochs=5).fit(X, y)
    for point in model.frontier_:
        smaller = model.prune(point.conditions)
        assert smaller.rules_.n_conditions <= point.conditions
        assert len(smaller.rules_) <= len(model.rules_)
    model.save(tmp_path / "model.dln")
    loaded = load(tmp_path / "model.dln")
    assert type(loaded) is DLNRegressor
    assert loaded.frontier_ == model.frontier_
    size = model.frontier_[1].conditions
    assert bytes_of(loaded.prune(size), tmp_path) == bytes_of(model.prune(size), tmp_path)
