"""Fuzz the loader of model files: any bytes are a model, or `ModelFileError`.

A checksum would stop every mutation, so an input is taken twice: as a file, and as the JSON of a file whose checksum is
right.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris
import numpy as np
from instrument import instrumented

with instrumented():
    from dln import ModelFileError
    from dln import load as load_model
    from dln.readers.model_file import read_model, sealed, to_bytes

FOLDER = tempfile.TemporaryDirectory()
FILE = Path(FOLDER.name) / "model.dln"


def load(data: bytes) -> None:
    """Load bytes; what loads must predict finite numbers and save the same bytes."""
    FILE.write_bytes(data)
    try:
        model = load_model(FILE)
    except ModelFileError:
        return
    if to_bytes(read_model(FILE)) != data:
        message = "a model was loaded that saves other bytes"
        raise AssertionError(message)
    values = [
        np.zeros(2, dtype=np.int32) if column.categories else np.array([0.0, np.nan])
        for column in model.circuit_.columns
    ]
    if not np.isfinite(model.circuit_.evaluate(values)).all():
        message = "a model was loaded that predicts no number"
        raise AssertionError(message)
    repr(model.circuit_)


def one_input(data: bytes) -> None:
    """Take the input as a file and as the JSON in one."""
    load(data)
    load(sealed(data))


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
