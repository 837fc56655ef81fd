"""Fuzz the command line's reader of tables: any file is a table to learn from, or a `UsageError` in one sentence.

The first byte of an input chooses the ending of the file's name; the rest is the file.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris
from instrument import instrumented

with instrumented():
    from dln.cli._messages import UsageError
    from dln.cli._table_file import open_table
    from dln.cli._training_table import ColumnOptions, learnable

#: No Parquet: polars reads it in threads of its own, where a damaged file can end the process before we get a say.
ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", "", ".json")
FOLDER = tempfile.TemporaryDirectory()


def one_input(data: bytes) -> None:
    """Read a file and find out what its columns are, with the last as the target."""
    if not data:
        return
    path = Path(FOLDER.name) / f"table{ENDINGS[data[0] % len(ENDINGS)]}"
    path.write_bytes(data[1:])
    try:
        with open_table(str(path)) as file:
            learnable(file, file.read(), ColumnOptions(target=file.names[-1]))
    except UsageError as error:
        if not str(error).strip():
            message = "an error without a sentence"
            raise AssertionError(message) from error
    finally:
        path.unlink()


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
