"""Inputs in bins, and the cut-offs that are kept."""

from __future__ import annotations

import numpy as np

from dln.training._binned import bin_inputs, keep_cutoffs
from dln.training._teach import teach


def test_bins_lie_between_cutoffs():
    """A value is in bin b where exactly b cut-offs are below it; a missing one is in bin 0."""
    numbers = np.array([[-1.0], [0.0], [0.2], [0.2], [0.9]], np.float32)
    bits = np.array([[0.0], [1.0], [0.0], [1.0], [1.0]], np.float32)
    inputs = bin_inputs(numbers, bits, 10)
    assert inputs.bins.tolist() == [[0, 0, 1, 1, 2], [0, 1, 0, 1, 1]]
    assert inputs.n_bins.tolist() == [3, 2]
    assert (
        len(
            bin_inputs(np.linspace(0, 1, 1000, dtype=np.float32)[:, None], np.zeros((1000, 0), np.float32), 7).cutoffs[
                0
            ]
        )
        == 7
    )


def test_bins_fit_a_byte():
    """However many cut-offs are asked for, no bin number wraps round."""
    inputs = bin_inputs(np.linspace(0, 1, 1000, dtype=np.float32)[:, None], np.zeros((1000, 0), np.float32), 900)
    assert (np.diff(inputs.bins[0].astype(int)) >= 0).all()
    assert inputs.bins.max() + 1 == inputs.n_bins[0] <= 255


def test_cutoffs_are_kept_where_they_are_worth_most(friedman):
    """Of many cut-offs as many as asked stay, most of them in the columns that matter; bins stay in order."""
    inputs, y, weight = friedman
    fewer = keep_cutoffs(inputs, teach(inputs, y, weight, 2, 8, 0, 1).gains, 40)
    counts = [len(cuts) for cuts in fewer.cutoffs]
    assert sum(counts) <= 40
    assert sum(counts[:5]) > sum(counts[5:])
    for k in range(10):
        assert (np.diff(fewer.bins[k][np.argsort(inputs.bins[k], kind="stable")].astype(int)) >= 0).all()
        assert fewer.bins[k].max() <= counts[k]
