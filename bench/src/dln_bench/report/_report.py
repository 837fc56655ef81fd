"""The report: from result files to a page of tables and figures, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import pandas as pd

from dln._atomic import AnyPath, write_atomically
from dln_bench._names import DATASETS
from dln_bench._results import RESULTS, Result, read_results
from dln_bench.report import _ablations, _account, _against, _figures, _paper
from dln_bench.report._budgets import budget_figure, budget_table
from dln_bench.report._cells import plural, score
from dln_bench.report._common import Comparison, compare, main_budget, title, what_is_common
from dln_bench.report._critical import critical_difference
from dln_bench.report._page import Block, Bullets, Page, Quote, Section, html, markdown
from dln_bench.report._pictures import decision_pictures
from dln_bench.report._sizes import size_figure, size_table, sizes
from dln_bench.report._statistics import ALPHA, Verdict, judge
from dln_bench.report._tables import metric_table

TITLE: Final = "The paper's evaluation, ours beside the paper's"

Say = Callable[[str], None]


class NoResultsError(ValueError):
    """There is nothing to report on.

    >>> raise NoResultsError("there are no results in 'results': dln-bench run --out results makes some")
    Traceback (most recent call last):
    dln_bench.report._report.NoResultsError: there are no results in 'results': dln-bench run --out results makes some
    """


@dataclass(frozen=True, slots=True)
class Report:
    """What was written, and the sentences that sum it up."""

    html: Path
    markdown: Path
    units: int
    summary: tuple[str, ...]


def report(
    results_paths: Iterable[AnyPath],
    out: AnyPath,
    *,
    trials: int | None = None,
    pictures: bool = True,
    say: Say | None = None,
) -> Report:
    """Write report.md, report.html, figures/ and tables/ into the folder `out`, and return what was written.

    Parameters
    ----------
    results_paths : iterable of paths
        Result files, or folders that hold a ``results.jsonl``; of equal units the last one counts.
    out : path
        The folder, which is made if it is not there. Older reports in it are replaced.
    trials : int, optional
        The budget of the main tables. Default: the one that the most models and datasets were run with.
    pictures : bool, default=True
        Whether models of insurance, estate and yacht are fitted anew and drawn.
    say : callable, optional
        Called with a sentence before anything that takes long.

    """
    places = [Path(path) for path in results_paths]
    results = read_results(places)
    if not results:
        named = ", ".join(repr(str(place)) for place in places) or "no place"
        message = f"there are no results in {named}: dln-bench run --out FOLDER makes some"
        raise NoResultsError(message)
    budgets = sorted({one.trials for one in results})
    if trials is not None and trials not in budgets:
        message = f"there are no results with {trials} trials: there are {', '.join(map(str, budgets))}"
        raise NoResultsError(message)
    page, summary = build(results, written=_last_written(places), trials=trials, pictures=pictures, say=say)
    folder = Path(out)
    for inner in (folder / "figures", folder / "tables"):
        inner.mkdir(parents=True, exist_ok=True)
    for figure in page.figures():
        write_atomically(folder / "figures" / f"{figure.name}.svg", figure.svg.encode())
    for table in page.tables():
        for name, records in table.files.items():
            write_atomically(folder / "tables" / f"{name}.csv", pd.DataFrame(records).to_csv(index=False).encode())
    write_atomically(folder / "report.md", markdown(page).encode())
    write_atomically(folder / "report.html", html(page).encode())
    return Report(folder / "report.html", folder / "report.md", len(results), summary)


def build(
    results: Sequence[Result],
    *,
    written: datetime | None = None,
    trials: int | None = None,
    pictures: bool = True,
    say: Say | None = None,
) -> tuple[Page, tuple[str, ...]]:
    """Return the page of some results, and the sentences that sum it up."""
    chosen = main_budget(results) if trials is None else trials
    comparison = compare(results, chosen)
    verdict = judge({title(model): values for model, values in comparison.blocks("r2").items()})
    reproduced = _against.reproduction(results)
    pooled = _against.reproduction(results, "dln-paper-3")
    summary = list(reproduced.sentences[:1]) if reproduced else []
    if comparison.common and len(comparison.compared) > 1:
        summary.append(_leader(comparison))
    sections = [
        Section("What there is", tuple(_what_there_is(results, comparison))),
        Section("Accuracy and cost", tuple(_accuracy(comparison))),
        Section("Accuracy and size", tuple(_size(results, comparison))),
        Section("R²", (metric_table(comparison, "r2"),)) if comparison.models else None,
        Section("RMSE", (metric_table(comparison, "rmse"),)) if comparison.models else None,
        Section("MAE", (metric_table(comparison, "mae"),)) if comparison.models else None,
        Section("Operations", (metric_table(comparison, "ops"),)) if comparison.models else None,
        Section("Significance", tuple(_significance(verdict))),
        Section("The paper's DLN", (*reproduced.sentences, reproduced.table)) if reproduced else None,
        Section("Three networks of the paper's", (*pooled.sentences, pooled.table)) if pooled else None,
        Section("The paper's models", tuple(_models(comparison))),
        Section("Budgets", (*_drawn([lambda: budget_figure(results)]), budget_table(results))),
        Section("Ablations", tuple(_ablation_blocks(results))),
        Section("Decision pictures", tuple(_pictures(results, say or _silent))) if pictures else None,
        Section("Time", tuple(_time(comparison))),
    ]
    lead = (_lead(results, comparison, written), Bullets(tuple(summary)) if summary else "")
    blocks = tuple(block for block in lead if block)
    return Page(TITLE, blocks, tuple(section for section in sections if section is not None)), tuple(summary)


def _lead(results: Sequence[Result], comparison: Comparison, written: datetime | None) -> str:
    models = {one.model for one in results}
    versions = ", ".join(sorted({one.version for one in results if one.version}))
    when = f"; the last was written on {written:%Y-%m-%d at %H:%M} UTC" if written else ""
    return (
        f"{plural(len(results), 'unit')} of work ({plural(len(models), 'model')}, "
        f"{plural(len({one.dataset for one in results}), 'dataset')}, "
        f"{_account.seeds_text(one.seed for one in results)}), run by dln {versions}{when}. The main tables are of the "
        f"units with {plural(comparison.trials, 'trial')}; the paper's are of {_paper.TABLE_TRIALS} trials "
        f"and {_paper.SEEDS} seeds."
    )


def _leader(comparison: Comparison) -> str:
    averages = {model: sum(values) / len(values) for model, values in comparison.blocks("r2").items()}
    best = sorted(averages, key=lambda model: -averages[model])[:3]
    number = f"all {len(DATASETS)}" if len(comparison.common) == len(DATASETS) else (
        f"{len(comparison.common)} of {len(DATASETS)}"
    )  # fmt: skip
    named = ", ".join(f"{title(model)} {score(averages[model])}" for model in best)
    return f"Highest mean R² over {number} datasets in common, {comparison.trials} trials: {named}."


def _what_there_is(results: Sequence[Result], comparison: Comparison) -> Iterator[Block]:
    yield _account.inventory(results)
    if gaps := _account.missing(comparison, results):
        yield "What is missing:"
        yield Bullets(tuple(gaps))
    cut = _account.cuts(results)
    yield cut if cut is not None else "No budget was cut."
    if common := what_is_common(comparison):
        yield "What is compared:"
        yield Bullets(tuple(common))


def _accuracy(comparison: Comparison) -> Iterator[Block]:
    draw: tuple[Callable[[Comparison], _figures.Figure | None], ...] = (
        _figures.pareto,
        _figures.boxes,
        _figures.correlations,
    )
    yield from _drawn([partial(each, comparison) for each in draw])
    if not comparison.common:
        yield "There is nothing in common to draw."
    elif len(comparison.common) < 3 or len(comparison.compared) < 2:  # noqa: PLR2004 (as the figure needs)
        yield "A correlation matrix needs two models with three datasets in common."


def _size(results: Sequence[Result], comparison: Comparison) -> Iterator[Block]:
    found = sizes(results, comparison.trials)
    if not found:
        yield "There is no result that tells its conditions."
        return
    yield from _drawn([lambda: size_figure(found)])
    yield size_table(found)


def _significance(verdict: Verdict) -> Iterator[Block]:
    yield (
        f"A block of the test is a dataset, its value the mean R² over the seeds in common: "
        f"{plural(verdict.models, 'model')}, {plural(verdict.datasets, 'dataset')}."
    )
    if verdict.problem is not None:
        yield f"{verdict.problem[:1].upper()}{verdict.problem[1:]}."
        return
    yield from _drawn([lambda: critical_difference(verdict)])
    if verdict.critical is None:
        yield "A critical difference of ranks is known for three models and more."
    if verdict.ranks_p is not None:
        differ = "differ" if verdict.ranks_p < ALPHA else "do not differ"
        yield f"Friedman's test of the ranks: p {_p(verdict.ranks_p)}; at α = {ALPHA:g} the models {differ}."
    yield f"Of its own accord autorank chooses {verdict.test}, and says:"
    yield Quote(verdict.text)
    if verdict.warnings:
        yield Bullets(tuple(f"It warns: {text}" for text in verdict.warnings))


def _models(comparison: Comparison) -> Iterator[Block]:
    table = _against.baselines(comparison)
    if not table.rows:
        yield f"There are no results of the paper's models at {comparison.trials} trials."
        return
    yield table
    models = _against.differing(comparison)
    if not models:
        yield f"No mean differs from the paper's by more than {_against.SAME:g}."
        return
    yield _against.difference_table(comparison, models)
    if known := _against.reasons(comparison, models):
        yield "What is known of the differences:"
        yield Bullets(tuple(known))


def _ablation_blocks(results: Sequence[Result]) -> Iterator[Block]:
    found = _ablations.effects(results)
    if not found:
        yield "There is no ablation with a result of the original on the same dataset, seed and number of trials."
        return
    if signs := _ablations.signs(found):
        yield Bullets(tuple(signs))
    yield _ablations.ablation_table(found)


def _pictures(results: Sequence[Result], say: Say) -> Iterator[Block]:
    figures, sentences = decision_pictures(results, say)
    yield from figures
    if sentences:
        yield Bullets(tuple(sentences))


def _time(comparison: Comparison) -> Iterator[Block]:
    yield from _drawn([lambda: _figures.seconds(comparison)])


def _drawn(draw: Sequence[Callable[[], _figures.Figure | None]]) -> Iterator[Block]:
    """Give the figures that there is something to draw for."""
    for each in draw:
        figure = each()
        if figure is not None:
            yield figure


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {score(value)}"  # noqa: PLR2004 (three decimals)


def _last_written(places: Sequence[Path]) -> datetime | None:
    files = [place / RESULTS if place.is_dir() else place for place in places]
    times = [file.stat().st_mtime for file in files if file.is_file()]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def _silent(_: str) -> None:
    """Say nothing."""
