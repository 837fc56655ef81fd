from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dln.readers.model_file import sealed
from models import models
from mutations import Case, count, damaged, misleading, verdicts

#: benchmarks/damaged_files.py makes ten thousand.
N_FILES = 200


def test_damage_is_noticed(tmp_path: Path):
    """A file that was cut, flipped or spliced raises ModelFileError and nothing else."""
    rng = np.random.default_rng(0)
    other = _saved(0, tmp_path)
    cases = []
    while len(cases) < N_FILES:
        case = _case(1 + len(cases) % 4, tmp_path)
        data = damaged(case.data, other, rng)
        if data != case.data:
            cases.append(replace(case, data=data))
    assert count(verdicts("dln", tmp_path, cases, whole=[_case(0, tmp_path)]))["clean error"] == N_FILES


def test_meaning_is_checked(tmp_path: Path):
    """A file with the right checksum and a wrong meaning raises ModelFileError and nothing else."""
    rng = np.random.default_rng(0)
    cases = [_case(which % 10, tmp_path) for which in range(N_FILES)]
    cases = [replace(case, data=misleading(case.data, rng, sealed)) for case in cases]
    assert count(verdicts("dln", tmp_path, cases, whole=[_case(0, tmp_path)]))["clean error"] == N_FILES


def test_files_that_are_whole_are_harmless(tmp_path: Path):
    """A file that the child processes call harmless loads and predicts the same bits."""
    cases = [_case(which, tmp_path) for which in range(10)]
    assert count(verdicts("dln", tmp_path, cases, whole=cases))["harmless"] == 10


def _case(which: int, folder: Path) -> Case:
    model, table = models()[which]
    return Case(_saved(which, folder), table, model.predict(table))


def _saved(which: int, folder: Path) -> bytes:
    path = folder / f"{which}.dln"
    models()[which][0].save(path)
    return path.read_bytes()
