"""R², RMSE, MAE and OPs by dataset and model, the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dln_bench._names import DATASETS
from dln_bench.report import _paper
from dln_bench.report._cells import (
    NOTHING,
    Cell,
    Record,
    Table,
    amount,
    change,
    count,
    deviation,
    percent,
    score,
    with_spread,
)
from dln_bench.report._common import Comparison, title
from dln_bench.report._paper import Metric
from dln_bench.report._statistics import Spread, average_ranks, geometric_mean, mean

#: Models whose operations the paper's formulas give exactly.
EXACT_OPERATIONS: Final = ("linear", "ridge", "lasso", "tree")


@dataclass(frozen=True, slots=True)
class Measure:
    """How a metric is averaged and written."""

    metric: Metric
    title: str
    higher: bool
    average: Callable[[Sequence[float]], float]
    average_name: str
    number: Callable[[float], str]
    std: Callable[[float], str]
    difference: Callable[[float, float], str]


def _r2_difference(ours: float, paper: float) -> str:
    return change(ours - paper)


def _operations_mean(values: Sequence[float]) -> float:
    """Return the geometric mean; a model that needs no operation, a constant, counts as one."""
    return geometric_mean([max(value, 1.0) for value in values])


MEASURES: Final[Mapping[Metric, Measure]] = MappingProxyType(
    {
        "r2": Measure("r2", "R²", True, mean, "mean", score, deviation, _r2_difference),  # noqa: FBT003
        "rmse": Measure("rmse", "RMSE", False, geometric_mean, "geometric mean", amount, amount, percent),  # noqa: FBT003
        "mae": Measure("mae", "MAE", False, geometric_mean, "geometric mean", amount, amount, percent),  # noqa: FBT003
        "ops": Measure("ops", "OPs", False, _operations_mean, "geometric mean", count, count, percent),  # noqa: FBT003
    }
)


@dataclass(frozen=True, slots=True)
class Average:
    """A model's average over datasets, with the paper's over the same ones where it has them all."""

    value: float
    datasets: int
    paper: float | None


def own_average(comparison: Comparison, metric: Metric, model: str) -> Average | None:
    """Return a model's average over the paper's datasets that it has, each the mean over its seeds."""
    found = {
        dataset: own.mean
        for dataset in comparison.own_datasets(model)
        if (own := comparison.own(metric, dataset, model)) is not None
    }
    if not found:
        return None
    average = MEASURES[metric].average
    return Average(average(list(found.values())), len(found), paper_average(metric, model, list(found)))


def common_average(comparison: Comparison, metric: Metric, model: str) -> Average | None:
    """Return a model's average over what all models compared have in common."""
    if model not in comparison.compared or not comparison.common:
        return None
    datasets = list(comparison.common)
    values = comparison.blocks(metric, [model]).get(model)
    if values is None:
        return None
    return Average(MEASURES[metric].average(values), len(values), paper_average(metric, model, datasets))


def paper_average(metric: Metric, model: str, datasets: Sequence[str]) -> float | None:
    """Return the paper's average over these datasets, or None for a model or dataset that it does not have."""
    stated = _paper.table(metric)
    if not datasets or not all((dataset, model) in stated for dataset in datasets):
        return None
    return MEASURES[metric].average([stated[dataset, model].mean for dataset in datasets])


def metric_table(comparison: Comparison, metric: Metric) -> Table:
    """Return the table of a metric: datasets down, models across, ours above the paper's."""
    measure = MEASURES[metric]
    records: list[Record] = []
    rows = []
    for dataset in comparison.datasets:
        spreads = {model: comparison.own(metric, dataset, model) for model in comparison.models}
        best = _best([one.mean for one in spreads.values() if one is not None], measure)
        cells = [Cell(dataset)]
        for model, own in spreads.items():
            stated = _paper.table(metric).get((dataset, model))
            cells.append(_cell(measure, own, stated, best, len(comparison.seeds)))
            if own is not None:
                records.append(_record(measure, dataset, model, own, stated))
        rows.append(tuple(cells))
    summary, summaries = _summary(comparison, measure)
    return Table(
        f"{measure.title}, {comparison.trials} trials",
        ("dataset", *(title(model) for model in comparison.models)),
        tuple(rows),
        tuple(summary),
        tuple(_notes(comparison, measure)),
        {metric: records, f"{metric}_averages": summaries},
    )


def _cell(measure: Measure, own: Spread | None, stated: _paper.Stated | None, best: float | None, seeds: int) -> Cell:
    paper = None if stated is None else f"paper {measure.number(stated.mean)}"
    if own is None:
        return Cell(NOTHING, () if paper is None else (paper,))
    text = with_spread(own, measure.number(own.mean), "" if own.std is None else measure.std(own.std))
    below = [] if own.n == seeds else [f"{own.n} of {seeds} seeds"]
    if stated is not None:
        below.append(f"{paper}, {measure.difference(own.mean, stated.mean)}")
    return Cell(text, tuple(below), best=own.mean == best)


def _record(measure: Measure, dataset: str, model: str, own: Spread, stated: _paper.Stated | None) -> Record:
    return {
        "dataset": dataset,
        "model": model,
        f"mean_{measure.metric}": own.mean,
        f"std_{measure.metric}": own.std,
        "seeds": own.n,
        "paper": None if stated is None else stated.mean,
        "difference": None if stated is None else own.mean - stated.mean,
    }


