"""A fit in a process of its own, to be interrupted, killed and resumed.

``python tests/fits.py folder`` fits with a checkpoint that is written as often as can be, and saves the model.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from dln import DLNRegressor
from dln.training import _checkpoint
from models import frame, target

#: Several networks in threads, and epochs enough to be killed in.
SETTINGS: dict[str, Any] = {
    "hidden_layer_sizes": (16, 8),
    "max_epochs": 60,
    "n_iter_no_change": 60,
    "n_networks": 3,
    "n_jobs": 2,
    "random_state": 0,
}

#: Seconds that a child may take in all: it may have to compile.
PATIENCE = 300


def fit(folder: Path, *, say_epochs: bool = False) -> DLNRegressor:
    """Fit with a checkpoint in the folder, and save the model there."""
    _checkpoint.INTERVAL = 0.0  # type: ignore[misc]
    callbacks = [_say_epoch] if say_epochs else None
    table = frame(300)
    model = DLNRegressor(**SETTINGS, checkpoint=folder / "run.ckpt", callbacks=callbacks).fit(table, target(table))
    model.save(folder / "model.dln")
    return model


def _say_epoch(epoch: Any) -> None:
    sys.stdout.write(f"{epoch.epoch}\n")
    sys.stdout.flush()


def uninterrupted() -> DLNRegressor:
    """Return the model that every interrupted and resumed fit has to end in."""
    table = frame(300)
    return DLNRegressor(**SETTINGS).fit(table, target(table))


def start(folder: Path) -> subprocess.Popen[str]:
    """Start a fit in a child process; it prints the number of every epoch of every network."""
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, __file__, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def wait_for_epoch(child: subprocess.Popen[str], epoch: int) -> None:
    """Wait until a network of the child has finished an epoch."""
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) >= epoch:
            return


def kill_after(seconds: float, folder: Path) -> bool:
    """Fork, fit, and kill the fork after some seconds; return whether it was faster than that.

    Only for processes that have no other threads: a fork copies none of them.
    """
    child = os.fork()
    if child == 0:
        try:
            with warnings.catch_warnings():
                fit(folder)
            os._exit(0)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, 9)
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status)


if __name__ == "__main__":
    fit(Path(sys.argv[1]), say_epochs=True)
