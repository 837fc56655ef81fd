import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import warnings
from dataclasses import asdict, replace

import numpy as np
import pytest

from bench_tables import write_tables
from dln import FitInterruptedWarning
from dln_bench import _unit
from dln_bench._lock import Lock
from dln_bench._protocol import RunError, Waiting, run, units_of
from dln_bench._results import RESULTS, Result, ResultFileError, Unit, append_result, read_results
from dln_bench._workers import Done, Trial
from dln_bench.datasets import DatasetError

RESULT = Result(
    dataset="yacht",
    model="tree",
    seed=0,
    trials=2,
    folds=4,
    search_rows=40,
    train_rows=45,
    params={"max_depth": 3},
    cv_mse=0.5,
    r2=0.9,
    rmse=0.1,
    mae=0.1,
    ops=549,
    select_ops=None,
    rules=None,
    literals=None,
    search_seconds=0.1,
    fit_seconds=0.1,
    cut=None,
    version="0",
)


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """Set the folder of datasets to one of made tables."""
    folder = write_tables(tmp_path / "data")
    monkeypatch.setenv("DLN_DATA_HOME", str(folder))
    return folder


def small(out, **changes):
    """Run a few units that take no time."""
    settings = {"datasets": ["yacht", "mpg"], "models": ["linear", "tree"], "seeds": 1, "trials": 2, "budget": "quick"}
    return run(out, **(settings | changes))


def told(results):
    """Return what results say, by unit, but for the time it took."""
    lines = {}
    for result in results:
        line = asdict(result)
        del line["search_seconds"], line["fit_seconds"]
        lines[result.unit] = line
    return lines


# --- the result file --------------------------------------------------------------------------------------------------


def test_results_are_read_as_they_were_written(tmp_path):
    """A result comes back as it was, from a file or from its folder."""
    append_result(tmp_path, RESULT)
    append_result(tmp_path / RESULTS, replace(RESULT, seed=1))
    assert read_results([tmp_path]) == [RESULT, replace(RESULT, seed=1)]
    assert read_results([tmp_path / RESULTS]) == read_results([tmp_path])


def test_later_lines_win(tmp_path):
    """Files are merged by unit, and the last line of a unit counts."""
    for number, r2 in enumerate((0.1, 0.2)):
        (tmp_path / str(number)).mkdir()
        append_result(tmp_path / str(number), replace(RESULT, r2=r2))
    assert [result.r2 for result in read_results([tmp_path / "0", tmp_path / "1"])] == [0.2]
    assert [result.r2 for result in read_results([tmp_path / "1", tmp_path / "0"])] == [0.1]


@pytest.mark.parametrize("torn", [b'{"dataset": "ya', b"{", b'{"dataset":"yacht","model":"tree"}'])
def test_a_torn_last_line_is_left_out_and_mended(tmp_path, torn):
    """What a killed process had begun to write is ignored, and removed by the next result."""
    append_result(tmp_path, RESULT)
    with (tmp_path / RESULTS).open("ab") as file:
        file.write(torn)
    assert read_results([tmp_path]) == [RESULT]
    append_result(tmp_path, replace(RESULT, seed=1))
    assert len(read_results([tmp_path])) == 2
    assert torn not in (tmp_path / RESULTS).read_bytes().splitlines()


def test_a_damaged_line_is_told_with_its_place(tmp_path):
    """A whole line that is no result is an error, not silence."""
    append_result(tmp_path, RESULT)
    with (tmp_path / RESULTS).open("ab") as file:
        file.write(b'{"dataset": "yacht"}\n')
    with pytest.raises(ResultFileError, match=r"results\.jsonl, line 2: .*missing required field"):
        read_results([tmp_path])


def test_a_folder_without_results_has_none(tmp_path):
    """An empty folder is no error; a file that is not there is."""
    assert read_results([tmp_path]) == []
    with pytest.raises(FileNotFoundError):
        read_results([tmp_path / "no.jsonl"])


# --- units ------------------------------------------------------------------------------------------------------------


def test_units_come_seed_by_seed_cheap_and_small_first():
    """An interrupted run has something of everything."""
    units = units_of(["mpg", "yacht"], ["tree", "linear", "tree"], seeds=2, trials=5)
    assert units == [
        Unit(dataset, model, seed, 5) for seed in (0, 1) for model in ("linear", "tree") for dataset in ("yacht", "mpg")
    ]


def test_what_is_asked_for_is_checked_before_anything_runs(tmp_path):
    """Unknown names and impossible numbers are told in one sentence each, and no folder is made."""
    out = tmp_path / "out"
    with pytest.raises(RunError, match="there is no model 'forst'; did you mean 'forest'"):
        small(out, models=["forst"])
    with pytest.raises(RunError, match="there is no model 'zzz'; there are linear, ridge"):
        small(out, models=["zzz"])
    with pytest.raises(DatasetError, match="there is no dataset 'yatch'; did you mean 'yacht'"):
        small(out, datasets=["yatch"])
    for name in ("seeds", "trials", "jobs"):
        with pytest.raises(RunError, match=f"{name} must be at least 1, got 0"):
            small(out, **{name: 0})
    assert not out.exists()


