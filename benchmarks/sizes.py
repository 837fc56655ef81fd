"""Sizes chosen by `RuleRegressor` on generated tables whose truth is a few rules, against the size of the truth.

    python benchmarks/sizes.py [--seeds 10] [--rows 1000] [--noise 0.5]

The truth is a sum of rules of one to three conditions, plus noise with a share of the signal's standard deviation. A
size is right if it is at most twice the truth's.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from dln import RuleRegressor

#: Conditions of the rules of each truth.
TRUTHS = ((1, 2), (2, 2, 2), (1, 1, 2, 3, 3))
N_COLUMNS = 8


def short_truth(lengths: tuple[int, ...], n_rows: int, noise: float, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of evenly distributed numbers, and a target of rules over different columns each, with noise."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.random((n_rows, N_COLUMNS)), columns=[f"x{k}" for k in range(N_COLUMNS)])
    y = np.zeros(n_rows)
    for length in lengths:
        columns = rng.choice(N_COLUMNS, length, replace=False)
        share = 0.5 ** (1.0 / length)  # each rule fires on about half of the rows
        y += rng.choice([-1, 1]) * rng.uniform(1.0, 3.0) * (X.to_numpy()[:, columns] < share).all(axis=1)
    return X, y + noise * y.std() * rng.normal(size=n_rows)


def main() -> None:
    """Print the chosen sizes and the count of right ones for each truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--noise", type=float, default=0.5)
    options = parser.parse_args()
    print("| conditions of the truth | conditions chosen | at most twice the truth's |")
    print("| ---: | --- | ---: |")
    for lengths in TRUTHS:
        chosen = []
        for seed in range(options.seeds):
            X, y = short_truth(lengths, options.rows, options.noise, seed)
            chosen.append(RuleRegressor(random_state=seed).fit(X, y).rules_.n_conditions)
        right = sum(size <= 2 * sum(lengths) for size in chosen)
        print(f"| {sum(lengths)} | {' '.join(map(str, chosen))} | {right} of {len(chosen)} |", flush=True)


if __name__ == "__main__":
    main()
