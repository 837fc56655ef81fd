"""What a person sees while a search runs: trials done, the best so far, and the time left."""

from __future__ import annotations

import math
import time

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from dln._progress import Shown
from dln.tune._study import TrialRecord


class Progress(Shown):
    """A bar over the trials; silent where `verbose` is 0."""

    def __init__(self, verbose: int, n_trials: int, timeout: float | None) -> None:
        self._n_trials, self._timeout = n_trials, timeout
        self._start = time.monotonic()
        self._n_done = self._n_new = 0
        self._best: TrialRecord | None = None
        self._begun = False
        if verbose:
            self._bar = Bar(
                TextColumn("trial"),
                TextColumn("{task.completed} of {task.total}", justify="right"),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[best]}"),
                TimeElapsedColumn(),
                TextColumn("{task.fields[remaining]}"),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task("trials", total=n_trials, best="", remaining="")

    def begin(self) -> None:
        """From here on trials are new: the time left is estimated from them alone."""
        self._start, self._begun = time.monotonic(), True

    def add(self, record: TrialRecord) -> None:
        """Count a finished trial."""
        if self._bar is None:
            return
        self._n_done += 1
        self._n_new += self._begun
        if record.value is not None and (self._best is None or record.value < (self._best.value or 0.0)):
            self._best = record
        best = "" if self._best is None else f"lowest RMSE {math.sqrt(self._best.value or 0.0):.5g}"
        self._bar.update(
            self._task, completed=min(self._n_done, self._n_trials), best=best, remaining=self._remaining()
        )

    def _remaining(self) -> str:
        """Return the time left, from the time that new trials took; a time limit may end the search earlier."""
        if not self._n_new:
            return ""
        passed = time.monotonic() - self._start
        seconds = passed / self._n_new * max(0, self._n_trials - self._n_done)
        if self._timeout is not None:
            seconds = min(seconds, max(0.0, self._timeout - passed))
        return f"{_clock(seconds)} left"


def _clock(seconds: float) -> str:
    """Return a length of time for reading.

    >>> _clock(42), _clock(125), _clock(7325)
    ('42 s', '2 min 05 s', '2 h 02 min')
    """
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 (seconds in a minute)
        return f"{whole} s"
    if whole < 3600:  # noqa: PLR2004 (seconds in an hour)
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