def _best(values: Sequence[float], measure: Measure) -> float | None:
    if len(values) < 2:  # noqa: PLR2004 (one model is the best of nothing)
        return None
    return max(values) if measure.higher else min(values)


def _summary(comparison: Comparison, measure: Measure) -> tuple[list[tuple[Cell, ...]], list[Record]]:
    """Return the last rows and their records."""
    models, metric = comparison.models, measure.metric
    own = {model: own_average(comparison, metric, model) for model in models}
    common = {model: common_average(comparison, metric, model) for model in models}
    several = len(comparison.compared) > 1 and bool(comparison.common)
    ranks = average_ranks(comparison.blocks(metric), higher=measure.higher) if several else {}
    ten = [model for model in comparison.compared if model in _paper.MODELS.values()]
    is_ten = several and len(ten) == len(_paper.MODELS)
    ten_ranks = average_ranks(comparison.blocks(metric, ten), higher=measure.higher) if is_ten else {}
    paper_ranks = _paper_ranks(measure, list(comparison.common)) if is_ten else {}
    rows = []
    if own != common:
        rows.append(_averages(f"{measure.average_name}, each model's own datasets", own, models, measure, bold=False))
    if comparison.common:
        where = f" of {len(comparison.common)} in common" if own != common else ""
        rows.append(_averages(f"{measure.average_name}{where}", common, models, measure, bold=True))
    if ranks:
        rows.append(_ranks(f"average rank of {len(ranks)}", ranks, {}, models))
    if ten_ranks and len(ten) < len(ranks):
        rows.append(_ranks("average rank among the paper's ten", ten_ranks, paper_ranks, models))
    elif ten_ranks and rows:
        rows[-1] = _ranks("average rank of 10", ten_ranks, paper_ranks, models)
    records: list[Record] = []
    for model in models:
        mine, shared = own[model], common[model]
        records.append(
            {
                "model": model,
                "average": measure.average_name,
                "own": None if mine is None else mine.value,
                "own_datasets": 0 if mine is None else mine.datasets,
                "common": None if shared is None else shared.value,
                "common_datasets": 0 if shared is None else shared.datasets,
                "paper_on_common": None if shared is None else shared.paper,
                "average_rank": ranks.get(model),
                "average_rank_of_ten": ten_ranks.get(model),
                "paper_average_rank_of_ten": paper_ranks.get(model),
            }
        )
    return rows, records


def _averages(
    name: str, averages: Mapping[str, Average | None], models: Sequence[str], measure: Measure, *, bold: bool
) -> tuple[Cell, ...]:
    best = _best([one.value for one in averages.values() if one is not None], measure) if bold else None
    cells = [Cell(name)]
    for model in models:
        one = averages[model]
        if one is None:
            cells.append(Cell(NOTHING))
            continue
        below = [] if one.datasets == len(DATASETS) else [f"{one.datasets} of {len(DATASETS)} datasets"]
        if one.paper is not None:
            below.append(f"paper {measure.number(one.paper)}, {measure.difference(one.value, one.paper)}")
        cells.append(Cell(measure.number(one.value), tuple(below), best=one.value == best))
    return tuple(cells)


def _ranks(
    name: str, ranks: Mapping[str, float], paper: Mapping[str, float], models: Sequence[str]
) -> tuple[Cell, ...]:
    best = min(ranks.values())
    cells = [Cell(name)]
    for model in models:
        if model not in ranks:
            cells.append(Cell(NOTHING))
            continue
        below = (f"paper {paper[model]:.2f}",) if model in paper else ()
        cells.append(Cell(f"{ranks[model]:.2f}", below, best=ranks[model] == best))
    return tuple(cells)


def _paper_ranks(measure: Measure, datasets: Sequence[str]) -> dict[str, float]:
    stated = _paper.table(measure.metric)
    blocks = {model: [stated[dataset, model].mean for dataset in datasets] for model in _paper.MODELS.values()}
    return average_ranks(blocks, higher=measure.higher)


def _notes(comparison: Comparison, measure: Measure) -> list[str]:
    notes = [
        f"Mean ± standard deviation over seeds; the best of a row in bold; below, the paper's number "
        f"({_paper.TABLE_TRIALS} trials, {_paper.SEEDS} seeds) and the difference, ours minus the paper's"
        + (", relative to it." if measure.metric != "r2" else ".")
    ]
    if comparison.common and set(_paper.MODELS.values()) <= set(comparison.compared):
        notes.append("The paper's ranks are worked out from its rounded table, and so differ a little from its own.")
    cut = [
        title(model)
        for model in comparison.models
        if any(one.cut for (_, other, _), one in comparison.results.items() if other == model)
    ]
    if cut:
        notes.append(
            f"With cut budgets in at least one unit, as listed under “Budgets that were cut”: {', '.join(cut)}."
        )
    if measure.metric in {"rmse", "mae"}:
        notes.append("In the unit of each target.")
    if measure.metric == "ops":
        ratios = [
            f"{title(model)} {percent(one.value, one.paper)}"
            for model in EXACT_OPERATIONS
            if model in comparison.models
            and (one := own_average(comparison, "ops", model)) is not None
            and one.paper is not None
        ]
        if ratios:
            notes.append(
                "Where the paper's formula is known, the geometric mean over a model's datasets differs from the "
                f"paper's by: {', '.join(ratios)}. Lasso and tree depend on the size that the search found."
            )
    return notes
