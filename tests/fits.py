"""A fit in a process of its own, to be interrupted, killed and resumed.

``python tests/fits.py folder 15`` fits with a checkpoint that is written as often as can be, sends itself signal 15,
and saves the model.
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from dln import RuleRegressor
from dln.network import _checkpoint
from models import SMALL, frame, target

#: All stages, several networks in threads, and epochs enough to be killed in.
SETTINGS: dict[str, Any] = {
    **SMALL,
    "hidden_layer_sizes": (16, 8),
    "max_epochs": 60,
    "n_networks": 3,
    "n_teachers": 1,
    "n_jobs": 2,
}


def fit(folder: Path, *, send: int | None = None) -> RuleRegressor:
    """Fit with a checkpoint in the folder, and save the model there; `send` this process a signal on the way."""
    _checkpoint.INTERVAL = 0.0  # type: ignore[misc]
    callbacks = None if send is None else [functools.partial(_send_signal, number=send)]
    table = frame(300)
    model = RuleRegressor(**SETTINGS, checkpoint=folder / "run.ckpt", callbacks=callbacks).fit(table, target(table))
    model.save(folder / "model.dln")
    return model


def _send_signal(epoch: Any, *, number: int) -> None:
    """Send a signal in the middle of a fit, and wait until the main thread has taken it: other threads wait too."""
    if (epoch.network, epoch.epoch) == (1, 5):
        handler = signal.getsignal(number)
        os.kill(os.getpid(), number)
        while signal.getsignal(number) is handler:
            time.sleep(0.001)


def uninterrupted() -> RuleRegressor:
    """Return the model that every interrupted and resumed fit has to end in."""
    table = frame(300)
    return RuleRegressor(**SETTINGS).fit(table, target(table))


def fit_elsewhere(folder: Path, send: int) -> subprocess.CompletedProcess[str]:
    """Fit in a child process that sends itself a signal in the middle."""
    return subprocess.run(
        [sys.executable, __file__, str(folder), str(int(send))],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


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
    fit(Path(sys.argv[1]), send=int(sys.argv[2]))
