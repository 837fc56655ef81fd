"""Other models on the same split, for comparison: linear regression, and LightGBM where it is installed."""

from __future__ import annotations

import time
import warnings
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from polars import selectors
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from dln.cli._training_table import Learnable

#: Rows from which LightGBM gets all cores: on small tables its threads wait for one another longer than they work.
MANY_ROWS: Final = 20_000


class Score(NamedTuple):
    model: str
    r2: float
    mean_absolute_error: float
    seconds: float


def score(name: str, predictions: Any, test: Learnable, seconds: float) -> Score:
    r2, error = (
        float(measure(test.y, predictions, sample_weight=test.weight)) for measure in (r2_score, mean_absolute_error)
    )
    return Score(name, r2, error, seconds)


def peers(train: Learnable, test: Learnable) -> list[Score]:
    """Return the scores of other models; each gets missing values and categories as is usual for it."""
    as_numbers = (~selectors.string()).cast(pl.Float64)
    X, X_test = train.X.with_columns(as_numbers), test.X.with_columns(as_numbers)
    texts, numbers = X.select(selectors.string()).columns, X.select(~selectors.string()).columns
    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=32, drop="first")
    median = SimpleImputer(strategy="median", keep_empty_features=True)
    linear = make_pipeline(make_column_transformer((one_hot, texts), (median, numbers)), LinearRegression())
    models: list[tuple[str, Pipeline, dict[str, Any]]] = [("linear regression", linear, {})]
    with suppress(ImportError):
        from lightgbm import LGBMRegressor

        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
        trees = LGBMRegressor(verbose=-1, random_state=0, n_jobs=1 if X.height < MANY_ROWS else -1)
        pipeline = make_pipeline(make_column_transformer((codes, texts), ("passthrough", numbers)), trees)
        models.append(("LightGBM", pipeline, {"categorical_feature": list(range(len(texts)))}))
    scores = []
    for name, model, options in models:
        start = time.perf_counter()
        if train.weight is not None:
            options["sample_weight"] = train.weight.to_numpy()
        of_fit = {f"{model.steps[-1][0]}__{key}": value for key, value in options.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other libraries
            model.fit(X, train.y.to_numpy(), **of_fit)
            predictions = model.predict(X_test)
        scores.append(score(name, predictions, test, time.perf_counter() - start))
    return scores
