"""How time grows with neurons, rows, features and rules: the fitted exponents, 1 being linear.

    python benchmarks/growth.py

Each size is doubled step by step, the rest kept, in several rounds over all sizes. Times are the processor's, on one
thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from measure import machine, seconds
from prediction_speed import circuit_of_trained_shape
from training_speed import kernel_step_seconds

from dln.circuit._circuit import Circuit, Column
from dln.circuit.bits import predict_array, prepare
from dln.data._encoding import learn_encoder
from dln.data._reader import learn_table
from dln.data._rows import canonical_rows

ROUNDS = 7


def exponent(what: str, sizes: Sequence[int], function: Callable[[int], float]) -> None:
    """Print the median times at all sizes and the power with which they grow, the median over rounds.

    A machine that is shared is slower for seconds at a time, so each round is short and fitted by itself.
    """
    rounds = np.array([[function(size) for size in sizes] for _ in range(ROUNDS)])
    powers = [np.polyfit(np.log(sizes), np.log(times), 1)[0] for times in rounds]
    medians = np.median(rounds, axis=0)
    shown = ", ".join(f"{size:,}: {time * 1e6:,.0f}" for size, time in zip(sizes, medians, strict=True))
    print(f"| {what} | {np.median(powers):.2f} | {shown} |", flush=True)


def prediction(circuit: Circuit, n_rows: int) -> float:
    """Return the time to predict rows of a float32 array."""
    prepared = prepare(circuit)
    X = np.random.default_rng(0).uniform(size=(n_rows, len(circuit.columns))).astype(np.float32)
    return seconds(lambda: predict_array(prepared, X), budget=0.2, clock=time.thread_time)


def with_columns(circuit: Circuit, n_columns: int) -> Circuit:
    """Return the circuit over a wider table, of which it reads the same columns."""
    columns = tuple(Column(f"x{j}") for j in range(n_columns))
    return Circuit(columns, circuit.literals, circuit.gates, circuit.rules, circuit.intercept, circuit.decimals)


def preparation(n_rows: int, n_columns: int, order: Literal["C", "F"] = "C") -> float:
    """Return the time from a float32 array, stored row by row or column by column, to the network's inputs."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, n_columns)).astype(np.float32, order=order), rng.normal(size=n_rows)

    def prepare_rows() -> None:
        table = learn_table(X)
        rows = canonical_rows(table.values, y)
        learn_encoder(table.columns, table.values, rows.weight, rows=rows.index).encode(table.values, rows.index)

    return seconds(prepare_rows, budget=0.3, clock=time.thread_time)


def main() -> None:
    """Print the table."""
    print(machine(), "\n")
    print("| time of | exponent | µs |")
    print("| --- | ---: | --- |")
    exponent(
        "a training step, neurons", (250, 500, 1000, 2000), lambda n: kernel_step_seconds((n // 2, n // 2), 32, 0.2)
    )
    exponent(
        "a training step, rows of the batch", (64, 128, 256, 512), lambda n: kernel_step_seconds((200, 100), n, 0.2)
    )
    many = (200_000, 400_000, 800_000, 1_600_000, 3_200_000)
    exponent("preparing a table, rows", many, lambda n: preparation(n, 20))
    exponent("preparing a table stored by columns, rows", many, lambda n: preparation(n, 20, "F"))
    exponent("preparing a table, features", (10, 20, 40, 80), lambda n: preparation(200_000, n))
    circuit = circuit_of_trained_shape()
    exponent("prediction, rows", (250_000, 500_000, 1_000_000, 2_000_000), lambda n: prediction(circuit, n))
    exponent(
        "prediction, rules", (60, 120, 240, 480), lambda n: prediction(circuit_of_trained_shape(n_rules=n), 100_000)
    )
    exponent("prediction, columns not read", (20, 40, 80, 160), lambda n: prediction(with_columns(circuit, n), 100_000))


if __name__ == "__main__":
    main()