# --- running ----------------------------------------------------------------------------------------------------------


def test_every_unit_is_run_once(tmp_path):
    """A run has a line per unit, and the same run again begins none."""
    report = small(tmp_path / "out")
    lines = (tmp_path / "out" / RESULTS).read_text().splitlines()
    assert len(lines) == len(report.results) == 4
    events = []
    again = small(tmp_path / "out", tell=events.append)
    assert told(again.results) == told(report.results)
    assert events == []


def test_a_result_tells_what_came_out(tmp_path):
    """Scores in the target's unit, operations, parameters, budgets and cuts are in the line."""
    (result,) = small(tmp_path / "out", datasets=["mpg"], models=["dln-paper"]).results
    assert (result.folds, result.train_rows, result.search_rows, result.run_trials) == (4, 46, 46, 2)
    assert result.cut == "search with max_epochs=5; tested with max_epochs=20"
    assert result.rules is not None
    assert result.ops > result.select_ops > 0
    assert result.rmse >= result.mae > 0
    assert result.r2 <= 1
    assert isinstance(result.params["hidden_layer_sizes"], list)
    assert json.loads((tmp_path / "out" / RESULTS).read_text())["dataset"] == "mpg"


def test_linear_regression_has_nothing_to_search_for(tmp_path):
    """Its error is cross-validated once, whatever the trials."""
    (result,) = small(tmp_path / "out", datasets=["mpg"], models=["linear"], trials=7).results
    assert (result.run_trials, result.params, result.cut) == (1, {}, None)
    assert result.cv_mse > 0


def test_a_model_that_is_not_searched_for_is_tested_with_its_defaults(tmp_path, monkeypatch):
    """Where the cut says so, no search is run, and the result says so."""
    from dln_bench import _cuts

    monkeypatch.setitem(_cuts.CUTS, "tree", _cuts.Cut(max_trials=0))
    (result,) = small(tmp_path / "out", datasets=["mpg"], models=["tree"], budget="cut").results
    assert (result.cv_mse, result.folds, result.search_rows, result.run_trials) == (None, 0, 0, 0)
    assert result.cut == "no search, the defaults"


def test_a_larger_budget_goes_on_from_the_smaller(tmp_path):
    """Trials of both budgets are shared, and each comes out as if it were alone, in any order."""
    alone = {}
    for trials in (2, 5):
        alone |= told(small(tmp_path / f"alone{trials}", models=["tree"], trials=trials).results)
    for order in ((2, 5), (5, 2)):
        out = tmp_path / "-".join(map(str, order))
        for trials in order:
            small(out, models=["tree"], trials=trials)
        assert told(read_results([out])) == alone
        assert len(list((out / "studies").glob("*.log"))) == 2


def test_a_failed_unit_is_told_and_the_others_go_on(tmp_path, monkeypatch):
    """A unit that raises leaves no line, is told with its reason, and is run again by the next run."""
    real = _unit.run_unit

    def failing(unit, *arguments):
        if unit.model == "tree" and unit.dataset == "yacht":
            message = "no such\nluck"
            raise ValueError(message)
        return real(unit, *arguments)

    monkeypatch.setattr(_unit, "run_unit", failing)
    report = small(tmp_path / "out")
    assert [failure.unit for failure in report.failures] == [Unit("yacht", "tree", 0, 2)]
    assert report.failures[0].error == "ValueError: no such luck"
    assert len(report.results) == 3
    monkeypatch.undo()
    os.environ["DLN_DATA_HOME"] = str(tmp_path / "data")
    assert len(small(tmp_path / "out").results) == 4


def test_predictions_that_are_not_finite_are_a_failure(tmp_path, monkeypatch):
    """A model that overflows has no score."""
    monkeypatch.setattr("sklearn.tree.DecisionTreeRegressor.predict", lambda _, X: np.full(len(X), np.inf))
    report = small(tmp_path / "out", models=["tree"], datasets=["mpg"])
    assert len(report.failures) == 1
    assert report.results == ()


