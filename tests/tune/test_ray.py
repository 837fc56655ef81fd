"""A search on a real Ray cluster: a head and two machines, all of them on this one."""

from __future__ import annotations

import re
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from commands import houses, run, write
from dln import DLNRegressor
from dln.tune import search

ray = pytest.importorskip("ray")

#: Small, silent, and quick to notice that a machine is gone.
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "3",
}
MEMORY = 80 * 2**20


@pytest.fixture
def cluster(monkeypatch):
    """A head that runs no trials, and two machines that run one at a time."""
    from ray.cluster_utils import Cluster

    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    small = {"object_store_memory": MEMORY, "include_dashboard": False}
    own = signal.getsignal(signal.SIGTERM)
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    try:
        made.machines = [made.add_node(num_cpus=1, object_store_memory=MEMORY) for _ in range(2)]
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        signal.signal(signal.SIGTERM, own)


def waiting_model(flag: Path) -> DLNRegressor:
    """Return a DLN whose first fit anywhere writes down on which machine it is, and never ends.

    The class is made here, so that it is sent by its code: the cluster cannot import this file.
    """

    class Waiting(DLNRegressor):
        def fit(self, X, y):
            try:
                with flag.open("x") as file:
                    file.write(ray.get_runtime_context().get_node_id())
            except FileExistsError:
                return super().fit(X, y)
            time.sleep(3600)
            return self

    return Waiting(hidden_layer_sizes=(16, 8), max_epochs=30)


def space(trial):
    """Return parameters of a network."""
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.001, 0.01, log=True),
        "n_thresholds": trial.suggest_int("n_thresholds", 2, 12),
    }


@pytest.mark.filterwarnings("ignore")  # Ray's own, about files and settings that are its business
def test_a_search_survives_the_loss_of_a_machine_and_is_the_same_as_here(cluster, tmp_path):
    """With a machine lost in the middle of a trial, all trials are run, with the results of a search without Ray."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + (X[:, 1] > 0)
    flag = tmp_path / "flag"
    model = waiting_model(flag)
    lost = []

    def pull_the_plug():
        while not flag.exists() or not flag.read_text():
            time.sleep(0.05)
        machine = next(node for node in cluster.machines if node.node_id == flag.read_text())
        lost.append(machine)
        cluster.remove_node(machine, allow_graceful=False)

    thread = threading.Thread(target=pull_the_plug)
    thread.start()
    own = signal.getsignal(signal.SIGTERM)
    there = search(model, X, y, space=space, n_trials=12, random_state=1, ray=cluster.address, n_jobs=2)
    thread.join()
    here = search(model, X, y, space=space, n_trials=12, random_state=1)
    assert len(lost) == 1
    assert not ray.is_initialized()
    assert signal.getsignal(signal.SIGTERM) is own
    assert [(t.number, t.state, t.value, t.params) for t in there.trials] == [
        (t.number, t.state, t.value, t.params) for t in here.trials
    ]
    assert {trial.state for trial in there.trials} == {"complete", "pruned"}


@pytest.mark.filterwarnings("ignore")  # Ray's own, about files and settings that are its business
@pytest.mark.parametrize("address", ["127.0.0.1:9", "nonsense"])  # not "auto": another test may have a cluster
def test_no_cluster(address):
    """Without a cluster, one sentence reports it, and soon."""
    with pytest.raises(ConnectionError, match="there is no Ray cluster at"):
        search(DLNRegressor(), np.zeros((30, 1)), np.arange(30.0), n_trials=1, ray=address)


@pytest.mark.filterwarnings("ignore")  # Ray's own, about files and settings that are its business
def test_the_command_line_without_a_cluster(tmp_path, monkeypatch):
    """`dln tune --ray` ends with exit code 2 and one sentence where there is no cluster."""
    monkeypatch.chdir(tmp_path)  # where the trials are kept
    write(tmp_path, {"houses.csv": houses()})
    result = run("tune", "houses.csv", "--target", "price", "--ray", "127.0.0.1:9", "--quiet")
    assert result.exit_code == 2
    assert re.fullmatch("dln: there is no Ray cluster at '127.0.0.1:9' .*: start one with .*", result.stderr.strip())
