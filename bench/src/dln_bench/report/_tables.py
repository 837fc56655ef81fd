"""The tables: scores, differences to the paper, learners, budgets, ablations, datasets."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from dln_bench._split import TEST_SHARE
from dln_bench.datasets import facts, names
from dln_bench.models._models import ABLATIONS, MODELS, OPTIONS, PAPER, PEERS, RULES
from dln_bench.report import _paper
from dln_bench.report._cells import NOTHING, Table, amount, number, score, signed
from dln_bench.report._scores import (
    Difference,
    Entry,
    Metric,
    Scores,
    Spread,
    average,
    average_ranks,
    geometric_mean,
    printed_of,
)

#: Beside a difference that is more than two standard errors.
MARK: Final = "◆"
UNEXPLAINED: Final = "**unexplained**"
#: Rows from which on a table is large.
LARGE: Final = 2000
HOUR: Final = 3600

TITLES: Final[dict[Metric, str]] = {
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "MAE",
    "multiply": "Operations, reading multiply",
}
SHORT: Final[dict[Metric, str]] = {"r2": "R²", "rmse": "RMSE", "mae": "MAE", "multiply": "multiply", "select": "select"}
DIFFERENCES: Final = {"r2": "of R²", "rmse": "in percent", "mae": "in percent", "multiply": "as a factor"}
#: Metrics that a marked difference has one reason for.
KINDS: Final[dict[str, tuple[Metric, ...]]] = {"accuracy": ("r2", "rmse", "mae"), "operations": ("multiply", "select")}
MEANS: Final[dict[str, Callable[[Iterable[float]], float]]] = {
    "arithmetic": statistics.fmean,
    "geometric": geometric_mean,
}


def metric_table(scores: Scores, metric: Metric) -> Table:
    """Return a metric of the paper's ten by dataset: ours, the paper's and the paired difference; averages, ranks."""
    entries = [entry for model in PAPER if scores.has(entry := scores.entry(model))]
    columns = [(entry.title, entry, metric) for entry in entries]
    if metric == "multiply":  # the readings differ for sums of rules alone
        columns += [(f"{entry.title}, select", entry, "select") for entry in entries if entry.model == "dln"]
    rows = [
        (dataset, *(_three_lines(scores, own, entry, dataset) for _, entry, own in columns))
        for dataset in scores.datasets
    ]
    for title, mean in MEANS.items():
        rows.append((f"{title} mean", *(_averages(scores, own, entry, mean) for _, entry, own in columns)))
    rows.append(("average rank", *(_rank(scores, own, entry) for _, entry, own in columns)))
    note = (
        f"At {scores.budget} trials. In a cell: ours, the paper's (mean ± standard deviation over splits), and the "
        f"paired difference ± its standard error ({DIFFERENCES[metric]}); {MARK}: more than two standard errors. "
        "Averages over the datasets that a model has, ranks over those that all have."
    )
    return Table(
        f"{TITLES[metric]}, {scores.budget} trials",
        ("dataset", *(one[0] for one in columns)),
        tuple(rows),
        (note, *incomplete(scores, entries)),
    )


def _three_lines(scores: Scores, metric: Metric, entry: Entry, dataset: str) -> str:
    printed = printed_of(metric, MODELS[entry.model].paper, dataset)
    cell = _both(metric, scores.spread(metric, entry, dataset), printed)
    found = scores.difference(metric, entry, dataset)
    return cell if found is None else f"{cell}<br>{difference_text(metric, found)}"


def difference_text(metric: str, found: Difference) -> str:
    """Return a difference to the paper's ± its standard error, with a mark.

    R² as it is, RMSE and MAE in percent, operations as a factor.

    >>> difference_text("r2", Difference(0.0213, 0.004, 0.0005, 0.5)), difference_text("mae", Difference(-2, 1, 0, 40))
    ('+0.021 ± 0.004 ◆', '−5.0 % ± 2.5')
    >>> difference_text("select", Difference(30_000, 1000, 50, 20_000))
    '×2.50 ± 0.05 ◆'
    """
    unit, size, digits = (1.0, "", 3) if metric == "r2" else (found.printed / 100, " %", 1)
    text = f"{signed(found.value / unit, digits)}{size}"
    if metric in KINDS["operations"]:
        unit, digits = found.printed, 2
        text = f"×{1 + found.value / unit:.2f}"
    error = "" if found.error is None else f" ± {found.error / unit:.{digits}f}"
    return f"{text}{error}{f' {MARK}' if found.is_marked else ''}"


def _both(metric: str, own: Spread | None, printed: _paper.Printed | None) -> str:
    write = number(metric)

    def cell(one: Spread | _paper.Printed | None) -> str:
        if one is None:
            return NOTHING
        return write(one.mean) if one.std is None else f"{write(one.mean)} ± {write(one.std)}"

    return f"{cell(own)}<br>{cell(printed)}"


def _averages(scores: Scores, metric: Metric, entry: Entry, mean: Callable[[Iterable[float]], float]) -> str:
    write = number(metric)
    own = scores.means(metric, entry)
    printed = [one.mean for name in own if (one := printed_of(metric, MODELS[entry.model].paper, name)) is not None]
    average = mean(own.values()) if own else math.nan
    text = NOTHING if math.isnan(average) else write(average)
    if len(own) < len(names()):
        text += f" ({len(own)} of {len(names())})"
    return f"{text}<br>{write(mean(printed)) if printed else NOTHING}"


def common(scores: Scores, metric: str, entries: Sequence[Entry]) -> dict[str, list[float]]:
    """Return means by model over the paper's datasets that all of them have."""
    means = [scores.means(metric, entry, names()) for entry in entries]
    shared = [name for name in names() if all(name in each for each in means)]
    return {entry.model: [each[name] for name in shared] for entry, each in zip(entries, means, strict=True)}


