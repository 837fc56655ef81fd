"""Whole numbers in words: 0/1 columns and columns that begin with 0."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dln import DLNRegressor, RuleRegressor, load
from dln.circuit._circuit import Above, Circuit, Column, Gate, Rule
from models import SMALL


def words(cutoff, kind, whole_to, low=None):
    """Return the rule of a gate over tests on one column in words."""
    literals = (Above(0, cutoff), Above(0, cutoff if low is None else low))
    circuit = Circuit((Column("x", whole_to=whole_to),), literals, (Gate(kind, 0, 1),), (Rule(2, 1.0),), 0.0, 0)
    return repr(circuit).partition("[")[2].rstrip("]")


@pytest.mark.parametrize(
    ("cutoff", "kind", "whole_to", "text"),
    [
        (0.5, 1, 1, "x = 1"),
        (0.0, 1, 1, "x = 1"),
        (0.5, 14, 1, "x = 0"),
        (0.5, 14, 7, "x = 0"),
        (0.5, 1, 7, "x > 0.5"),
        (1.0, 14, 7, "x ≤ 1"),
        (0.5, 1, None, "x > 0.5"),
        (0.5, 14, None, "x ≤ 0.5"),
        (-0.5, 14, 7, "x ≤ -0.5"),
        (1.5, 1, 1, "x > 1.5"),
    ],
)
def test_a_number_is_named_where_the_interval_holds_no_other(cutoff, kind, whole_to, text):
    """Of whole numbers from 0, the part up to a cut-off below 1 is 0; of 0 and 1, the part above it is 1."""
    assert words(cutoff, kind, whole_to) == text


@pytest.mark.parametrize("values", [[0, 1], [0, 1, 2], [1, 2], [0, 0.5], [-1, 0], [0, 1, np.nan], [0, np.nan]])
def test_what_is_printed_is_what_is_computed(values):
    """On every number of the training table, rules hold where their words say."""
    X = pd.DataFrame({"x": (values * 20)[:40]})
    model = RuleRegressor(**SMALL).fit(X, 5.0 * (X.x > 0) + X.x.isna())
    for k, rule in enumerate(model.circuit_.rules):
        text = next(row.rule for row in model.rules_ if row.index == k)
        holds = model.circuit_.rule_values([X.x.to_numpy()])[k]
        known = X.x.notna().to_numpy()
        if text in {"x = 1", "x = 0"}:
            np.testing.assert_array_equal(holds[known], (X.x == float(text[-1])).to_numpy()[known])
        assert ("x = " in text) == (set(filter(np.isfinite, values)) in ({0, 1}, {0, 1, 2}) and "> " not in text), (
            text,
            rule,
        )


def test_only_rows_that_count_decide(tmp_path):
    """A row of weight zero is no row; the words of a model are those of its file."""
    X, y = pd.DataFrame({"x": [0, 1] * 20 + [2]}), [0.0, 1.0] * 20 + [7.0]
    weight = np.append(np.ones(40), 0.0)
    model = RuleRegressor(**SMALL).fit(X, y, sample_weight=weight)
    assert [row.rule for row in model.rules_] == ["x = 1"]
    model.save(tmp_path / "m.dln")
    assert repr(load(tmp_path / "m.dln").rules_) == repr(model.rules_)
    network = DLNRegressor(hidden_layer_sizes=(8,), max_epochs=2, random_state=0).fit(X, y, sample_weight=weight)
    assert network.circuit_.columns[0].whole_to == 1
