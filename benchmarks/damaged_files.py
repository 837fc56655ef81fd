"""Damaged model files: ours, LightGBM's and XGBoost's, loaded and used in child processes.

Ten models are saved; their files are cut, flipped, spliced, and every file is loaded and used. Ours are
also given a wrong meaning with the right checksum. The promise: a clean error, or the same prediction; nothing else.

    python benchmarks/damaged_files.py --files 10000 --peers 1000     # XGBoost is not among our extras: pip install it
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from dln.readers.model_file import sealed
from models import models
from mutations import VERDICTS, Case, count, damaged, misleading, verdicts

#: Of our files, the share that has the right checksum and a wrong meaning.
MISLEADING = 0.2
N_PEERS = 10


def ours(folder: Path) -> list[Case]:
    """Return the files of ten models."""
    cases = []
    for model, table in models():
        model.save(folder / "model")
        cases.append(Case((folder / "model").read_bytes(), table, model.predict(table)))
    return cases


def peers_table(seed: int) -> tuple[Any, Any]:
    """Return numbers and a target for a peer's model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    return X, X[:, 0] * X[:, 1] + X[:, 2]


def lightgbm_files(folder: Path) -> list[Case]:
    """Return the files of ten LightGBM models, text."""
    import lightgbm

    cases = []
    for seed in range(N_PEERS):
        X, y = peers_table(seed)
        settings = {"verbosity": -1, "num_leaves": 7, "seed": seed, "num_threads": 1}
        booster = lightgbm.train(settings, lightgbm.Dataset(X, y), num_boost_round=10)
        booster.save_model(folder / "model.txt")
        cases.append(Case((folder / "model.txt").read_bytes(), X, booster.predict(X)))
    return cases


def xgboost_files(folder: Path) -> list[Case]:
    """Return the files of ten XGBoost models, UBJSON."""
    import xgboost

    cases = []
    for seed in range(N_PEERS):
        X, y = peers_table(seed)
        settings = {"max_depth": 3, "seed": seed, "nthread": 1}
        booster = xgboost.train(settings, xgboost.DMatrix(X, y), num_boost_round=10)
        booster.save_model(folder / "model.ubj")
        cases.append(Case((folder / "model.ubj").read_bytes(), X, booster.predict(xgboost.DMatrix(X))))
    return cases


def damage_all(cases: list[Case], n: int, rng: np.random.Generator) -> Iterator[Case]:
    """Yield files with one random damage each; a damage that changes nothing is none."""
    made = 0
    while made < n:
        case, other = cases[made % len(cases)], cases[int(rng.integers(len(cases)))]
        data = damaged(case.data, other.data, rng)
        if data not in (case.data, other.data):
            made += 1
            yield Case(data, case.table, case.expected)


def mislead_all(cases: list[Case], n: int, rng: np.random.Generator) -> Iterator[Case]:
    """Yield files of a wrong meaning with the right checksum."""
    for i in range(n):
        case = cases[i % len(cases)]
        yield Case(misleading(case.data, rng, sealed), case.table, case.expected)


def main() -> None:
    """Print one line per format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--peers", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    n_misleading = round(MISLEADING * arguments.files)
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = ours(folder)
        found = {
            "dln, damaged": ("dln", list(damage_all(files, arguments.files - n_misleading, rng))),
            "dln, right checksum, wrong meaning": ("dln", list(mislead_all(files, n_misleading, rng))),
        }
        for kind, make in (("lightgbm", lightgbm_files), ("xgboost", xgboost_files)):
            try:
                found[f"{kind}, damaged"] = (kind, list(damage_all(make(folder), arguments.peers, rng)))
            except ImportError:
                print(f"{kind} is not installed", file=sys.stderr)
        print("| files | number | " + " | ".join(VERDICTS) + " |")
        print("|---|---|" + "---|" * len(VERDICTS))
        for what, (kind, cases) in found.items():
            counted = count(verdicts(kind, folder, cases, whole=files if kind == "dln" else ()))
            print(f"| {what} | {len(cases)} | " + " | ".join(str(n) for n in counted.values()) + " |", flush=True)
            if kind == "dln":
                bad += len(cases) - counted["clean error"] - counted["harmless"]
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