def n_common(scores: Scores, entries: Sequence[Entry]) -> int:
    """Return the number of the paper's datasets that all models have results on."""
    return sum(all(scores.seeds(entry, name) for entry in entries) for name in names())


def _rank(scores: Scores, metric: Metric, entry: Entry) -> str:
    """Return the average rank among the paper's ten, ours above the paper's."""
    entries = [one for model in PAPER if scores.has(one := scores.entry(model))]
    own = common(scores, metric, entries)
    if not n_common(scores, entries):
        return NOTHING
    shared = [name for name in names() if all(scores.seeds(one, name) for one in entries)]
    printed = {
        one.model: [number.mean for name in shared if (number := printed_of(metric, one.model, name)) is not None]
        for one in entries
    }
    ranks = (average_ranks(blocks, higher=metric == "r2")[entry.model] for blocks in (own, printed))
    return "<br>".join(f"{rank:.2f}" for rank in ranks)


def marked_table(scores: Scores) -> Table:
    """Return every difference of more than two standard errors with its explanation, together where it is the same."""
    by_reason: dict[tuple[str, str, str], list[str]] = {}
    for entry in [entry for model in PAPER if scores.has(entry := scores.entry(model))]:
        is_short = MODELS[entry.model].space is not None and entry.trials < _paper.TABLE_TRIALS
        otherwise = (
            f"Our search had {entry.trials} trials, the paper's {_paper.TABLE_TRIALS}." if is_short else UNEXPLAINED
        )
        for dataset in names():
            for kind, metrics in KINDS.items():
                found = {metric: scores.difference(metric, entry, dataset) for metric in metrics}
                if entry.model != "dln":
                    found.pop("select", None)
                marked = [
                    f"{SHORT[metric]} {difference_text(metric, one).removesuffix(f' {MARK}')}"
                    for metric, one in found.items()
                    if one is not None and one.is_marked
                ]
                if marked:
                    known = _paper.explanations()
                    reason = known.get((entry.model, dataset, kind)) or known.get((entry.model, "*", kind), otherwise)
                    n_splits = len(scores.seeds(entry, dataset))
                    few = f"; {n_splits} of {_paper.SEEDS} splits" if n_splits < _paper.SEEDS else ""
                    cell = f"{dataset} ({', '.join(marked)}{few})"
                    by_reason.setdefault((entry.title, kind, reason), []).append(cell)
    rows = tuple((title, kind, ", ".join(cells), reason) for (title, kind, reason), cells in by_reason.items())
    n_marked = sum(len(cells) for cells in by_reason.values())
    missing = sum(len(cells) for (*_, reason), cells in by_reason.items() if reason == UNEXPLAINED)
    note = f"{n_marked} pairs of model and dataset are marked, {missing} of them unexplained."
    head = ("model", "of", "cells", "reason")
    return Table("Differences of more than two standard errors", head, rows, (note,), is_numeric=False)


