"""Growth of time with rows, columns, neurons and rules: the fitted exponents, 1 being linear.

    python benchmarks/growth.py

Each size is doubled step by step, the rest kept, in several rounds over all sizes; the median exponent is printed.
Times are the processor's, on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from measure import machine, seconds
from prediction_speed import page_of_rules, with_circuit
from threadpoolctl import threadpool_limits

from dln import DLNRegressor

ROUNDS = 7


def exponent(name: str, sizes: Sequence[int], function: Callable[[int], float]) -> None:
    """Print the median times at all sizes and the power with which they grow, the median over rounds.

    A machine that is shared is slower for seconds at a time, so each round is short and fitted by itself.
    """
    rounds = np.array([[function(size) for size in sizes] for _ in range(ROUNDS)])
    powers = [np.polyfit(np.log(sizes), np.log(times), 1)[0] for times in rounds]
    medians = np.median(rounds, axis=0)
    shown = ", ".join(f"{size:,}: {time * 1e3:,.2f}" for size, time in zip(sizes, medians, strict=True))
    print(f"| {name} | {np.median(powers):.2f} | {shown} |", flush=True)


def table(n_rows: int, n_columns: int = 20) -> np.ndarray:
    """Return random numbers."""
    return np.random.default_rng(0).uniform(size=(n_rows, n_columns)).astype(np.float32)


def epochs(n_rows: int, n_columns: int, width: int) -> float:
    """Return the time of forty epochs: that of a fit of 41 minus that of one."""
    X = table(n_rows, n_columns)
    y = X[:, 0] * X[:, 1] + X[:, 2]

    def fit(n_epochs: int) -> float:
        model = DLNRegressor(hidden_layer_sizes=(width, width), max_epochs=n_epochs, random_state=0, n_jobs=1)
        start = time.process_time()
        model.fit(X, y)
        return time.process_time() - start

    return max(fit(41) - fit(1), 1e-9)


def prediction(n_rows: int, n_conditions: int) -> float:
    """Return the time to predict rows of a float32 array."""
    model = with_circuit(page_of_rules(n_conditions))
    X = table(n_rows)
    return seconds(lambda: model.predict(X), budget=0.2, clock=time.thread_time)


def main() -> None:
    """Print the table."""
    print(machine(), "\n")
    print("| time of | exponent | ms |")
    print("| --- | ---: | --- |")
    with threadpool_limits(1):
        epochs(100, 3, 8), prediction(1000, 100)  # compiled now
        exponent("training, rows", (2000, 4000, 8000), lambda n: epochs(n, 10, 200))
        exponent("training, columns", (10, 20, 40), lambda n: epochs(2000, n, 200))
        exponent("training, neurons", (200, 400, 800), lambda n: epochs(2000, 10, n))
        exponent("prediction, rows", (250_000, 500_000, 1_000_000), lambda n: prediction(n, 100))
        exponent("prediction, conditions", (100, 200, 400, 800), lambda n: prediction(100_000, n))


if __name__ == "__main__":
    main()
