"""Numbers about numbers: means, spreads, ranks, and whether models differ by more than chance (autorank)."""

from __future__ import annotations

import io
import math
import statistics
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.stats import rankdata

#: The family-wise level of the significance test.
ALPHA: Final = 0.05
#: Datasets that a significance test needs at least; autorank asks for as many.
MIN_DATASETS: Final = 5
#: Models from which on ranks are compared by a critical difference; two are compared by a test for pairs.
MIN_MODELS_FOR_RANKS: Final = 3


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation of some values; a single value has no deviation."""

    mean: float
    std: float | None
    n: int


def spread(values: Sequence[float]) -> Spread:
    """Return mean and sample standard deviation.

    >>> spread([1.0, 3.0])
    Spread(mean=2.0, std=1.4142135623730951, n=2)
    >>> spread([1.0])
    Spread(mean=1.0, std=None, n=1)
    """
    return Spread(mean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))


def mean(values: Sequence[float]) -> float:
    """Return the mean, added up exactly.

    >>> mean([1e16, 1.0, -1e16, 1.0])
    0.5
    """
    return math.fsum(values) / len(values)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of numbers that are not negative; one zero makes it zero.

    >>> round(geometric_mean([1.0, 100.0]), 9), geometric_mean([0.0, 3.0])
    (10.0, 0.0)
    """
    if min(values) <= 0.0:
        return 0.0
    return math.exp(mean([math.log(value) for value in values]))


def average_ranks(blocks: Mapping[str, Sequence[float]], *, higher: bool) -> dict[str, float]:
    """Return the mean rank of each model over blocks (datasets): 1 is the best, equals share the mean of their ranks.

    >>> average_ranks({"a": [0.9, 0.8], "b": [0.7, 0.8]}, higher=True)
    {'a': 1.25, 'b': 1.75}
    """
    matrix = np.array(list(blocks.values()), dtype=np.float64)
    ranks = rankdata(-matrix if higher else matrix, axis=0)
    return {model: float(row.mean()) for model, row in zip(blocks, ranks, strict=True)}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the significance test says.

    `text` is autorank's own account, `problem` a sentence where there is none. `critical` is the difference of average
    ranks that is needed, from Friedman's and Nemenyi's tests, and `ranks_p` the p-value of Friedman's.
    """

    models: int
    datasets: int
    text: str = ""
    test: str = ""
    p: float | None = None
    critical: float | None = None
    ranks_p: float | None = None
    problem: str | None = None
    warnings: tuple[str, ...] = ()
    #: What autorank draws.
    ranked: Any = None


def judge(blocks: Mapping[str, Sequence[float]]) -> Verdict:
    """Test whether models differ over datasets; a block is one dataset, its value the mean R² over seeds."""
    n_models, n_datasets = len(blocks), min((len(values) for values in blocks.values()), default=0)
    none = Verdict(n_models, n_datasets)
    if n_models < 2:  # noqa: PLR2004 (one model is compared with nothing)
        return _without(none, f"a significance test needs at least two models with datasets in common, got {n_models}")
    if n_datasets < MIN_DATASETS:
        return _without(
            none,
            f"{n_datasets} datasets in common are too few for a significance test, which needs {MIN_DATASETS}: "
            "run more of them",
        )
    if all(values == next(iter(blocks.values())) for values in blocks.values()):
        return _without(none, "all models have the same R² on every dataset: there is nothing to test")
    import autorank

    frame = pd.DataFrame({model: list(values) for model, values in blocks.items()})
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            chosen, text = _autorank(autorank, frame, forced=None)
            ranked = chosen
            if n_models >= MIN_MODELS_FOR_RANKS and chosen.posthoc != "nemenyi":
                ranked, _ = _autorank(autorank, frame, forced="nonparametric")
    except Exception as error:  # noqa: BLE001 (whatever autorank stumbles over, the rest of the page is still true)
        return _without(none, f"autorank could not test these results: {type(error).__name__}: {error}")
    with_ranks = n_models >= MIN_MODELS_FOR_RANKS
    return Verdict(
        n_models,
        n_datasets,
        text=text,
        test=_TESTS.get(str(chosen.omnibus), str(chosen.omnibus)),
        p=_finite(chosen.pvalue),
        critical=_finite(ranked.cd) if with_ranks else None,
        ranks_p=_finite(ranked.pvalue) if with_ranks else None,
        ranked=ranked if with_ranks else None,
        warnings=tuple(dict.fromkeys(_one_line(str(warning.message)) for warning in caught)),
    )


_TESTS: Final = {
    "friedman": "Friedman's test with Nemenyi's post-hoc test",
    "anova": "repeated-measures ANOVA with Tukey's HSD as post-hoc test",
    "ttest": "the paired t-test",
    "wilcoxon": "Wilcoxon's signed-rank test",
}


def _autorank(autorank: Any, frame: Any, forced: str | None) -> tuple[Any, str]:
    """Return autorank's result and its account, both of which it likes to print."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        result = autorank.autorank(frame, alpha=ALPHA, force_mode=forced)
    account = io.StringIO()
    with redirect_stdout(account):
        autorank.create_report(result)
    return result, _one_line(account.getvalue())


def _without(verdict: Verdict, problem: str) -> Verdict:
    return Verdict(verdict.models, verdict.datasets, problem=problem)


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _one_line(text: str) -> str:
    return " ".join(text.split())