def coverage_table(scores: Scores) -> Table:
    """Return what was run of each model at each budget: splits by size of table, trials, hours."""
    groups = (_named(small=True), _named(small=False))
    rows = []
    for model in (*PAPER, *OPTIONS, *ABLATIONS, *RULES, *PEERS):
        merged: dict[tuple[str, ...], tuple[list[str], list[float]]] = {}  # budgets that were run alike are one row
        for entry in (Entry(model, trials) for trials in _wanted(model)):
            by_group = [[scores.seeds(entry, name) for name in group] for group in groups]
            results = [one for group in by_group for seeds in group for one in seeds.values()]
            is_cut = any(one.trials_run < one.trials for one in results)
            state = (
                "complete" if len(results) == len(names()) * _paper.SEEDS else "partial" if results else "**not run**"
            )
            key = (*(_splits([len(seeds) for seeds in group]) for group in by_group), f"{state}{', cut' * is_cut}")
            owns = not MODELS[model].searched_as and entry.trials == max(_wanted(model))
            trials, seconds = merged.setdefault(key, ([], []))
            trials.append(str(entry.trials) if MODELS[model].space else "none")
            seconds += [one.fit_seconds + one.search_seconds * owns for one in results]
        rows += [
            (MODELS[model].title, ", ".join(trials), *key, f"{sum(seconds) / HOUR:.2f}" if seconds else NOTHING)
            for key, (trials, seconds) in merged.items()
        ]
    head = ("model", "trials", "splits, small", "splits, large", "state", "core-hours")
    note = (
        f"Splits of {_paper.SEEDS} on each of the {len(groups[0])} small tables (below {LARGE:,} rows) and the "
        f"{len(groups[1])} large ones. Cut: a search ended "
        "before its last trial. Hours are of searches and last fits, by the clock."
    )
    return Table("What was run", head, tuple(rows), (note,), is_numeric=False)


def _wanted(model: str) -> list[int]:
    """Return the budgets at which a model is to be run."""
    if MODELS[model].space is None:
        return [0]
    if model in ABLATIONS:
        return [_paper.ABLATION_TRIALS]
    budgets = list(_paper.BUDGETS) if model in PAPER else [_paper.TABLE_TRIALS]
    return [0, *budgets] if model in {"dln", *OPTIONS, *PEERS} and not MODELS[model].weighs_operations else budgets


def _splits(counts: Sequence[int]) -> str:
    """Return the number of splits of each table, or from the fewest to the most.

    >>> _splits([10, 10]), _splits([3, 10]), _splits([0, 0])
    ('10', '3–10', '–')
    """
    if not any(counts):
        return NOTHING
    return str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)}–{max(counts)}"


def learner_table(scores: Scores) -> Table:
    """Return mean R² and size of our learners and their peers, beside the paper's network."""
    models = ["dln", *OPTIONS, *RULES, *PEERS]
    wanted = [Entry(model, trials) for model in models for trials in sorted({0, scores.entry(model).trials})]
    groups = {"small": _named(small=True), "large": _named(small=False), "all": names()}
    printed = [
        score(statistics.fmean(_paper.table("r2")["dln", name].mean for name in group)) for group in groups.values()
    ]
    operations = amount(average("ops", [_paper.table("ops")["dln", name].mean for name in names()]))
    rows = [("*the paper's DLN, 128 trials*", *printed, *[NOTHING] * 3, operations, "", NOTHING)]
    for entry in wanted:
        if not scores.has(entry):
            continue
        cells = [entry.title + (f", {entry.trials} trials" if entry.trials else "")]
        for group in groups.values():
            means = scores.means("r2", entry, group)
            missing = f" ({len(means)} of {len(group)})" if len(means) < len(group) else ""
            cells.append(f"{score(statistics.fmean(means.values()))}{missing}" if means else NOTHING)
        cells.append(_mean_difference(scores, entry))
        for metric in ("conditions", "rules", "multiply", "select"):
            values = scores.means(metric, entry, names())
            cells.append(amount(average("ops", values.values())) if values else NOTHING)
        seconds = [result.fit_seconds for name in names() for result in scores.seeds(entry, name).values()]
        cells.append(f"{statistics.median(seconds):.1f}")
        rows.append(tuple(cells))
    sizes = ("conditions", "rules", "multiply", "select", "fit, s")
    head = ("model", *(f"R², {group}" for group in groups), "minus the paper's DLN", *sizes)
    note = (
        "Mean R² over datasets, and the mean of their paired differences to the paper's DLN ± standard error; "
        "geometric means of sizes and operations; median seconds of a fit on one core."
    )
    return Table("Learners", head, tuple(rows), (note, *incomplete(scores, wanted)))


