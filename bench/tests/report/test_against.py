"""Results stand beside the paper's numbers, which are the paper's own, and what differs is named."""

import statistics
from dataclasses import replace

import pytest

from bench_results import TEN, as_in_the_paper, built, text, unit
from dln_bench._names import ABLATIONS, DATASETS, MODELS
from dln_bench.report import _against, _common, _paper, _tables
from dln_bench.report import _report as reports
from dln_bench.report._budgets import budget_figure, budget_table
from dln_bench.report._cells import Cell


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


def test_operations_stand_beside_the_papers_and_several_networks_have_a_table_of_their_own():
    """Geometric means of operations are told against the paper's, of one network and of three."""
    results = [
        unit(name, model, 0, 128, 0.9, ops=round(share * _paper.table("ops")[name, "dln-paper"].mean))
        for name in DATASETS
        for model, share in (("dln-paper", 0.5), ("dln-paper-3", 2.0))
    ]
    one, three = (_against.reproduction(results, model) for model in ("dln-paper", "dln-paper-3"))
    assert any("geometric mean: 14.9K, the paper's 29.8K: ×0.5" in sentence for sentence in one.sentences)
    assert any("geometric mean: 59.6K, the paper's 29.8K: +100\u202f%" in sentence for sentence in three.sentences)
    assert [cell.text for cell in three.table.rows[0][:4]] == ["abalone", "1", "82.4K", "41.2K"]
    assert "Three networks of the paper's" in built(results)


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


def test_models_with_fewer_datasets_are_named_and_not_drawn_beside_the_others():
    """A mean over four easy datasets would stand above all means over fifteen."""
    whole = [one for trials in (16, 32) for one in as_in_the_paper(("tree",), trials=trials)]
    part = [unit(name, "svr", 0, trials, 0.99) for name in DATASETS[:4] for trials in (16, 32)]
    figure = budget_figure([*whole, *part])
    assert "over 15 datasets" in figure.caption
    assert figure.caption.endswith("fewer datasets: SVR.")
    assert "Decision tree" in figure.svg
    assert "SVR" not in figure.svg
