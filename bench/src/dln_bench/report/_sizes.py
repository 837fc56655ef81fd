"""R² against conditions: every model at its size, readable or not, over the datasets that all of them have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from dln_bench._names import DATASETS, MODELS, SEARCHED, SIZED
from dln_bench._results import Result
from dln_bench.report._cells import NOTHING, Cell, Table, score
from dln_bench.report._common import ENOUGH, in_order, title
from dln_bench.report._figures import MARKERS, Figure, canvas, color, label, short_title, svg

#: Families of one kind of model at several sizes, drawn as a line: the prefix of their names, and which has the colour.
FAMILIES: Final = {"dln": "dln", "figs": "figs-100", "rulefit": "rulefit-100", "cart": "tree"}


@dataclass(frozen=True, slots=True)
class Size:
    """A model at its size: means over datasets."""

    model: str
    r2: float
    #: None: it is not made of comparisons.
    conditions: float | None
    datasets: int
    seconds: float


def sizes(results: Sequence[Result], trials: int) -> list[Size]:
    """Return models with their sizes, searched ones at a budget, over the datasets in common."""
    shown = {*MODELS, *SIZED}
    rows = [
        {
            "model": one.model,
            "dataset": one.dataset,
            "r2": one.r2,
            "conditions": one.conditions,
            "seconds": one.seconds,
        }
        for one in results
        if one.dataset in DATASETS
        and one.model in shown
        and one.trials == (trials if one.model in SEARCHED or not _has_plain(results, one.model) else 0)
    ]
    if not any(row["conditions"] is not None for row in rows):
        return []
    frame = pd.DataFrame(rows).astype({"conditions": float})
    by_dataset = frame.groupby(["model", "dataset"]).mean()
    counts = by_dataset.groupby("model").size()
    compared = counts[counts >= float(ENOUGH) * counts.max()].index
    wide = frame.pivot_table(index="dataset", columns="model", values="r2")[list(compared)].dropna()
    if wide.empty:
        return []
    common = by_dataset[by_dataset.index.get_level_values("dataset").isin(wide.index)]
    means = common.groupby("model").mean()
    known = common["conditions"].notna().groupby("model").all()
    return [
        Size(
            model,
            float(means.loc[model, "r2"]),
            float(means.loc[model, "conditions"]) if known[model] else None,
            len(wide),
            float(means.loc[model, "seconds"]),
        )
        for model in in_order(compared)
    ]


def _has_plain(results: Sequence[Result], model: str) -> bool:
    return any(one.model == model and one.trials == 0 for one in results)


def size_figure(found: Sequence[Size]) -> Figure:
    """Draw mean R² against conditions, a line for a family of sizes; models without conditions stand at the right."""
    points = {one.model: (max(one.conditions, 1.0), one.r2) for one in found if one.conditions is not None}
    others = [one for one in found if one.conditions is None]
    with canvas(9.0, 5.8) as figure:
        ax = figure.subplots()
        ax.set_xscale("log")
        right = 12 * max(x for x, _ in points.values())
        for prefix, of in FAMILIES.items():
            family = sorted(point for model, point in points.items() if _family(model) == prefix)
            if len(family) > 1:
                ax.plot(*zip(*family, strict=True), color=color(of), linewidth=1.2, zorder=2)
        for model, (x, y) in points.items():
            _point(ax, model, x, y)
        if others:
            ax.axvline(right / 3, color="#cccccc", linewidth=0.8, linestyle=":")
            for one in others:
                _point(ax, one.model, right, one.r2)
            ax.set_xlim(right=20 * right)  # room for their names
        beside = "; at the right: none, or not told" if others else ""
        ax.set_xlabel(f"conditions (mean over datasets, log scale){beside}")
        ax.set_ylabel("test R² (mean over datasets)")
        ax.grid(visible=True, color="#e6e6e6", linewidth=0.6, zorder=0)
        ax.margins(x=0.1, y=0.1)
        named = {short_title(model): point for model, point in points.items() if model in MODELS}
        _list(ax, others, right)
        unnamed = [point for model, point in points.items() if model not in MODELS]
        label(figure, ax, named, [*unnamed, *((right, one.r2) for one in others)])
        picture = svg(figure)
    caption = (
        f"Mean R² against conditions, the comparisons that a model prints or makes, over {found[0].datasets} datasets "
        "in common: up and to the left is better. A line joins one kind of model at several sizes."
    )
    return Figure("conditions", caption, picture)


def _list(ax: Any, found: Sequence[Size], x: float) -> None:
    """Write names in a list at the right of their points, which stand in a column, and tie them together."""
    bottom, top = ax.get_ylim()
    y = top
    for one in sorted(found, key=lambda one: -one.r2):
        y = min(one.r2, y - 0.035 * (top - bottom))
        ax.plot([x, 1.6 * x, 1.9 * x], [one.r2, y, y], color="#cccccc", linewidth=0.6, zorder=1)
        ax.text(2.0 * x, y, short_title(one.model), fontsize=9.5, va="center")


def _point(ax: Any, model: str, x: float, y: float) -> None:
    of = FAMILIES.get(_family(model), model) if model in SIZED else model
    small = model in SIZED
    ax.plot(
        x, y, marker=MARKERS.get(of, "o"), linestyle="none", color=color(of), markeredgecolor="white",
        markeredgewidth=0.6, markersize=6 if small else 14 if model == "dln" else 9, zorder=4,
    )  # fmt: skip


def _family(model: str) -> str:
    """Return the family of a model.

    >>> _family("figs-100"), _family("dln"), _family("dln-paper"), _family("svr")
    ('figs', 'dln', 'dln-paper', 'svr')
    """
    prefix = model.partition("-")[0]
    return prefix if prefix in FAMILIES and (model in SIZED or model in {"dln", "figs-100", "rulefit-100"}) else model


def size_table(found: Sequence[Size]) -> Table:
    """Return the models by their conditions, smallest first."""
    ordered = sorted(found, key=lambda one: float("inf") if one.conditions is None else one.conditions)
    best = max(one.r2 for one in found)
    rows = tuple(
        (
            Cell(title(one.model)),
            Cell(NOTHING if one.conditions is None else f"{one.conditions:,.0f}"),
            Cell(score(one.r2), best=one.r2 == best),
            Cell(f"{one.seconds:,.1f}"),
        )
        for one in ordered
    )
    records = [
        {"model": one.model, "conditions": one.conditions, "mean_r2": one.r2, "datasets": one.datasets} for one in found
    ]
    return Table(
        "Conditions and R²",
        ("model", "conditions", "R²", "seconds, search and fit"),
        rows,
        notes=(
            (
                "Conditions: printed comparisons of rules, splits of trees, edges of the bins of an additive model, "
                "summed over all its parts. Linear models, neighbours, kernels and perceptrons have none."
            ),
        ),
        files={"conditions": records},
    )
