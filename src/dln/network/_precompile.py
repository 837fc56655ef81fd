"""All kernels of a training, compiled by training a network of a few neurons on a few rows.

This module imports nothing slow besides Numba, for it is what another process is started for.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dln.network._layout import Data
from dln.network._loop import Plan, train
from dln.network._network import build_network

_N_ROWS: Final = 40


def compile_kernels() -> None:
    """Compile what the training of networks calls: every kernel has one signature, whatever the plan and the data."""
    numbers = np.linspace(0.0, 1.0, _N_ROWS, dtype=np.float32)[:, np.newaxis]
    data = Data(numbers, np.zeros((_N_ROWS, 0), np.float32), numbers[:, 0].copy(), np.ones(_N_ROWS, np.float32))
    network = build_network(
        [np.array([0.5], np.float32)],
        0,
        layer_sizes=(4,),
        n_candidate_links=2,
        n_candidate_gates=2,
        concatenate_inputs=True,
        initial_sum_logit=1.0,
        rng=np.random.default_rng(0),
    )
    plan = Plan(
        straight_through="separate",
        phases="unified",
        temperature=1.0,
        temperature_decay=1.0,
        min_temperature=1.0,
        sum_link_threshold=0.8,
        gradient_factor=1.0,
        loss="squared_error",
        quantile=0.5,
        learning_rate=0.001,
        learning_rate_schedule="constant",
        batch_size=_N_ROWS,
        max_epochs=1,
        patience=None,
    )
    train(network, data, None, plan, seed=0)
