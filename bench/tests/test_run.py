"""A run: requests are checked, every unit is run once, and one that fails does not stop the others."""

import os

import pytest
from filelock import FileLock

from bench_runs import small, timeless
from dln_bench import _unit
from dln_bench._results import Unit, read_results
from dln_bench._run import RunError, units_of
from dln_bench._unit import Work, works_of
from dln_bench.datasets import DatasetError

pytestmark = pytest.mark.usefixtures("made")


def test_units_come_seed_by_seed_small_tables_first():
    """An interrupted run has something of everything; a model that is never searched for has no budget."""
    units = units_of(["mpg", "yacht"], ["linear", "tree"], seeds=[0, 3], trials=[5, 2])
    assert units == [
        Unit(dataset, model, seed, trials)
        for seed in (0, 3)
        for model, budgets in (("linear", (0,)), ("tree", (2, 5)))
        for dataset in ("yacht", "mpg")
        for trials in budgets
    ]


def test_units_of_one_search_are_one_work():
    """Budgets and models that share a search are run together, so that no two processes write its storage."""
    units = units_of(["yacht"], ["dln", "dln-refit", "tree"], seeds=[0], trials=[0, 2])
    works = works_of(iter(units))
    assert [(work.searched, len(work.units)) for work in works] == [("dln", 4), ("tree", 2)]
    assert works[0].name == "yacht-dln-0"
    (plain,) = works_of(iter(units_of(["yacht"], ["tree"], seeds=[1], trials=[2], protocol="plain")))
    assert plain.name == "yacht-tree-1-plain"


def test_requests_are_checked_before_anything_runs(tmp_path):
    """Unknown names and impossible numbers get one sentence each, and no file is made."""
    file = tmp_path / "results.jsonl"
    with pytest.raises(RunError, match="there is no model 'forst'; did you mean 'forest'"):
        small(file, models=["forst"])
    with pytest.raises(RunError, match="there is no model 'zzz'; there are linear, ridge"):
        small(file, models=["zzz"])
    with pytest.raises(DatasetError, match="there is no dataset 'yatch'; did you mean 'yacht'"):
        small(file, datasets=["yatch"])
    with pytest.raises(RunError, match="protocol must be paper or plain, got 'own'"):
        units_of(["yacht"], ["linear"], seeds=[0], trials=[0], protocol="own")
    for name, wrong in (("seeds", [-1]), ("trials", [-1])):
        with pytest.raises(RunError, match=f"{name} must be at least 0, got -1"):
            small(file, **{name: wrong})
    with pytest.raises(RunError, match="jobs must be at least 1, got 0"):
        small(file, jobs=0)
    assert not any(path.name != "data" for path in tmp_path.iterdir())


def test_every_unit_is_run_once(tmp_path):
    """A run has a line per unit, and the same run again begins none."""
    file, begun = tmp_path / "results.jsonl", []
    assert small(file) == []
    before = file.read_bytes()
    assert len(before.splitlines()) == 4
    small(file, progress=begun.append)
    assert (file.read_bytes(), begun) == (before, [])


def test_a_failed_unit_is_reported_and_the_others_go_on(tmp_path, monkeypatch):
    """A unit that raises leaves no line and is run again by the next run."""
    file, real = tmp_path / "results.jsonl", _unit.run_work

    def failing(work, *arguments):
        if work.dataset == "yacht" and work.searched == "tree":
            message = "no such\nluck"
            raise ValueError(message)
        return real(work, *arguments)

    monkeypatch.setattr(_unit, "run_work", failing)
    (failure,) = small(file)
    assert failure.work == Work("yacht", "tree", 0, "paper", (Unit("yacht", "tree", 0, 2),))
    assert failure.error == "ValueError: no such luck"
    assert len(read_results([file])) == 3
    monkeypatch.undo()
    os.environ["DLN_DATA_HOME"] = str(tmp_path / "data")
    assert small(file) == []
    assert len(read_results([file])) == 4


def test_processes_give_the_same_results(tmp_path):
    """Two processes write the results of one."""
    small(tmp_path / "one.jsonl")
    assert small(tmp_path / "two.jsonl", jobs=2) == []
    assert timeless(tmp_path / "two.jsonl") == timeless(tmp_path / "one.jsonl")


def test_a_file_has_one_run_at_a_time(tmp_path):
    """A second run of the same file is refused, so that no unit is run twice."""
    studies = tmp_path / "results.studies"
    studies.mkdir()
    with FileLock(studies / ".lock"), pytest.raises(RunError, match="another run writes"):
        small(tmp_path / "results.jsonl")
