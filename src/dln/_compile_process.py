"""Kernels compiled by another process while this one does other work: numba's compiler holds Python's one lock.

All that the other process leaves is machine code in the folder where this one looks before it compiles. So nothing
depends on it: where it cannot be started, fails or is killed, this process finds nothing there and compiles by itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Self

from dln._compile import kernel_folder

#: A process that takes longer hangs: it is ended, and what it was to compile is compiled here.
MOST_SECONDS: Final = 120.0

#: The other process takes over this one's `sys.path` before it imports anything that lies there.
_CODE: Final = "import sys; sys.path[:] = sys.argv[2:]; from dln._compile_process import main; main(sys.argv[1])"


class CompileProcess:
    """A process that calls `compile_kernels` of a module, and nothing else."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._was_stopped = False

    @classmethod
    def start(cls, module: str) -> Self | None:
        """Start a process, or return None where it would be of no use: nowhere to write, no Python, no second core."""
        folder = kernel_folder()
        if folder is None or not _is_python(sys.executable) or n_cores() == 1:
            return None
        command = [sys.executable, "-c", _CODE, module, *map(str, sys.path)]
        # This very folder: it may have been found by what only this process knows.
        settings = {**os.environ, "NUMBA_CACHE_DIR": str(folder.parent.absolute())}
        try:
            # Its input never comes: it ends when this process closes it, also by dying. Ctrl-C in the terminal is not
            # for it, so that it prints no traceback, and this process decides what becomes of it.
            process = subprocess.Popen(  # noqa: S603 (this very interpreter)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=settings,
                **_apart(),
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        return cls(process)

    def wait(self) -> bool:
        """Return when the process has ended, however it did; tell whether that was not by `stop`."""
        try:
            self._process.wait(MOST_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        return not self._was_stopped

    def stop(self) -> None:
        """End the process if it still runs, and leave nothing of it behind."""
        self._was_stopped = True
        self._process.kill()
        self._process.communicate()


def main(module: str) -> None:
    """Compile the kernels of a module, in the other process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import_module(module).compile_kernels()
    os._exit(0)  # what has been imported takes a while to be taken apart


def _end_with_parent() -> None:
    """Wait for the end of the input, and with it of the process that holds it open."""
    sys.stdin.buffer.read()
    os._exit(1)


def n_cores() -> int:
    """Return the cores that this process may run on."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_python(executable: str | None) -> bool:
    """Whether a program is Python, and not one that has Python inside: started again, that does what it likes."""
    return bool(executable) and Path(str(executable)).stem.lower().startswith("python") and not hasattr(sys, "frozen")


def _apart() -> Mapping[str, Any]:
    """Return what keeps signals of the terminal, and windows, from a process."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}
