"""What a person sees while a model is fitted."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from dln.training._loop import Epoch


def _nothing() -> None:
    """Move nothing on."""


class Shown:
    """What is shown while it is entered: a bar, or nothing where there is none."""

    _bar: Bar | None = None

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


class Progress(Shown):
    """A progress bar over the epochs of all networks, with the time left; silent where `verbose` is 0.

    With `verbose` of 2 or more, every epoch that is better than all before it is told in a line of its own.
    """

    def __init__(self, verbose: int, n_networks: int, max_epochs: int) -> None:
        self._verbose = verbose
        self._tasks: list[TaskID] = []
        self._best = [math.inf] * n_networks
        if verbose:
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                TextColumn("{task.completed}/{task.total}", justify="right"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[loss]}"),
                console=Console(stderr=True),
            )
            names = [f"network {i + 1}" if n_networks > 1 else "epoch" for i in range(n_networks)]
            self._tasks = [self._bar.add_task(name, total=max_epochs, loss="") for name in names]

    def say(self, text: str) -> None:
        """Show a line above the bar."""
        if self._bar is not None:
            self._bar.console.print(text)

    def stage(self, name: str, total: int) -> Callable[[], None]:
        """Show a bar of its own for a later part of the fit; return what moves it on by one."""
        bar = self._bar
        if bar is None or total == 0:
            return _nothing
        task = bar.add_task(name, total=total, loss="")
        return lambda: bar.advance(task)

    def update(self, epoch: Epoch) -> None:
        """Move the bar of the epoch's network on."""
        if self._bar is None:
            return
        kind, loss = ("training", epoch.training_loss)
        if epoch.validation_loss is not None:
            kind, loss = ("validation", epoch.validation_loss)
        if epoch.is_best:
            self._best[epoch.network] = loss
            if self._verbose > 1:
                self.say(f"network {epoch.network + 1}, epoch {epoch.epoch}: {kind} loss {loss:.5f}, best so far")
        task = self._tasks[epoch.network]
        self._bar.update(task, completed=epoch.epoch, loss=f"loss {loss:.3f}, best {self._best[epoch.network]:.3f}")
