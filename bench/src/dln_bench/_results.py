"""The result file: one finished unit of work per line, only ever appended to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from filelock import FileLock

from dln._atomic import AnyPath
from dln_bench._names import DEFAULTS, WITHOUT
from dln_bench._split import Protocol

#: The result file in a folder of results.
RESULTS: Final = "results.jsonl"


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """One piece of work: a model is searched for, fitted and tested on one split of one dataset."""

    dataset: str
    model: str
    seed: int
    #: Trials of the search; 0: a model that is not searched for.
    trials: int
    protocol: Protocol = "paper"

    def __str__(self) -> str:
        told = f", {self.trials} trials" if self.trials else ""
        return f"{self.dataset}, {self.model}, seed {self.seed}{told}{', plain' if self.protocol == 'plain' else ''}"


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of a unit."""

    dataset: str
    model: str
    seed: int
    #: The trials asked for, in all; `cut` says where fewer were run.
    trials: int
    #: Of the test rows.
    r2: float
    #: "paper": splits and clipped targets as in the paper; "plain": targets as they are.
    protocol: Protocol = "plain"
    folds: int = 0
    search_rows: int = 0
    train_rows: int = 0
    params: dict[str, Any] = field(default_factory=dict)
    #: Cross-validated mean squared error of the best trial, in the unit of the target squared; None: no search.
    cv_mse: float | None = None
    #: In the target's unit.
    rmse: float | None = None
    mae: float | None = None
    #: Logic operations of one prediction, as the paper counts; where rules are 0 or 1, also counted as a select.
    ops: int | None = None
    select_ops: int | None = None
    #: Comparisons that the model prints or makes; None: it is not made of them.
    conditions: int | None = None
    rules: int | None = None
    literals: int | None = None
    #: Conditions of the longest rule; rules that are true of a row, on average; test rows in the interval of 90 %.
    longest: int | None = None
    fired: float | None = None
    covered_90: float | None = None
    #: R² of the same model pruned to so many conditions.
    pruned: dict[str, float] | None = None
    search_seconds: float = 0.0
    fit_seconds: float = 0.0
    #: How the budget was cut, in words; None: it was not.
    cut: str | None = None
    version: str = ""
    commit: str = ""
    machine: str = ""
    #: Trials that were really run: finished, pruned or failed.
    run_trials: int = 0

    @property
    def unit(self) -> Unit:
        """The unit that this is the result of: the key of a line."""
        return Unit(self.dataset, self.model, self.seed, self.trials, self.protocol)

    @property
    def seconds(self) -> float:
        """What the unit took: search and last fit."""
        return self.search_seconds + self.fit_seconds


class ResultFileError(ValueError):
    """A result file with a line that is none.

    >>> raise ResultFileError("results.jsonl, line 3: JSON is malformed; mend or remove the line")
    Traceback (most recent call last):
    dln_bench._results.ResultFileError: results.jsonl, line 3: JSON is malformed; mend or remove the line
    """


def result_files(paths: Iterable[AnyPath]) -> list[Path]:
    """Return the files behind paths: a folder stands for the file in it, if there is one."""
    files = [path / RESULTS if path.is_dir() else path for path in map(Path, paths)]
    return [file for file in files if file.exists() or file.name != RESULTS]


def read_results(paths: Iterable[AnyPath]) -> list[Result]:
    """Return the results of files, or of folders that hold one, merged: one per unit, of which the last line counts.

    A last line without an end was being written when the process was killed, and is left out. A folder without a file
    has no results; a file that is not there is an error.
    """
    found: dict[Unit, Result] = {}
    for file in result_files(paths):
        for number, line in enumerate(_whole(file.read_bytes()).splitlines(), 1):
            if not line.strip():
                continue
            try:
                result = _decoded(line)
            except msgspec.MsgspecError as error:
                message = f"{file}, line {number}: {error}; mend or remove the line"
                raise ResultFileError(message) from None
            found[result.unit] = result
    return list(found.values())


def append_results(path: AnyPath, results: Sequence[Result]) -> None:
    """Write results as whole lines at the end of a file (or of a folder's file); processes may share the file.

    A torn line that a killed process left is removed first. The lines have reached the disk when this returns.
    """
    path = Path(path)
    file = path / RESULTS if path.is_dir() else path
    lines = b"".join(msgspec.json.encode(result) + b"\n" for result in results)
    with FileLock(file.with_name(f".{file.name}.lock")):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(descriptor, "r+b") as stream:
            whole = len(_whole(stream.read()))
            stream.truncate(whole)
            stream.seek(whole)
            stream.write(lines)
            stream.flush()
            os.fsync(stream.fileno())


def _whole(content: bytes) -> bytes:
    """Return the lines that have an end."""
    return content[: content.rfind(b"\n") + 1]


# --- lines of before --------------------------------------------------------------------------------------------------


class _Measured(msgspec.Struct, forbid_unknown_fields=True):
    """A line of ``benchmarks/accuracy.py``, the harness of models without a search that this one has taken over."""

    dataset: str
    model: str
    seed: int
    r2: float
    seconds: float = 0.0
    conditions: int | None = None
    rules: int | None = None
    longest: int | None = None
    literals: int | None = None
    gates: int | None = None
    paper_ops: int | None = None
    select_ops: int | None = None
    fired: float | None = None
    covered_90: float | None = None
    pruned: dict[str, float] | None = None


#: Its names for models, where ours are others.
_RENAMED: Final = {
    **{name.removesuffix("-default"): name for name in DEFAULTS},
    **{name.removeprefix("dln-"): name for name in WITHOUT},
    "lightgbm": "lightgbm-default",
}


def _decoded(line: bytes) -> Result:
    try:
        return msgspec.json.decode(line, type=Result)
    except msgspec.ValidationError as error:
        try:
            old = msgspec.json.decode(line, type=_Measured)
        except msgspec.ValidationError:
            raise error from None
    return Result(
        dataset=old.dataset,
        model=_RENAMED.get(old.model, old.model),
        seed=old.seed,
        trials=0,
        r2=old.r2,
        ops=old.paper_ops,
        select_ops=old.select_ops,
        conditions=old.conditions,
        rules=old.rules,
        literals=old.literals,
        longest=old.longest,
        fired=old.fired,
        covered_90=old.covered_90,
        pruned=old.pruned,
        fit_seconds=old.seconds,
    )
