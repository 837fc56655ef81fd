"""The best neurons of a network: no two of them cancel each other."""

import numpy as np

from dln.circuit._circuit import Above, Circuit, Column, Rule
from dln.data._division import LabelledRows
from dln.data._target import Target
from dln.network import _circuits
from dln.network._circuits import Reduction
from dln.solve._weights import Loss


def selected():
    """Return the best three neurons of a network that predicts a narrow bump by two large weights."""
    columns = (Column("x"), Column("z"))
    literals = (Above(0, 0.5), Above(0, 0.53), Above(1, 0.5))
    circuit = Circuit(columns, literals, (), (Rule(0, 3.0), Rule(1, -3.0), Rule(2, 1.0)), 0.0, 4)
    rng = np.random.default_rng(0)
    x, z = rng.random((2, 400))
    y = 3.0 * ((x > 0.5) & (x <= 0.53)) + (z > 0.5) + 0.01 * rng.normal(size=400)
    target = Target.of(y, np.ones(400))
    rows = LabelledRows([x, z], target.standardise(y), np.ones(400), np.ones(400, np.int64))
    model = Reduction([circuit], rows, rows, None, Loss(), target).select([3], rows)[3]
    return {literal.column for literal in model.literals}, len(model.rules)


def test_of_two_rules_that_cancel_each_other_the_weaker_goes(monkeypatch):
    """Two nearly equal rules with large weights of opposite sign would not be readable: one of them goes."""
    assert selected() == ({0, 1}, 2)
    monkeypatch.setattr(_circuits, "MAX_OPPOSITION", 1.0)
    assert selected() == ({0, 1}, 3)
