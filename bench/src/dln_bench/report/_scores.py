"""Results by model, budget and dataset, and their differences to the paper's on the same splits."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy.stats import rankdata

from dln_bench._results import Result
from dln_bench.datasets import names
from dln_bench.models._models import MODELS
from dln_bench.report import _paper
from dln_bench.report._paper import Printed

Metric: TypeAlias = Literal["r2", "rmse", "mae", "multiply", "select"]
#: Metrics, and the tables of the paper that they stand beside.
METRICS: Final[dict[Metric, str]] = {"r2": "r2", "rmse": "rmse", "mae": "mae", "multiply": "ops", "select": "ops"}
#: Standard errors from which on a difference is marked.
MARKED: Final = 2.0
#: Correlations of splits are held below 1, where no standard error would be left.
MAX_CORRELATION: Final = 0.99


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A model at a budget; 0 trials: as it is made."""

    model: str
    trials: int = 0

    @property
    def title(self) -> str:
        """Its name in tables."""
        title = MODELS[self.model].title if self.model in MODELS else self.model
        searched = self.model in MODELS and MODELS[self.model].space is not None
        return f"{title}, no search" if searched and not self.trials else title


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation (ddof=1) over seeds; of a single seed there is no deviation."""

    mean: float
    std: float | None
    seeds: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Ours minus the paper's on the same splits, with its standard error."""

    value: float
    error: float | None
    #: Half a unit of the paper's last printed digit.
    rounding: float
    #: The paper's number.
    printed: float

    @property
    def is_marked(self) -> bool:
        """True if it is more than two standard errors, and more than rounding."""
        return self.error is not None and abs(self.value) > max(MARKED * self.error, self.rounding)


