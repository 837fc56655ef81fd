"""A short training and the hard forward pass, which the tests of networks share."""

import numpy as np

from dln.network import _kernels as kernels
from dln.network._network import Data, Network, kernel_arrays
from dln.network._train import Plan

PLAN = Plan(
    straight_through="neuron",
    phases="unified",
    temperature=1.0,
    temperature_decay=0.8,
    min_temperature=0.1,
    sum_link_threshold=0.8,
    loss="squared_error",
    quantile=0.5,
    learning_rate=0.05,
    learning_rate_schedule="constant",
    batch_size=32,
    max_epochs=4,
)


def outputs(network: Network, data: Data, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """Return outputs ``(n,)``, standardised, and the rules' values ``(n_rules, n)``, of the hard forward pass."""
    n = len(data.target)
    out, rules = np.empty(n), np.empty((len(network.wiring.rule_rows), n), dtype=np.bool_)
    arrays = kernel_arrays(network, data.numbers.shape[1])
    settings = kernels.Settings(kernels.NEURON, temperature, PLAN.sum_link_threshold, kernels.SQUARED_ERROR, 0.0, n)
    for start in range(0, n, kernels.LANES):
        rows = np.arange(start, min(start + kernels.LANES, n))
        kernels.evaluate(arrays, data, rows, settings, out[rows[0] : rows[-1] + 1])
        rules[:, rows] = arrays.signal[network.wiring.rule_rows, : len(rows)] != 0
    return out, rules
