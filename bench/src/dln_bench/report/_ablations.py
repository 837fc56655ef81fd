"""What each idea of the paper brings: ablations against the original on the same units, beside the paper's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dln_bench._names import ABLATIONS, DATASETS
from dln_bench._results import Result
from dln_bench.report import _paper
from dln_bench.report._cells import NOTHING, Cell, Record, Table, change, deviation, with_spread
from dln_bench.report._common import datasets_in_order, in_order, title
from dln_bench.report._statistics import Spread, mean, spread

#: Differences of mean R² up to this are "about equal".
ABOUT_EQUAL: Final = 0.01
#: What the paper finds: "hurts" is a mean below the original's, "equal" one about equal to it.
EXPECTED: Final = {
    "no-schedule": "hurts",
    "two-phases": "equal",
    "subspace-16": "equal",
    "subspace-4": "hurts",
    "no-concatenation": "hurts",
}
_PAPER_SAYS: Final = {
    "no-schedule": "it hurts",
    "two-phases": "it is slightly worse",
    "subspace-16": "it is about equal",
    "subspace-4": "it is a little worse",
    "no-concatenation": "it hurts",
}


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change of the paper's model does to R², on the same datasets, seeds and trials."""

    variant: str
    trials: int
    by_dataset: dict[str, Spread]

    @property
    def counted(self) -> tuple[str, ...]:
        """The paper's datasets that are in the mean."""
        return tuple(name for name in DATASETS if name in self.by_dataset)

    @property
    def mean(self) -> float:
        """The mean over datasets."""
        return mean([self.by_dataset[name].mean for name in self.counted])

    @property
    def error(self) -> float | None:
        """The standard error of the mean over datasets."""
        std = spread([self.by_dataset[name].mean for name in self.counted]).std
        return None if std is None else std / math.sqrt(len(self.counted))

    def paper(self) -> float | None:
        """The paper's mean difference over the same datasets, if it has this variant."""
        differences = [paper_difference(name, self.variant) for name in self.counted]
        known = [value for value in differences if value is not None]
        return mean(known) if known and len(known) == len(differences) else None


def paper_difference(dataset: str, variant: str) -> float | None:
    """Return what the paper's variant differs from its original by."""
    stated = _paper.ablations()
    if (dataset, variant) not in stated:
        return None
    return stated[dataset, variant].mean - stated[dataset, "dln-paper"].mean


def effects(results: Sequence[Result]) -> list[Effect]:
    """Return the effect of each variant, at the budget that has the most pairs of variant and original."""
    original = {(one.dataset, one.seed, one.trials): one.r2 for one in results if one.model == "dln-paper"}
    pairs: dict[tuple[str, int], dict[str, dict[int, float]]] = {}
    for one in results:
        key = (one.dataset, one.seed, one.trials)
        if one.model in ABLATIONS and key in original:
            found = pairs.setdefault((one.model, one.trials), {})
            found.setdefault(one.dataset, {})[one.seed] = one.r2 - original[key]
    counts: Counter[int] = Counter()
    for (_, trials), found in pairs.items():
        counts[trials] += sum(map(len, found.values()))
    if not counts:
        return []
    chosen = max(counts, key=lambda trials: (counts[trials], trials))
    return [
        Effect(
            model,
            chosen,
            {dataset: spread([seeds[seed] for seed in sorted(seeds)]) for dataset, seeds in found.items()},
        )
        for model in in_order(model for model, trials in pairs if trials == chosen)
        if (found := pairs[model, chosen])
    ]


def ablation_table(found: Sequence[Effect]) -> Table:
    """Return the table of ablations: datasets down, variants across, ours above the paper's."""
    datasets = datasets_in_order(dataset for one in found for dataset in one.by_dataset)
    records: list[Record] = []
    rows = []
    for dataset in datasets:
        cells = [Cell(dataset)]
        for one in found:
            own, paper = one.by_dataset.get(dataset), paper_difference(dataset, one.variant)
            below = () if paper is None else (f"paper {change(paper)}",)
            if own is None:
                cells.append(Cell(NOTHING, below))
                continue
            text = with_spread(own, change(own.mean), "" if own.std is None else deviation(own.std))
            cells.append(Cell(text, below))
            records.append(
                {
                    "dataset": dataset,
                    "variant": one.variant,
                    "trials": one.trials,
                    "seeds": own.n,
                    "mean_difference": own.mean,
                    "std_difference": own.std,
                    "paper_difference": paper,
                }
            )
        rows.append(tuple(cells))
    return Table(
        f"Difference of R² to the paper's DLN, {found[0].trials} trials" if found else "Ablations",
        ("dataset", *(title(one.variant) for one in found)),
        tuple(rows),
        ((Cell("mean"), *(_mean_cell(one) for one in found)),),
        (
            "Variant minus original on the same dataset, seed and number of trials: mean ± deviation over seeds.",
            (
                f"Below, the paper's difference ({_paper.ABLATION_TRIALS} trials, {_paper.SEEDS} seeds); in the last "
                "row over the same datasets as ours."
            ),
        ),
        {"ablations": records},
    )


def _mean_cell(one: Effect) -> Cell:
    if not one.counted:
        return Cell(NOTHING)
    below = [] if len(one.counted) == len(DATASETS) else [f"{len(one.counted)} of {len(DATASETS)} datasets"]
    paper = one.paper()
    if paper is not None:
        below.append(f"paper {change(paper)}")
    return Cell(change(one.mean), tuple(below))


def signs(found: Sequence[Effect]) -> list[str]:
    """Return a sentence per variant of the paper: whether its sign appears."""
    said = []
    for one in found:
        if not one.counted:
            continue
        error = "" if one.error is None else f" ± {deviation(one.error)}"
        number = len(one.counted)
        ours = (
            f"{title(one.variant)}: ours {change(one.mean)}{error} (mean and standard error over {number} "
            f"{'dataset' if number == 1 else 'datasets'})"
        )
        paper = one.paper()
        if one.variant not in EXPECTED or paper is None:
            said.append(f"{ours}. The paper does not have it.")
            continue
        said.append(f"{ours}, the paper {change(paper)}, where {_PAPER_SAYS[one.variant]}: {_appears(one)}.")
    return said


def _appears(one: Effect) -> str:
    if EXPECTED[one.variant] == "equal":
        if abs(one.mean) <= ABOUT_EQUAL:
            return f"about equal here too (within {ABOUT_EQUAL:g})"
        return f"here it is {'better' if one.mean > 0 else 'worse'}, by more than {ABOUT_EQUAL:g}"
    if one.mean >= 0:
        return "the paper's sign does not appear"
    if one.error is not None and -one.mean < one.error:
        return "the paper's sign appears, but within one standard error of none"
    return "the paper's sign appears"