class Scores:
    """Results under the paper's protocol, by model, budget and dataset."""

    def __init__(self, results: Iterable[Result]) -> None:
        self.results = [result for result in results if result.protocol == "paper"]
        self._found: dict[tuple[Entry, str], dict[int, Result]] = defaultdict(dict)
        for result in self.results:
            self._found[Entry(result.model, result.trials), result.dataset][result.seed] = result

    @cached_property
    def datasets(self) -> list[str]:
        """Datasets with results, the paper's first."""
        there = {dataset for _, dataset in self._found}
        return [*(name for name in names() if name in there), *sorted(there.difference(names()))]

    @cached_property
    def budget(self) -> int:
        """Trials of the main tables: the most that models of the paper have."""
        return max((result.trials for result in self.results if MODELS[result.model].paper), default=0)

    def entry(self, model: str, budget: int | None = None) -> Entry:
        """Return a model at a budget, that of the main tables by default."""
        searched = MODELS[model].space is not None
        return Entry(model, (self.budget if budget is None else budget) if searched else 0)

    def has(self, entry: Entry) -> bool:
        """Return whether there is any result of a model at a budget."""
        return any(known == entry for known, _ in self._found)

    def seeds(self, entry: Entry, dataset: str) -> dict[int, Result]:
        """Return results by seed."""
        return self._found.get((entry, dataset), {})

    def values(self, metric: str, entry: Entry, dataset: str) -> dict[int, float]:
        """Return a metric by seed."""
        values = {seed: getattr(result, metric) for seed, result in sorted(self.seeds(entry, dataset).items())}
        return {seed: float(value) for seed, value in values.items() if value is not None}

    def spread(self, metric: str, entry: Entry, dataset: str) -> Spread | None:
        """Return mean and standard deviation over seeds."""
        values = list(self.values(metric, entry, dataset).values())
        if not values:
            return None
        return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))

    def means(self, metric: str, entry: Entry, datasets: Sequence[str] | None = None) -> dict[str, float]:
        """Return means over seeds by dataset."""
        found = {name: self.spread(metric, entry, name) for name in datasets or self.datasets}
        return {name: spread.mean for name, spread in found.items() if spread is not None}

    def difference(self, metric: Metric, entry: Entry, dataset: str, *, beside: str = "") -> Difference | None:
        """Return ours minus the paper's, of the model that it stands beside.

        The paper's splits are ours, so differences are paired, but it prints only mean and deviation over the splits.
        Where ours has k of the n = 10 splits, and r is the correlation of both over the splits, the variance is
        s²/k + p²/n - 2 r s p / n. For r stands the median correlation of ours with other models of ours on the same
        splits; where the paper prints no deviation, ours stands for it. The deviation of fewer than ten
        splits is taken to be no smaller than the paper's, of RMSE and MAE in the proportion of R².
        """
        own = self.spread(metric, entry, dataset)
        printed = printed_of(metric, beside or MODELS[entry.model].paper, dataset)
        if own is None or printed is None:
            return None
        error = None
        if own.std is not None:
            ours = own.std * self._inflation(metric, entry, dataset)
            theirs = ours if printed.std is None else printed.std
            r = self._correlation(metric, entry, dataset)
            variance = ours**2 / own.seeds + (theirs**2 - 2 * r * ours * theirs) / _paper.SEEDS
            error = math.sqrt(max(variance, 0.0))
        return Difference(own.mean - printed.mean, error, _rounding(metric, printed.mean), printed.mean)

    def _inflation(self, metric: Metric, entry: Entry, dataset: str) -> float:
        """Return by how much a deviation over few splits is too small: the paper's of R² over ours, at least 1."""
        own, printed = self.spread("r2", entry, dataset), printed_of("r2", MODELS[entry.model].paper, dataset)
        if (
            metric in {"multiply", "select"}
            or own is None
            or printed is None
            or not own.std
            or own.seeds >= _paper.SEEDS
        ):
            return 1.0
        return max(1.0, (printed.std or 0.0) / own.std)

    def _correlation(self, metric: Metric, entry: Entry, dataset: str) -> float:
        """Return the median correlation over splits with other models at their largest budget."""
        own = self.values(metric, entry, dataset)
        found = []
        for other in {self.entry(known.model) for known, _ in self._found if known.model != entry.model}:
            values = self.values(metric, other, dataset)
            common = [seed for seed in own if seed in values]
            pair = np.array([[own[seed] for seed in common], [values[seed] for seed in common]])
            if len(common) > 2 and np.all(np.ptp(pair, axis=1) > 0):  # noqa: PLR2004 (two points always correlate)
                found.append(float(np.corrcoef(pair)[0, 1]))
        return min(max(statistics.median(found), 0.0), MAX_CORRELATION) if found else 0.0


def printed_of(metric: Metric, model: str, dataset: str) -> Printed | None:
    """Return the paper's number; None for models and datasets that it does not have."""
    return _paper.table(METRICS[metric]).get((model, dataset))


def _rounding(metric: Metric, value: float) -> float:
    if metric == "r2":
        return 0.0005
    return 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) - 2) if value else 0.0


def average(metric: str, values: Iterable[float]) -> float:
    """Return the arithmetic mean of R², the geometric mean of all else.

    >>> average("r2", [0.5, 0.7]), round(average("rmse", [1.0, 100.0]), 9)
    (0.6, 10.0)
    """
    return statistics.fmean(values) if metric == "r2" else geometric_mean(values)


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean; a constant costs nothing and counts as one, and negative R² have none."""
    listed = [value or 1.0 for value in values]
    return statistics.geometric_mean(listed) if min(listed) > 0 else math.nan


def average_ranks(blocks: Mapping[str, Sequence[float]], *, higher: bool) -> dict[str, float]:
    """Return mean ranks over blocks; 1 is the best, equals share the mean of their ranks.

    >>> average_ranks({"a": [0.9, 0.8], "b": [0.7, 0.8]}, higher=True)
    {'a': 1.25, 'b': 1.75}
    """
    matrix = np.array(list(blocks.values()), dtype=np.float64)
    ranks = rankdata(-matrix if higher else matrix, axis=0)
    return {model: float(row.mean()) for model, row in zip(blocks, ranks, strict=True)}
