"""The tables: scores, differences to the paper, learners, budgets, ablations, datasets."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dln_bench.datasets import facts, names
from dln_bench.models._models import ABLATIONS, MODELS, OPTIONS, PAPER, PEERS, RULES
from dln_bench.report import _paper
from dln_bench.report._scores import METRICS, Entry, Metric, Scores, Spread, average, average_ranks, printed_of

#: Beside a difference that is more than two standard errors.
MARK: Final = "◆"
NOTHING: Final = "–"
#: Rows from which on a table is large.
LARGE: Final = 2000

TITLES: Final[dict[Metric, str]] = {
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "MAE",
    "multiply": "Operations, reading multiply",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def score(value: float, digits: int = 3) -> str:
    """Return a number with decimals.

    >>> score(0.80151), score(-0.25)
    ('0.802', '−0.250')
    """
    return f"{value:.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """Return a difference with its sign.

    >>> signed(0.0123), signed(-0.5), signed(0.0001)
    ('+0.012', '−0.500', '0.000')
    """
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text[1:] if float(text[1:]) == 0 else text


def amount(value: float) -> str:
    """Return a number with three digits, thousands and millions by letter.

    >>> amount(0.00452), amount(1546), amount(29_783), amount(128_450_066), amount(7.97), amount(999.7)
    ('0.00452', '1.55K', '29.8K', '128M', '7.97', '1.00K')
    """
    rounded = float(f"{value:.3g}")
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if abs(rounded) >= size:
            return f"{_three(rounded / size)}{letter}"
    return _three(rounded)


def _three(value: float) -> str:
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}" if value else "0"


def number(metric: str) -> Callable[[float], str]:
    """Return the way a metric is written."""
    return score if metric == "r2" else amount


def metric_table(scores: Scores, metric: Metric) -> Table:
    """Return a metric of the paper's ten: ours above the paper's, by dataset, with averages and ranks."""
    entries = [entry for model in PAPER if scores.has(entry := scores.entry(model))]
    columns = [(entry.title, entry, metric) for entry in entries]
    if metric == "multiply":  # the readings differ for sums of rules alone
        columns += [("DLN, select", entry, "select") for entry in entries if entry.model == "dln"]
    rows = []
    for dataset in scores.datasets:
        printed = [printed_of(metric, entry.model, dataset) for _, entry, _ in columns]
        owns = [scores.spread(own, entry, dataset) for _, entry, own in columns]
        rows.append((dataset, *(_both(metric, own, one) for own, one in zip(owns, printed, strict=True))))
    averages = [_averages(scores, own, entry) for _, entry, own in columns]
    rows.append(("mean" if metric == "r2" else "geometric mean", *averages))
    rows.append(("average rank", *(_rank(scores, own, entry) for _, entry, own in columns)))
    note = (
        "Ours above, the paper's below: mean ± standard deviation over splits; averages over the datasets that a model "
        "has, ranks over those that all have."
    )
    notes = (note, *incomplete(scores, entries)) if metric == "r2" else ()
    return Table(
        f"{TITLES[metric]}, {scores.budget} trials", ("dataset", *(one[0] for one in columns)), tuple(rows), notes
    )


def _both(metric: str, own: Spread | None, printed: _paper.Printed | None) -> str:
    write = number(metric)

    def cell(one: Spread | _paper.Printed | None) -> str:
        if one is None:
            return NOTHING
        return write(one.mean) if one.std is None else f"{write(one.mean)} ± {write(one.std)}"

    return f"{cell(own)}<br>{cell(printed)}"


def _averages(scores: Scores, metric: Metric, entry: Entry) -> str:
    write = number(metric)
    own = scores.means(metric, entry)
    printed = [one.mean for name in own if (one := printed_of(metric, MODELS[entry.model].paper, name)) is not None]
    text = write(average(metric, own.values())) if own else NOTHING
    if own and len(own) < len(names()):
        text += f" ({len(own)} of {len(names())})"
    return f"{text}<br>{write(average(metric, printed)) if printed else NOTHING}"


def common(scores: Scores, metric: str, entries: Sequence[Entry]) -> dict[str, list[float]]:
    """Return means by model over the paper's datasets that all of them have."""
    means = [scores.means(metric, entry, names()) for entry in entries]
    shared = [name for name in names() if all(name in each for each in means)]
    return {entry.model: [each[name] for name in shared] for entry, each in zip(entries, means, strict=True)}


def _rank(scores: Scores, metric: Metric, entry: Entry) -> str:
    """Return the average rank among the paper's ten, ours above the paper's."""
    entries = [one for model in PAPER if scores.has(one := scores.entry(model))]
    own = common(scores, metric, entries)
    shared = [name for name in names() if all(scores.seeds(one, name) for one in entries)]
    if not shared:
        return NOTHING
    printed = {
        one.model: [number.mean for name in shared if (number := printed_of(metric, one.model, name)) is not None]
        for one in entries
    }
    ranks = (average_ranks(blocks, higher=metric == "r2")[entry.model] for blocks in (own, printed))
    return "<br>".join(f"{rank:.2f}" for rank in ranks)


