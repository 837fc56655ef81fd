"""The models that are compared, and where their parameters are searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import AdaBoostRegressor, RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from dln._errors import MissingExtraError
from dln._estimator import DLNRegressor
from dln._paper import PaperDLNRegressor
from dln.tune import Context, Space, default_space, paper_space
from dln_bench._names import ABLATIONS, MODELS
from dln_bench.datasets import Facts
from dln_bench.models._mlp import TorchMLP
from dln_bench.models._preparation import prepared

#: What each ablation changes in the paper's model, whatever the search finds for the rest.
CHANGES: Final[dict[str, dict[str, Any]]] = {
    "no-schedule": {"temperature_decay": 1.0},
    "two-phases": {"phases": "alternating"},
    "subspace-16": {"n_candidate_links": 16, "n_candidate_gates": 16},
    "subspace-4": {"n_candidate_links": 4, "n_candidate_gates": 4},
    "no-concatenation": {"concatenate_inputs": False},
    "no-straight-through": {"straight_through": None},
    "with-refit": {"refit": "ridge"},
}


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the benchmark: how it is made for a dataset and a seed, and its search space (None: nothing to find).

    `inner` is what stands before the names of its own parameters in those of the whole pipeline.
    """

    make: Callable[[Facts, int], Any]
    space: Space | None
    inner: str = "model__"


def find(name: str) -> Model:
    """Return a model of the benchmark by its name in `MODELS` or `ABLATIONS`."""
    return _MODELS[name]


def own_params(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with the names that the model itself has, without those of the pipeline around it.

    >>> own_params("tree", {"model__max_depth": 3})
    {'max_depth': 3}
    """
    return {key.removeprefix(find(name).inner): value for key, value in params.items()}


def inner_params(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's own parameters with the names that they have in its pipeline."""
    return {f"{find(name).inner}{key}": value for key, value in params.items()}


# --- making -----------------------------------------------------------------------------------------------------------


def _scaled_target(model: Any) -> Any:
    return TransformedTargetRegressor(regressor=model, transformer=StandardScaler())


def _make_lightgbm(facts: Facts, seed: int) -> Any:
    del facts
    try:
        from lightgbm import LGBMRegressor
    except ImportError:
        feature = "the model 'lightgbm'"
        raise MissingExtraError(feature, "bench", "lightgbm") from None
    from sklearn.pipeline import Pipeline

    # It reads categories itself, but refuses some characters in names. Deterministic: the same on any machine.
    model = LGBMRegressor(random_state=seed, n_jobs=1, verbose=-1, deterministic=True, force_row_wise=True)
    return Pipeline([("names", FunctionTransformer(_plain_names)), ("model", model)])


def _plain_names(X: Any) -> Any:
    return X.set_axis([f"x{i}" for i in range(X.shape[1])], axis=1)


def _make_ebm(facts: Facts, seed: int) -> Any:
    del facts
    try:
        from interpret.glassbox import ExplainableBoostingRegressor
    except ImportError:
        feature = "the model 'ebm'"
        raise MissingExtraError(feature, "bench", "interpret-core") from None
    return ExplainableBoostingRegressor(random_state=seed, n_jobs=1)


def _make_ablation(name: str) -> Callable[[Facts, int], Any]:
    return lambda _facts, seed: PaperDLNRegressor(random_state=seed, n_jobs=1, **CHANGES[name])


# --- spaces -----------------------------------------------------------------------------------------------------------
# Ranges are wide enough for the sizes that the paper's operations tell of: trees of depth 4 to 16, perceptrons of a
# few hundred to twenty thousand weights.


def _ridge(trial: Any, context: Context) -> dict[str, Any]:
    del context
    return {"alpha": trial.suggest_float("alpha", 1e-4, 1e3, log=True)}


def _lasso(trial: Any, context: Context) -> dict[str, Any]:
    del context
    # On the standardised target: an alpha of 1 leaves no coefficient.
    return {"alpha": trial.suggest_float("alpha", 1e-5, 0.3, log=True)}


def _knn(trial: Any, context: Context) -> dict[str, Any]:
    return {
        "n_neighbors": trial.suggest_int("n_neighbors", 1, min(30, context.n_rows // 4)),
        "weights": trial.suggest_categorical("weights", ["uniform", "distance"]),
        "p": trial.suggest_categorical("p", [1, 2]),
    }


def _tree(trial: Any, context: Context) -> dict[str, Any]:
    del context
    return {
        "max_depth": trial.suggest_int("max_depth", 2, 16),
        "min_samples_leaf": trial.suggest_int("min_samples_leaf", 1, 32, log=True),
        "min_samples_split": trial.suggest_int("min_samples_split", 2, 32, log=True),
    }


def _adaboost(trial: Any, context: Context) -> dict[str, Any]:
    del context
    return {
        "n_estimators": trial.suggest_int("n_estimators", 10, 200, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 2.0, log=True),
        "estimator__max_depth": trial.suggest_int("max_depth", 2, 8),
    }


def _forest(trial: Any, context: Context) -> dict[str, Any]:
    del context
    return {
        "n_estimators": trial.suggest_int("n_estimators", 10, 200, log=True),
        "max_depth": trial.suggest_int("max_depth", 2, 16),
        "min_samples_leaf": trial.suggest_int("min_samples_leaf", 1, 16, log=True),
        "max_features": trial.suggest_float("max_features", 0.2, 1.0),
    }


def _svr(trial: Any, context: Context) -> dict[str, Any]:
    del context
    return {
        "C": trial.suggest_float("C", 0.1, 100.0, log=True),
        "epsilon": trial.suggest_float("epsilon", 0.01, 0.5, log=True),
        "gamma": trial.suggest_float("gamma", 0.03, 10.0, log=True),
    }


def _mlp(trial: Any, context: Context) -> dict[str, Any]:
    del context
    return {
        "n_layers": trial.suggest_int("n_layers", 1, 3),
        "width": trial.suggest_int("width", 16, 256, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 5e-4, 0.03, log=True),
        "weight_decay": trial.suggest_float("weight_decay", 1e-6, 0.1, log=True),
        "batch_size": trial.suggest_categorical("batch_size", [32, 64, 128, 256]),
    }


def _lightgbm(trial: Any, context: Context) -> dict[str, Any]:
    del context
    return {
        "n_estimators": trial.suggest_int("n_estimators", 50, 600, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.3, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 4, 64, log=True),
        "min_child_samples": trial.suggest_int("min_child_samples", 3, 50, log=True),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.4, 1.0),
        "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 10.0, log=True),
    }


def _ebm(trial: Any, context: Context) -> dict[str, Any]:
    del context
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.005, 0.1, log=True),
        "interactions": trial.suggest_categorical("interactions", [0, 10, 20]),
        "max_leaves": trial.suggest_int("max_leaves", 2, 4),
        "min_samples_leaf": trial.suggest_int("min_samples_leaf", 2, 16, log=True),
    }


