"""One unit of work: what its result tells, and what is no result."""

import json
import warnings

import numpy as np
import pytest

from bench_runs import small, told
from dln import FitInterruptedWarning
from dln_bench._results import RESULTS, read_results
from dln_bench._unit import Limits
from dln_bench.models._models import LAST

pytestmark = pytest.mark.usefixtures("made")


def test_a_result_tells_what_came_out(tmp_path):
    """Scores in the target's unit, operations, conditions, parameters, budgets, cuts and origin are in the line."""
    (result,) = small(tmp_path / "out", datasets=["mpg"], models=["dln-paper"]).results
    assert (result.folds, result.train_rows, result.search_rows, result.run_trials) == (4, 46, 46, 2)
    assert result.cut == "max_epochs=20"
    assert result.params["max_epochs"] == 20  # what is searched is what is tested
    assert result.commit
    assert "cores" in result.machine
    assert result.conditions > 0
    assert result.rules is not None
    assert result.ops > result.select_ops > 0
    assert result.rmse >= result.mae > 0
    assert result.r2 <= 1
    assert isinstance(result.params["hidden_layer_sizes"], list)
    assert json.loads((tmp_path / "out" / RESULTS).read_text())["dataset"] == "mpg"


def test_models_that_share_a_search_differ_in_the_last_fit(tmp_path):
    """One study for both; what the last fit changes is told with the parameters."""
    one, three = small(tmp_path / "out", datasets=["mpg"], models=["dln-paper", "dln-paper-3"]).results
    assert [path.name for path in (tmp_path / "out" / "studies").glob("*.log")] == ["mpg-dln-paper-0.log"]
    assert one.cv_mse == three.cv_mse
    assert LAST.items() <= one.params.items()
    searched = {name: value for name, value in one.params.items() if name not in LAST}
    assert three.params == {**searched, "n_networks": 3, "rule_tolerance": 0.4}
    assert one.r2 != three.r2


def test_a_model_without_a_space_is_fitted_as_it_is(tmp_path):
    """It has no trials, whatever the budgets, and one result."""
    report = small(tmp_path / "out", datasets=["mpg"], models=["linear", "figs-20"], trials=[2, 7])
    for result in report.results:
        assert (result.trials, result.run_trials, result.folds, result.params, result.cut) == (0, 0, 0, {}, None)
        assert result.cv_mse is None
    assert [result.model for result in report.results] == ["linear", "figs-20"]


def test_our_model_tells_how_it_reads(tmp_path):
    """Conditions, the longest rule, rules that fire, coverage, and the same model at smaller sizes."""
    (result,) = small(tmp_path / "out", datasets=["mpg"], models=["dln"]).results
    assert result.conditions <= 100
    assert result.longest <= 6
    assert 0 <= result.fired <= result.rules
    assert 0 <= result.covered_90 <= 1
    assert set(result.pruned) <= {"20", "50"}


def test_a_search_ends_with_its_time_and_says_so(tmp_path):
    """No trial is begun after the seconds; the result tells how many of how many there were, also when gone on with."""
    limits = Limits(seconds=1e-6, quick=True)
    (result,) = small(tmp_path / "out", datasets=["mpg"], models=["tree"], trials=[9], limits=limits).results
    assert result.run_trials == 1
    assert result.cut.startswith("1 of 9 trials, in ")
    (tmp_path / "out" / RESULTS).unlink()
    (again,) = small(tmp_path / "out", datasets=["mpg"], models=["tree"], trials=[9], limits=limits).results
    assert again.run_trials == 1


def test_one_search_answers_for_all_budgets(tmp_path):
    """Budgets that are asked for together come out as they do alone, of one study, with one fit where they agree."""
    alone = {}
    for trials in (2, 5):
        alone |= told(small(tmp_path / f"alone{trials}", models=["tree"], trials=[trials]).results)
    together = small(tmp_path / "together", models=["tree"], trials=[2, 5]).results
    assert told(together) == alone
    assert all(
        one.search_seconds <= other.search_seconds for one, other in zip(together[::2], together[1::2], strict=True)
    )
    assert len(list((tmp_path / "together" / "studies").glob("*.log"))) == 2


def test_a_larger_budget_goes_on_from_the_smaller(tmp_path):
    """Trials of both budgets are shared, and each comes out as if it were alone, in any order."""
    alone = {}
    for trials in (2, 5):
        alone |= told(small(tmp_path / f"alone{trials}", models=["tree"], trials=[trials]).results)
    for order in ((2, 5), (5, 2)):
        out = tmp_path / "-".join(map(str, order))
        for trials in order:
            small(out, models=["tree"], trials=[trials])
        assert told(read_results([out])) == alone
        assert len(list((out / "studies").glob("*.log"))) == 2


def test_predictions_that_are_not_finite_are_a_failure(tmp_path, monkeypatch):
    """A model that overflows has no score."""
    monkeypatch.setattr("sklearn.tree.DecisionTreeRegressor.predict", lambda _, X: np.full(len(X), np.inf))
    report = small(tmp_path / "out", models=["tree"], datasets=["mpg"])
    assert len(report.failures) == 1
    assert report.results == ()


def test_an_interrupted_fit_is_no_result(tmp_path, monkeypatch):
    """Ctrl-C has a fit keep its best epochs; the benchmark must not take them for the model."""
    from dln import DLNRegressor

    real = DLNRegressor.fit

    def interrupted(self, *arguments, **more):
        real(self, *arguments, **more)
        if self.max_epochs == 20:  # the last fit of a quick run
            warnings.warn("interrupted", FitInterruptedWarning, stacklevel=2)
        return self

    monkeypatch.setattr(DLNRegressor, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small(tmp_path / "out", models=["dln-paper"], datasets=["mpg"])
    assert read_results([tmp_path / "out"]) == []
