"""From networks and grown rules to one circuit, through the estimator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

from dln import DLNRegressor, _estimator
from dln._assemble import _mean_of, assemble
from dln._builder import CircuitBuilder
from dln._circuit import Above, Circuit, Column, Gate, Rule
from dln._discretize import Cutter, Target, tree_signal
from dln._encoding import learn_encoder
from dln._gates import AND, NAND
from dln.training._binned import bin_inputs
from dln.training._grow import grow_rules


def table(seed: int, n: int = 150) -> tuple[tuple[Column, ...], list[np.ndarray], np.ndarray]:
    """Numbers with missing values, categories, and a target."""
    rng = np.random.default_rng(seed)
    a = rng.normal(0, 10, n).round(2)
    a[rng.uniform(size=n) < 0.1] = np.nan
    b = rng.integers(0, 6, n).astype(np.float32)
    c = rng.integers(-1, 3, n).astype(np.int32)
    y = np.nan_to_num(a) * (b > 2) + 5 * (c == 1) + 10 * np.isnan(a) + rng.normal(0, 1, n)
    return (Column("a"), Column("b"), Column("c", ("u", "v", "w"))), [a, b, c], y


@pytest.mark.parametrize("seed", range(5))
def test_a_grown_rule_is_the_same_in_the_circuit(seed):
    """In the user's units, with its shortest cut-offs, a grown rule fires on the same training rows."""
    columns, values, y = table(seed)
    encoder = learn_encoder(columns, values, np.ones(len(y)))
    encoded = encoder.encode(values)
    inputs = bin_inputs(encoded.numbers, encoded.bits, 16)
    rules = grow_rules(inputs, y, np.ones(len(y)), 10, max_leaves=12, seed=seed)
    builder = CircuitBuilder(columns)
    cutter = Cutter(builder, encoder, values, np.arange(len(y)))
    bits = [builder.literal(literal) for literal in encoder.bits]
    for rule in rules:
        signal = tree_signal(rule, inputs.cutoffs, bits, cutter)
        circuit = builder.circuit(0.0, [(signal, 1.0)], decimals=0)
        np.testing.assert_array_equal(circuit.evaluate(values), rule.fires(inputs))


def test_no_more_rules_than_asked():
    """`max_rules` is kept, whatever the source of the rules."""
    X, y = make_friedman1(200, random_state=0)
    for parameters in ({"n_networks": 0}, {"n_grown_rules": 0}, {}):
        model = DLNRegressor(max_rules=7, max_epochs=10, random_state=0, **parameters).fit(X, y)
        assert 1 <= len(model.circuit_.rules) <= 7


def test_cutoffs_are_limited():
    """Grown rules use no more different cut-offs than allowed."""
    X, y = make_friedman1(300, random_state=0)
    model = DLNRegressor(n_networks=0, max_cutoffs=12, random_state=0).fit(X, y)
    assert len(model.circuit_.literals) <= 12


def test_tolerance_gives_fewer_rules():
    """With a tolerance, rules that bring little are left out."""
    X, y = make_friedman1(300, random_state=0)
    full, fewer = (DLNRegressor(n_networks=0, rule_tolerance=t, random_state=0).fit(X, y) for t in (0.0, 0.02))
    assert len(fewer.circuit_.rules) < len(full.circuit_.rules)


def test_the_mean_of_circuits_predicts_their_mean():
    """Circuits that share gates, or say the same twice, are averaged rule by rule."""
    columns = (Column("a"), Column("b"))
    above = (Above(0, 1.0), Above(1, 2.0))
    one = Circuit(columns, above, (Gate(AND, 0, 1),), (Rule(2, 4.0), Rule(1, 2.0)), 1.0, 1)
    two = Circuit(columns, above[::-1], (Gate(NAND, 0, 1),), (Rule(2, 6.0), Rule(0, -2.0)), 3.0, 1)
    mean = _mean_of([one, two], CircuitBuilder(columns), Target(0.0, 1.0, 1))
    values = [np.array([0.0, 2.0, 0.0, 2.0]), np.array([0.0, 0.0, 3.0, 3.0])]
    np.testing.assert_allclose(mean.evaluate(values), (one.evaluate(values) + two.evaluate(values)) / 2)


def test_several_networks_without_refit_are_averaged():
    """With refit off, predictions are the mean of the networks' own."""
    X, y = make_friedman1(200, random_state=0)
    parameters = {"max_epochs": 10, "hidden_layer_sizes": (16, 8), "random_state": 0}
    both = DLNRegressor.paper(n_networks=2, **parameters).fit(X, y)
    assert np.isfinite(both.predict(X)).all()
    assert both.score(X, y) > 0


def test_neither_networks_nor_grown_rules_is_the_mean():
    """Without any source of rules the model is the mean."""
    X, y = make_friedman1(50, random_state=0)
    model = DLNRegressor(n_networks=0, n_grown_rules=0).fit(X, y)
    assert model.predict(X)[0] == pytest.approx(y.mean(), abs=1e-3)


def test_a_noisy_wide_table_is_not_overfitted():
    """With more columns than the signal needs, test R² stays near what noise allows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 30))).rename(columns=str)
    y = 2.0 * (X["0"] > 0) + (X["1"] > 0.5) * (X["2"] > 0) + rng.normal(0, 1, 600)
    model = DLNRegressor(random_state=0).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.4


@pytest.mark.parametrize("n_teachers", [4, 0])
def test_rules_of_networks_are_left_out_where_teachers_are_trusted(monkeypatch, n_teachers):
    """With a noisy target and teachers, the networks' rules do not enter; without teachers they do."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 3))
    y = X[:, 0] + np.where(X[:, 2] > 0.5, 2.0, 0.0) + rng.normal(0, 1, 300)
    parameters = {"n_teachers": n_teachers, "max_epochs": 40, "random_state": 0}
    found = DLNRegressor(**parameters).fit(X, y).circuit_
    monkeypatch.setattr(_estimator, "assemble", lambda _networks, *rest: assemble((), *rest))
    alone = DLNRegressor(**parameters).fit(X, y).circuit_
    assert (found == alone) == (n_teachers > 0)
