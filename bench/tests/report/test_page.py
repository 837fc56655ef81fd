"""The page loads nothing, holds the tables in full, and shows names as they are."""

import csv
import re
import statistics

import pytest

from bench_results import as_in_the_paper, unit, whole, write
from dln_bench._names import DATASETS
from dln_bench.report import _account, _page
from dln_bench.report import _report as reports
from dln_bench.report._cells import Cell, Table


def test_html_is_one_page_that_loads_nothing():
    """The HTML page has its figures inside and names no other resource."""
    page = _page.html(whole())
    assert page.count('src="data:image/svg+xml;base64,') == 5
    assert not re.search(r'(?:src|href)="(?!data:image/svg|#)', page)
    assert "<script" not in page
    assert "@import" not in page
    assert "url(" not in page


def test_report_writes_markdown_figures_and_tables(tmp_path):
    """Markdown links figures that are there, and the CSV files hold the tables' numbers in full."""
    results = as_in_the_paper(("linear", "dln-paper", "dln"))
    written = reports.report([write(tmp_path, results)], tmp_path / "out", pictures=False)
    for name in re.findall(r"\]\(([^)]+\.svg)\)", written.markdown.read_text(encoding="utf-8")):
        assert (tmp_path / "out" / name).is_file()
    with (tmp_path / "out" / "tables" / "r2.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(DATASETS) * 3
    mine = [one.r2 for one in results if (one.dataset, one.model) == ("yacht", "dln")]
    row = next(row for row in rows if (row["dataset"], row["model"]) == ("yacht", "dln"))
    assert float(row["mean_r2"]) == pytest.approx(statistics.fmean(mine))
    assert row["paper"] == ""
    names = {file.stem for file in (tmp_path / "out" / "tables").iterdir()}
    assert {"r2", "rmse", "mae", "ops", "budgets", "dln_against_paper", "models_against_paper"} <= names


def test_markdown_tables_have_as_many_cells_as_columns():
    """No row of a Markdown table is longer or shorter than its head, whatever the cells say."""
    page, _ = reports.build([*as_in_the_paper(("linear", "dln")), unit("a|b", "m|*n*", r2=0.1)], pictures=False)
    width = None
    for line in _page.markdown(page).splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        assert cells is None or width is None or cells == width
        width = cells


def test_names_are_shown_as_they_are():
    """A model or dataset with a hostile name is text in the page, not markup."""
    page, _ = reports.build([unit("<b>x</b>", "<script>alert(1)</script>")], pictures=False)
    assert "<script>" not in _page.html(page)
    assert "&lt;script&gt;" in _page.html(page)
    assert "<script>" not in _page.markdown(page)


def test_cells_stand_in_the_page_with_what_is_below_them():
    """Bold, a mark and smaller lines of a cell are in both forms of the page."""
    table = Table("T", ("a", "b"), ((Cell("x"), Cell("1", ("paper 2",), best=True, marked=True)),))
    page = _page.Page("P", (table,), ())
    assert "| x | **1** ◆<br>paper 2 |" in _page.markdown(page)
    assert "<td class='best marked'>1 ◆<small>paper 2</small></td>" in _page.html(page)


def test_equal_cuts_are_told_once():
    """Cuts that differ only in the rows of their datasets are one line."""
    results = [
        unit(name, model, cut=f"search on 1000 of {rows} rows")
        for name, rows in (("bike", 13032), ("wine", 3988))
        for model in ("svr", "mlp")
    ]
    table = _account.cuts(results)
    assert table is not None
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["search on 1000 of 3,988 to 13,032 rows", "SVR, MLP", "bike, wine", "4"]
    ]
    assert _account.cuts([unit()]) is None
