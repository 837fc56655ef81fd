"""Model files, opened for a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dln.cli._mistakes import Mistake
from dln.cli._table_file import existing_file

if TYPE_CHECKING:
    from dln import DLNRegressor, RuleRegressor
    from dln.readers.model_file import SavedModel

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", ".gz")


def open_model(name: str) -> RuleRegressor | DLNRegressor:
    """Return the model in a file; a table in its place is told apart from a damaged model."""
    path = _path(name)
    from dln._load import load

    return load(path)


def open_saved(name: str) -> SavedModel:
    """Return what a model file holds, without the estimator: that takes seconds to import."""
    path = _path(name)
    from dln.readers.model_file import read_model

    return read_model(path)


def _path(name: str) -> Path:
    path = existing_file(name, what="a model file, written by dln fit,")
    if name.lower().endswith(TABLE_SUFFIXES):
        message = (
            f"{name!r} is named like a table, but the model file comes first, as in: dln predict house.dln new.csv"
        )
        raise Mistake(message)
    return path
