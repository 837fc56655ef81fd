"""Seconds that `import dln` takes beyond `import sklearn.ensemble`, each in new processes.

python benchmarks/import_time.py
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from measure import machine

REPEATS = 9
CODE = "import time; start = time.thread_time(); import {}; print(time.thread_time() - start)"


def seconds(module: str) -> float:
    """Return the processor time of one import in a new process."""
    run = subprocess.run([sys.executable, "-c", CODE.format(module)], capture_output=True, check=True, text=True)  # noqa: S603
    return float(run.stdout)


def main() -> None:
    """Print both medians and their difference."""
    print(machine())
    times = [(seconds("sklearn.ensemble"), seconds("dln")) for _ in range(REPEATS)]
    theirs, ours = np.median(times, axis=0)
    print(f"sklearn.ensemble {theirs:.2f} s, dln {ours:.2f} s: {ours - theirs:.2f} s longer")


if __name__ == "__main__":
    main()
