"""Several processes or machines come to what one does, and no unit is lost or run twice."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import pytest
from filelock import FileLock

from bench_runs import small, told
from dln_bench._protocol import Done, Waiting
from dln_bench._results import RESULTS

pytestmark = pytest.mark.usefixtures("made")

#: Small, silent, and quick to notice that a machine is gone.
RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "3",
}


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
