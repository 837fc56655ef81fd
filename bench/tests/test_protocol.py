"""A run: what is asked for is checked, every unit is run once, and one that fails does not stop the others."""

import os

import pytest

from bench_runs import small, told
from dln_bench import _unit
from dln_bench._protocol import Done, RunError, Trial, works_of
from dln_bench._results import RESULTS, Unit
from dln_bench._unit import Limits, Work
from dln_bench.datasets import DatasetError

pytestmark = pytest.mark.usefixtures("made")


def test_work_comes_seed_by_seed_cheap_and_small_first():
    """An interrupted run has something of everything; a model that is not searched for has no budget."""
    works = works_of(["mpg", "yacht"], ["tree", "linear", "tree"], seeds=[0, 3], trials=[5, 2])
    assert works == [
        Work(dataset, model, seed, budgets)
        for seed in (0, 3)
        for model, budgets in (("linear", (0,)), ("tree", (2, 5)))
        for dataset in ("yacht", "mpg")
    ]
    assert works[2].units == (Unit("yacht", "tree", 0, 2), Unit("yacht", "tree", 0, 5))


def test_what_is_asked_for_is_checked_before_anything_runs(tmp_path):
    """Unknown names and impossible numbers are told in one sentence each, and no folder is made."""
    out = tmp_path / "out"
    with pytest.raises(RunError, match="there is no model 'forst'; did you mean 'forest'"):
        small(out, models=["forst"])
    with pytest.raises(RunError, match="there is no model 'zzz'; there are linear, ridge"):
        small(out, models=["zzz"])
    with pytest.raises(DatasetError, match="there is no dataset 'yatch'; did you mean 'yacht'"):
        small(out, datasets=["yatch"])
    for name, wrong, least in (("seeds", [-1], 0), ("trials", [0], 1), ("jobs", 0, 1)):
        with pytest.raises(RunError, match=f"{name} must be at least {least}, got {least - 1}"):
            small(out, **{name: wrong})
    assert not out.exists()


def test_every_unit_is_run_once(tmp_path):
    """A run has a line per unit, and the same run again begins none."""
    report = small(tmp_path / "out")
    lines = (tmp_path / "out" / RESULTS).read_text().splitlines()
    assert len(lines) == len(report.results) == 4
    events = []
    again = small(tmp_path / "out", tell=events.append)
    assert told(again.results) == told(report.results)
    assert events == []


def test_a_failed_unit_is_told_and_the_others_go_on(tmp_path, monkeypatch):
    """A unit that raises leaves no line, is told with its reason, and is run again by the next run."""
    real = _unit.run_work

    def failing(work, *arguments):
        if work.model == "tree" and work.dataset == "yacht":
            message = "no such\nluck"
            raise ValueError(message)
        return real(work, *arguments)

    monkeypatch.setattr(_unit, "run_work", failing)
    report = small(tmp_path / "out")
    assert [failure.work for failure in report.failures] == [Work("yacht", "tree", 0, (2,))]
    assert report.failures[0].error == "ValueError: no such luck"
    assert len(report.results) == 3
    monkeypatch.undo()
    os.environ["DLN_DATA_HOME"] = str(tmp_path / "data")
    assert len(small(tmp_path / "out").results) == 4


def test_quick_results_do_not_mix_with_real_ones(tmp_path):
    """A folder holds results of one kind."""
    small(tmp_path / "out", models=["linear"])
    with pytest.raises(
        RunError, match=r"holds the results of a quick run, and this is a real run: give another folder"
    ):
        small(tmp_path / "out", models=["linear"], limits=Limits())
    (tmp_path / "out" / "run.json").write_text("?")
    with pytest.raises(RunError, match=r"run\.json is damaged"):
        small(tmp_path / "out", models=["linear"])


def test_trials_are_told_as_they_end(tmp_path):
    """Who watches learns of every trial and the best so far."""
    events = []
    small(tmp_path / "out", models=["tree"], datasets=["mpg"], trials=[3], tell=events.append)
    trials = [event for event in events if isinstance(event, Trial)]
    assert [trial.done for trial in trials] == [1, 2, 3]
    best = [trial.best for trial in trials]
    assert best == sorted(best, reverse=True)
    assert isinstance(events[-1], Done)
