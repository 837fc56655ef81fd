"""Display of a fit: a bar for each stage, in the order in which they begin."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

from dln.network._train import Epoch


class _Count(ProgressColumn):
    """Steps done of all."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.completed:.0f}/{task.total:.0f}" if task.total else "", justify="right")


class _TimeLeft(TimeRemainingColumn):
    """The time left, while it can be estimated."""

    max_refresh = 0.0  # the last look must not show what was so half a second before

    def render(self, task: Task) -> Text:
        if task.finished or not task.total or task.fields["ended"]:
            return Text("")
        return Text.assemble("left ", super().render(task))


class Progress:
    """Bars for the networks, with the time left, and for the other stages of a fit; silent where `verbose` is 0.

    With `verbose` of 2 or more, every epoch that is better than all before it has a line of its own. A bar that ends
    before it is full says why.
    """

    def __init__(self, verbose: int) -> None:
        self._verbose = verbose
        self._networks: list[TaskID] = []
        self._best: list[float] = []
        self._is_compiling = False
        self._bar: Bar | None = None
        if verbose:
            note = TextColumn("{task.fields[note]}")
            columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), _Count(), TimeElapsedColumn())
            self._bar = Bar(*columns, _TimeLeft(), note, console=Console(stderr=True))
            # Not every stage has a bar of its own: here one sees that something goes on, and for how long.
            self._whole = self._bar.add_task("fit", total=None, note="", ended=False)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        """Show a line above the bar."""
        if self._bar is not None:
            self._bar.console.print(text)

    def say_stopping(self) -> None:
        """Show that Ctrl-C was seen, since a stage may take a while to end: at a terminal also if nothing else is."""
        text = "Ctrl-C: finishing with the best model so far; press again to stop at once"
        self.say(text)
        if self._bar is None and sys.stderr.isatty():
            os.write(sys.stderr.fileno(), f"\n{text}\n".encode())  # a signal handler must not use a buffer

    def say_compiling(self) -> None:
        """Show, once, why a first fit takes longer."""
        if not self._is_compiling:
            self.say("compiling (first run only) …")
        self._is_compiling = True

    def networks(self, n_networks: int, n_epochs: int) -> None:
        """Show a bar for every network that is about to be trained for so many epochs."""
        self._best = [math.inf] * n_networks
        if self._bar is not None:
            names = [f"network {i + 1}" if n_networks > 1 else "network" for i in range(n_networks)]
            self._networks = [self._bar.add_task(name, total=n_epochs, note="", ended=False) for name in names]

    def stage(self, name: str, total: int) -> Callable[[], None]:
        """Show a bar for another part of the fit; return what moves it on by one."""
        bar = self._bar
        if bar is None or total == 0:
            return lambda: None
        task = bar.add_task(name, total=total, note="", ended=False)
        return lambda: bar.advance(task)

    def update(self, epoch: Epoch) -> None:
        """Move the bar of the epoch's network on."""
        if self._bar is None:
            return
        kind, loss = "validation", epoch.validation_loss
        if loss is None:
            kind, loss = "training", epoch.training_loss
        if epoch.is_best:
            self._best[epoch.network] = loss
            if self._verbose > 1:
                self.say(f"network {epoch.network + 1}, epoch {epoch.epoch}: {kind} loss {loss:.5f}, best so far")
        best, temperature = self._best[epoch.network], epoch.temperature
        note = f"loss {loss:.3f} best {best:.3f} τ {temperature:.2g} rules {epoch.open_rules}"
        self._bar.update(self._networks[epoch.network], completed=epoch.epoch, note=note)

    def end(self, *, cut_short: bool) -> None:
        """Leave no bar unfinished without a word: it was cut short, or there was nothing more to gain."""
        if self._bar is None:
            return
        self._bar.update(self._whole, total=0)
        for task in self._bar.tasks:
            if task.completed >= (task.total or 0):
                continue
            is_network = task.id in self._networks
            word = "cut short" if cut_short else "no better epoch came" if is_network else "done early"
            self._bar.update(task.id, note=word, ended=True)
