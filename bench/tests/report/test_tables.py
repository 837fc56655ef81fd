"""Means and ranks are those of a plain recomputation, and say which datasets and seeds they are over."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_results import as_in_the_paper, built, unit
from dln_bench._names import DATASETS
from dln_bench.report import _common, _statistics, _tables

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


def test_one_model_has_its_mean_with_the_number_of_datasets():
    """A single model on a few datasets has a mean, marked with how many datasets it is over."""
    results = [unit("yacht", "linear", r2=0.4), unit("wine", "linear", r2=0.2)]
    table = _tables.metric_table(_common.compare(results, 16), "r2")
    ((name, cell),) = table.summary
    assert (name.text, cell.text, cell.below[0]) == ("mean", "0.300", "2 of 15 datasets")
