"""The report of benchmark results: its numbers, its page, and what it says where something is missing."""

import csv
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from bench_command import run
from dln_bench._names import ABLATIONS, DATASETS, MODELS
from dln_bench._results import Result
from dln_bench.report import (
    _ablations,
    _account,
    _against,
    _common,
    _figures,
    _page,
    _paper,
    _sizes,
    _statistics,
    _tables,
)
from dln_bench.report import _report as reports
from dln_bench.report._budgets import budget_table
from dln_bench.report._cells import Cell, Table

TEN = tuple(_paper.MODELS.values())


def unit(dataset="yacht", model="dln-paper", seed=0, trials=16, r2=0.9, **changes) -> Result:
    """Return a result, made up."""
    fields = {
        "folds": 4,
        "search_rows": 100,
        "train_rows": 231,
        "params": {},
        "cv_mse": 1.0,
        "rmse": 2.0,
        "mae": 1.0,
        "ops": 1000,
        "select_ops": None,
        "rules": None,
        "literals": None,
        "search_seconds": 3.0,
        "fit_seconds": 1.0,
        "cut": None,
        "version": "0.1.0",
    }
    return Result(dataset=dataset, model=model, seed=seed, trials=trials, r2=r2, **{**fields, **changes})


def as_in_the_paper(models: Sequence[str] = tuple(MODELS), seeds: int = 3, trials: int = 16) -> list[Result]:
    """Return results that scatter around the paper's, without any randomness."""
    found = []
    for d, dataset in enumerate(DATASETS):
        for m, model in enumerate(models):
            like = model if model in TEN else "dln-paper"
            stated = {metric: _paper.table(metric)[dataset, like].mean for metric in ("r2", "rmse", "mae", "ops")}
            for seed in range(seeds):
                wave = math.sin(1 + d * 7 + m * 3 + seed * 5)
                found.append(
                    unit(
                        dataset, model, seed, trials, stated["r2"] + 0.004 * wave,
                        rmse=stated["rmse"] * (1 + 0.02 * wave),
                        mae=stated["mae"] * (1 - 0.02 * wave), ops=round(stated["ops"] * (1 + 0.05 * wave)),
                        search_seconds=10.0 + m * 3 + wave,
                    )
                )  # fmt: skip
    return found


def write(folder: Path, results: Sequence[Result]) -> Path:
    """Write a result file and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in results)
    (folder / "results.jsonl").write_bytes(lines)
    return folder


def text(page: _page.Page) -> str:
    """Return all that a page says, without Markdown's escapes."""
    return re.sub(r"\\([`*_|\[\]\\])", r"\1", _page.markdown(page))


def built(results: Sequence[Result], **options) -> str:
    """Return the page of some results as text, without pictures of fitted models."""
    return text(reports.build(results, pictures=False, **options)[0])


@cache
def whole() -> _page.Page:
    """Return the page of all models on all datasets, made once."""
    return reports.build(as_in_the_paper(), pictures=False)[0]


# --- the paper's numbers ----------------------------------------------------------------------------------------------


def test_paper_means_are_the_papers_own():
    """The numbers that ship give the last rows of the paper's tables."""
    means = {model: statistics.fmean(_paper.table("r2")[name, model].mean for name in DATASETS) for model in TEN}
    assert [round(value, 3) for value in means.values()] == [
        0.614, 0.615, 0.615, 0.727, 0.777, 0.725, 0.815, 0.781, 0.808, 0.810,
    ]  # fmt: skip
    assert _tables.paper_average("rmse", "dln-paper", DATASETS) == pytest.approx(5.35, abs=0.01)
    assert _tables.paper_average("mae", "mlp", DATASETS) == pytest.approx(3.58, abs=0.01)
    assert _tables.paper_average("ops", "dln-paper", DATASETS) == pytest.approx(29_800, rel=0.005)
    original = statistics.fmean(_paper.ablations()[name, "dln-paper"].mean for name in DATASETS)
    assert round(original, 3) == _paper.budgets()["dln-paper", 32] == 0.802


