"""Training steps per second: the kernels against PyTorch, one thread each.

    python benchmarks/training_speed.py [--compiled]

A step is forward, backward and Adam on one batch. PyTorch runs the reference as it is (gathered candidates), and a
dense variant that multiplies by a matrix of probabilities over all rows; with --compiled the
gathered one through torch.compile as well. Times are the processor's, each the best of five medians: a shared machine
is slower for seconds at a time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from measure import machine, seconds

from dln.network import _kernels as kernels
from dln.network._network import Architecture, Data, Network, build_network, kernel_arrays

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference import Forward, ReferenceNetwork, mean_loss

N_FEATURES = 10
CUTOFFS_PER_FEATURE = 6
N_CANDIDATES = 8
TEMPERATURE = 1.0
LEARNING_RATE = 0.005
NETWORKS = {"small": (60, 60, 30), "medium": (200, 200, 100), "large": (600, 600, 300)}
BATCHES = (32, 256)
ROUNDS = 5


def network_of(layers: tuple[int, ...]) -> Network:
    """Sixty literals, eight candidate links and gates per neuron."""
    rng = np.random.default_rng(0)
    cutoffs = [np.sort(rng.uniform(0.1, 0.9, CUTOFFS_PER_FEATURE)).astype(np.float32) for _ in range(N_FEATURES)]
    shape = Architecture(layers, CUTOFFS_PER_FEATURE, N_CANDIDATES, N_CANDIDATES, concatenate_inputs=True)
    return build_network(cutoffs, 0, shape, rng)


def rows_of(n: int) -> Data:
    """Rows of a smooth function of three columns."""
    rng = np.random.default_rng(1)
    numbers = rng.uniform(size=(n, N_FEATURES)).astype(np.float32)
    target = np.sin(3 * numbers[:, 0] * numbers[:, 1]) + numbers[:, 2]
    target = ((target - target.mean()) / target.std()).astype(np.float32)
    return Data(numbers, np.zeros((n, 0), np.float32), target, np.ones(n, np.float32))


def kernel_step_seconds(layers: tuple[int, ...], batch: int, budget: float = 2.0) -> float:
    """Return the time of a step of the kernels, over epochs of at least twenty steps."""
    network, data = network_of(layers), rows_of(batch * 20)
    arrays = kernel_arrays(network, N_FEATURES)
    rows = np.random.default_rng(2).permutation(len(data.target))
    settings = kernels.Settings(kernels.NEURON, TEMPERATURE, 0.8, kernels.SQUARED_ERROR, 0.0, batch)
    rates = np.full(arrays.sections.size - 1, LEARNING_RATE)

    def epoch() -> None:
        kernels.train_epoch(arrays, data, rows, settings, rates, 0)

    return seconds(epoch, budget=budget, most=2000, clock=time.thread_time) / 20


class DenseNetwork(ReferenceNetwork):
    """The reference with every link a column of a matrix over all rows, closed candidates masked out."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self.n_inputs = self.wiring.first_neuron

    def _logic_layer(self, signals: torch.Tensor, neurons: slice, how: Forward) -> torch.Tensor:
        a, hard_a = self._dense(signals, self.links[0, :, neurons], self.link_logits[0, :, neurons], how)
        b, hard_b = self._dense(signals, self.links[1, :, neurons], self.link_logits[1, :, neurons], how)
        logits = self.gate_logits[:, neurons]
        mixture = self.coefficients.T @ torch.softmax(logits / how.temperature, dim=0)
        gate = self.coefficients[logits.argmax(dim=0)].T
        soft = mixture[0] + mixture[1] * a + mixture[2] * b + mixture[3] * a * b
        hard = gate[0] + gate[1] * hard_a + gate[2] * hard_b + gate[3] * hard_a * hard_b
        return soft + (hard - soft).detach()

    def _dense(
        self, signals: torch.Tensor, links: torch.Tensor, logits: torch.Tensor, how: Forward
    ) -> tuple[torch.Tensor, torch.Tensor]:
        shape = (signals.shape[1], links.shape[1])
        masked = torch.full(shape, -torch.inf).scatter(0, links, logits)
        probabilities = torch.softmax(masked / how.temperature, dim=0)
        chosen = torch.nn.functional.one_hot(masked.argmax(dim=0), shape[0]).T.to(signals.dtype)
        return signals @ probabilities, signals @ chosen


def torch_step(model: ReferenceNetwork, batch: int, call: Callable[..., torch.Tensor]) -> Callable[[], None]:
    """Return a function that takes one step."""
    data = rows_of(batch)
    numbers, bits, target, weight = (torch.from_numpy(part) for part in data)
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    how = Forward(TEMPERATURE)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        mean_loss(call(numbers, bits, how), target, weight, "squared_error", 0.0).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiled", action="store_true", help="also torch.compile, which takes minutes")
    compiled = parser.parse_args().compiled
    torch.set_num_threads(1)
    print(machine(), f"torch {torch.__version__}, one thread")
    print()
    names = ["gathered", "dense", *(["compiled"] if compiled else [])]
    print("| network | batch | dln µs | " + " | ".join(f"{name} µs | ratio" for name in names) + " |")
    print("| --- |" + " ---: |" * (2 + 2 * len(names)))
    for name, layers in NETWORKS.items():
        for batch in BATCHES:
            ours = min(kernel_step_seconds(layers, batch, 0.4) for _ in range(ROUNDS))
            cells = []
            for variant in names:
                model = DenseNetwork(network_of(layers)) if variant == "dense" else ReferenceNetwork(network_of(layers))
                call = torch.compile(model) if variant == "compiled" else model
                step = torch_step(model, batch, call)
                theirs = min(seconds(step, budget=0.6, clock=time.thread_time) for _ in range(ROUNDS))
                cells.append(f"{theirs * 1e6:,.0f} | **{theirs / ours:.0f}**")
            print(f"| {name} {layers} | {batch} | {ours * 1e6:,.1f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
