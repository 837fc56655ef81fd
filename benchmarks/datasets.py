"""The paper's fifteen datasets for the benchmarks, read from the folder that DLN_DATA_HOME names."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3, make_sparse_uncorrelated

#: Data that the defaults were not chosen on: made, or bundled with scikit-learn.
HELD_OUT: dict[str, Callable[[], tuple[Any, Any]]] = {
    "friedman1": lambda: make_friedman1(2000, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(2000, noise=100.0, random_state=0),
    "friedman3": lambda: make_friedman3(2000, noise=0.1, random_state=0),
    "sparse": lambda: make_sparse_uncorrelated(1000, n_features=200, random_state=0),
    "diabetes": lambda: load_diabetes(return_X_y=True, scaled=False),
}


def home() -> Path:
    """Return the folder of the datasets."""
    if "DLN_DATA_HOME" not in os.environ:
        message = "set DLN_DATA_HOME to the folder of the datasets (the Makefile does where ../shared/datasets exists)"
        raise SystemExit(message)
    return Path(os.environ["DLN_DATA_HOME"])


def names() -> list[str]:
    """Return the names of the datasets."""
    return sorted(json.loads((home() / "index.json").read_text()))


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a dataset's table and target, prepared as in the paper; categories keep their own dtype."""
    if name in HELD_OUT:
        values, target = HELD_OUT[name]()
        return pd.DataFrame(values).rename(columns=lambda j: f"x{j}"), pd.Series(target)
    facts = json.loads((home() / "index.json").read_text())[name]
    frame = pd.read_csv(home() / facts["file"]).drop(columns=facts["drop_columns"])
    frame = frame.dropna().drop_duplicates()
    for column, mapping in facts["value_maps"].items():
        texts = {str(key): value for key, value in mapping.items()}
        frame[column] = frame[column].map(lambda value, texts=texts: texts.get(str(value), value))
    if len(frame) != facts["expected_rows"]:
        message = f"{name}: expected {facts['expected_rows']} rows, got {len(frame)}"
        raise SystemExit(message)
    X = frame[[*facts["continuous"], *facts["categorical"]]].reset_index(drop=True)
    X = X.astype(dict.fromkeys(facts["continuous"], float)).astype(dict.fromkeys(facts["categorical"], "category"))
    return X, frame[facts["target"]].astype(float).reset_index(drop=True)
