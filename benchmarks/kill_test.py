"""SIGKILL at random moments of `save`: after every kill the file holds the old model or the new one.

python benchmarks/kill_test.py --saves 100
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import dln
from models import models


def kill_saves(folder: Path, n: int, rng: random.Random) -> Counter[str]:
    """Kill processes that save two models in turn over the same file."""
    small, large = models()[4][0], models()[9][0]
    path = folder / "saved.dln"
    contents = []
    for model in (small, large):
        model.save(path)
        contents.append(path.read_bytes())
    found: Counter[str] = Counter()
    for _ in range(n):
        child = os.fork()
        if child == 0:
            while True:
                small.save(path)
                large.save(path)
        time.sleep(rng.uniform(0.01, 0.08))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        whole = path.read_bytes() in contents
        dln.load(path)
        found["old or new file, whole" if whole else "DAMAGED FILE"] += 1
    return found


def main() -> None:
    """Kill, count, and end with an error if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--saves", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)  # noqa: S311 (not for secrets)
    with tempfile.TemporaryDirectory() as name:
        saves = kill_saves(Path(name), arguments.saves, rng)
        print(f"saves killed {saves.total()}: {dict(saves)}")
    if saves["DAMAGED FILE"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
