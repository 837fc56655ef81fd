"""The pool of workers: no task is lost with a worker."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from dln._pool import Lost, Pool


def test_without_a_second_worker_tasks_run_here_one_by_one():
    """With one job, a task is drawn when the result of the one before it has been taken, in this process."""
    drawn = []

    def tasks():
        for number in range(3):
            drawn.append(number)
            yield number

    results = Pool(lambda number: (number, os.getpid())).run(tasks())
    assert next(results) == (0, (0, os.getpid()))
    assert drawn == [0]
    assert [task for task, _ in results] == [1, 2]


def test_a_task_whose_process_dies_is_run_again_and_given_up_in_the_end(tmp_path):
    """A worker that dies costs time only; a task that always kills its worker is lost, and no other."""

    def work(name):
        flag = tmp_path / name
        if name == "always" or (name == "once" and not flag.exists()):
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return name.upper()

    before = set(multiprocessing.active_children())  # workers that joblib keeps for other tests
    with closing(Pool(work, 2)) as pool:
        found = dict(pool.run(["a", "once", "b", "always", "c"]))
    lost = found.pop("always")
    assert found == {name: name.upper() for name in ("a", "once", "b", "c")}
    assert lost == Lost("the process that ran it died 3 times, the last time with SIGKILL(-9)")
    assert set(multiprocessing.active_children()) <= before


def test_the_caller_may_stop_early():
    """When no more results are drawn, running tasks end, and the pool can run others."""

    def work(seconds):
        time.sleep(seconds)
        return os.getpid()

    start = time.monotonic()
    with closing(Pool(work, 2)) as pool:
        with closing(pool.run([0, 3600])) as results:
            assert next(results)[0] == 0
        assert {task for task, _ in pool.run([0, 0.01])} == {0, 0.01}
    assert time.monotonic() - start < 60


def test_workers_keep_what_the_work_remembers():
    """A process receives the work once, so that what it prepares for one task serves the next."""

    class Counting:
        def __init__(self):
            self.calls = 0

        def __call__(self, _):
            self.calls += 1
            return self.calls

    with closing(Pool(Counting(), 2)) as pool:
        assert max(result for _, result in pool.run(range(6))) > 1


ORPHAN = """
import os, time
from dln._pool import Pool

def work(_):
    print(os.getpid(), flush=True)
    time.sleep(3600)

next(Pool(work, 2).run([0, 1]))
"""


def test_workers_end_with_the_process_that_started_them():
    """However the parent ends, no worker stays behind."""
    parent = subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True)
    workers = [int(parent.stdout.readline()) for _ in range(2)]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{worker}/stat") for worker in workers) and time.monotonic() < end:  # noqa: PTH110
        time.sleep(0.05)
    assert time.monotonic() < end


@pytest.mark.parametrize("n_jobs", [None, 1, -(10**6)])
def test_one_worker_at_least(n_jobs):
    """However small the number, there is one worker, this process."""
    assert list(Pool(lambda _: os.getpid(), n_jobs).run([0])) == [(0, os.getpid())]
