"""The smooth teacher: kernel ridge regression on the middles of bins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern
from sklearn.kernel_ridge import KernelRidge

from dln.training import _smooth
from dln.training._binned import bin_inputs
from dln.training._smooth import Shape, find_shape, fit_smooth

NO_BITS = np.zeros((200, 0), np.float32)


def waves(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Return two columns, of which the first matters, and a smooth target."""
    X = np.random.default_rng(0).random((n, 2)).astype(np.float32)
    return X, np.sin(6 * X[:, 0].astype(np.float64))


def shape_of(inputs, penalty=0.1, scales=(3.0, 1.0)):
    """Return a shape for two scaled columns."""
    return Shape(_smooth._middles(inputs), np.array(scales), penalty)


def test_it_is_kernel_ridge_regression():
    """With all rows as centres it is scikit-learn's kernel ridge, for the same places, kernel and weights."""
    X, y = waves()
    inputs = bin_inputs(X, NO_BITS, 254)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 200)
    shape = shape_of(inputs)
    found = fit_smooth(inputs, y, weight, shape, (0,)).predict(inputs)
    places = shape.places(inputs)
    peer = KernelRidge(alpha=0.1, kernel=Matern(1.0, nu=1.5))
    mean = np.average(y, weights=weight)
    peer.fit(places, y - mean, sample_weight=weight / weight.mean())
    np.testing.assert_allclose(found, mean + peer.predict(places), atol=1e-4)


def test_the_middle_of_a_bin_is_close_to_its_values():
    """Values are found again from their bins, up to the width of a bin; two bins are any two numbers."""
    X, _ = waves()
    inputs = bin_inputs(X, NO_BITS, 100)
    for k, middles in enumerate(_smooth._middles(inputs)):
        assert np.abs(middles[inputs.bins[k]] - X[:, k]).max() < 0.05
        assert (np.diff(middles) > 0).all()
    bits = bin_inputs(np.zeros((5, 1), np.float32), np.ones((5, 1), np.float32), 4)
    assert [len(middles) for middles in _smooth._middles(bits)] == [1, 2]


def test_errors_are_those_of_rows_left_out():
    """The errors by which shapes are compared are those of fits without each row in turn."""
    X, y = waves(30)
    y = y + np.random.default_rng(2).normal(0, 0.1, 30)
    inputs = bin_inputs(X, np.zeros((30, 0), np.float32), 254)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 30)
    shapes = [shape_of(inputs, penalty) for penalty in (0.01, 1.0)]
    sample = _smooth._Sample.draw(inputs, y, weight, 30, (0,))
    places = shapes[0].places(sample.inputs)
    expected = np.zeros(2)
    for k, shape in enumerate(shapes):
        for row in range(30):
            others = np.delete(np.arange(30), row)
            peer = KernelRidge(alpha=shape.penalty, kernel=Matern(1.0, nu=1.5))
            peer.fit(places[others], sample.left[others], sample_weight=sample.weight[others])
            expected[k] += sample.weight[row] * float(sample.left[row] - peer.predict(places[[row]])[0]) ** 2
    np.testing.assert_allclose(_smooth._errors_left_out(sample, shapes), expected, rtol=1e-3)


def test_bins_lie_between_their_values_and_their_ranks():
    """Where a few rows have most of the range, the others do not lie in one place; order is kept, no spread is zero."""
    values, share = np.array([0.0, 1.0, 2.0, 1000.0]), np.array([0.33, 0.33, 0.33, 0.01])
    places = _smooth._between_value_and_rank(values, share)
    assert (np.diff(places) > 0).all()
    assert places[1] - places[0] > 0.05 * (places[3] - places[0])
    assert (_smooth._between_value_and_rank(np.zeros(1), np.ones(1)) == 0).all()


def test_a_shape_that_forgets_what_does_not_matter_is_found():
    """With a column of noise, the gains decide how far each column counts; other rows are then predicted."""
    X, y = waves()
    inputs = bin_inputs(X, NO_BITS, 64)
    rows, aside = np.arange(150), np.arange(150, 200)
    with ThreadPoolExecutor(2) as pool:
        shape = find_shape(inputs.at(rows), y[rows], np.ones(150), np.array([1.0, 1e-3]), (0,), pool)
    assert shape.scales[0] > shape.scales[1]
    found = fit_smooth(inputs.at(rows), y[rows], np.ones(150), shape, (0,)).predict(inputs.at(aside))
    assert np.mean((found - y[aside]) ** 2) < 0.02 * np.var(y)


def test_many_rows_are_sampled(monkeypatch):
    """With more rows than are learned from or can be centres, a sample of them does nearly as well."""
    monkeypatch.setattr(_smooth, "MOST_ROWS", 150)
    monkeypatch.setattr(_smooth, "MOST_CENTRES", 40)
    monkeypatch.setattr(_smooth, "_CHUNK", 7)
    X, y = waves()
    inputs = bin_inputs(X, NO_BITS, 64)
    smooth = fit_smooth(inputs, y, np.ones(200), shape_of(inputs), (0,))
    assert len(smooth.centres) == 40
    assert np.mean((smooth.predict(inputs) - y) ** 2) < 0.05 * np.var(y)


@pytest.mark.parametrize("y", [np.zeros(60), np.full(60, 3.0)])
def test_constant_targets_and_columns(y):
    """Columns without spread count for nothing, equal rows are no trouble, and a constant target is itself."""
    inputs = bin_inputs(np.zeros((60, 2), np.float32), np.zeros((60, 1), np.float32), 8)
    with ThreadPoolExecutor(1) as pool:
        shape = find_shape(inputs, y, np.ones(60), np.zeros(3), (0,), pool)
    assert (shape.scales == 0).all()
    np.testing.assert_allclose(fit_smooth(inputs, y, np.ones(60), shape, (0,)).predict(inputs), y, atol=1e-9)
    assert fit_smooth(inputs, y, np.ones(60), shape, (0,)).predict(inputs.at(np.arange(0))).shape == (0,)
