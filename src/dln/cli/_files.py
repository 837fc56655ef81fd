"""Model files that a command reads, and outputs: checked first, written whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dln._atomic import is_special, take_name
from dln.cli._messages import UsageError
from dln.cli._table_file import STANDARD, existing_file

if TYPE_CHECKING:
    from dln import DLNRegressor, RuleRegressor
    from dln.readers.model_file import SavedModel

TABLE_SUFFIXES: Final = (".csv", ".tsv", ".parquet", ".pq", ".gz")


def open_model(name: str) -> RuleRegressor | DLNRegressor:
    """Return the model in a file."""
    path = _model_path(name)
    from dln._load import load

    return load(path)


def open_saved(name: str) -> SavedModel:
    """Return the contents of a model file, without the estimator, which takes seconds to import."""
    path = _model_path(name)
    from dln.readers.model_file import read_model

    return read_model(path)


def _model_path(name: str) -> Path:
    path = existing_file(name, what="a model file, written by dln fit,")
    if name.lower().endswith(TABLE_SUFFIXES):
        raise UsageError(
            f"{name!r} is named like a table, but the model file comes first, as in: dln predict house.dln new.csv"
        )
    return path


def check_output(name: str, *, force: bool, endings: tuple[str, ...] = (), what: str = "") -> None:
    """Raise a `UsageError` unless the output can be written: an existing file is replaced only by force."""
    if endings and not name.lower().endswith(endings):
        *others, last = endings
        allowed = f"{', '.join(others)} or {last}" if others else last
        message = f"{what} must end in {allowed}, got {name!r}"
    elif name == STANDARD:
        return
    elif Path(name).is_dir():
        message = f"{name!r} is a folder: give the name of a file in it"
    elif Path(name).exists() and not force:
        message = f"{name!r} is there already and was not touched: give another name, or --force to replace it"
    elif not Path(name).parent.is_dir():
        message = f"there is no folder {str(Path(name).parent)!r} to write {Path(name).name!r} into: make it first"
    else:
        return
    raise UsageError(message)


def check_model_output(name: str, *, force: bool) -> None:
    """Raise a `UsageError` unless a model can be written there, as `check_output` does: that takes a file."""
    if name == STANDARD:
        raise UsageError("a model cannot be written to standard output: give -o the name of a file, like house.dln")
    check_output(name, force=force)


def output_kind(name: str) -> str:
    """Return csv, tsv or parquet, by the name of the output."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes if suffix.lower() != ".gz"]
    if name == STANDARD or suffixes[-1:] == [".csv"]:
        return "csv"
    if suffixes[-1:] in ([".tsv"], [".tab"]):
        return "tsv"
    if suffixes[-1:] in ([".parquet"], [".pq"]) and not name.lower().endswith(".gz"):
        return "parquet"
    raise UsageError(
        f"the output {name!r} must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet, or be - for standard output"
    )


@contextmanager
def whole_or_nothing(name: str) -> Iterator[Any]:
    """Yield a path or file to write to that becomes the output only on success; standard output for ``-``."""
    if name == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(os.path.realpath(name))  # a symbolic link stays one
    beside = None if is_special(path) else path.parent
    with tempfile.TemporaryDirectory(prefix=".dln-", dir=beside, ignore_cleanup_errors=True) as folder:
        part = Path(folder) / path.name
        yield part
        take_name(part, path)
