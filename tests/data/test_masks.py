"""Masked values are missing, and a masked target is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dln
from dln.circuit._circuit import MISSING
from dln.data._reader import learn_table, read_table
from dln.data._source import refuse_mask
from frames import NAN


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64, bool, object, str])
def test_masked_values_are_missing(dtype):
    """Masked values of an array of any type are missing, to learn from and to predict for."""
    X = np.ma.array(np.array([[1], [0], [1]]).astype(dtype), mask=[[0], [1], [0]])
    table = learn_table(X)
    missing = MISSING if table.columns[0].categories is not None else NAN
    for values in (table.values[0], read_table(X, table.columns).values[0]):
        np.testing.assert_array_equal(values == values[0], [True, False, True])
        np.testing.assert_array_equal(values[1], missing)


def test_masked_targets_and_weights_are_refused():
    """A masked target or weight is refused with its row; a mask that hides nothing is none."""
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(ValueError, match="y must be known in every row, but row 1 is masked"):
        refuse_mask(masked, "y")
    refuse_mask(masked[:1], "y")
    refuse_mask([1.0], "y")
    with pytest.raises(ValueError, match="y must be known in every row"):
        dln.RuleRegressor().fit([[1.0], [2.0]], masked)
    with pytest.raises(ValueError, match="sample_weight must be known in every row"):
        dln.RuleRegressor().fit([[1.0], [2.0]], [1.0, 2.0], sample_weight=masked)
