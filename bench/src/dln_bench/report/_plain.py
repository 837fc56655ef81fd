"""R² of some models by dataset, and their sizes and times, as a Markdown table: on the splits that all of them have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dln_bench._results import Result
from dln_bench.report._common import in_order

#: What is told of each model below the table, where it is known: name -> how it is averaged.
FACTS = {
    "conditions": "mean",
    "rules": "mean",
    "fired": "mean",
    "longest": "max",
    "covered_90": "mean",
    "ops": "geometric mean",
    "select_ops": "geometric mean",
    "fit_seconds": "median",
    "search_seconds": "median",
}


class NothingInCommonError(ValueError):
    """Models that have no split in common.

    >>> raise NothingInCommonError("there is no dataset and seed that all of dln, ebm have")
    Traceback (most recent call last):
    dln_bench.report._plain.NothingInCommonError: there is no dataset and seed that all of dln, ebm have
    """


def plain_table(results: Sequence[Result], models: Sequence[str] | None = None, trials: int | None = None) -> str:
    """Return the table of some models (default: all there are) at a budget (default: the largest of each)."""
    rows = pd.DataFrame(
        [
            {"dataset": one.dataset, "model": one.model, "seed": one.seed, "trials": one.trials, "r2": one.r2}
            | {name: getattr(one, name) for name in FACTS}
            for one in results
            if (not models or one.model in models) and (trials is None or one.trials in {0, trials})
        ]
    )
    if rows.empty:
        message = "there are no results of these models: dln-bench list names them"
        raise NothingInCommonError(message)
    rows = rows.sort_values("trials").drop_duplicates(["dataset", "model", "seed"], keep="last")
    shown = list(in_order(rows["model"]))
    wide = rows.pivot_table(index=["dataset", "seed"], columns="model", values="r2")[shown].dropna()
    if wide.empty:
        message = f"there is no dataset and seed that all of {', '.join(shown)} have: name fewer with --models"
        raise NothingInCommonError(message)
    means = wide.groupby("dataset").mean()
    counts = wide.groupby("dataset").size()
    lines = [f"| dataset | {' | '.join(shown)} |", f"| --- |{' ---: |' * len(shown)}"]
    lines += [
        f"| {name} ({counts[name]}) | {' | '.join(f'{value:.3f}' for value in row)} |" for name, row in means.iterrows()
    ]
    lines += [f"| **mean** | {' | '.join(f'{value:.4f}' for value in means.mean())} |", ""]
    common = rows.set_index(["dataset", "seed"]).loc[wide.index]
    lines += [f"{model}: {_facts(common[common['model'] == model])}" for model in shown]
    return "\n".join(lines)


def _facts(rows: pd.DataFrame) -> str:
    said = []
    for name, how in FACTS.items():
        values = pd.to_numeric(rows[name]).dropna().to_numpy(dtype=float)
        if not values.any():
            continue
        if how == "median":
            said.append(f"{name} median {np.median(values):.1f}, most {values.max():.1f}")
        elif how == "geometric mean":
            said.append(f"{name} {how} {np.exp(np.log(np.maximum(values, 1)).mean()):,.0f}")
        else:
            value = values.max() if how == "max" else values.mean()
            said.append(f"{name} {how} {value:.3g}")
    return "; ".join(said) or "nothing else is known"
