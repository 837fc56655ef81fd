"""Processor time from the start of a process to an import, or to a first prediction, beside `import sklearn.ensemble`.

python benchmarks/import_time.py
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
from measure import machine

REPEATS = 9
MODEL = str(Path(__file__).parents[1] / "examples" / "charges.dln")
ROW = [[52, 33.1, 2, "no", "northeast"]]
CODES = {
    "import numpy": "import numpy",
    "import sklearn.ensemble": "import sklearn.ensemble",
    "import dln": "import dln",
    "from dln import RuleRegressor": "from dln import RuleRegressor",
    "load_predictor and a row": f"import dln; dln.load_predictor({MODEL!r}).predict({ROW!r})",
    "load and a row": f"import dln; dln.load({MODEL!r}).predict({ROW!r})",
}


def seconds(code: str) -> float:
    """Return the processor time of a new process, all of it: what it takes on a machine that does nothing else."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the medians, and their ratios to scikit-learn's."""
    print(machine())
    medians = np.median([[seconds(code) for code in CODES.values()] for _ in range(REPEATS)], axis=0)
    ratios = medians / medians[list(CODES).index("import sklearn.ensemble")]
    for name, median, ratio in zip(CODES, medians, ratios, strict=True):
        print(f"{name}: {median:.2f} s, {ratio:.2f} times")


if __name__ == "__main__":
    main()
