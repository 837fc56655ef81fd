"""The paper's fifteen datasets: facts, origin and preparation of their tables.

Files are read from the folder that the environment variable ``DLN_DATA_HOME`` names, or else downloaded once from their
public homes into a cache (see `cache_folder`). Either way they are checked against their SHA-256.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from dln._text import closest
from dln_bench import _download

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DatasetError",
    "Encoding",
    "Facts",
    "cache_folder",
    "facts",
    "is_here",
    "load",
    "names",
    "path",
]

#: The environment variable that names a folder of dataset files.
HOME: Final = "DLN_DATA_HOME"
#: In such a folder: facts of its own datasets, in the form of datasets.json beside this file.
INDEX: Final = "index.json"


class DatasetError(ValueError):
    """A dataset that is not known, or whose file is not what it should be.

    >>> load("yatch")
    Traceback (most recent call last):
    dln_bench.datasets.DatasetError: there is no dataset 'yatch'; did you mean 'yacht'?
    """


@dataclass(frozen=True, slots=True)
class Encoding:
    """One-hot encoding of a column for models that need numbers."""

    scheme: Literal["one_hot_drop_first", "one_hot_full"]
    levels: list[Any]


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of a dataset."""

    title: str
    origin: str
    licence: str
    file: str
    target: str
    continuous: list[str]
    categorical: list[str]
    encoding: dict[str, Encoding]
    #: Rows of the prepared table, and one-hot columns of its categories.
    expected_rows: int
    n_categorical_columns: int
    drop_columns: list[str]
    drop_missing: bool
    drop_duplicates: bool
    #: Column -> {value as text: the number that stands for it}.
    value_maps: dict[str, dict[str, float]]
    sha256: str
    bytes: int
    #: Where the file is downloaded from; None for a dataset of a folder of one's own.
    source: _download.Source | None = None


def names() -> list[str]:
    """Return the names of the datasets.

    >>> len(names()) if "DLN_DATA_HOME" not in os.environ else 15
    15
    """
    return list(_all_facts())


def facts(name: str) -> Facts:
    """Return the facts of a dataset.

    >>> facts("yacht").target if "DLN_DATA_HOME" not in os.environ else "residuary_resistance"
    'residuary_resistance'
    """
    known = _all_facts()
    if name not in known:
        meant = closest(name, known)
        hint = f"there are {', '.join(known)}" if meant is None else f"did you mean {meant!r}?"
        message = f"there is no dataset {name!r}; {hint}"
        raise DatasetError(message)
    return known[name]


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a dataset's table and target, prepared as in the paper; columns of categories have the category dtype."""
    import pandas as pd

    fact = facts(name)
    frame = pd.read_csv(path(name))
    wanted = [*fact.continuous, *fact.categorical, fact.target]
    if lacking := [column for column in (*wanted, *fact.drop_columns) if column not in frame.columns]:
        message = f"{name}: {fact.file} lacks the columns {', '.join(map(repr, lacking))}"
        raise DatasetError(message)
    frame = frame.drop(columns=fact.drop_columns)
    if fact.drop_missing:
        frame = frame.dropna()
    if fact.drop_duplicates:
        frame = frame.drop_duplicates()
    for column, numbers in fact.value_maps.items():
        frame[column] = [numbers.get(str(value), value) for value in frame[column]]
    if len(frame) != fact.expected_rows:
        message = f"{name}: expected {fact.expected_rows} rows in {fact.file} after preparation, got {len(frame)}"
        raise DatasetError(message)
    levels = {column: fact.encoding[column].levels for column in fact.categorical}
    holes = [column for column in wanted if frame[column].isna().any()]
    if holes := [*holes, *(column for column in levels if not frame[column].isin(levels[column]).all())]:
        message = f"{name}: {fact.file} has values in {', '.join(map(repr, holes))} that are missing or not known"
        raise DatasetError(message)
    for column, known in levels.items():
        frame[column] = pd.Categorical(frame[column], categories=known)
    X = frame[[*fact.continuous, *fact.categorical]].astype(dict.fromkeys(fact.continuous, float))
    return X.reset_index(drop=True), frame[fact.target].astype(float).reset_index(drop=True)


def path(name: str, *, url: str | None = None) -> Path:
    """Return the path of a dataset's file; a file that is in no folder here is downloaded first.

    Parameters
    ----------
    name : str
        The dataset.
    url : str, optional
        A mirror: the address of a folder that holds files named as in `Facts.file`. Default: the environment variable
        ``DLN_DATA_URL``, or else the files' public homes.

    """
    fact = facts(name)
    if HOME in os.environ:
        file = Path(os.environ[HOME]) / fact.file
        if not file.is_file():
            message = f"{name}: there is no file {fact.file} in {os.environ[HOME]!r}, the folder that {HOME} names"
            raise DatasetError(message)
        _check(name, fact, file)
        return file
    file = cache_folder() / fact.file
    if not (file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == fact.sha256):
        _download.fetch(name, fact.source, file, fact.sha256, mirror=url)
    return file


def is_here(name: str) -> bool:
    """Return whether a dataset can be loaded without a download."""
    return HOME in os.environ or (cache_folder() / facts(name).file).is_file()


def cache_folder() -> Path:
    """Return the folder that downloads go to: ``DLN_CACHE``, or the platform's place for caches."""
    return _download.cache_folder()


def _check(name: str, fact: Facts, file: Path) -> None:
    digest = _digest(str(file), file.stat().st_mtime_ns, file.stat().st_size)
    if fact.sha256 and digest != fact.sha256:
        message = (
            f"{name}: {file} is another file than the one that was measured: its SHA-256 is {digest}, "
            f"expected {fact.sha256}; get it anew, or unset {HOME} to download it"
        )
        raise DatasetError(message)


@cache
def _digest(file: str, _changed: int, _size: int) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _all_facts() -> dict[str, Facts]:
    if HOME in os.environ and (index := Path(os.environ[HOME]) / INDEX).is_file():
        return _read(str(index), index.stat().st_mtime_ns)
    return _read(None, 0)


@cache
def _read(index: str | None, _changed: int) -> dict[str, Facts]:
    text = (files("dln_bench") / "datasets.json").read_bytes() if index is None else Path(index).read_bytes()
    try:
        return msgspec.json.decode(text, type=dict[str, Facts])
    except msgspec.MsgspecError as error:
        message = f"{index} does not describe datasets: {error}"
        raise DatasetError(message) from None