def test_an_interrupted_fit_is_no_result(tmp_path, monkeypatch):
    """Ctrl-C has a fit keep its best epochs; the benchmark must not take them for the model."""
    from dln import PaperDLNRegressor

    real = PaperDLNRegressor.fit

    def interrupted(self, *arguments, **more):
        real(self, *arguments, **more)
        if self.max_epochs == 20:  # the last fit of a quick run
            warnings.warn("interrupted", FitInterruptedWarning, stacklevel=2)
        return self

    monkeypatch.setattr(PaperDLNRegressor, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small(tmp_path / "out", models=["dln-paper"], datasets=["mpg"])
    assert read_results([tmp_path / "out"]) == []


def test_budgets_do_not_mix_in_a_folder(tmp_path):
    """Results that were cut and results that were not are kept apart."""
    small(tmp_path / "out", models=["linear"])
    with pytest.raises(RunError, match=r"holds the results of a run with the budget 'quick', and this one has 'full'"):
        small(tmp_path / "out", models=["linear"], budget="full")
    (tmp_path / "out" / "run.json").write_text("?")
    with pytest.raises(RunError, match=r"run\.json is damaged"):
        small(tmp_path / "out", models=["linear"])


def test_trials_are_told_as_they_end(tmp_path):
    """Who watches learns of every trial and the best so far."""
    events = []
    small(tmp_path / "out", models=["tree"], datasets=["mpg"], trials=3, tell=events.append)
    trials = [event for event in events if isinstance(event, Trial)]
    assert [trial.done for trial in trials] == [1, 2, 3]
    best = [trial.best for trial in trials]
    assert best == sorted(best, reverse=True)
    assert isinstance(events[-1], Done)


# --- several at once --------------------------------------------------------------------------------------------------


def test_processes_give_the_same_results(tmp_path):
    """Two processes come to what one does."""
    alone = small(tmp_path / "one")
    events = []
    together = small(tmp_path / "two", jobs=2, tell=events.append)
    assert told(together.results) == told(alone.results)
    assert any(isinstance(event, Trial) for event in events)
    assert not multiprocessing.active_children()


def test_a_process_that_dies_fails_its_unit_only(tmp_path):
    """A worker that is killed is replaced; its unit is told as failed, the others are run."""
    killed = []

    def kill(event):
        if isinstance(event, Trial) and not killed:
            killed.append(event.unit)
            for child in multiprocessing.active_children():
                os.kill(child.pid, signal.SIGKILL)

    report = small(tmp_path / "out", jobs=2, models=["tree"], datasets=["yacht", "mpg", "estate"], trials=30, tell=kill)
    assert report.failures
    assert {failure.error for failure in report.failures} <= {
        "its process ended with signal 9 (is there enough memory?)"
    }
    assert len(report.failures) + len(report.results) == 3
    assert len(small(tmp_path / "out", models=["tree"], datasets=["yacht", "mpg", "estate"], trials=30).results) == 3


def test_a_unit_that_another_process_has_is_waited_for(tmp_path):
    """A claimed unit is left to its owner; when that is gone without a result, it is run here."""
    out = tmp_path / "out"
    (out / "studies").mkdir(parents=True)
    claim = Lock(out / "studies" / ".yacht-linear-0.lock")
    assert claim.acquire(wait=False)
    waits = threading.Event()

    def tell(event):
        if isinstance(event, Waiting):
            waits.set()
            claim.release()

    report = small(out, models=["linear"], tell=tell)
    assert waits.is_set()
    assert len(report.results) == 2


def test_a_lock_is_held_by_one(tmp_path):
    """A second taker is refused until the first lets go."""
    first, second = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert first.acquire(wait=False)
    assert not second.acquire(wait=False)
    first.release()
    assert second.acquire(wait=False)
    second.release()
    second.release()  # nothing to let go


SHARE = """
import sys
from dln_bench._protocol import run

report = run(sys.argv[1], datasets=["yacht", "mpg", "estate"], models=["linear", "ridge", "tree"], seeds=2, trials=3,
             budget="quick")
assert len(report.results) == 18 and not report.failures, report
"""


def test_processes_that_share_a_folder_do_no_unit_twice(tmp_path):
    """Two runs of the same folder at once end with a line per unit."""
    command = [sys.executable, "-c", SHARE, str(tmp_path / "out")]
    runs = [subprocess.Popen(command) for _ in range(2)]
    assert [one.wait(120) for one in runs] == [0, 0]
    lines = [json.loads(line) for line in (tmp_path / "out" / RESULTS).read_text().splitlines()]
    units = [(line["dataset"], line["model"], line["seed"]) for line in lines]
    assert len(units) == len(set(units)) == 18


@pytest.mark.filterwarnings("ignore")  # Ray's own, about files and settings that are its business
def test_a_ray_cluster_gives_the_same_results(tmp_path, monkeypatch):
    """Two workers of a Ray cluster come to what this process does."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    alone = small(tmp_path / "alone", models=["tree"])
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    memory = {"object_store_memory": 80 * 2**20}
    own = signal.getsignal(signal.SIGTERM)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory})
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1, **memory)
        report = small(tmp_path / "ray", models=["tree"], ray=cluster.address)
        assert not ray.is_initialized()
    finally:
        ray.shutdown()
        cluster.shutdown()
        signal.signal(signal.SIGTERM, own)
    assert not report.failures
    assert told(report.results) == told(alone.results)
