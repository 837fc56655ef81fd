"""What models can be compared on: the units that all of them have, and what is missing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dln_bench._names import ABLATIONS, DATASETS, MODELS, SEARCHED, TITLES
from dln_bench._results import Result
from dln_bench.report._paper import Metric
from dln_bench.report._statistics import Spread, mean, spread

#: A model with fewer than this share of the fullest model's datasets is shown, but takes no part in comparisons:
#: otherwise one model that has just begun would leave the others with next to nothing in common.
ENOUGH: Final = Fraction(1, 2)


def title(model: str) -> str:
    """Return a model's name for reading; one that the benchmark does not know keeps its own.

    >>> title("svr"), title("my-model")
    ('SVR', 'my-model')
    """
    return TITLES.get(model, model)


def in_order(models: Iterable[str]) -> tuple[str, ...]:
    """Return models in the order of the tables, unknown ones last.

    >>> in_order({"dln", "zzz", "linear"})
    ('linear', 'dln', 'zzz')
    """
    found = set(models)
    known = [model for model in TITLES if model in found]
    return (*known, *sorted(found.difference(known)))


def datasets_in_order(datasets: Iterable[str]) -> tuple[str, ...]:
    """Return datasets in the paper's order, unknown ones last."""
    found = set(datasets)
    return (*(name for name in DATASETS if name in found), *sorted(found.difference(DATASETS)))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results of one budget, and what of them is common to the models compared."""

    trials: int
    models: tuple[str, ...]
    datasets: tuple[str, ...]
    seeds: tuple[int, ...]
    results: Mapping[tuple[str, str, int], Result]
    #: Models that take part in comparisons.
    compared: tuple[str, ...]
    #: Known dataset -> the seeds that all models compared have.
    common: Mapping[str, tuple[int, ...]]

    def own(self, metric: Metric, dataset: str, model: str) -> Spread | None:
        """Return what a model reached on a dataset, over all seeds that it has."""
        values = [self._value(metric, dataset, model, seed) for seed in self.seeds]
        known = [value for value in values if value is not None]
        return spread(known) if known else None

    def _value(self, metric: Metric, dataset: str, model: str, seed: int) -> float | None:
        value = getattr(self.results.get((dataset, model, seed)), metric, None)
        return None if value is None else float(value)

    def own_datasets(self, model: str) -> tuple[str, ...]:
        """Return the paper's datasets that a model has results on."""
        have = {dataset for dataset, other, _ in self.results if other == model}
        return tuple(name for name in DATASETS if name in have)

    def blocks(self, metric: Metric, models: Sequence[str] | None = None) -> dict[str, list[float]]:
        """Return model -> its means over the common seeds of each common dataset, where the metric is known of all."""
        found = {}
        for model in self.compared if models is None else models:
            values = [[self._value(metric, name, model, seed) for seed in seeds] for name, seeds in self.common.items()]
            known = [[value for value in each if value is not None] for each in values]
            if all(len(some) == len(each) for some, each in zip(known, values, strict=True)):
                found[model] = [mean(each) for each in known]
        return found

    @property
    def is_whole(self) -> bool:
        """Whether every model has every seed on all of the paper's datasets."""
        return (
            self.compared == self.models
            and tuple(self.common) == DATASETS
            and all(seeds == self.seeds for seeds in self.common.values())
        )


def main_budget(results: Sequence[Result]) -> int:
    """Return the trials that the most models and datasets were run with; of equals, the larger."""
    searched = [result for result in results if result.trials] or list(results)
    models = [result for result in searched if result.model not in ABLATIONS] or searched
    pairs = Counter(trials for trials, *_ in {(one.trials, one.model, one.dataset) for one in models})
    units = Counter(one.trials for one in models)
    return max(pairs, key=lambda trials: (pairs[trials], units[trials], trials))


def compare(results: Sequence[Result], trials: int) -> Comparison:
    """Return the results of the main tables at a budget, and what the models have in common.

    Models that are not searched for stand beside those of any budget.
    """
    others = set(TITLES).difference(MODELS)
    chosen = {
        (one.dataset, one.model, one.seed): one
        for one in sorted(results, key=lambda one: -one.trials)  # results of before tell 16 trials where none was run
        if one.model not in others and (one.trials == trials or (one.trials == 0 and one.model not in SEARCHED))
    }
    models = in_order(model for _, model, _ in chosen)
    have: dict[str, dict[str, set[int]]] = {model: defaultdict(set) for model in models}
    for dataset, model, seed in chosen:
        if dataset in DATASETS:
            have[model][dataset].add(seed)
    most = max((len(datasets) for datasets in have.values()), default=0)
    compared = tuple(model for model in models if have[model] and len(have[model]) >= ENOUGH * most)
    common: dict[str, tuple[int, ...]] = {}
    for dataset in DATASETS:
        seeds = set.intersection(*(have[model][dataset] for model in compared)) if compared else set()
        if seeds:
            common[dataset] = tuple(sorted(seeds))
    return Comparison(
        trials,
        models,
        datasets_in_order(dataset for dataset, *_ in chosen),
        tuple(sorted({seed for *_, seed in chosen})),
        chosen,
        compared,
        common,
    )


def what_is_common(comparison: Comparison) -> list[str]:
    """Return sentences that say what means, ranks and tests are over."""
    said = []
    out = [model for model in comparison.models if model not in comparison.compared]
    if out:
        counts = ", ".join(f"{title(model)} ({len(comparison.own_datasets(model))})" for model in out)
        said.append(
            f"Shown, but not in comparisons, because they have results on fewer than half of the datasets that the "
            f"fullest model has: {counts}."
        )
    strange = [name for name in comparison.datasets if name not in DATASETS]
    if strange:
        said.append(f"Not among the paper's datasets, so shown but in no mean, rank or test: {', '.join(strange)}.")
    if not comparison.common:
        said.append(
            "The models have no dataset and seed in common: there are no common means, ranks or tests."
            if len(comparison.compared) > 1
            else "There are no results on the paper's datasets to compare."
        )
        return said
    missing = [name for name in DATASETS if name not in comparison.common]
    if missing:
        said.append(
            f"Common means, ranks and tests are over the {len(comparison.common)} of {len(DATASETS)} datasets that "
            f"all models compared have: not {', '.join(missing)}."
        )
    fewer = [name for name, seeds in comparison.common.items() if seeds != comparison.seeds]
    if fewer:
        said.append(
            f"Of the {len(comparison.seeds)} seeds, only those that all models compared have count in common means, "
            f"ranks and tests; they are fewer on {', '.join(fewer)}."
        )
    if comparison.is_whole:
        said.append(
            f"All {len(comparison.models)} models have all {len(DATASETS)} datasets and "
            f"{len(comparison.seeds)} {'seed' if len(comparison.seeds) == 1 else 'seeds'}: "
            "means, ranks and tests are over all of them."
        )
    return said
