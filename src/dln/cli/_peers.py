"""Other models on the same split, for comparison: linear regression, and LightGBM where it is installed."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from sklearn.metrics import mean_absolute_error, r2_score

#: Rows from which LightGBM gets all cores.
MANY_ROWS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Score:
    """How well a model predicts rows that it has not seen."""

    model: str
    r2: float
    mean_error: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to learn from and rows to test on."""

    X: pl.DataFrame
    y: pl.Series
    weight: pl.Series | None
    X_test: pl.DataFrame
    y_test: pl.Series
    weight_test: pl.Series | None


def score(name: str, predictions: Any, split: Split, seconds: float) -> Score:
    """Return R² and the mean absolute error on the test rows."""
    r2 = float(r2_score(split.y_test, predictions, sample_weight=split.weight_test))
    error = float(mean_absolute_error(split.y_test, predictions, sample_weight=split.weight_test))
    return Score(name, r2, error, seconds)


def peers(split: Split) -> list[Score]:
    """Fit and score the other models."""
    scores = [_fitted("linear regression", _linear(split.X), split, split.X, split.X_test)]
    if (model := lightgbm(len(split.y))) is not None:
        categories = _categories(split.X)
        codes = [_codes(X, categories) for X in (split.X, split.X_test)]
        which = [j for j, name in enumerate(split.X.columns) if name in categories]
        scores.append(_fitted("LightGBM", model, split, *codes, categorical_feature=which))
    return scores


def lightgbm(n_rows: int) -> Any:
    """Return LightGBM at its defaults, silent and seeded, or None where it is not installed."""
    try:
        from lightgbm import LGBMRegressor
    except ImportError:
        return None
    # On small tables its threads wait for one another longer than they work.
    return LGBMRegressor(verbose=-1, random_state=0, n_jobs=1 if n_rows < MANY_ROWS else -1)


def _fitted(name: str, model: Any, split: Split, X: Any, X_test: Any, **options: Any) -> Score:
    start = time.perf_counter()
    weight = {} if split.weight is None else {_weight_name(model): split.weight.to_numpy()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, about their own ways
        model.fit(X, split.y.to_numpy(), **weight, **options)
        predictions = model.predict(X_test)
    return score(name, predictions, split, time.perf_counter() - start)


def _weight_name(model: Any) -> str:
    return f"{model.steps[-1][0]}__sample_weight" if hasattr(model, "steps") else "sample_weight"


def _linear(X: pl.DataFrame) -> Any:
    """Return a linear regression that takes categories and missing values as usual: one-hot, and the median."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    texts = list(_categories(X))
    numbers = [name for name in X.columns if name not in texts]
    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=32, drop="first")
    prepare = make_column_transformer(
        (one_hot, texts), (SimpleImputer(strategy="median", keep_empty_features=True), numbers)
    )
    return make_pipeline(prepare, LinearRegression())


def _categories(X: pl.DataFrame) -> dict[str, list[str]]:
    return {
        name: sorted(X[name].drop_nulls().unique().to_list()) for name, dtype in X.schema.items() if dtype == pl.String
    }


def _codes(X: pl.DataFrame, categories: dict[str, list[str]]) -> Any:
    """Return a table as one array of numbers, categories as codes, missing and unknown as NaN."""
    coded = [
        pl.col(name).replace_strict(known, list(range(len(known))), default=None, return_dtype=pl.Float64)
        for name, known in categories.items()
    ]
    return X.with_columns(coded).cast(pl.Float64).to_numpy()
