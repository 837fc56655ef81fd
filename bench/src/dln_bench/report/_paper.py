"""The paper's tables as numbers, under the benchmark's names."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

#: Trials behind the tables of R², RMSE, MAE and operations, and behind the ablations.
TABLE_TRIALS: Final = 128
ABLATION_TRIALS: Final = 32
#: Trials of its table of budgets.
BUDGETS: Final = (32, 64, 128)
#: Seeds behind every mean.
SEEDS: Final = 10
#: R² rank, rank of operations and geometric mean of operations of the ablations, as printed.
ABLATION_ROWS: Final[Mapping[str, tuple[float, float, float]]] = MappingProxyType(
    {
        "dln": (3.53, 4.80, 29_900),
        "no-schedule": (4.07, 4.67, 26_700),
        "two-phases": (3.60, 4.67, 27_500),
        "subspace-16": (3.47, 4.80, 27_600),
        "subspace-4": (3.60, 4.80, 27_500),
        "no-concatenation": (3.87, 4.47, 18_300),
    }
)
#: R² of the models that the paper draws.
DRAWN: Final[Mapping[str, float]] = MappingProxyType({"insurance": 0.866, "estate": 0.758, "yacht": 0.997})
#: Inputs that they use.
INPUTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "insurance": "2 of 2 continuous and 2 of 12 one-hot inputs",
        "estate": "6 of 6 continuous inputs",
        "yacht": "3 of 6 continuous inputs",
    }
)


@dataclass(frozen=True, slots=True)
class Printed:
    """A number of the paper: a mean over ten seeds, and their standard deviation where it is printed."""

    mean: float
    std: float | None = None


@cache
def table(metric: str) -> Mapping[tuple[str, str], Printed]:
    """Return a table at 128 trials, "r2", "rmse", "mae" or "ops": (model, dataset) -> number.

    >>> table("r2")["dln", "yacht"]
    Printed(mean=0.997, std=0.0015)
    """
    column = "mean_r2" if metric == "r2" else metric
    return {
        (row["model"], row["dataset"]): Printed(float(row[column]), float(row["std_r2"]) if metric == "r2" else None)
        for row in _rows(metric)
    }


@cache
def ablations() -> Mapping[tuple[str, str], Printed]:
    """Return R² of the network and its ablations at 32 trials: (variant, dataset) -> number.

    >>> ablations()["no-schedule", "yacht"]
    Printed(mean=0.988, std=0.0099)
    """
    return {
        (row["variant"], row["dataset"]): Printed(float(row["mean_r2"]), float(row["std_r2"]))
        for row in _rows("ablation_r2")
    }


@cache
def budgets() -> Mapping[tuple[str, int], float]:
    """Return mean R² over the fifteen datasets: (model, trials) -> number.

    >>> budgets()["dln", 32]
    0.802
    """
    return {(row["model"], trials): float(row[str(trials)]) for row in _rows("hpo_budget_r2") for trials in BUDGETS}


@cache
def datasets() -> Mapping[str, tuple[int, int, int, int]]:
    """Return training rows, test rows, continuous and one-hot columns by dataset.

    >>> datasets()["mpg"]
    (294, 98, 6, 2)
    """
    counts = ("train_rows", "test_rows", "continuous", "categorical_columns")
    return {
        row["dataset"]: (int(row[counts[0]]), int(row[counts[1]]), int(row[counts[2]]), int(row[counts[3]]))
        for row in _rows("datasets")
    }


@cache
def explanations() -> Mapping[tuple[str, str, str], str]:
    """Return why ours differs from the paper's: (model, dataset or "*", "accuracy" or "operations") -> reason."""
    return {(row["model"], row["dataset"], row["of"]): row["reason"] for row in _rows("explanations")}


def _rows(name: str) -> list[dict[str, str]]:
    with files("dln_bench.report").joinpath("paper", f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
