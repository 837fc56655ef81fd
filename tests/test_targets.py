"""Targets of any scale and offset are learned, and what cannot be one is refused in one sentence."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import r2_score

from models import small


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
def test_targets_of_any_scale(scale):
    """A target a million times larger or smaller is fitted as well."""
    X, y = make_friedman1(150, random_state=0)
    prediction = small().fit(X, y * scale).predict(X)
    assert np.corrcoef(prediction / scale, y)[0, 1] > 0.8


@pytest.mark.parametrize("offset", [1e10, -1e11, 1e12, 1e14, 1e15])
@pytest.mark.filterwarnings("ignore::dln.PrecisionWarning")  # of the last three
def test_targets_far_from_zero(offset):
    """A target like a timestamp is fitted as well as near zero, or never worse than by its mean."""
    X, y = make_friedman1(150, random_state=0)
    prediction = small().fit(X, y + offset).predict(X)
    assert r2_score(y + offset, prediction) > (0.6 if abs(offset) < 1e13 else -0.01)


def test_sizes_that_cannot_be():
    """Weights and targets beyond what sums can hold get one sentence, and no warning besides."""
    X = np.arange(20.0).reshape(10, 2)
    for weight in (1e308, 5e-324):
        with pytest.raises(ValueError, match="the largest sample_weight must lie between"):
            small().fit(X, np.arange(10.0), sample_weight=np.full(10, weight))
    with pytest.raises(ValueError, match="y must lie between"):
        small().fit(X, np.array([-1.7e308, 1.7e308] * 5))


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_printed_weights_add_up(scale):
    """At any scale, the weights that are printed add up to what is predicted, to the last digits of float64."""
    X, y = make_friedman1(150, random_state=0)
    model = small().fit(X, y * scale)
    for explanation, prediction in zip(model.explain(X[:20]), model.predict(X[:20]), strict=True):
        title, *lines = repr(explanation).splitlines()
        total = float(sum(Decimal(line.split()[0]) for line in lines))
        assert float(title.partition(" = ")[2].partition(" (")[0]) == prediction
        assert total == pytest.approx(prediction, rel=1e-15 if scale != 1 else 0)


@pytest.mark.parametrize("value", [0.0, 3.25, -1e9])
def test_a_constant_target_is_predicted_exactly(value):
    """A constant is learned exactly."""
    model = small().fit(np.arange(30.0).reshape(15, 2), np.full(15, value))
    assert (model.predict([[1.0, 2.0]]) == value).all()


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (None, "y"),
        ([1.0, np.nan], "NaN"),
        ([1.0, np.inf], "inf"),
        ([1.0], "inconsistent"),
        ([[1.0, 2.0], [3.0, 4.0]], "1d"),
        (["a", "b"], "could not convert|numeric"),
    ],
)
def test_bad_targets_get_one_sentence(y, match):
    """A wrong target is refused in one sentence."""
    with pytest.raises(ValueError, match=match):
        small().fit([[1.0], [2.0]], y)


def test_a_column_vector_as_target_warns():
    """As everywhere in scikit-learn, y of shape (n, 1) warns."""
    with pytest.warns(DataConversionWarning):
        small().fit([[1.0], [2.0]], [[1.0], [2.0]])