def test_paper_tables_are_whole():
    """Every table of the paper has all datasets and models, under names that the benchmark has."""
    for metric in ("r2", "rmse", "mae", "ops"):
        assert set(_paper.table(metric)) == {(dataset, model) for dataset in DATASETS for model in TEN}
    variants = {variant for _, variant in _paper.ablations()}
    assert variants <= {"dln-paper", *ABLATIONS}
    assert set(TEN) <= set(MODELS)


# --- means, ranks and what they are over ------------------------------------------------------------------------------

scores = st.floats(-1, 1, allow_nan=False).map(lambda value: round(value, 6))
some_units = st.dictionaries(
    st.tuples(
        st.sampled_from([*DATASETS[:4], "elsewhere"]),
        st.sampled_from(["linear", "forest", "dln", "mine"]),
        st.integers(0, 2),
        st.sampled_from([8, 16]),
    ),
    st.tuples(scores, st.floats(0.01, 1e5), st.integers(0, 10**9)),
    min_size=1,
    max_size=40,
)


@given(some_units)
def test_table_numbers_equal_a_plain_recomputation(values):
    """Means, deviations, averages and ranks in the tables are what a few plain lines compute from the same units."""
    results = [unit(*key, r2=r2, rmse=rmse, mae=rmse / 2, ops=ops) for key, (r2, rmse, ops) in values.items()]
    trials = _common.main_budget(results)
    comparison = _common.compare(results, trials)
    for metric in ("r2", "rmse", "mae", "ops"):
        plain: dict[tuple[str, str], list[float]] = {}
        for one in results:
            if one.trials == trials:
                plain.setdefault((one.dataset, one.model), []).append(getattr(one, metric))
        table = _tables.metric_table(comparison, metric)
        records = {(row["dataset"], row["model"]): row for row in table.files[metric]}
        assert set(records) == set(plain)
        for key, numbers in plain.items():
            assert records[key][f"mean_{metric}"] == pytest.approx(np.mean(numbers))
            deviation = np.std(numbers, ddof=1) if len(numbers) > 1 else None
            assert records[key][f"std_{metric}"] == (
                None if deviation is None else pytest.approx(deviation, rel=1e-6, abs=1e-9)
            )
            assert records[key]["seeds"] == len(numbers)
        for row in table.files[f"{metric}_averages"]:
            own = [
                np.mean(numbers)
                for (name, model), numbers in plain.items()
                if model == row["model"] and name in DATASETS
            ]
            assert row["own_datasets"] == len(own)
            assert row["own"] == (pytest.approx(_average(metric, own)) if own else None)


@given(some_units)
def test_common_numbers_are_over_common_units_only(values):
    """What is compared is over the datasets and seeds that every model compared has, and over nothing else."""
    results = [unit(*key, r2=r2) for key, (r2, *_) in values.items()]
    comparison = _common.compare(results, _common.main_budget(results))
    have = {
        model: {(name, seed) for name, other, seed in comparison.results if other == model and name in DATASETS}
        for model in comparison.compared
    }
    shared = set.intersection(*have.values()) if have else set()
    assert {(name, seed) for name, seeds in comparison.common.items() for seed in seeds} == shared
    if len(comparison.compared) > 1 and shared:
        blocks = {
            model: [
                np.mean([comparison.results[name, model, seed].r2 for name_, seed in sorted(shared) if name_ == name])
                for name in comparison.common
            ]
            for model in comparison.compared
        }
        rows = {row["model"]: row for row in _tables.metric_table(comparison, "r2").files["r2_averages"]}
        for model, block in blocks.items():
            assert rows[model]["common"] == pytest.approx(np.mean(block), abs=1e-12)
        total = sum(row["average_rank"] or 0 for row in rows.values())
        assert total == pytest.approx(len(blocks) * (len(blocks) + 1) / 2)


def _average(metric, values):
    if metric == "r2":
        return np.mean(values)
    return math.exp(np.mean([math.log(max(value, 1.0) if metric == "ops" else value) for value in values]))


