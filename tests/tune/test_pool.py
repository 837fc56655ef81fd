"""The pool of workers: tasks in, results out as they come, and none lost with a worker."""

from __future__ import annotations

import os
import signal
import time

import pytest

from dln.tune._pool import Lost, Pool


def doubled(number):
    """Return twice the number."""
    return 2 * number


def test_without_a_second_worker_tasks_run_here_one_by_one():
    """With one job, a task is drawn when the one before it has been taken, in this process."""
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
    """Bad luck costs time only; a task that kills its process every time is told with how it ended."""

    def work(name):
        flag = tmp_path / name
        if name == "always" or (name == "once" and not flag.exists()):
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return name.upper()

    pool = Pool(work, 2)
    try:
        found = dict(pool.run(["a", "once", "b", "always", "c"]))
    finally:
        pool.close()
    lost = found.pop("always")
    assert found == {name: name.upper() for name in ("a", "once", "b", "c")}
    assert lost == Lost("the process that ran it died 3 times, the last time with SIGKILL(-9)")


def test_tasks_that_take_too_long_are_given_up():
    """When the seconds are over, what still runs ends, and what is done has been told."""

    def work(seconds):
        time.sleep(seconds)
        return seconds

    pool = Pool(work, 2)
    try:
        list(pool.run([0, 0]))  # so that the processes are there
        end = time.monotonic() + 1.0
        assert list(pool.run([0, 3600], lambda: end - time.monotonic())) == [(0, 0)]
    finally:
        pool.close()
    assert time.monotonic() < end + 60


def test_workers_keep_what_the_work_remembers():
    """The work is read once by a process, so that what it prepares for one task serves the next."""

    class Counting:
        def __init__(self):
            self.calls = 0

        def __call__(self, _):
            self.calls += 1
            return self.calls

    pool = Pool(Counting(), 2)
    try:
        assert max(result for _, result in pool.run(range(6))) > 1
    finally:
        pool.close()


def test_what_another_process_cannot_read_is_told():
    """A task that makes no sense elsewhere comes back with the reason."""

    class Unreadable:
        def __reduce__(self):
            return int, ("no number",)

    pool = Pool(doubled, 2)
    try:
        ((_, result),) = pool.run([Unreadable()])
    finally:
        pool.close()
    assert isinstance(result, Lost)
    assert result.reason.startswith("another process cannot read what it is to do: ")


@pytest.mark.parametrize("n_jobs", [None, 1, -(10**6)])
def test_one_worker_at_least(n_jobs):
    """However few are asked for, there is one, and it is this process."""
    assert Pool(doubled, n_jobs).is_here
