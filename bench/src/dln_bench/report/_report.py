"""A report: one Markdown page with tables and figures, and the same parts within the words of another page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from dln_bench._results import Result
from dln_bench.report import _figures, _tables
from dln_bench.report._cells import Table
from dln_bench.report._claims import claim_table, expectation_table
from dln_bench.report._diagrams import diagrams
from dln_bench.report._figures import Figure
from dln_bench.report._pictures import decision_pictures
from dln_bench.report._scores import Scores

#: A part of a page that is written anew.
_PART: Final = re.compile(r"<!-- (\S+) -->.*?<!-- end -->", re.DOTALL)


class NoResultsError(ValueError):
    """Results of which there is nothing to report.

    >>> raise NoResultsError("there are no results under the protocol 'paper'")
    Traceback (most recent call last):
    dln_bench.report._report.NoResultsError: there are no results under the protocol 'paper'
    """


def write_report(results: Sequence[Result], folder: Path, *, pictures: bool = True, page: Path | None = None) -> Path:
    """Write a page of results, and return its path.

    Parameters
    ----------
    results : list of Result
        Those under the protocol "plain" are left out: their scores are another measure.
    folder : path
        Receives report.md and figures/.
    pictures : bool, default=True
        Whether to fit and draw models of insurance, estate and yacht, and the diagrams of the method.
    page : path, optional
        A page with words around tables and figures, which are written anew into it, see `fill`.

    """
    scores = Scores(results)
    if not scores.results:
        message = "there are no results under the protocol 'paper': dln-bench run writes them"
        raise NoResultsError(message)
    drawn = decision_pictures(scores) if pictures else {}
    tables: dict[str, Table] = {
        "datasets": _tables.dataset_table(),
        **{metric: _tables.metric_table(scores, metric) for metric in _tables.TITLES},
        "marked": _tables.marked_table(scores),
        "learners": _tables.learner_table(scores),
        "budgets": _tables.budget_table(scores),
        "ablations": _tables.ablation_table(scores),
        "sentences": claim_table(scores, drawn),
        "expectations": expectation_table(scores),
        "coverage": _tables.coverage_table(scores),
    }
    tables = {name: one for name, one in tables.items() if len(one.head) > 1 and (one.rows or name == "marked")}
    found = [draw(scores) for draw in (_figures.pareto, _figures.boxes, _figures.correlations)]
    figures = [figure for figure in found if figure is not None]
    figures += [*(one.figure for one in drawn.values()), *(diagrams() if pictures else ())]
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    lines = ["# The paper's evaluation, repeated", "", _origin(scores), ""]
    for table in tables.values():
        lines += [f"## {table.title}", "", *markdown(table), ""]
    for figure in figures:
        (folder / "figures" / f"{figure.name}.svg").write_text(figure.svg, encoding="utf-8")
        lines += [f"![{figure.caption}](figures/{figure.name}.svg)", "", f"*{figure.caption}*", ""]
    report = folder / "report.md"
    report.write_text("\n".join(lines), encoding="utf-8")
    if page is not None:
        parts = {name: "\n".join(markdown(table)) for name, table in tables.items()}
        fill(page, parts | {"origin": _origin(scores)}, figures)
    return report


def fill(page: Path, parts: Mapping[str, str], figures: Sequence[Figure]) -> None:
    """Write parts and figures between their marks on a page, `<!-- name -->` and `<!-- end -->`.

    Pictures are written to the folder pictures/ beside the page. A part without results says so.
    """
    drawn = {figure.name: figure for figure in figures}

    def part(mark: re.Match[str]) -> str:
        name = mark[1]
        text = parts.get(name, "*No results yet.*")
        file = page.parent / "pictures" / f"{page.stem}-{name}.svg"
        file.unlink(missing_ok=True)
        if (figure := drawn.get(name)) is not None:
            file.parent.mkdir(exist_ok=True)
            file.write_text(figure.svg, encoding="utf-8")
            text = f"![{name}](pictures/{file.name})\n\n*{figure.caption}*"
        return f"<!-- {name} -->\n\n{text}\n\n<!-- end -->"

    page.write_text(_PART.sub(part, page.read_text(encoding="utf-8")), encoding="utf-8")


def markdown(table: Table) -> list[str]:
    r"""Return the lines of a table.

    >>> print(*markdown(Table("T", ("model", "R²"), (("a|b", "0.9"),))), sep=chr(10))
    | model | R² |
    | --- | ---: |
    | a\|b | 0.9 |
    """

    def row(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    lines = [row(table.head), f"| --- |{(' ---: |' if table.is_numeric else ' --- |') * (len(table.head) - 1)}"]
    lines += [row(cells) for cells in table.rows]
    for note in table.notes:
        lines += ["", note]
    return lines


def _origin(scores: Scores) -> str:
    """Return a sentence on the results behind the page."""
    units = len(scores.results)
    commits = Counter(one.commit for one in scores.results)
    machines = sorted({one.machine for one in scores.results if one.machine})
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "numba", "optuna"))
    return (
        f"{units:,} units under the paper's protocol (splits of seeds 0 to 9; features and target clipped at the "
        f"training percentiles 0.5 and 99.5, scores of the clipped target; standard deviations with ddof=1). Commits: "
        f"{', '.join(sorted(commits))}. Machines: {'; '.join(machines)}. "
        f"This page was written with {libraries}."
    )