@given(st.lists(st.lists(scores, min_size=4, max_size=4), min_size=2, max_size=6))
def test_ranks_count_the_better_models(blocks):
    """A rank is one plus the models that are better, equals counting half."""
    named = {str(i): values for i, values in enumerate(blocks)}
    ranks = _statistics.average_ranks(named, higher=True)
    for name, mine in named.items():
        plain = [
            1
            + sum(other[i] > mine[i] for other in named.values())
            + (sum(other[i] == mine[i] for other in named.values()) - 1) / 2
            for i in range(4)
        ]
        assert ranks[name] == pytest.approx(statistics.fmean(plain))


def test_missing_dataset_never_changes_a_mean_silently():
    """A model that lacks a dataset has its mean marked, and the common mean of all leaves that dataset out."""
    results = [one for one in as_in_the_paper(("linear", "dln")) if (one.dataset, one.model) != ("wine", "dln")]
    comparison = _common.compare(results, 16)
    rows = {row["model"]: row for row in _tables.metric_table(comparison, "r2").files["r2_averages"]}
    assert rows["dln"]["own_datasets"] == 14
    assert rows["linear"]["own_datasets"] == 15
    assert rows["linear"]["common_datasets"] == rows["dln"]["common_datasets"] == 14
    assert rows["linear"]["paper_on_common"] == _tables.paper_average(
        "r2", "linear", [name for name in DATASETS if name != "wine"]
    )
    page = built(results)
    assert "14 of 15 datasets" in page
    assert "mean, each model's own datasets" in page
    assert "mean of 14 in common" in page
    assert "not wine" in page
    assert "DLN (ours): 3 of 45 units at 16 trials are missing: wine" in page


def test_model_that_has_just_begun_leaves_the_others_their_comparison():
    """A model with few datasets is shown, and the page says that it takes no part in comparisons."""
    results = [*as_in_the_paper(("linear", "forest", "dln")), unit("yacht", "ebm")]
    comparison = _common.compare(results, 16)
    assert comparison.compared == ("linear", "forest", "dln")
    assert tuple(comparison.common) == DATASETS
    assert "fewer than half of the datasets that the fullest model has: EBM (1)" in built(results)


def test_main_tables_are_of_the_budget_with_the_most_models():
    """More units of one model at another budget do not take over the main tables, and can be asked for."""
    results = [*as_in_the_paper(("linear", "dln")), *as_in_the_paper(("dln-paper",), seeds=9, trials=32)]
    assert _common.main_budget(results) == 16
    assert "R², 16 trials" in built(results)
    assert "R², 32 trials" in built(results, trials=32)


def test_best_of_a_row_is_bold_where_it_is_the_best():
    """Bold is the highest R², and the lowest error and cost."""
    results = [unit("yacht", "linear", r2=0.5, ops=10), unit("yacht", "forest", r2=0.9, ops=20)]
    comparison = _common.compare(results, 16)
    assert [cell.best for cell in _tables.metric_table(comparison, "r2").rows[0]] == [False, False, True]
    assert [cell.best for cell in _tables.metric_table(comparison, "ops").rows[0]] == [False, True, False]


# --- against the paper ------------------------------------------------------------------------------------------------


def test_paper_dln_is_held_against_the_papers_32_trials():
    """The paper's DLN at 32 trials stands beside the paper's, and what is beyond its deviation is marked."""
    results = [
        unit(name, "dln-paper", seed, 32, _paper.ablations()[name, "dln-paper"].mean + (0.1 if name == "bike" else 0))
        for name in DATASETS
        for seed in range(2)
    ]
    found = _against.reproduction([*results, *as_in_the_paper()])
    assert found is not None
    assert (
        "over all 15 datasets at 32 trials: 0.808, the paper's at 32 trials on the same datasets 0.802"
        in (found.sentences[0])
    )
    assert "within 0.01" in found.sentences[0]
    assert [row[0].text for row in found.table.rows if row[-1].marked] == ["bike"]


