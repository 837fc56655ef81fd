"""Where the paper's network is not the paper's: small matters of training, each as the earlier code had it and as ours.

    DLN_DATA_HOME=… python benchmarks/deviations.py [--datasets mpg airfoil] [--splits 100 101]

Four layers of 100 neurons and at most 8000 steps; R² of the variant on a quarter of the rows, minus that of ours on the
same split, with all rules kept and weights solved for, so that nothing is told but how the network trains.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest import mock

import datasets
import numpy as np
import numpy.typing as npt
from measure import machine
from sklearn.model_selection import train_test_split

from dln import DLNRegressor
from dln.network import _loop, _network

DATASETS = ("parkinsons", "housing", "electrical", "airfoil", "insurance", "mpg")
SPLITS = (100, 101, 102, 103, 104)
STEPS = 8000
BATCH = 32


def whole_batches() -> AbstractContextManager[Any]:
    """Drop the last rows of an epoch where they do not fill a batch."""
    trainer = _loop._Trainer  # noqa: SLF001 (no parameter says it)
    order = trainer._order  # noqa: SLF001

    def cut(self: Any, epoch: int, n: int) -> npt.NDArray[np.intp]:
        rows: npt.NDArray[np.intp] = order(self, epoch, n)
        return rows[: max(n - n % BATCH, min(n, BATCH))]

    return mock.patch.object(trainer, "_order", cut)


def with_replacement() -> AbstractContextManager[Any]:
    """Draw a neuron's candidate links with replacement: some come twice."""

    def draw(
        rows: npt.NDArray[np.intp], n_candidates: int, n_neurons: int, rng: np.random.Generator
    ) -> npt.NDArray[np.int32]:
        return rng.choice(rows, (n_candidates, n_neurons)).astype(np.int32)

    return mock.patch.object(_network, "_draw", draw)


VARIANTS: dict[str, tuple[Callable[[], AbstractContextManager[Any]], dict[str, Any]]] = {
    "the last short batch dropped": (whole_batches, {}),
    "candidates drawn with replacement": (with_replacement, {}),
    "constant learning rate": (nullcontext, {"learning_rate_schedule": "constant"}),
}


def score(table: tuple[Any, Any], split: int, **changes: Any) -> float:
    """Return R² of a short training."""
    X_train, X_test, y_train, y_test = train_test_split(*table, test_size=0.25, random_state=split)
    epochs = max(1, STEPS * BATCH // len(y_train))
    model = DLNRegressor(
        hidden_layer_sizes=(100, 100, 100, 100),
        max_epochs=min(200, epochs),
        max_rules=None,
        rule_tolerance=0,
        random_state=split,
        **changes,
    )
    return float(model.fit(X_train, y_train).score(X_test, y_test))


def main() -> None:
    """Print the mean difference of each variant, its standard error, and the datasets one by one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--splits", nargs="*", type=int, default=list(SPLITS))
    options = parser.parse_args()
    print(machine(), "\n")
    tables = {name: datasets.load(name) for name in options.datasets}
    ours = np.array([[score(table, split) for split in options.splits] for table in tables.values()])
    for title, (patch, changes) in VARIANTS.items():
        with patch():
            theirs = np.array([[score(table, s, **changes) for s in options.splits] for table in tables.values()])
        by_fit = theirs - ours
        error = by_fit.std(ddof=1) / np.sqrt(by_fit.size)
        by_dataset = ", ".join(f"{name} {d:+.3f}" for name, d in zip(tables, by_fit.mean(axis=1), strict=True))
        print(f"{title}: {by_fit.mean():+.4f} ± {error:.4f} ({by_dataset})", flush=True)


if __name__ == "__main__":
    main()
