"""The paper's tables as numbers, under the benchmark's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, Literal

import pandas as pd

Metric = Literal["r2", "rmse", "mae", "ops"]

#: Trials behind the tables of R², RMSE, MAE and OPs, and behind the table of ablations.
TABLE_TRIALS: Final = 128
ABLATION_TRIALS: Final = 32
#: Seeds behind every mean.
SEEDS: Final = 10
#: The ten models of the paper: its name -> ours.
MODELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "linear": "linear",
        "ridge": "ridge",
        "lasso": "lasso",
        "knn": "knn",
        "decision_tree": "tree",
        "adaboost": "adaboost",
        "random_forest": "forest",
        "svr": "svr",
        "mlp": "mlp",
        "dln": "dln-paper",
    }
)
#: The paper's ablations: its name -> ours. "original" is the paper's model itself.
VARIANTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "original": "dln-paper",
        "no_temperature_schedule": "no-schedule",
        "two_phases": "two-phases",
        "subspace_16": "subspace-16",
        "subspace_4": "subspace-4",
        "no_concatenation": "no-concatenation",
    }
)
#: The mean column of each table of datasets and models.
_COLUMNS: Final[Mapping[Metric, str]] = MappingProxyType(
    {"r2": "mean_r2", "rmse": "rmse", "mae": "mae", "ops": "ops"},
)


@dataclass(frozen=True, slots=True)
class Stated:
    """A number of the paper: a mean over ten seeds, with the standard deviation where the paper gives one."""

    mean: float
    std: float | None = None


@cache
def table(metric: Metric) -> Mapping[tuple[str, str], Stated]:
    """Return a table of the paper at 128 trials: (dataset, model) -> number.

    >>> table("r2")["yacht", "dln-paper"]
    Stated(mean=0.997, std=0.0015)
    """
    column = _COLUMNS[metric]
    return MappingProxyType(
        {
            (row["dataset"], MODELS[row["model"]]): Stated(
                float(row[column]), float(row["std_r2"]) if metric == "r2" else None
            )
            for row in _rows(metric)
        }
    )


@cache
def ablations() -> Mapping[tuple[str, str], Stated]:
    """Return R² of the paper's model and its ablations at 32 trials: (dataset, variant) -> number.

    >>> ablations()["yacht", "no-schedule"]
    Stated(mean=0.988, std=0.0099)
    """
    return MappingProxyType(
        {
            (row["dataset"], VARIANTS[row["variant"]]): Stated(float(row["mean_r2"]), float(row["std_r2"]))
            for row in _rows("ablation_r2")
        }
    )


@cache
def budgets() -> Mapping[tuple[str, int], float]:
    """Return mean R² over the fifteen datasets: (model, trials) -> number.

    >>> budgets()["dln-paper", 32]
    0.802
    """
    return MappingProxyType(
        {
            (MODELS[row["model"]], int(trials)): float(row[trials])
            for row in _rows("hpo_budget_r2")
            for trials in row
            if trials != "model"
        }
    )


def _rows(name: str) -> list[dict[str, Any]]:
    with files("dln_bench.report").joinpath("paper", f"{name}.csv").open(encoding="utf-8") as file:
        rows: list[dict[str, Any]] = pd.read_csv(file).to_dict("records")
    return rows