def _inside(space: Space, inner: str = "model__") -> Space:
    """Return a space whose parameters are those of a step of a pipeline."""

    def placed(trial: Any, context: Context) -> dict[str, Any]:
        return {f"{inner}{key}": value for key, value in space(trial, context).items()}

    return placed


def _ablated(name: str) -> Space:
    """Return the paper's space with what an ablation changes fixed."""

    def fixed(trial: Any, context: Context) -> dict[str, Any]:
        return {**paper_space(trial, context), **CHANGES[name]}

    return fixed


_MODELS: Final[dict[str, Model]] = {
    "linear": Model(lambda facts, _: prepared(facts, LinearRegression()), None),
    "ridge": Model(lambda facts, _: prepared(facts, Ridge()), _inside(_ridge)),
    "lasso": Model(
        lambda facts, _: prepared(facts, _scaled_target(Lasso(alpha=0.001, max_iter=10_000))),
        _inside(_lasso, "model__regressor__"),
        "model__regressor__",
    ),
    "knn": Model(lambda facts, _: prepared(facts, KNeighborsRegressor()), _inside(_knn)),
    "tree": Model(
        lambda facts, seed: prepared(facts, DecisionTreeRegressor(max_depth=8, random_state=seed)), _inside(_tree)
    ),
    "adaboost": Model(
        lambda facts, seed: prepared(facts, AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), random_state=seed)),
        _inside(_adaboost),
    ),
    "forest": Model(
        lambda facts, seed: prepared(facts, RandomForestRegressor(max_depth=16, random_state=seed, n_jobs=1)),
        _inside(_forest),
    ),
    "svr": Model(
        lambda facts, _: prepared(facts, _scaled_target(SVR(cache_size=500))),
        _inside(_svr, "model__regressor__"),
        "model__regressor__",
    ),
    "mlp": Model(lambda facts, seed: prepared(facts, TorchMLP(random_state=seed)), _inside(_mlp)),
    "dln-paper": Model(lambda _, seed: PaperDLNRegressor(random_state=seed, n_jobs=1), paper_space, ""),
    "dln": Model(lambda _, seed: DLNRegressor(random_state=seed, n_jobs=1), default_space, ""),
    "lightgbm": Model(_make_lightgbm, _inside(_lightgbm)),
    "ebm": Model(_make_ebm, _ebm, ""),
    **{name: Model(_make_ablation(name), _ablated(name), "") for name in ABLATIONS},
}
if set(_MODELS) != {*MODELS, *ABLATIONS}:  # pragma: no cover (a name without a model is caught by any test)
    message = "every name of the benchmark needs a model"
    raise RuntimeError(message)
