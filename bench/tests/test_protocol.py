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
from filelock import FileLock

from bench_tables import write_tables
from dln import FitInterruptedWarning
from dln_bench import _unit
from dln_bench._protocol import Done, RunError, Trial, Waiting, run, works_of
from dln_bench._results import RESULTS, Result, ResultFileError, Unit, append_results, read_results
from dln_bench._unit import Limits, Work
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


#: Small, silent, and quick to notice that a machine is gone.
RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "3",
}


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """Set the folder of datasets to one of made tables."""
    folder = write_tables(tmp_path / "data")
    monkeypatch.setenv("DLN_DATA_HOME", str(folder))
    return folder


def small(out, **changes):
    """Run a few units that take no time."""
    settings = {"datasets": ["yacht", "mpg"], "models": ["linear", "tree"], "seeds": [0], "trials": [2]}
    return run(out, **({"limits": Limits(quick=True)} | settings | changes))


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
    append_results(tmp_path, [RESULT])
    append_results(tmp_path / RESULTS, [replace(RESULT, seed=1)])
    assert read_results([tmp_path]) == [RESULT, replace(RESULT, seed=1)]
    assert read_results([tmp_path / RESULTS]) == read_results([tmp_path])


def test_later_lines_win(tmp_path):
    """Files are merged by unit, and the last line of a unit counts."""
    for number, r2 in enumerate((0.1, 0.2)):
        (tmp_path / str(number)).mkdir()
        append_results(tmp_path / str(number), [replace(RESULT, r2=r2)])
    assert [result.r2 for result in read_results([tmp_path / "0", tmp_path / "1"])] == [0.2]
    assert [result.r2 for result in read_results([tmp_path / "1", tmp_path / "0"])] == [0.1]


@pytest.mark.parametrize("torn", [b'{"dataset": "ya', b"{", b'{"dataset":"yacht","model":"tree"}'])
def test_a_torn_last_line_is_left_out_and_mended(tmp_path, torn):
    """What a killed process had begun to write is ignored, and removed by the next result."""
    append_results(tmp_path, [RESULT])
    with (tmp_path / RESULTS).open("ab") as file:
        file.write(torn)
    assert read_results([tmp_path]) == [RESULT]
    append_results(tmp_path, [replace(RESULT, seed=1)])
    assert len(read_results([tmp_path])) == 2
    assert torn not in (tmp_path / RESULTS).read_bytes().splitlines()


def test_a_damaged_line_is_told_with_its_place(tmp_path):
    """A whole line that is no result is an error, not silence."""
    append_results(tmp_path, [RESULT])
    with (tmp_path / RESULTS).open("ab") as file:
        file.write(b'{"dataset": "yacht"}\n')
    with pytest.raises(ResultFileError, match=r"results\.jsonl, line 2: .*missing required field"):
        read_results([tmp_path])


def test_a_folder_without_results_has_none(tmp_path):
    """An empty folder is no error; a file that is not there is."""
    assert read_results([tmp_path]) == []
    with pytest.raises(FileNotFoundError):
        read_results([tmp_path / "no.jsonl"])


def test_lines_of_the_earlier_harness_are_read(tmp_path):
    """Results of benchmarks/accuracy.py are those of models without a search, under the names that they have here."""
    lines = [
        {"dataset": "yacht", "model": "lightgbm", "seed": 0, "r2": 0.9, "seconds": 0.5, "paper_ops": 3},
        {"dataset": "yacht", "model": "forest", "seed": 0, "r2": 0.8, "seconds": 0.5},
        {"dataset": "yacht", "model": "no-networks", "seed": 1, "r2": 0.9, "seconds": 2.0, "conditions": 90,
         "pruned": {"20": 0.5}},
    ]  # fmt: skip
    (tmp_path / "old.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    read = read_results([tmp_path / "old.jsonl"])
    assert [(one.model, one.trials, one.ops, one.conditions) for one in read] == [
        ("lightgbm-default", 0, 3, None),
        ("forest-default", 0, None, None),
        ("dln-no-networks", 0, None, 90),
    ]
    assert [one.seconds for one in read] == [0.5, 0.5, 2.0]


# --- units ------------------------------------------------------------------------------------------------------------


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


# --- several at once --------------------------------------------------------------------------------------------------


def test_processes_give_the_same_results(tmp_path):
    """Two processes come to what one does."""
    alone = small(tmp_path / "one")
    together = small(tmp_path / "two", jobs=2)
    assert told(together.results) == told(alone.results)
    assert not multiprocessing.active_children()


def test_work_whose_process_is_killed_is_done_again(tmp_path):
    """Workers that are killed are replaced, and nothing is missing in the end."""
    from joblib.externals.loky import get_reusable_executor

    killed = []

    def kill(event):
        if isinstance(event, Done) and not killed:
            killed.extend(get_reusable_executor(reuse=True)._processes)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    settings = {"models": ["tree"], "datasets": ["yacht", "mpg", "estate"], "trials": [12]}
    report = small(tmp_path / "out", jobs=2, tell=kill, **settings)
    assert killed
    assert not report.failures
    assert told(report.results) == told(small(tmp_path / "alone", **settings).results)


def test_a_unit_that_another_process_has_is_waited_for(tmp_path):
    """A claimed unit is left to its owner; when that is gone without a result, it is run here."""
    out = tmp_path / "out"
    (out / "studies").mkdir(parents=True)
    claim = FileLock(out / "studies" / ".yacht-linear-0.lock")
    claim.acquire(blocking=False)
    waits = threading.Event()

    def tell(event):
        if isinstance(event, Waiting):
            waits.set()
            claim.release()

    report = small(out, models=["linear"], tell=tell)
    assert waits.is_set()
    assert len(report.results) == 2


SHARE = """
import sys
from dln_bench._protocol import run
from dln_bench._unit import Limits

report = run(sys.argv[1], datasets=["yacht", "mpg", "estate"], models=["linear", "ridge", "tree"], seeds=[0, 1],
             trials=[3], limits=Limits(quick=True))
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
def test_a_ray_cluster_gives_the_same_results_also_when_a_worker_is_killed(tmp_path, monkeypatch):
    """Two workers of a Ray cluster come to what this process does; work whose machine is lost is done by the other."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    settings = {"models": ["tree"], "datasets": ["yacht", "mpg", "estate"], "trials": [12]}
    alone = small(tmp_path / "alone", **settings)
    for name, value in RAY.items():
        monkeypatch.setenv(name, value)
    memory = {"object_store_memory": 80 * 2**20}
    own = signal.getsignal(signal.SIGTERM)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory})
    lost = []

    def kill(event):
        if isinstance(event, Done) and not lost:
            lost.append(machines[0])
            cluster.remove_node(machines[0], allow_graceful=False)

    try:
        machines = [cluster.add_node(num_cpus=1, **memory) for _ in range(2)]
        report = small(tmp_path / "ray", ray=cluster.address, tell=kill, **settings)
        assert not ray.is_initialized()
    finally:
        ray.shutdown()
        cluster.shutdown()
        signal.signal(signal.SIGTERM, own)
    assert lost
    assert not report.failures
    assert told(report.results) == told(alone.results)