def difference_table(scores: Scores) -> Table:
    """Return ours minus the paper's R², paired by split, of the paper's ten and of our learners."""
    models = [*PAPER, "dln-100", "dln-100-3", "rules"]
    entries = [entry for model in models if scores.has(entry := scores.entry(model))]
    entries += [Entry(model) for model in ("dln", "dln-100", "dln-100-3") if scores.has(Entry(model))]
    entries = list(dict.fromkeys(entries))
    rows = []
    for dataset in scores.datasets:
        cells = []
        for entry in entries:
            found = scores.difference("r2", entry, dataset)
            if found is None:
                cells.append(NOTHING)
                continue
            error = "" if found.error is None else f" ± {found.error:.3f}"
            cells.append(f"{signed(found.value)}{error}{f' {MARK}' if found.is_marked else ''}")
        rows.append((dataset, *cells))
    note = (
        f"Mean difference over the same splits ± standard error; {MARK}: more than two standard errors. The paper "
        "prints mean and deviation of its splits; their correlation with ours is estimated by that between our models. "
        "Models that the paper does not have stand beside its DLN."
    )
    return Table(
        f"R² minus the paper's, paired by split, {scores.budget} trials",
        ("dataset", *(entry.title for entry in entries)),
        tuple(rows),
        (note,),
    )


def learner_table(scores: Scores) -> Table:
    """Return mean R² and size of our learners and their peers, beside the paper's network."""
    models = ["dln", *OPTIONS, *RULES, *PEERS]
    wanted = [Entry(model, trials) for model in models for trials in sorted({0, scores.entry(model).trials})]
    groups = {"small": _named(small=True), "large": _named(small=False), "all": names()}
    rows = [
        (
            "*the paper's DLN, 128 trials*",
            *(
                score(statistics.fmean(_paper.table("r2")["dln", name].mean for name in group))
                for group in groups.values()
            ),
            NOTHING,
            NOTHING,
            *[amount(average("ops", [_paper.table("ops")["dln", name].mean for name in names()])), ""],
            NOTHING,
        )
    ]
    for entry in wanted:
        if not scores.has(entry):
            continue
        cells = [entry.title + (f", {entry.trials} trials" if entry.trials else "")]
        for group in groups.values():
            means = scores.means("r2", entry, group)
            missing = f" ({len(means)} of {len(group)})" if len(means) < len(group) else ""
            cells.append(f"{score(statistics.fmean(means.values()))}{missing}" if means else NOTHING)
        for metric in ("conditions", "rules", "multiply", "select"):
            values = scores.means(metric, entry, names())
            cells.append(amount(average("ops", values.values())) if values else NOTHING)
        seconds = [result.fit_seconds for name in names() for result in scores.seeds(entry, name).values()]
        cells.append(f"{statistics.median(seconds):.1f}")
        rows.append(tuple(cells))
    head = ("model", *(f"R², {group}" for group in groups), "conditions", "rules", "multiply", "select", "fit, s")
    notes = ("Mean R² over datasets; geometric means of sizes and operations; median seconds of a fit on one core.",)
    return Table("Learners", head, tuple(rows), notes)


def _named(*, small: bool) -> list[str]:
    return [name for name in names() if (facts(name).expected_rows < LARGE) == small]


def budget_table(scores: Scores) -> Table:
    """Return mean R² at the three budgets, with arrows, over the splits that have all of them."""
    rows = []
    for model in (*PAPER, "lightgbm"):
        entries = [scores.entry(model, trials) for trials in _paper.BUDGETS]
        if not all(scores.has(entry) for entry in entries):
            continue
        by_budget: list[float] = []
        for entry in entries:
            by_dataset = []
            for dataset in names():
                values = [scores.values("r2", each, dataset) for each in entries]
                shared = [seed for seed in values[0] if all(seed in each for each in values)]
                own = scores.values("r2", entry, dataset)
                by_dataset += [statistics.fmean(own[seed] for seed in shared)] if shared else []
            by_budget.append(statistics.fmean(by_dataset))
        printed = [_paper.budgets().get((model, trials)) for trials in _paper.BUDGETS]
        rows.append(
            (
                MODELS[model].title,
                *(
                    f"{own}<br>{theirs}"
                    for own, theirs in zip(_with_arrows(by_budget), _with_arrows(printed), strict=True)
                ),
            )
        )
    head = ("model", *(f"{trials} trials" for trials in _paper.BUDGETS))
    return Table("Mean R² by budget", head, tuple(rows), ("Ours above, the paper's below.",))


def _with_arrows(values: Sequence[float | None]) -> list[str]:
    """Return scores with the way they go from the budget before.

    >>> _with_arrows([0.802, 0.809, 0.8091])
    ['0.802', '0.809 ↑', '0.809 →']
    """
    found, before = [], None
    for value in values:
        if value is None:
            found.append(NOTHING)
            continue
        rounded = round(value, 3)
        arrow = "" if before is None else " →" if rounded == before else " ↑" if rounded > before else " ↓"
        found.append(f"{score(rounded)}{arrow}")
        before = rounded
    return found


