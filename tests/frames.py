"""Tables of a few rows, in every kind of frame."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

FRAMES = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
NAN = float("nan")


def _mixed(frame):
    return frame({"age": [30, 40, 50], "bmi": [20.5, 31.0, 25.0], "smoker": ["yes", "no", "yes"], "old": [False] * 3})


def _frame_of(column):
    if isinstance(column, pd.Series):
        return pd.DataFrame({"c": column})
    return pl.DataFrame({"c": column}) if isinstance(column, pl.Series) else pa.table({"c": column})
