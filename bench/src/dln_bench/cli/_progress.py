"""What a person sees while a run goes on: a bar on a terminal, a line per unit elsewhere."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from dln.cli._terminal import console
from dln_bench._protocol import Claimed, Done, Event, Trial
from dln_bench._results import Result, read_results
from dln_bench._unit import Work

MINUTE: Final = 60


class Watch:
    """Shows units done, the work that goes on with its best trial, and the time left."""

    def __init__(self, out: str, works: Sequence[Work], *, jobs: int, silent: bool) -> None:
        self._units = {unit for work in works for unit in work.units}
        self._jobs, self._silent = jobs, silent
        self._talk = console(stderr=True)
        there = read_results([out]) if Path(out).is_dir() else []
        self._seconds: defaultdict[str, list[float]] = defaultdict(list)
        for result in there:
            self._seconds[result.model].append(result.seconds)
        self._left = self._units - {result.unit for result in there}
        self._waiting = False
        self._running: dict[Work, TaskID] = {}
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.completed}/{task.total}", justify="right"),
            TextColumn("{task.fields[note]}"),
            console=self._talk,
            disable=silent or not self._talk.is_terminal,
            transient=True,
        )
        done = len(self._units) - len(self._left)
        self._all = self._bar.add_task("units", total=len(self._units), completed=done, note="")
        if done and not silent:
            self._talk.print(f"{done} of {len(self._units)} units are there already")
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def tell(self, event: Event) -> None:
        """Show what has happened."""
        if isinstance(event, Claimed):
            name = f"{event.work.dataset} {event.work.model} seed {event.work.seed}"
            self._running[event.work] = self._bar.add_task(name, total=max(event.work.budgets) or 1, note="")
        elif isinstance(event, Trial):
            note = "" if event.best is None else f"best RMSE {event.best**0.5:.4g}"
            self._bar.update(self._running[event.work], completed=event.done, note=note)
        elif isinstance(event, Done):
            self._done(event)
        elif not self._waiting:
            self._waiting = True
            self._print("the rest is being run by other processes: waiting for them")

    def _done(self, event: Done) -> None:
        self._bar.remove_task(self._running.pop(event.work))
        self._left.difference_update(event.work.units)
        for result in event.results:
            self._seconds[result.model].append(result.seconds)
        left = self._time_left()
        done = len(self._units) - len(self._left)
        self._bar.update(self._all, completed=done, note=left)
        width = max(len(unit.model) for unit in self._units)
        work = event.work
        where = f"{work.dataset:<10}  {work.model:<{width}}  seed {work.seed}"
        counted = f"{done:>{len(str(len(self._units)))}}/{len(self._units)}"
        for said in [_line(result) for result in event.results] or [f"failed: {event.error}"]:
            self._print(f"{counted}  {where}  {said}", left)

    def _print(self, text: str, left: str = "") -> None:
        if not self._silent:
            self._talk.print(f"{text}  {left}" if left and not self._talk.is_terminal else text, soft_wrap=True)

    def _time_left(self) -> str:
        """Return the time left, from what units of the same model took so far."""
        known = [value for values in self._seconds.values() for value in values]
        if not self._left or not known:
            return ""
        overall = sum(known) / len(known)
        means = {model: sum(values) / len(values) for model, values in self._seconds.items()}
        return f"about {_clock(sum(means.get(unit.model, overall) for unit in self._left) / self._jobs)} left"


def _line(result: Result) -> str:
    trials = f"{result.trials:3d} trials  " if result.trials else ""
    size = f"  {result.conditions:5d} conditions" if result.conditions is not None else ""
    return f"{trials}R² {result.r2:6.3f}  {_short(result.ops):>6} OPs{size}  {result.seconds:6.1f} s"


def _short(number: float | None) -> str:
    """Return a number of operations for reading.

    >>> _short(1464), _short(29_783), _short(128_450_066), _short(None)
    ('1.5K', '29.8K', '128.5M', '–')
    """
    if number is None:
        return "–"
    for unit, size in (("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(int(number))


def _clock(seconds: float) -> str:
    """Return a length of time for reading.

    >>> _clock(42), _clock(125), _clock(7325)
    ('42 s', '2 min', '2 h 02 min')
    """
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / MINUTE), MINUTE)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