def test_paper_dln_without_32_trials_says_that_budgets_differ():
    """Where there are no units at 32 trials, the page says which budget stands there instead."""
    found = _against.reproduction(as_in_the_paper())
    assert found is not None
    assert "no results of the paper's DLN at 32 trials yet: those at 16 trials" in " ".join(found.sentences)


def test_models_that_differ_are_listed_dataset_by_dataset_with_reasons():
    """A mean more than 0.01 from the paper's brings a table of all datasets and what is known of the reason."""
    results = [
        replace(one, r2=one.r2 + 0.05, cut="search on 4000 of 7500 rows") if one.model == "forest" else one
        for one in as_in_the_paper(("linear", "forest"))
    ]
    comparison = _common.compare(results, 16)
    assert _against.differing(comparison) == ("forest",)
    page = built(results)
    assert "The paper's random forest looks restrained" in page
    assert "Its budget was cut in 45 units" in page
    table = _against.difference_table(comparison, ("forest",))
    assert [row[0].text for row in table.rows] == list(DATASETS)


def test_budgets_stand_beside_the_papers():
    """The table of budgets has the paper's budgets and ours, and compares ours on the units that have both."""
    results = [*as_in_the_paper(("dln-paper",)), *as_in_the_paper(("dln-paper",), seeds=5, trials=32)]
    results = [replace(one, r2=one.r2 + 0.02) if one.trials == 32 else one for one in results]
    table = budget_table(results)
    assert table.head == ("model", "16 trials", "32 trials", "64 trials", "128 trials", "more trials, same units")
    row = next(row for row in table.rows if row[0].text == MODELS["dln-paper"])
    assert row[2].below[0].startswith("paper 0.802, ")
    assert row[-1] == Cell("+0.020", ("16 → 32", "15 datasets, 45 units"))


def test_ablations_are_paired_with_the_original_of_the_same_unit():
    """A variant is held against the original on the same dataset, seed and trials only."""
    original = [unit("yacht", "dln-paper", seed, 8, 0.5 + 0.1 * seed) for seed in range(3)]
    variants = [unit("yacht", "no-schedule", seed, 8, 0.45 + 0.1 * seed) for seed in range(4)]
    others = [unit("yacht", "dln-paper", seed, 16, 0.99) for seed in range(4)]
    (effect,) = _ablations.effects([*original, *variants, *others])
    assert effect.trials == 8
    assert effect.by_dataset["yacht"].n == 3
    assert effect.by_dataset["yacht"].mean == pytest.approx(-0.05)
    assert effect.by_dataset["yacht"].std == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("variant", "difference", "said"),
    [
        ("no-schedule", -0.03, "the paper's sign appears"),
        ("no-schedule", 0.03, "the paper's sign does not appear"),
        ("subspace-16", 0.005, "about equal here too"),
        ("subspace-16", -0.05, "here it is worse, by more than 0.01"),
        ("subspace-4", -0.004, "the paper's sign appears"),
        ("no-concatenation", -0.02, "the paper's sign appears"),
        ("no-refit", 0.02, "The paper does not have it"),
    ],
)
def test_signs_of_ablations_are_told(variant, difference, said):
    """For each variant of the paper a sentence says whether its sign appears."""
    results = []
    for dataset in DATASETS:
        results.append(unit(dataset, "dln-paper", 0, 8, 0.8))
        results.append(unit(dataset, variant, 0, 8, 0.8 + difference))
    (sentence,) = _ablations.signs(_ablations.effects(results))
    assert said in sentence


# --- significance -----------------------------------------------------------------------------------------------------


def test_few_datasets_are_said_to_be_too_few():
    """With fewer than five datasets in common the page says so instead of testing."""
    results = [one for one in as_in_the_paper(("linear", "dln")) if one.dataset in DATASETS[:4]]
    assert "4 datasets in common are too few for a significance test" in built(results)


def test_autorank_is_asked_and_quoted():
    """With enough datasets autorank's own account stands in the page, with a critical difference."""
    page = whole()
    assert "The statistical analysis was conducted for 16 populations with 15 paired samples." in text(page)
    assert "critical-difference" in {figure.name for figure in page.figures()}


