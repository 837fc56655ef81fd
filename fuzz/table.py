"""Fuzz the way from a user's table to the network's inputs: any table is read, or refused in one sentence.

An input is a recipe for a table: its container, its columns' types and their values.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import atheris
import numpy as np
import pandas as pd
import polars as pl
from instrument import instrumented

with instrumented():
    from dln.data._encoding import learn_encoder
    from dln.data._reader import learn_table, read_table
    from dln.data._rows import canonical_rows

MAX_ROWS, MAX_COLUMNS = 12, 4
NUMPY_TYPES = ("f2", "f4", "f8", ">f8", "i1", "i8", "u8", "?", "c8", "U3", "S3", "O", "M8[s]")
ODD = (None, np.nan, np.inf, True, 0, -0.0, 1e308, 5e-324, 2**70, "", "yes", "\ud800", b"x", 1j, Decimal("1.5"),
       Fraction(1, 3), datetime(2020, 1, 1, tzinfo=UTC), pd.NA, pd.NaT, [1], {}, np.float32(0.1))  # fmt: skip


def column(source: atheris.FuzzedDataProvider, n_rows: int) -> Any:
    """Return a column: numbers of some type, text, categories, or anything."""
    kind = source.ConsumeIntInRange(0, 4)
    if kind == 0:
        return np.array(source.ConsumeFloatListInRange(n_rows, -1e6, 1e6))
    if kind == 1:
        return np.array([source.ConsumeFloat() for _ in range(n_rows)])
    if kind == 2:  # noqa: PLR2004
        dtype = np.dtype(NUMPY_TYPES[source.ConsumeIntInRange(0, len(NUMPY_TYPES) - 1)])
        with np.errstate(all="ignore"):
            return np.array(source.ConsumeIntListInRange(n_rows, 0, 120)).astype(dtype)
    if kind == 3:  # noqa: PLR2004
        texts = [source.ConsumeUnicodeNoSurrogates(3) for _ in range(n_rows)]
        return pd.Categorical(texts) if source.ConsumeBool() else np.array(texts, dtype=object)
    values = np.empty(n_rows, dtype=object)
    for i in range(n_rows):
        values[i] = ODD[source.ConsumeIntInRange(0, len(ODD) - 1)]
    return values


def table(source: atheris.FuzzedDataProvider) -> Any:
    """Return an array, a list of lists, or a frame; whatever cannot be built is no table."""
    n_rows = source.ConsumeIntInRange(0, MAX_ROWS)
    columns = [column(source, n_rows) for _ in range(source.ConsumeIntInRange(0, MAX_COLUMNS))]
    names = [source.ConsumeUnicode(2) for _ in columns]
    container = source.ConsumeIntInRange(0, 4)
    if container == 0:
        return np.array([np.asarray(one) for one in columns]).T
    if container == 1:
        return [list(row) for row in zip(*columns, strict=True)]
    if container == 2:  # noqa: PLR2004
        return pd.concat([pd.Series(one, name=name) for one, name in zip(columns, names, strict=True)], axis=1)
    if container == 3:  # noqa: PLR2004
        return pl.DataFrame([pl.Series(name, list(one)) for one, name in zip(columns, names, strict=True)])
    return np.array([np.asarray(one) for one in columns], dtype=object).T


def one_input(data: bytes) -> None:
    """Learn a table, read it again, put its rows in order and encode them."""
    source = atheris.FuzzedDataProvider(data)
    try:
        X = table(source)
    except Exception:  # noqa: BLE001 (numpy, pandas or polars refused: not our table)
        return
    chosen = "from_dtype" if source.ConsumeBool() else [source.ConsumeIntInRange(-3, 3)]
    try:
        learned = learn_table(X, chosen)
        read = read_table(X, learned.columns)
    except (ValueError, TypeError) as error:
        if not str(error).strip():
            message = "an input was refused without a sentence"
            raise AssertionError(message) from error
        return
    for first, second in zip(learned.values, read.values, strict=True):
        np.testing.assert_array_equal(first, second)
    y = np.arange(learned.n_rows, dtype=np.float64) % 3
    rows = canonical_rows(learned.values, y)
    encoder = learn_encoder(learned.columns, learned.values, rows.weight, rows=rows.index)
    encoded = encoder.encode(learned.values, rows.index)
    numbers, bits = encoded.numbers, encoded.bits
    if not (((numbers >= 0) & (numbers <= 1)) | (numbers == -1)).all() or not np.isin(bits, (0, 1)).all():
        message = "an input of the network is not in [0, 1]"
        raise AssertionError(message)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
