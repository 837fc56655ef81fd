"""Mean R² by the number of trials, ours beside the paper's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from dln_bench._names import DATASETS, MODELS
from dln_bench._results import Result
from dln_bench.report import _paper
from dln_bench.report._cells import NOTHING, Cell, Record, Table, change, score
from dln_bench.report._common import in_order, title
from dln_bench.report._figures import MARKERS, Figure, canvas, color, short_title, svg
from dln_bench.report._statistics import mean

_TWO: Final = 2

#: dataset -> seed -> R².
_Scores = Mapping[str, Mapping[int, float]]


def budget_table(results: Sequence[Result]) -> Table:
    """Return the table of budgets: models down, trials across, and what more trials bring on the same units."""
    scores: dict[tuple[str, int], dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for one in results:
        if one.model in MODELS and one.dataset in DATASETS:
            scores[one.model, one.trials][one.dataset][one.seed] = one.r2
    stated = _paper.budgets()
    models = in_order({model for model, _ in (*scores, *stated)})
    budgets = sorted({trials for _, trials in (*scores, *stated)})
    records: list[Record] = []
    rows = []
    for model in models:
        cells = [Cell(title(model))]
        for trials in budgets:
            ours, paper = scores.get((model, trials)), stated.get((model, trials))
            value = None if ours is None else _average(ours)
            cells.append(_cell(ours, value, paper))
            if value is not None or paper is not None:
                records.append(
                    {
                        "model": model,
                        "trials": trials,
                        "mean_r2": value,
                        "datasets": 0 if ours is None else len(ours),
                        "units": 0 if ours is None else sum(map(len, ours.values())),
                        "paper": paper,
                    }
                )
        cells.append(
            _gain({trials: scores[model, trials] for trials in budgets if trials and (model, trials) in scores})
        )
        rows.append(tuple(cells))
    return Table(
        "Mean R² by the number of trials",
        ("model", *(f"{trials} trials" if trials else "no search" for trials in budgets), "more trials, same units"),
        tuple(rows),
        notes=(
            (
                f"Mean over datasets of the mean over seeds; a mean over fewer than {len(DATASETS)} datasets says how "
                f"many, and has no difference to the paper's, which is over all of them."
            ),
            "The last column compares our smallest and largest budget on the datasets and seeds that have both.",
        ),
        files={"budgets": records},
    )


def budget_figure(results: Sequence[Result]) -> Figure | None:
    """Draw mean R² against trials for models with several budgets, on units that have them all; the paper's beside.

    Means over other datasets are not to be compared: models with fewer datasets than the others are only named.
    """
    lines: dict[str, dict[int, float]] = {}
    n_datasets: dict[str, int] = {}
    for model in in_order({one.model for one in results if one.model in MODELS}):
        mine = [one for one in results if one.model == model and one.trials and one.dataset in DATASETS]
        budgets = sorted({one.trials for one in mine})
        if len(budgets) < _TWO:
            continue
        frame = pd.DataFrame(
            [(one.dataset, one.seed, one.trials, one.r2) for one in mine], columns=["d", "s", "t", "r2"]
        )
        whole = frame.pivot_table(index=["d", "s"], columns="t", values="r2").dropna()
        if len(whole):
            by_dataset = whole.groupby("d").mean()
            means, n_datasets[model] = by_dataset.mean(), len(by_dataset)
            lines[model] = {int(trials): float(means[trials]) for trials in budgets}
    if not lines:
        return None
    most = max(n_datasets.values())
    absent = [short_title(model) for model in lines if n_datasets[model] < most]
    lines = {model: found for model, found in lines.items() if n_datasets[model] == most}
    stated = _paper.budgets()
    with canvas(7.6, 4.6) as figure:
        ax = figure.subplots()
        ax.set_xscale("log", base=2)
        for model, found in lines.items():
            paper = {trials: value for (other, trials), value in stated.items() if other == model}
            if paper:
                ax.plot(
                    list(paper), list(paper.values()), "o--", color="#8c8c8c", markerfacecolor="white", linewidth=1.2
                )
            ax.plot(
                list(found), list(found.values()), marker=MARKERS.get(model, "o"), color=color(model), linewidth=1.6,
                label=short_title(model),
            )  # fmt: skip
        if any(model in lines for model, _ in stated):
            ax.plot([], [], "o--", color="#8c8c8c", markerfacecolor="white", linewidth=1.2, label="the paper's")
        ticks = sorted({trials for found in lines.values() for trials in found} | {trials for _, trials in stated})
        ax.set_xticks(ticks, [str(trials) for trials in ticks])
        ax.set_xlabel("trials of the search")
        ax.set_ylabel("test R² (mean over datasets)")
        ax.grid(visible=True, color="#e6e6e6", linewidth=0.6)
        figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
        picture = svg(figure)
    caption = (
        f"Mean R² by the trials of the search over {most} datasets, each line over the seeds that have all of its "
        "budgets. Dashed: the paper's, over all fifteen datasets."
        + (f" Not drawn, for they have fewer datasets: {', '.join(absent)}." if absent else "")
    )
    return Figure("budgets", caption, picture)


def _average(scores: _Scores) -> float:
    return mean([mean(list(seeds.values())) for seeds in scores.values()])


def _cell(ours: _Scores | None, value: float | None, paper: float | None) -> Cell:
    below = []
    if ours is not None and len(ours) < len(DATASETS):
        below.append(f"{len(ours)} of {len(DATASETS)} datasets")
    if paper is not None:
        whole = value is not None and ours is not None and len(ours) == len(DATASETS)
        below.append(f"paper {score(paper)}" + (f", {change(value - paper)}" if whole and value is not None else ""))
    return Cell(NOTHING if value is None else score(value), tuple(below))


def _gain(by_budget: Mapping[int, _Scores]) -> Cell:
    """Return what the largest budget brings over the smallest, on the units that have both."""
    if len(by_budget) < _TWO:
        return Cell(NOTHING)
    few, many = by_budget[min(by_budget)], by_budget[max(by_budget)]
    gains = []
    units = 0
    for dataset in few:
        seeds = set(few[dataset]) & set(many.get(dataset, {}))
        if seeds:
            gains.append(mean([many[dataset][seed] - few[dataset][seed] for seed in sorted(seeds)]))
            units += len(seeds)
    if not gains:
        return Cell(NOTHING, ("no unit has both",))
    return Cell(change(mean(gains)), (f"{min(by_budget)} → {max(by_budget)}", f"{len(gains)} datasets, {units} units"))
