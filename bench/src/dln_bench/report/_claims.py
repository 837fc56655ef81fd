"""The paper's sentences as checks of our results."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from dln_bench.datasets import names
from dln_bench.models._models import MODELS, PAPER
from dln_bench.report import _paper
from dln_bench.report._cells import Table, amount, score, signed
from dln_bench.report._pictures import Drawn
from dln_bench.report._scores import Entry, Metric, Scores, average, average_ranks
from dln_bench.report._tables import common, n_common, paired_means

#: Changes of mean R² up to this are none.
COMPARABLE: Final = 0.005

READINGS: Final[tuple[Metric, ...]] = ("multiply", "select")
#: The least mean R² over fifteen datasets that was expected of a model.
EXPECTED: Final = {
    Entry("dln"): 0.810,
    Entry("dln", 128): 0.825,
    Entry("dln-100-3"): 0.812,
    Entry("dln-3-refit", 128): 0.835,
    Entry("rules"): 0.830,
    Entry("lightgbm", 128): 0.845,
}
#: Our number, and whether the sentence holds, or under which reading; None: results are missing.
Verdict = tuple[str, bool | str] | None


def claim_table(scores: Scores, drawn: Mapping[str, Drawn]) -> Table:
    """Return the paper's sentences, our numbers, and whether they hold; `drawn` are the decision pictures."""
    rows = []
    for sentence, check in CLAIMS.items():
        verdict = check(scores)
        found, holds = ("no results yet", "–") if verdict is None else verdict
        rows.append((sentence, found, holds if isinstance(holds, str) else "yes" if holds else "no"))
    for dataset, printed in _paper.INPUTS.items():
        inputs = drawn[dataset].inputs if dataset in drawn else ""
        holds = ("yes" if inputs == printed else "no") if inputs else "–"
        rows.append((f"{dataset}: the model drawn uses {printed}", inputs or "not drawn", holds))
    entries = [entry for model in PAPER if scores.has(entry := scores.entry(model))]
    note = (
        f"Main tables at {scores.budget} trials, over the {n_common(scores, entries)} datasets with results of "
        f"{len(entries)} of the {len(PAPER)} models; changes of mean R² up to {COMPARABLE:g} count as none."
    )
    return Table("The paper's sentences", ("the paper", "here", "holds"), tuple(rows), (note,), is_numeric=False)


def expectation_table(scores: Scores) -> Table:
    """Return the mean R² that was expected of our models before they were run, and what they have."""
    rows = []
    for entry, least in EXPECTED.items():
        means = scores.means("r2", entry, names())
        found, holds = "no results yet", "–"
        if means:
            mean = statistics.fmean(means.values())
            size = [amount(average(one, scores.means(one, entry, names()).values())) for one in READINGS]
            found, holds = f"{score(mean)}, operations {' and '.join(size)}", "yes" if mean >= least else "no"
        if 0 < len(means) < len(names()):
            found, holds = f"{found} ({len(means)} of {len(names())} datasets)", "–"
        trials = f", {entry.trials} trials" if entry.trials else ""
        rows.append((f"{entry.title}{trials}: mean R² at least {least:.3f}", found, holds))
    note = "Operations under multiply and select, geometric means; the paper's DLN has 29.8K."
    return Table("Expectations", ("expected", "here", "holds"), tuple(rows), (note,), is_numeric=False)


def _ten(scores: Scores, budget: int | None = None) -> list[Entry] | None:
    """Return the paper's ten at a budget; None if one is missing."""
    entries = [scores.entry(model, budget) for model in PAPER]
    return entries if all(scores.has(entry) for entry in entries) else None


def _second(metric: str) -> Callable[[Scores], Verdict]:
    def check(scores: Scores) -> Verdict:
        if (entries := _ten(scores)) is None or not (blocks := common(scores, metric, entries))["dln"]:
            return None
        higher = metric == "r2"
        means = {model: average(metric, values) for model, values in blocks.items()}
        place = 1 + sum((value > means["dln"]) if higher else (value < means["dln"]) for value in means.values())
        ranks = average_ranks(blocks, higher=higher)
        by_rank = 1 + sum(rank < ranks["dln"] for rank in ranks.values())
        text = f"place {place} by mean, {by_rank} by average rank ({ranks['dln']:.2f})"
        return text, (place, by_rank) == (2, 2) if higher else place == 2  # noqa: PLR2004 (second)

    return check


def _cheaper(model: str, times: float) -> Callable[[Scores], Verdict]:
    def check(scores: Scores) -> Verdict:
        entries = [scores.entry("dln"), scores.entry(model)]
        ratios = []
        for reading in READINGS:
            blocks = common(scores, reading, entries)
            if not blocks["dln"]:
                return None
            ratios.append(average(reading, blocks[model]) / average(reading, blocks["dln"]))
        text = f"{ratios[0]:.1f} times (multiply), {ratios[1]:.1f} times (select)"
        return text, _by_reading(ratios[0] >= times, ratios[1] >= times)

    return check


