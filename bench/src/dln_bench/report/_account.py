"""The head of a report: which results these are, what is missing, and where budgets were cut."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from dln_bench._names import ABLATIONS, DATASETS, MODELS, TITLES
from dln_bench._results import Result
from dln_bench.report._cells import Cell, Table, plural
from dln_bench.report._common import Comparison, datasets_in_order, in_order, title

#: Stands for the second number in a text of cuts.
_BLANK: Final = "␀"
_ROWS: Final = re.compile(r"\b(\d+) of (\d+) (rows|trials)\b")


def spans(numbers: Iterable[int]) -> str:
    """Return whole numbers, those in a row as a span.

    >>> spans([0, 1, 2, 5, 7, 8])
    '0–2, 5, 7, 8'
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = []
    for run in runs:
        parts += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else [str(number) for number in run]  # noqa: PLR2004 (1, 2 is as short)
    return ", ".join(parts)


def seeds_text(seeds: Iterable[int]) -> str:
    """Return seeds with their noun.

    >>> seeds_text([2]), seeds_text([0, 1, 2])
    ('seed 2', 'seeds 0–2')
    """
    found = set(seeds)
    return f"{'seed' if len(found) == 1 else 'seeds'} {spans(found)}"


def inventory(results: Sequence[Result]) -> Table:
    """Return what there is of each model: units, datasets, seeds, trials, versions."""
    by_model: dict[str, list[Result]] = defaultdict(list)
    for one in results:
        by_model[one.model].append(one)
    rows = []
    for model in in_order(by_model):
        mine = by_model[model]
        trials = sorted({one.trials for one in mine})
        rows.append(
            (
                Cell(title(model)),
                Cell(f"{len(mine):,}"),
                Cell(_datasets(mine)),
                Cell(
                    "; ".join(
                        f"{each or 'no search'}: {seeds_text(o.seed for o in mine if o.trials == each)}"
                        for each in trials
                    )
                ),
                Cell(", ".join(sorted({_origin(one) for one in mine}))),
            )
        )
    return Table(
        "Results by model",
        ("model", "units", "datasets", "trials asked for: seeds", "commit"),
        tuple(rows),
        words=True,
    )


def _origin(one: Result) -> str:
    return one.commit or (f"dln {one.version}" if one.version else "not told")


def _datasets(results: Sequence[Result]) -> str:
    found = {one.dataset for one in results}
    others = len(found.difference(DATASETS))
    return f"{len(found) - others} of {len(DATASETS)}" + (f" and {plural(others, 'other')}" if others else "")


def missing(comparison: Comparison, results: Sequence[Result]) -> list[str]:
    """Return sentences on what the results lack: models, and units of models that have begun."""
    said = []
    have = {one.model for one in results}
    absent = [title(model) for model in MODELS if model not in have]
    if absent:
        said.append(f"No results at all: {', '.join(absent)}.")
    elsewhere = [title(model) for model in MODELS if model in have and model not in comparison.models]
    if elsewhere:
        said.append(
            f"No results at {comparison.trials} trials, and so not in the tables of that budget: "
            f"{', '.join(elsewhere)}."
        )
    if len(comparison.seeds) > 0:
        for model in comparison.models:
            lacking: dict[str, list[int]] = defaultdict(list)
            for dataset in DATASETS:
                for seed in comparison.seeds:
                    if (dataset, model, seed) not in comparison.results:
                        lacking[dataset].append(seed)
            if lacking:
                said.append(_lacking(title(model), comparison, lacking))
    said += _missing_ablations(results, have)
    strange = [model for model in in_order(have) if model not in TITLES]
    if strange:
        said.append(f"Models that this version does not know, shown under their own names: {', '.join(strange)}.")
    unknown = [name for name in datasets_in_order(one.dataset for one in results) if name not in DATASETS]
    if unknown:
        said.append(f"Datasets that are not the paper's, shown but in no mean: {', '.join(unknown)}.")
    return said


def _missing_ablations(results: Sequence[Result], have: set[str]) -> list[str]:
    begun = [model for model in ABLATIONS if model in have]
    if not begun:
        return ["No results of the ablations."]
    absent = [title(model) for model in ABLATIONS if model not in have]
    sentences = [f"No results of these ablations: {', '.join(absent)}."] if absent else []
    for model in begun:
        datasets = {one.dataset for one in results if one.model == model}
        if gone := [name for name in DATASETS if name not in datasets]:
            sentences.append(f"{title(model)}: no result on {', '.join(gone)}.")
    return sentences


def _lacking(name: str, comparison: Comparison, lacking: dict[str, list[int]]) -> str:
    total = len(DATASETS) * len(comparison.seeds)
    number = sum(map(len, lacking.values()))
    whole = [dataset for dataset, seeds in lacking.items() if len(seeds) == len(comparison.seeds)]
    partly: dict[str, list[str]] = defaultdict(list)
    for dataset, seeds in lacking.items():
        if dataset not in whole:
            partly[seeds_text(seeds)].append(dataset)
    where = "; ".join([*([", ".join(whole)] if whole else []), *(f"{t} of {_named(d)}" for t, d in partly.items())])
    return f"{name}: {number} of {total} units at {comparison.trials} trials are missing: {where}."


def _named(datasets: Sequence[str]) -> str:
    return f"all {len(DATASETS)}" if len(datasets) == len(DATASETS) else ", ".join(datasets)


def cuts(results: Sequence[Result]) -> Table | None:
    """Return which budgets were cut and how, equal cuts together; None if none was."""
    grouped: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for one in results:
        if one.cut:
            grouped[_ROWS.sub(rf"\1 of {_BLANK} \3", one.cut), one.model].append(one)
    if not grouped:
        return None
    by_text: dict[str, dict[str, list[Result]]] = defaultdict(dict)
    for (text, model), units in grouped.items():
        by_text[text][model] = units
    rows = []
    for text, by_model in by_text.items():
        units = [one for each in by_model.values() for one in each]
        datasets = datasets_in_order({one.dataset for one in units})
        where = _named(datasets)
        rows.append(
            (
                Cell(_filled(text, [one.cut or "" for one in units])),
                Cell(", ".join(title(model) for model in in_order(by_model))),
                Cell(where),
                Cell(f"{len(units):,}"),
            )
        )
    return Table("Budgets that were cut", ("how", "models", "datasets", "units"), tuple(rows), words=True)


def _filled(text: str, cut: Sequence[str]) -> str:
    """Return a text of cuts with the numbers that stood in its blanks.

    >>> _filled("search on 1000 of ␀ rows", ["search on 1000 of 1127 rows", "search on 1000 of 7500 rows"])
    'search on 1000 of 1,127 to 7,500 rows'
    """
    found = [[int(match[2]) for match in _ROWS.finditer(each)] for each in cut]
    for numbers in zip(*found, strict=True):
        low, high = min(numbers), max(numbers)
        text = text.replace(_BLANK, f"{low:,}" if low == high else f"{low:,} to {high:,}", 1)
    return text