def ablation_table(scores: Scores) -> Table:
    """Return the ablations: R² by dataset, mean, ranks among the ten models, operations; ours above the paper's."""
    budget = _paper.ABLATION_TRIALS
    entries = [entry for model in ("dln", *ABLATIONS) if scores.has(entry := Entry(model, budget))]
    rows: list[tuple[str, ...]] = []
    for dataset in scores.datasets:
        cells = [
            _both("r2", scores.spread("r2", entry, dataset), _paper.ablations().get((entry.model, dataset)))
            for entry in entries
        ]
        rows.append((dataset, *cells))
    last: list[list[str]] = [["mean R²"], ["R² rank"], ["operations rank, multiply"], ["operations rank, select"]]
    last += [["geometric mean, multiply"], ["geometric mean, select"]]
    for entry in entries:
        own = scores.means("r2", entry, names())
        printed = [one.mean for name in own if (one := _paper.ablations().get((entry.model, name))) is not None]
        rank, ops_rank, ops = _paper.ABLATION_ROWS.get(entry.model, (None, None, None))
        last[0].append(
            f"{score(statistics.fmean(own.values()))}<br>{score(statistics.fmean(printed)) if printed else NOTHING}"
        )
        for row, metric, theirs in ((1, "r2", rank), (2, "multiply", ops_rank), (3, "select", ops_rank)):
            found = _rank_in_place(scores, entry, metric)
            last[row].append(f"{_two(found)}<br>{_two(theirs)}")
        for row, metric in ((4, "multiply"), (5, "select")):
            sizes = scores.means(metric, entry, names())
            last[row].append(f"{amount(average('ops', sizes.values()))}<br>{NOTHING if ops is None else amount(ops)}")
    note = (
        "Ours above, the paper's below. Ranks are those that a variant has in place of DLN among the ten models of the "
        f"main tables ({scores.budget} trials), over the datasets that all have."
    )
    titles = ("DLN" if entry.model == "dln" else entry.title for entry in entries)
    return Table(
        f"Ablations, {budget} trials",
        ("dataset", *titles),
        (*rows, *map(tuple, last)),
        (note, *incomplete(scores, entries)),
    )


def _rank_in_place(scores: Scores, entry: Entry, metric: str) -> float | None:
    """Return the average rank of a variant in place of DLN among the ten; None where one of them is missing."""
    others = [scores.entry(model) for model in PAPER if model != "dln"]
    if not all(scores.has(other) for other in others):
        return None
    blocks = common(scores, metric, [*others, entry])
    return average_ranks(blocks, higher=metric == "r2")[entry.model] if blocks[entry.model] else None


def _two(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def dataset_table() -> Table:
    """Return the datasets, as in the paper's table."""
    rows = tuple(
        (
            name,
            f"{fact.expected_rows:,}",
            str(len(fact.continuous)),
            str(fact.n_categorical_columns),
            fact.target,
            fact.licence,
        )
        for name in names()
        for fact in [facts(name)]
    )
    return Table("Datasets", ("dataset", "rows", "continuous", "one-hot", "target", "licence"), rows)


def incomplete(scores: Scores, entries: Iterable[Entry]) -> list[str]:
    """Return notes on seeds that are missing and on searches that had fewer trials than they were to have."""
    notes = []
    for entry in entries:
        lacking = [
            f"{name} {len(found)}" for name in names() if 0 < len(found := scores.seeds(entry, name)) < _paper.SEEDS
        ]
        if lacking:
            notes.append(f"{entry.title}, splits of {_paper.SEEDS}: {', '.join(lacking)}.")
        cut = [
            f"{name} {min(result.trials_run for result in short)}"
            for name in names()
            if (short := [one for one in scores.seeds(entry, name).values() if one.trials_run < one.trials])
        ]
        if cut:
            notes.append(f"{entry.title}, trials of {entry.trials}, at least: {', '.join(cut)}.")
    return notes


def tidy(scores: Scores) -> list[dict[str, Any]]:
    """Return means, deviations and differences to the paper of every metric, for a CSV file."""
    keys = dict.fromkeys((Entry(one.model, one.trials), one.dataset) for one in scores.results)
    rows = []
    for entry, dataset in keys:
        for metric in METRICS:
            own = scores.spread(metric, entry, dataset)
            if own is None:
                continue
            printed = printed_of(metric, MODELS[entry.model].paper, dataset)
            found = scores.difference(metric, entry, dataset)
            rows.append(
                {
                    "dataset": dataset,
                    "model": entry.model,
                    "trials": entry.trials,
                    "metric": metric,
                    "seeds": own.seeds,
                    "mean": own.mean,
                    "std": own.std,
                    "paper_mean": None if printed is None else printed.mean,
                    "paper_std": None if printed is None else printed.std,
                    "difference": None if found is None else found.value,
                    "standard_error": None if found is None else found.error,
                    "marked": None if found is None else found.is_marked,
                }
            )
    return rows
