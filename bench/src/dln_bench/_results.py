"""The result file: one finished unit of work per line, only ever appended to."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from dln._atomic import AnyPath
from dln_bench._lock import Lock

#: The result file in a folder of results.
RESULTS: Final = "results.jsonl"


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """One piece of work: a model is searched for, fitted and tested on one split of one dataset."""

    dataset: str
    model: str
    seed: int
    trials: int

    def __str__(self) -> str:
        return f"{self.dataset}, {self.model}, seed {self.seed}, {self.trials} trials"


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of a unit."""

    dataset: str
    model: str
    seed: int
    #: The trials asked for, in all; `cut` says where fewer were run.
    trials: int
    folds: int
    search_rows: int
    train_rows: int
    params: dict[str, Any]
    #: Cross-validated mean squared error of the best trial, in the unit of the target squared; None: no search.
    cv_mse: float | None
    #: Of the test rows, in the target's unit.
    r2: float
    rmse: float
    mae: float
    #: Logic operations of one prediction, as the paper counts; where rules are 0 or 1, also counted as a select.
    ops: int
    select_ops: int | None
    rules: int | None
    literals: int | None
    search_seconds: float
    fit_seconds: float
    #: How the budget was cut, in words; None: it was not.
    cut: str | None
    version: str
    #: Trials that were really run: finished, pruned or failed.
    run_trials: int = field(default=0)

    @property
    def unit(self) -> Unit:
        """The unit that this is the result of: the key of a line."""
        return Unit(self.dataset, self.model, self.seed, self.trials)


class ResultFileError(ValueError):
    """A result file with a line that is none.

    >>> raise ResultFileError("results.jsonl, line 3: JSON is malformed; mend or remove the line")
    Traceback (most recent call last):
    dln_bench._results.ResultFileError: results.jsonl, line 3: JSON is malformed; mend or remove the line
    """


def read_results(paths: Iterable[AnyPath]) -> list[Result]:
    """Return the results of files, or of folders that hold one, merged: one per unit, of which the last line counts.

    A last line without an end was being written when the process was killed, and is left out. A folder without a file
    has no results; a file that is not there is an error.
    """
    found: dict[Unit, Result] = {}
    for path in map(Path, paths):
        file = path / RESULTS if path.is_dir() else path
        if path.is_dir() and not file.exists():
            continue
        for number, line in enumerate(_whole(file.read_bytes()).splitlines(), 1):
            if not line.strip():
                continue
            try:
                result = msgspec.json.decode(line, type=Result)
            except msgspec.MsgspecError as error:
                message = f"{file}, line {number}: {error}; mend or remove the line"
                raise ResultFileError(message) from None
            found[result.unit] = result
    return list(found.values())


def append_result(path: AnyPath, result: Result) -> None:
    """Write a result as one whole line at the end of a file (or of a folder's file); processes may share the file.

    A torn line that a killed process left is removed first. The line has reached the disk when this returns.
    """
    path = Path(path)
    file = path / RESULTS if path.is_dir() else path
    line = msgspec.json.encode(result) + b"\n"
    with Lock(file.with_name(f".{file.name}.lock")).held():
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(descriptor, "r+b") as stream:
            whole = len(_whole(stream.read()))
            stream.truncate(whole)
            stream.seek(whole)
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())


def _whole(content: bytes) -> bytes:
    """Return the lines that have an end."""
    return content[: content.rfind(b"\n") + 1]
