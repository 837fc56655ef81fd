"""Seconds that `import dln` and the estimator take beyond `import sklearn.ensemble`, each in new processes.

python benchmarks/import_time.py
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from measure import machine

REPEATS = 9
CODE = "import time; start = time.thread_time(); {}; print(time.thread_time() - start)"
IMPORTS = ("import sklearn.ensemble", "import dln", "from dln import RuleRegressor")


def seconds(statement: str) -> float:
    """Return the processor time of one import in a new process."""
    run = subprocess.run([sys.executable, "-c", CODE.format(statement)], capture_output=True, check=True, text=True)  # noqa: S603
    return float(run.stdout)


def main() -> None:
    """Print the medians and how far they are from scikit-learn's."""
    print(machine())
    medians = np.median([[seconds(statement) for statement in IMPORTS] for _ in range(REPEATS)], axis=0)
    for statement, median in zip(IMPORTS, medians, strict=True):
        print(f"{statement}: {median:.2f} s, {median - medians[0]:+.2f} s")


if __name__ == "__main__":
    main()
