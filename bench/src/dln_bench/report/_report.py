"""A report: one Markdown page with tables and figures, and the numbers behind them as one CSV file."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dln_bench._results import Result
from dln_bench.report import _figures, _tables
from dln_bench.report._claims import claim_table
from dln_bench.report._pictures import decision_pictures
from dln_bench.report._scores import Scores
from dln_bench.report._tables import Table


class NoResultsError(ValueError):
    """Results of which there is nothing to report.

    >>> raise NoResultsError("there are no results under the protocol 'paper'")
    Traceback (most recent call last):
    dln_bench.report._report.NoResultsError: there are no results under the protocol 'paper'
    """


def write_report(results: Sequence[Result], folder: Path, *, pictures: bool = True) -> Path:
    """Write a page of results, and return its path.

    Parameters
    ----------
    results : list of Result
        Those under the protocol "plain" are left out: their scores are another measure.
    folder : path
        Receives report.md, scores.csv and figures/.
    pictures : bool, default=True
        Whether to fit and draw models of insurance, estate and yacht.

    """
    scores = Scores(results)
    if not scores.results:
        message = "there are no results under the protocol 'paper': dln-bench run writes them"
        raise NoResultsError(message)
    tables = [
        _tables.dataset_table(),
        *(_tables.metric_table(scores, metric) for metric in _tables.TITLES),
        _tables.difference_table(scores),
        _tables.learner_table(scores),
        _tables.budget_table(scores),
        _tables.ablation_table(scores),
        claim_table(scores),
    ]
    drawn = (_figures.pareto, _figures.conditions, _figures.boxes, _figures.correlations)
    figures = [figure for draw in drawn if (figure := draw(scores)) is not None]
    figures += decision_pictures(scores) if pictures else []
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    lines = ["# The paper's evaluation, repeated", "", _origin(scores), ""]
    for table in tables:
        if len(table.head) > 1 and table.rows:
            lines += [*markdown(table), ""]
    for figure in figures:
        (folder / "figures" / f"{figure.name}.svg").write_text(figure.svg, encoding="utf-8")
        lines += [f"![{figure.caption}](figures/{figure.name}.svg)", "", f"*{figure.caption}*", ""]
    page = folder / "report.md"
    page.write_text("\n".join(lines), encoding="utf-8")
    _write_csv(folder / "scores.csv", _tables.tidy(scores))
    return page


def markdown(table: Table) -> list[str]:
    r"""Return the lines of a table.

    >>> print(*markdown(Table("T", ("model", "R²"), (("a|b", "0.9"),))), sep=chr(10))
    ## T
    <BLANKLINE>
    | model | R² |
    | --- | ---: |
    | a\|b | 0.9 |
    """

    def row(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    lines = [f"## {table.title}", "", row(table.head), f"| --- |{' ---: |' * (len(table.head) - 1)}"]
    lines += [row(cells) for cells in table.rows]
    for note in table.notes:
        lines += ["", note]
    return lines


def _origin(scores: Scores) -> str:
    """Return a sentence on the results behind the page."""
    units = len(scores.results)
    commits = Counter(one.commit for one in scores.results)
    machines = sorted({one.machine for one in scores.results if one.machine})
    return (
        f"{units:,} units under the paper's protocol (splits of seeds 0 to 9; features and target clipped at the "
        f"training percentiles 0.5 and 99.5, scores of the clipped target; standard deviations with ddof=1). Commits: "
        f"{', '.join(sorted(commits))}. Machines: {'; '.join(machines)}."
    )


def _write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
