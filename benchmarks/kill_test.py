"""SIGKILL at random moments of `fit` with a checkpoint and of `save`: nothing may be lost.

After every kill in a fit, the checkpoint is whole, and the fit that goes on from it ends in the model, byte for byte,
of a fit that was never killed. After every kill in a save, the file holds the old model or the new one.

    python benchmarks/kill_test.py --fits 100 --saves 100
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
from dln.network import _checkpoint
from fits import fit, kill_after, uninterrupted
from models import models


def kill_fits(folder: Path, n: int, rng: random.Random) -> Counter[str]:
    """Kill fits; each is killed once or several times before it may end."""
    expected = folder / "expected.dln"
    uninterrupted().save(expected)
    start = time.perf_counter()
    fit(folder)
    seconds = time.perf_counter() - start
    found: Counter[str] = Counter()
    while found.total() < n:
        (folder / "model.dln").unlink(missing_ok=True)
        ended = kill_after(rng.uniform(0.0, 1.1 * seconds), folder)
        checkpoint = folder / "run.ckpt"
        if checkpoint.exists():
            _checkpoint._read(checkpoint)  # noqa: SLF001 (raises if it is not whole)
        if ended:
            continue  # it was faster: not a kill
        if rng.random() < 0.3:  # noqa: PLR2004 (killed again before it is resumed)
            found["killed again before the end"] += 1
            continue
        fit(folder)
        same = (folder / "model.dln").read_bytes() == expected.read_bytes()
        found["resumed to the same model" if same else "DIFFERENT MODEL"] += 1
    checkpoint.unlink(missing_ok=True)
    return found


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
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--saves", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)  # noqa: S311 (not for secrets)
    with tempfile.TemporaryDirectory() as name:
        fits = kill_fits(Path(name), arguments.fits, rng)
        print(f"fits killed {fits.total()}: {dict(fits)}")
        saves = kill_saves(Path(name), arguments.saves, rng)
        print(f"saves killed {saves.total()}: {dict(saves)}")
    if fits["DIFFERENT MODEL"] or saves["DAMAGED FILE"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