def test_two_models_are_tested_as_a_pair():
    """Two models have a test, but no critical difference, and the page says so."""
    assert "known for three models and more" in built(as_in_the_paper(("linear", "dln")))


def test_equal_models_are_not_tested():
    """Models with the same R² everywhere get a sentence."""
    results = [unit(name, model, r2=0.5) for name in DATASETS for model in ("linear", "ridge", "lasso")]
    assert "the same R² on every dataset: there is nothing to test" in built(results)


def test_a_failing_autorank_is_told(monkeypatch):
    """Whatever autorank stumbles over is a sentence in the page, and the rest is there."""
    import autorank

    def fail(*_args, **_options):
        message = "no luck"
        raise RuntimeError(message)

    monkeypatch.setattr(autorank, "autorank", fail)
    page = built(as_in_the_paper(("linear", "forest", "dln")))
    assert "Autorank could not test these results: RuntimeError: no luck." in page
    assert "R², 16 trials" in page


# --- budgets and sizes ------------------------------------------------------------------------------------------------


def test_every_budget_of_the_paper_is_told():
    """With 32, 64 and 128 trials on all datasets, the means of all three stand beside the paper's, with a curve."""
    results = [
        replace(one, trials=trials, r2=one.r2 + shift)
        for trials, shift in ((32, 0.0), (64, 0.001), (128, 0.002))
        for one in as_in_the_paper(("dln-paper",))
    ]
    page, _ = reports.build(results, pictures=False)
    said = text(page)
    assert "at 128 trials" in said
    assert "At 32 trials: 0.811, the paper's 0.802: +0.009." in said
    assert "At 64 trials: 0.812, the paper's 0.809: +0.003." in said
    assert "No dataset is more than 0.02 below." in said
    assert "budgets" in {figure.name for figure in page.figures()}


def test_datasets_far_below_the_paper_are_named():
    """A dataset that is more than 0.02 below the paper's is named."""
    results = [
        replace(one, trials=128, r2=one.r2 - 0.1 * (one.dataset == "mpg")) for one in as_in_the_paper(("dln-paper",))
    ]
    assert "More than 0.02 below the paper: mpg." in built(results)


def test_models_stand_at_their_sizes():
    """R² against conditions has every model, those without conditions too, on the datasets that all of them have."""
    counts = {"dln": 90, "figs-100": 100, "cart-20": 20, "cart-50": 50, "svr": None}
    results = [
        replace(one, conditions=counts[one.model], trials=16 if one.model == "svr" else 0)
        for one in as_in_the_paper(tuple(counts))
        if (one.dataset, one.model) != ("wine", "dln")
    ]
    found = _sizes.sizes(results, 16)
    assert {one.model: one.conditions for one in found} == counts
    assert {one.datasets for one in found} == {14}
    assert ET.fromstring(_sizes.size_figure(found).svg).tag.endswith("svg")  # noqa: S314 (made here)
    table = _sizes.size_table(found)
    assert [row[1].text for row in table.rows] == ["20", "50", "90", "100", "–"]


def test_results_without_sizes_say_so():
    """Where no result tells its conditions, a sentence stands instead of the figure."""
    assert "There is no result that tells its conditions." in built(as_in_the_paper(("linear", "svr")))


def test_the_plain_table_is_over_common_splits(tmp_path):
    """The command prints R² by dataset over the splits that all models have, and what each takes."""
    results = [
        unit("yacht", "dln", 0, 0, 0.9, conditions=80, fit_seconds=2.0),
        unit("yacht", "dln", 1, 0, 0.7, conditions=60, fit_seconds=4.0),
        unit("yacht", "svr", 0, 8, 0.5),
        unit("yacht", "svr", 0, 16, 0.6),
    ]
    folder = write(tmp_path, results)
    said = run("table", str(folder)).stdout
    assert "| yacht (1) | 0.600 | 0.900 |" in said
    assert "dln: conditions mean 80; " in said
    assert "| yacht (1) | 0.500 | 0.900 |" in run("table", str(folder), "--trials", "8").stdout
    assert "| yacht (2) | 0.800 |" in run("table", str(folder), "--models", "dln").stdout
    failed = run("table", str(folder), "--models", "ebm")
    assert failed.exit_code == 2
    assert failed.stderr == "dln-bench: there are no results of these models: dln-bench list names them\n"


