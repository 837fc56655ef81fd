"""Tables of many rows: what a fit and a prediction may take of memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dln import DLNRegressor, RuleRegressor
from dln.data._reader import BATCH, LARGE, learn_table
from models import SMALL

N_ROWS, N_COLUMNS = 300_000, 20
#: Bytes of the float32 table: the unit of memory here.
TABLE = 4 * N_ROWS * N_COLUMNS


@pytest.fixture(scope="module")
def numbers():
    """Numbers that all types of columns can hold: small whole ones."""
    return np.random.default_rng(0).integers(-1000, 1000, size=(N_ROWS, N_COLUMNS)).astype(np.float32)


def memory_map(numbers, folder):
    """Return the numbers from a file, read when they are needed."""
    np.save(folder / "X.npy", numbers)
    return np.load(folder / "X.npy", mmap_mode="r")


def chunked(numbers, dtype=np.float32):
    """Return an arrow table in three pieces, as it comes from Parquet: its columns are no numpy arrays."""
    pieces = np.array_split(numbers.astype(dtype), 3)
    return pa.concat_tables([pa.table({f"x{j}": piece[:, j] for j in range(N_COLUMNS)}) for piece in pieces])


SOURCES = {
    "memory map": memory_map,
    "memory map by columns": lambda numbers, folder: memory_map(np.asfortranarray(numbers), folder),
    "int32": lambda numbers, _: numbers.astype(np.int32),
    "pandas": lambda numbers, _: pd.DataFrame(numbers, columns=[f"x{j}" for j in range(N_COLUMNS)]),
    "pandas, nullable": lambda numbers, _: pd.DataFrame(numbers.astype(np.int16)).add_prefix("x").astype("Int16"),
    "pyarrow": lambda numbers, _: chunked(numbers),
    "pyarrow, whole numbers": lambda numbers, _: chunked(numbers, np.int32),
    "polars": lambda numbers, _: pl.from_arrow(chunked(numbers), rechunk=False),
}


def peak(function):
    """Return what a call returns, and the most memory that numpy and Python took in it."""
    tracemalloc.start()
    try:
        result = function()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("source", SOURCES)
def test_a_fit_takes_at_most_twice_the_float32_table(source, numbers, tmp_path, monkeypatch):
    """Whatever X is and whatever type its columns have, they are not copied but for the network's inputs."""
    # What is done on a sample takes the same memory for millions of rows: here it is to be as small beside the table.
    monkeypatch.setattr("dln._dln.MAX_ROWS", 10_000)
    monkeypatch.setattr("dln.network._train.MAX_CUTOFF_ROWS", 10_000)
    X = SOURCES[source](numbers, tmp_path)
    y = numbers[:, 0].astype(np.float64) + numbers[:, 1]
    options = {"hidden_layer_sizes": (8,), "n_thresholds": 1, "batch_size": 512, "max_epochs": 1}
    model = DLNRegressor(**options, random_state=0).fit(X[:LARGE], y[:LARGE])  # now all is compiled
    model, most = peak(lambda: model.fit(X, y))
    assert most <= 2.0 * TABLE
    predicted, most = peak(lambda: model.predict(X))
    assert most - 2 * predicted.nbytes <= 8 * BATCH * N_COLUMNS
    np.testing.assert_array_equal(predicted[-1000:], model.predict(X[N_ROWS - 1000 :]))


def test_large_columns_that_are_converted_are_read_anew(numbers):
    """The same table, of whole numbers or in pieces, gives the same columns each time they are read."""
    for X in (numbers.astype(np.int16), chunked(numbers), chunked(numbers, np.int32)):
        columns = learn_table(X).values  # noqa: PD011 (not of pandas)
        for _ in range(2):
            for j in (0, N_COLUMNS - 1):
                np.testing.assert_array_equal(columns[j], numbers[:, j])


def test_mistakes_in_later_batches_are_told_with_their_rows():
    """Rows of X are counted from its first, whichever batch they are read in."""
    X = pd.DataFrame({"a": np.zeros(BATCH + 10), "b": np.zeros(BATCH + 10)})
    model = RuleRegressor(**SMALL).fit(pd.DataFrame({"a": range(30), "b": range(30)}), range(30))
    X.loc[BATCH + 7, "a"] = np.inf
    with pytest.raises(ValueError, match=rf"'a' .* row {BATCH + 7} holds inf"):
        model.predict(X)
