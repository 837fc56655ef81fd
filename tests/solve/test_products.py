"""Products of rules, block by block."""

from __future__ import annotations

import numpy as np
import pytest

from dln.solve import _weights
from dln.solve._weights import products


@pytest.mark.parametrize(("n_rules", "n"), [(3, 50), (1, 7), (0, 5), (4, 0)])
def test_blocks_do_not_change_the_sums(monkeypatch, n_rules, n):
    """Also with no rule, no row, and a last block that is shorter than the others."""
    monkeypatch.setattr(_weights, "_PRODUCT_BLOCK", 7)
    rng = np.random.default_rng(0)
    rules, weight, others = rng.random((n_rules, n)) < 0.5, rng.random(n), rng.random((n, 2))
    among, across = products(rules, weight, others)
    numbers = rules.astype(np.float64)
    np.testing.assert_allclose(among, (numbers * weight) @ numbers.T, atol=1e-12)
    np.testing.assert_allclose(across, (numbers * weight) @ others, atol=1e-12)