# --- figures ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12))
def test_frontier_is_what_nothing_beats(points):
    """A point is on the frontier if no other is at least as cheap and as accurate, and better in one of both."""
    beaten = {
        (cost, accuracy)
        for cost, accuracy in points
        for other_cost, other in points
        if other_cost <= cost and other >= accuracy and (other_cost, other) != (cost, accuracy)
    }
    assert _figures.frontier(points) == sorted(set(points) - beaten)


def test_models_have_colours_of_their_own():
    """No two models share a colour or a marker, so that names, colours and shapes agree in every figure."""
    assert set(_figures.COLORS) == set(_figures.MARKERS) == set(MODELS)
    assert len(set(_figures.COLORS.values())) == len(set(_figures.MARKERS.values())) == len(MODELS)


def test_figures_are_the_same_for_the_same_results():
    """The same results give the same bytes of every figure, and every one is well-formed SVG."""
    again = reports.build(as_in_the_paper(), pictures=False)[0]
    assert list(again.figures()) == list(whole().figures())
    assert [figure.name for figure in again.figures()] == [
        "pareto",
        "boxes",
        "correlations",
        "critical-difference",
        "seconds",
    ]
    for figure in again.figures():
        assert ET.fromstring(figure.svg).tag.endswith("svg")  # noqa: S314 (made here)