def _by_reading(multiply: bool, select: bool) -> bool | str:  # noqa: FBT001 (one per reading)
    """Return whether a sentence on operations holds, or under which reading alone."""
    return multiply if multiply == select else "multiply" if multiply else "select"


def _pareto(scores: Scores) -> Verdict:
    parts, holds = [], {"multiply": True, "select": True}
    for budget in _paper.BUDGETS:
        if (entries := _ten(scores, budget)) is None or not (accuracy := common(scores, "r2", entries))["dln"]:
            return None
        for reading in READINGS:
            cost = common(scores, reading, entries)
            own = (average(reading, cost["dln"]), average("r2", accuracy["dln"]))
            better = [
                MODELS[model].title
                for model in PAPER
                if average(reading, cost[model]) < own[0] and average("r2", accuracy[model]) > own[1]
            ]
            holds[reading] = holds[reading] and not better
            parts += [f"{budget} trials, {reading}: worse than {', '.join(better)}"] if better else []
    return "; ".join(parts) or "no model is better and cheaper", _by_reading(**holds)


def _gains_most(scores: Scores) -> Verdict:
    gains = {}
    for model in PAPER:
        means = paired_means(
            scores, [scores.entry(model, budget) for budget in (_paper.BUDGETS[0], _paper.BUDGETS[-1])]
        )
        if means is None:
            return None
        gains[model] = means[-1] - means[0]
    most = max(gains, key=lambda model: gains[model])
    return f"{MODELS[most].title} {signed(gains[most])}, random forest {signed(gains['forest'])}", most == "forest"


def _alike(scores: Scores) -> Verdict:
    if (entries := _ten(scores)) is None:
        return None
    blocks = common(scores, "r2", entries)
    if len(blocks["dln"]) < 3:  # noqa: PLR2004 (two points always correlate)
        return None
    found = {model: float(np.corrcoef(blocks["dln"], blocks[model])[0, 1]) for model in PAPER if model != "dln"}
    first = sorted(found, key=lambda model: -found[model])[:2]
    text = ", ".join(f"{MODELS[model].title} {found[model]:.3f}" for model in first)
    return text, set(first) == {"forest", "mlp"}


def _change(scores: Scores, variant: str) -> float | None:
    """Return the change of mean R² by a variant, on the splits that both have."""
    means = paired_means(scores, [Entry(model, _paper.ABLATION_TRIALS) for model in ("dln", variant)])
    return None if means is None else means[1] - means[0]


def _ablated(variant: str, holds: Callable[[float], bool]) -> Callable[[Scores], Verdict]:
    def check(scores: Scores) -> Verdict:
        change = _change(scores, variant)
        return None if change is None else (f"mean R² {signed(change)}", holds(change))

    return check


def _schedule_matters_most(scores: Scores) -> Verdict:
    changes = {variant: _change(scores, variant) for variant in ("no-schedule", *_OTHERS)}
    known = {variant: change for variant, change in changes.items() if change is not None}
    if len(known) < len(changes):
        return None
    worst = min(known, key=lambda variant: known[variant])
    largest = f"{MODELS[worst].title.lower()} {signed(known[worst])}"
    return f"no schedule {signed(known['no-schedule'])}; largest loss: {largest}", worst == "no-schedule"


def _slow(scores: Scores) -> Verdict:
    def seconds(model: str) -> Sequence[float]:
        entry = scores.entry(model)
        return [one.fit_seconds for name in names() for one in scores.seeds(entry, name).values()]

    own, others = seconds("dln"), {model: seconds(model) for model in ("forest", "mlp")}
    if not own or not all(others.values()):
        return None
    median = statistics.median(own)
    parts = [f"{MODELS[model].title} {statistics.median(values):.2f} s" for model, values in others.items()]
    text = f"median fit {median:.2f} s; {', '.join(parts)}"
    return text, median > max(statistics.median(values) for values in others.values())


_OTHERS: Final = ("two-phases", "subspace-16", "subspace-4", "no-concatenation")

CLAIMS: Final[dict[str, Callable[[Scores], Verdict]]] = {
    "DLN is second in mean R² and in average rank": _second("r2"),
    "second in mean RMSE": _second("rmse"),
    "second in mean MAE": _second("mae"),
    "5.8 times cheaper than a random forest": _cheaper("forest", 5.8),
    "86 times cheaper than an MLP": _cheaper("mlp", 86.0),
    "Pareto-optimal at all three budgets": _pareto,
    "the random forest gains most from more trials": _gains_most,
    "R² correlates most with random forest and MLP": _alike,
    "the temperature schedule matters most": _schedule_matters_most,
    "two phases are slightly worse": _ablated("two-phases", lambda change: change <= 0),
    "subspaces of 16 are comparable": _ablated("subspace-16", lambda change: abs(change) <= COMPARABLE),
    "subspaces of 4 are worse": _ablated("subspace-4", lambda change: change < -COMPARABLE),
    "no concatenation is a substantial loss": _ablated("no-concatenation", lambda change: change < -2 * COMPARABLE),
    "straight-through estimators are validated": _ablated("no-straight-through", lambda change: change < -COMPARABLE),
    "training is slow": _slow,
}
