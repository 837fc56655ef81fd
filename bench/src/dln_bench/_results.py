"""Result files: a line of JSON per finished unit, only ever appended to; files that end in .gz are compressed."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from dln._atomic import AnyPath
from dln_bench._split import Protocol


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """One model on one split of one dataset: the key of a result."""

    dataset: str
    model: str
    seed: int
    #: Trials of the search; 0: the model as it is made.
    trials: int = 0
    protocol: Protocol = "paper"

    def __str__(self) -> str:
        trials = f", {self.trials} trials" if self.trials else ""
        return f"{self.dataset}, {self.model}, seed {self.seed}{trials}{', plain' if self.protocol == 'plain' else ''}"


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a unit.

    Attributes
    ----------
    dataset, model, seed, trials, protocol
        The unit.
    trials_run : int
        Trials that were begun; fewer than `trials` where the search had a limit of time.
    r2, rmse, mae : float
        Scores on the test rows, in the target's units; under the protocol "paper" of the clipped target.
    multiply, select : int or None
        Operations of one prediction under both readings of the price of a rule.
    conditions, rules : int or None
        Comparisons that the model prints or makes, and rules in its sum; None for models that have none.
    params : dict
        Parameters that were searched for or set.
    cv_mse : float or None
        Cross-validated mean squared error of the best trial, in the target's units squared.
    folds : int
        Folds of the search.
    search_seconds, fit_seconds : float
        Duration of the trials and of the last fit.
    version, commit, machine : str
        Origin of the result.

    """

    dataset: str
    model: str
    seed: int
    r2: float
    rmse: float
    mae: float
    trials: int = 0
    protocol: Protocol = "paper"
    trials_run: int = 0
    multiply: int | None = None
    select: int | None = None
    conditions: int | None = None
    rules: int | None = None
    params: dict[str, Any] = field(default_factory=dict)
    cv_mse: float | None = None
    folds: int = 0
    search_seconds: float = 0.0
    fit_seconds: float = 0.0
    version: str = ""
    commit: str = ""
    machine: str = ""

    @property
    def unit(self) -> Unit:
        """The unit that this is the result of."""
        return Unit(self.dataset, self.model, self.seed, self.trials, self.protocol)

    @property
    def seconds(self) -> float:
        """Duration of search and last fit."""
        return self.search_seconds + self.fit_seconds


class ResultFileError(ValueError):
    """A result file that is missing, or has a line that is no result.

    >>> raise ResultFileError("paper.jsonl, line 3: JSON is malformed; mend or remove the line")
    Traceback (most recent call last):
    dln_bench._results.ResultFileError: paper.jsonl, line 3: JSON is malformed; mend or remove the line
    """


def read_results(paths: Iterable[AnyPath]) -> list[Result]:
    """Return the results of files, one per unit, of which the last line counts.

    A last line without an end is that of a killed process and is left out.
    """
    found: dict[Unit, Result] = {}
    for file in map(Path, paths):
        try:
            content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        except (OSError, EOFError) as error:
            message = f"results must be files that dln-bench run wrote, but {str(file)!r} cannot be read: {error}"
            raise ResultFileError(message) from None
        for number, line in enumerate(_whole(content).splitlines(), 1):
            try:
                result = msgspec.json.decode(line, type=Result)
            except msgspec.MsgspecError as error:
                message = f"{file}, line {number}: {error}; mend or remove the line"
                raise ResultFileError(message) from None
            found[result.unit] = result
    return list(found.values())


def append_results(file: Path, results: Sequence[Result]) -> None:
    """Write results as lines at the end of a file; they have reached the disk when this returns.

    A torn line of a killed process is removed first.
    """
    lines = b"".join(msgspec.json.encode(result) + b"\n" for result in results)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    with os.fdopen(descriptor, "r+b") as stream:
        whole = len(_whole(stream.read()))
        stream.truncate(whole)
        stream.seek(whole)
        stream.write(lines)
        stream.flush()
        os.fsync(stream.fileno())


def compress(results: Sequence[Result], file: Path) -> None:
    """Write results sorted by unit, without a time stamp: the same results give the same bytes."""
    lines = b"".join(msgspec.json.encode(result) + b"\n" for result in sorted(results, key=lambda result: result.unit))
    file.write_bytes(gzip.compress(lines, mtime=0))


def _whole(content: bytes) -> bytes:
    """Return the lines that have an end."""
    return content[: content.rfind(b"\n") + 1]