def _mean_difference(scores: Scores, entry: Entry) -> str:
    """Return the mean over datasets of the differences to the paper's DLN on the same splits."""
    found = [
        one for name in names() if (one := scores.difference("r2", entry, name, beside="dln")) and one.error is not None
    ]
    if not found:
        return NOTHING
    error = math.sqrt(sum((one.error or 0.0) ** 2 for one in found)) / len(found)
    return f"{signed(statistics.fmean(one.value for one in found))} ± {error:.3f}"


def _named(*, small: bool) -> list[str]:
    return [name for name in names() if (facts(name).expected_rows < LARGE) == small]


def paired_means(scores: Scores, entries: Sequence[Entry]) -> list[float] | None:
    """Return mean R² over the splits that all entries have, each dataset counting once; None if there are none."""
    values = {name: [scores.values("r2", entry, name) for entry in entries] for name in names()}
    shared = {name: set.intersection(*map(set, found)) for name, found in values.items()}
    by_dataset = [
        [statistics.fmean(found[seed] for seed in sorted(shared[name])) for found in values[name]]
        for name in names()
        if shared[name]
    ]
    return [statistics.fmean(means) for means in zip(*by_dataset, strict=True)] or None


def budget_table(scores: Scores) -> Table:
    """Return mean R² at the three budgets, with arrows, over the splits that have all of them."""
    rows = []
    for model in (*PAPER, "lightgbm"):
        by_budget = paired_means(scores, [scores.entry(model, trials) for trials in _paper.BUDGETS])
        if by_budget is None:
            continue
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
    notes = incomplete(scores, [scores.entry(model, _paper.BUDGETS[-1]) for model in PAPER])
    note = "Ours above, the paper's below; over the splits that have all three budgets."
    return Table("Mean R² by budget", head, tuple(rows), (note, *notes))


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
    printed = _paper.datasets()
    rows, others = [], []
    for name in names():
        fact = facts(name)
        n_test = math.ceil(TEST_SHARE * fact.expected_rows)
        counts = (fact.expected_rows - n_test, n_test, len(fact.continuous), fact.n_categorical_columns)
        others += [name] if name in printed and printed[name] != counts else []
        rows.append((name, *(f"{count:,}" for count in counts), fact.target, fact.origin, fact.licence))
    note = f"Rows and columns differ from the paper's on {', '.join(others)}." if others else "Counts are the paper's."
    head = ("dataset", "training rows", "test rows", "continuous", "one-hot", "target", "origin", "licence")
    return Table("Datasets", head, tuple(rows), (note,))


def incomplete(scores: Scores, entries: Iterable[Entry]) -> list[str]:
    """Return notes on seeds that are missing and on searches that had fewer trials than they were to have."""
    titles: dict[str, list[str]] = {}  # what models lack alike is one note
    for entry in entries:
        lacking: dict[str, list[str]] = {}
        for name in names():
            found = scores.seeds(entry, name).values()
            if 0 < len(found) < _paper.SEEDS:
                lacking.setdefault(f"{len(found)} of {_paper.SEEDS} splits", []).append(name)
            if (least := min((one.trials_run for one in found), default=entry.trials)) < entry.trials:
                lacking.setdefault(f"at least {least} of {entry.trials} trials", []).append(name)
        for what, where in lacking.items():
            text = f"{what} on {'all datasets' if len(where) == len(names()) else ', '.join(where)}"
            titles.setdefault(text, []).append(entry.title)
    return [f"{'; '.join(models)}: {text}." for text, models in titles.items()]