def test_labels_of_the_pareto_plot_do_not_cover_each_other():
    """Labels stay apart, also where points lie close together."""
    points = {f"model {i}": (10.0 ** (3 + i % 3 * 0.01), 0.8 + i // 3 * 0.0005) for i in range(9)}
    with _figures.canvas(9, 5.6) as figure:
        ax = figure.subplots()
        ax.set_xscale("log")
        ax.set_xlim(1e2, 1e6)
        ax.set_ylim(0.5, 1.0)
        _figures.label(figure, ax, points)
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        # Of the text alone: an annotation counts its line too.
        boxes = [Text.get_window_extent(label, renderer) for label in ax.texts if label.get_text()]
    assert len(boxes) == 9
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


# --- the page ---------------------------------------------------------------------------------------------------------


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


# --- results that are not as one wishes -------------------------------------------------------------------------------

ODD = {
    "one unit": [unit()],
    "one unit of an ablation": [unit(model="no-schedule")],
    "only ablations and the original": [unit(model="two-phases", trials=8), unit(trials=8)],
    "unknown names": [unit("elsewhere", "mine"), unit("elsewhere", "dln")],
    "nothing in common": [unit("yacht", "linear"), unit("wine", "dln")],
    "seeds that differ": [unit("yacht", "linear", 0), unit("yacht", "dln", 1)],
    "a very bad model": [unit("yacht", "linear", r2=-1e9), unit("yacht", "dln"), unit("wine", "dln")],
    "no operations and no time": [unit(model="lasso", ops=0, search_seconds=0.0, fit_seconds=0.0)],
    "no error": [unit(model="tree", rmse=0.0, mae=0.0), unit(model="dln", rmse=0.0, mae=0.0)],
    "constant": [unit(name, model, r2=0.5) for name in DATASETS[:6] for model in ("linear", "dln", "ebm")],
    "no search": [unit(model="dln", trials=0, cv_mse=None, cut="no search, the defaults")],
}


@pytest.mark.parametrize("results", ODD.values(), ids=ODD)
def test_odd_results_give_a_sensible_page(results, tmp_path):
    """Whatever is in a result file, a page comes out that says how much there is."""
    written = reports.report([write(tmp_path, results)], tmp_path / "out", pictures=False)
    page = written.markdown.read_text(encoding="utf-8")
    assert f"{len(results)} unit" in page
    assert "nan" not in page.replace("dominant", "")
    assert written.html.is_file()


def test_several_places_are_merged(tmp_path):
    """Folders and files are read together, and of equal units the last one counts."""
    first = write(tmp_path / "a", [unit("yacht", "linear", r2=0.1), unit("wine", "linear", r2=0.2)])
    second = write(tmp_path / "b", [unit("yacht", "linear", r2=0.7)]) / "results.jsonl"
    written = reports.report([first, second], tmp_path / "out", pictures=False)
    assert written.units == 2
    with (tmp_path / "out" / "tables" / "r2.csv").open(encoding="utf-8", newline="") as file:
        assert {row["dataset"]: float(row["mean_r2"]) for row in csv.DictReader(file)} == {"yacht": 0.7, "wine": 0.2}


def test_pictures_say_why_they_are_not_there(tmp_path, monkeypatch):
    """Without tables on the machine, without results of a DLN, and with foreign parameters, a sentence says so."""
    monkeypatch.setenv("DLN_DATA_HOME", str(tmp_path))
    results = [unit("yacht", "dln-paper"), unit("estate", "linear")]
    page = text(reports.build(results)[0])
    assert "yacht: no picture: there is no file" in page
    assert "estate: there is no result of a DLN to take parameters from" in page


# --- the command ------------------------------------------------------------------------------------------------------


def test_command_writes_beside_the_results(tmp_path):
    """The command reports a folder into its folder report/, and tells where."""
    folder = write(tmp_path / "results", as_in_the_paper(("linear", "dln"), seeds=1))
    result = run("report", str(folder), "--no-pictures")
    assert result.exit_code == 0, result.stderr
    assert "30 units reported in" in result.stderr
    assert "Highest mean R² over all 15 datasets in common" in result.stderr
    assert (folder / "report" / "report.html").is_file()
    assert run("report", str(folder), "--no-pictures", "-q", "-o", str(tmp_path / "x")).stderr == ""


@pytest.mark.parametrize(
    ("arguments", "content", "sentence"),
    [
        (("results",), b"", "there are no results in 'results': dln-bench run --out FOLDER makes some"),
        (("resuls",), b"", "there is no file or folder 'resuls'; did you mean 'results'?"),
        (("results",), b'{"dataset": "yacht"}\n', "results/results.jsonl, line 1: "),
        (("results",), b"\xff\xfe\x00\n", "results/results.jsonl, line 1: "),
        (("results", "--out", "results/results.jsonl"), b"", "--out must be a folder, but 'results/results.jsonl'"),
        (("results", "--trials", "5"), b"line", "there are no results with 5 trials: there are 16"),
    ],
)
def test_mistakes_get_one_sentence(arguments, content, sentence, tmp_path, monkeypatch):
    """A wrong name, an empty or damaged file, or a budget that is not there: one sentence and exit code 2."""
    monkeypatch.chdir(tmp_path)
    folder = write(tmp_path / "results", [unit()])
    if content != b"line":
        (folder / "results.jsonl").write_bytes(content)
    result = run("report", *arguments, "--no-pictures")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"dln-bench: {sentence}")
    assert result.stderr.count("\n") == 1


def test_torn_last_line_is_left_out(tmp_path):
    """A line that a killed process did not finish is not in the report, and nothing else is lost."""
    folder = write(tmp_path, [unit()])
    with (folder / "results.jsonl").open("ab") as file:
        file.write(b'{"dataset": "wi')
    assert reports.report([folder], tmp_path / "out", pictures=False).units == 1


def test_one_model_has_its_mean_with_the_number_of_datasets():
    """A single model on a few datasets has a mean, marked with how many datasets it is over."""
    results = [unit("yacht", "linear", r2=0.4), unit("wine", "linear", r2=0.2)]
    table = _tables.metric_table(_common.compare(results, 16), "r2")
    ((name, cell),) = table.summary
    assert (name.text, cell.text, cell.below[0]) == ("mean", "0.300", "2 of 15 datasets")
