"""Time to fit and R² on the fifteen datasets, against EBM, LightGBM, a random forest and scikit-learn's MLP.

    DLN_DATA_HOME=… python benchmarks/fit_time.py [--datasets estate wine] [--models RuleRegressor LightGBM]

All models have their defaults and two cores. Compiling is over before the clock starts: a warm-up fit comes first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from interpret.glassbox import ExplainableBoostingRegressor
from lightgbm import LGBMRegressor
from measure import machine
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from dln import DLNRegressor, RuleRegressor
from dln_bench import datasets

CORES = 2


def in_numbers(model: Any, *, scaled: bool) -> Pipeline:
    """Return the model behind one-hot categories, for models that take numbers only."""
    numbers = StandardScaler() if scaled else "passthrough"
    categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(
        make_column_transformer((categories, make_column_selector(dtype_include="category")), remainder=numbers), model
    )


MODELS: dict[str, Callable[[], Any]] = {
    "RuleRegressor": lambda: RuleRegressor(random_state=0, n_jobs=CORES),
    "DLNRegressor": lambda: DLNRegressor(random_state=0, n_jobs=CORES),
    "EBM": lambda: ExplainableBoostingRegressor(random_state=0, n_jobs=CORES),
    "random forest": lambda: in_numbers(RandomForestRegressor(random_state=0, n_jobs=CORES), scaled=False),
    "MLP": lambda: in_numbers(MLPRegressor(random_state=0, max_iter=500), scaled=True),
    "LightGBM": lambda: LGBMRegressor(random_state=0, n_jobs=CORES, verbose=-1),
}


def main() -> None:
    """Print seconds and R² per dataset and model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="*", default=datasets.names())
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    options = parser.parse_args()
    chosen, models = options.datasets, {name: MODELS[name] for name in MODELS if name in options.models}
    print(machine(), "\n")
    print("seconds to fit (R² on a quarter of the rows)\n")
    print("| dataset | rows | " + " | ".join(models) + " |")
    print("| --- | ---: |" + " ---: |" * len(models))
    warm_up = datasets.load("estate")
    RuleRegressor(random_state=0).fit(*warm_up)
    DLNRegressor(random_state=0, max_epochs=2).fit(*warm_up)
    for name in chosen:
        X, y = datasets.load(name)
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
        cells: dict[str, tuple[float, float]] = {}
        for model_name, make in models.items():
            model = make()
            if model_name == "LightGBM":  # refuses some characters in names
                names = [f"x{i}" for i in range(X.shape[1])]
                X_train, X_test = (part.set_axis(names, axis=1) for part in (X_train, X_test))
            start = time.perf_counter()
            model.fit(X_train, y_train)
            elapsed = time.perf_counter() - start
            cells[model_name] = elapsed, r2_score(y_test, model.predict(X_test))
        shown = " | ".join(f"{elapsed:.1f} ({score:.3f})" for elapsed, score in cells.values())
        print(f"| {name} | {len(X)} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
