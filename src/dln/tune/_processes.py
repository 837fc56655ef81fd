"""Trials in processes of their own on this machine; one that dies is replaced and its trial run again.

They are started as programs rather than by `multiprocessing`, so that a script needs no ``if __name__ == "__main__"``.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

import cloudpickle

from dln.tune._trial import Job, Outcome, Task
from dln.tune._worker import read_frame, write_frame

#: How often a trial is run again when its process has died: once may be bad luck, three times is the trial.
RETRIES: Final = 2
#: On some systems a wait without end cannot be interrupted by Ctrl-C.
NAP: Final = 0.2
#: Libraries for algebra would otherwise take all cores in every process.
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Processes:
    """Up to `n_jobs` processes, started when they are first needed."""

    def __init__(self, job: Job, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._job = cloudpickle.dumps(job)
        self._messages: SimpleQueue[tuple[_Process, bytes | None]] = SimpleQueue()
        self._processes: list[_Process] = []
        self._deaths: Counter[int] = Counter()

    def start(self, task: Task) -> None:
        """Give a trial to a process that has nothing to do."""
        process = next((process for process in self._processes if process.task is None), None)
        if process is None:
            process = _Process(self._job, self.n_jobs, self._messages)
            self._processes.append(process)
        process.give(task)

    def finished(self, seconds: float) -> tuple[int, Outcome] | None:
        """Wait for a trial to end."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            try:
                process, message = self._messages.get(timeout=min(NAP, max(0.0, left)))
            except Empty:
                if math.isfinite(end) and left <= 0:
                    return None
                continue
            task, process.task = process.task, None
            if message is not None and task is not None:
                return task.number, cloudpickle.loads(message)
            self._processes.remove(process)
            code = process.end()
            if task is None:
                continue
            self._deaths[task.number] += 1
            if self._deaths[task.number] > RETRIES:
                error = f"the process that ran it died {RETRIES + 1} times, the last time with exit code {code}"
                return task.number, Outcome("failed", error=error)
            self.start(task)

    def close(self) -> None:
        """End all processes, whatever they are at."""
        for process in self._processes:
            process.end()


class _Process:
    """A process and the trial that it runs."""

    def __init__(self, job: bytes, n_jobs: int, messages: SimpleQueue[tuple[_Process, bytes | None]]) -> None:
        self.task: Task | None = None
        threads = str(max(1, (os.cpu_count() or 1) // n_jobs))
        environment = {**dict.fromkeys(_THREADS, threads), **os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        self._program: Any = subprocess.Popen(
            [sys.executable, "-P", "-m", "dln.tune._worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self._write(job)
        threading.Thread(target=self._listen, args=(messages,), daemon=True).start()

    def give(self, task: Task) -> None:
        """Let it run a trial."""
        self.task = task
        self._write(cloudpickle.dumps(task))

    def end(self) -> int:
        """Kill it, if it is not dead; return its exit code."""
        self._program.kill()
        code: int = self._program.wait()
        for pipe in (self._program.stdin, self._program.stdout):
            try:
                pipe.close()
            except BrokenPipeError:  # what was not yet written to it
                continue
        return code

    def _write(self, message: bytes) -> None:
        try:
            write_frame(self._program.stdin, message)
        except (BrokenPipeError, ConnectionError):
            return  # it has died; the listener will say so

    def _listen(self, messages: SimpleQueue[tuple[_Process, bytes | None]]) -> None:
        """Pass on what it says; None when it has died."""
        message: bytes | None = b""
        while message is not None:
            try:
                message = read_frame(self._program.stdout)
            except (OSError, ValueError):  # closed by `end`
                message = None
            messages.put((self, message))
