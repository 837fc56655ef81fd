"""One unit of work: a result records the run, and an interrupted fit gives none."""

import numpy as np
import pytest

from bench_runs import small, timeless
from dln import DLNRegressor
from dln_bench._results import read_results
from dln_bench.models._models import MODELS

pytestmark = pytest.mark.usefixtures("made")


def test_a_result_records_the_run(tmp_path):
    """Scores in the target's unit, operations, conditions, parameters, trials, protocol and origin are in the line."""
    file = tmp_path / "results.jsonl"
    assert small(file, datasets=["mpg"], models=["dln"]) == []
    (result,) = read_results([file])
    assert (result.protocol, result.trials, result.trials_run, result.folds) == ("paper", 2, 2, 4)
    assert result.conditions > 0
    assert result.multiply - result.select == (1244 - 140) * result.rules > 0
    assert result.rmse >= result.mae > 0
    assert result.r2 <= 1
    assert result.cv_mse > 0
    assert result.commit
    assert "cores" in result.machine


def test_models_that_share_a_search_differ_in_their_changes(tmp_path):
    """One storage for both; parameters of the last fit are those of the search and the model's own."""
    file = tmp_path / "results.jsonl"
    assert small(file, datasets=["mpg"], models=["dln", "dln-3"]) == []
    one, three = read_results([file])
    assert [path.name for path in (tmp_path / "results.studies").glob("*.log")] == ["mpg-dln-0.log"]
    assert one.cv_mse == three.cv_mse
    assert three.params == {**one.params, "n_networks": 3}
    assert one.r2 != three.r2


def test_without_a_search_a_model_is_fitted_as_it_is_made(tmp_path):
    """At 0 trials, and for models without a space at any budget, there is no search."""
    file = tmp_path / "results.jsonl"
    assert small(file, datasets=["mpg"], models=["linear", "ridge", "cart-20"], trials=[0]) == []
    for result in read_results([file]):
        assert (result.trials, result.trials_run, result.folds, result.params, result.cv_mse) == (0, 0, 0, {}, None)
    assert not list((tmp_path / "results.studies").glob("*.log"))


def test_a_search_ends_with_its_time_and_says_so(tmp_path):
    """No trial is begun after the seconds; the result has the number of trials that were run."""
    file = tmp_path / "results.jsonl"
    assert small(file, datasets=["mpg"], models=["tree"], trials=[9], seconds=1e-6) == []
    (result,) = read_results([file])
    assert result.trials_run < result.trials == 9


def test_one_search_answers_for_all_budgets(tmp_path):
    """Budgets of one run come out as they do alone, in any order, with one storage."""
    alone = {}
    for trials in (2, 5):
        small(tmp_path / f"{trials}.jsonl", models=["tree"], trials=[trials])
        alone |= timeless(tmp_path / f"{trials}.jsonl")
    small(tmp_path / "together.jsonl", models=["tree"], trials=[2, 5])
    assert timeless(tmp_path / "together.jsonl") == alone
    for trials in (5, 2):
        small(tmp_path / "later.jsonl", models=["tree"], trials=[trials])
    assert timeless(tmp_path / "later.jsonl") == alone


def test_predictions_that_are_not_finite_are_a_failure(tmp_path, monkeypatch):
    """A model that overflows has no score."""
    monkeypatch.setattr("sklearn.tree.DecisionTreeRegressor.predict", lambda _, X: np.full(len(X), np.inf))
    (failure,) = small(tmp_path / "results.jsonl", datasets=["mpg"], models=["tree"], trials=[0])
    assert "not finite" in failure.error


def test_an_interrupted_fit_is_no_result(tmp_path, monkeypatch):
    """A fit that Ctrl-C ended early keeps its best epoch; it must not be taken for the model."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(DLNRegressor, "fit", interrupted)
    file = tmp_path / "results.jsonl"
    with pytest.raises(KeyboardInterrupt):
        small(file, models=["dln"], datasets=["mpg"], trials=[0])
    assert not file.exists()


def test_the_float16_model_has_rounded_numbers(tmp_path):
    """Its predictions differ from the network's by rounding alone."""
    file = tmp_path / "results.jsonl"
    assert small(file, datasets=["mpg"], models=["dln", "dln-float16"], trials=[0]) == []
    exact, rounded = read_results([file])
    assert exact.r2 != rounded.r2
    assert exact.r2 == pytest.approx(rounded.r2, abs=0.01)
    assert MODELS["dln-float16"].changes == {}
    assert exact.rules == rounded.rules


def test_a_search_can_weigh_operations(tmp_path):
    """Of the trials within a standard error of the best, a small network is kept; the search is that of the default."""
    file = tmp_path / "results.jsonl"
    assert small(file, datasets=["mpg"], models=["dln", "dln-cheap"], trials=[0, 6]) == []
    results = {(one.model, one.trials): one for one in read_results([file])}
    assert ("dln-cheap", 0) not in results
    best, cheap = results["dln", 6], results["dln-cheap", 6]
    assert cheap.select <= best.select
    assert cheap.cv_mse == best.cv_mse
    assert [path.name for path in (tmp_path / "results.studies").glob("*.log")] == ["mpg-dln-0.log"]
