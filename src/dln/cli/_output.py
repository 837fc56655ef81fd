"""Results on their way to a file or to standard output: checked first, written whole or not at all."""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from dln._atomic import take_name
from dln.cli._mistakes import Mistake
from dln.cli._table_file import STANDARD


def check_output(name: str, *, force: bool) -> None:
    """Raise a `Mistake` unless the output can be written: never over a file that is there, unless forced."""
    if name == STANDARD:
        return
    path = Path(name)
    if path.is_dir():
        message = f"{name!r} is a folder: give the name of a file in it"
        raise Mistake(message)
    if path.exists() and not force:
        message = f"{name!r} is there already and was not touched: give another name, or --force to replace it"
        raise Mistake(message)
    if not path.parent.is_dir():
        message = f"there is no folder {str(path.parent)!r} to write {path.name!r} into: make it first"
        raise Mistake(message)


def check_model_output(name: str, *, force: bool) -> None:
    """Raise a `Mistake` unless a model can be written there, as `check_output` does: that takes a file."""
    if name == STANDARD:
        message = "a model cannot be written to standard output: give -o the name of a file, like house.dln"
        raise Mistake(message)
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
    message = f"the output {name!r} must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet, or be - for standard output"
    raise Mistake(message)


@contextmanager
def whole_or_nothing(name: str) -> Iterator[Any]:
    """Give a path or file to write to that becomes the output only if all went well; standard output for ``-``."""
    if name == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(os.path.realpath(name))  # a symbolic link stays one
    with tempfile.TemporaryDirectory(prefix=".dln-", dir=path.parent, ignore_cleanup_errors=True) as folder:
        part = Path(folder) / path.name
        if name.lower().endswith(".gz"):
            with gzip.open(part, "wb", compresslevel=6) as zipped:
                yield zipped
        else:
            yield part
        take_name(part, path)


@contextmanager
def written_to(output: Any) -> Iterator[Any]:
    """Give what polars may write to for an output; if that fails, raise why, and not what polars makes of it."""
    with output.open("wb") if isinstance(output, Path) else nullcontext(output) as file:
        sink = Sink(file)
        try:
            yield sink
            sink.flush()
        except Exception:
            if sink.error is not None:
                raise sink.error from None
            raise


class Sink:
    """A file with no more methods than a writer needs, so that none looks for its descriptor; it keeps its error."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile) -> None:
        self._file = file
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        """Write all of the data."""
        try:
            return self._file.write(data)
        except OSError as error:
            self.error = error
            raise

    def flush(self) -> None:
        """Hand on what is held back."""
        try:
            self._file.flush()
        except OSError as error:
            self.error = error
            raise
