"""Search spaces of the paper's baselines and of LightGBM; that of the network is `dln.tune.paper_space`.

The paper does not print its grids. Ranges here hold the sizes that its operations imply: trees of depth 4 to 16,
perceptrons of a few hundred to twenty thousand weights.
"""

from __future__ import annotations

from typing import Any

from dln.tune import Space


def ridge(trial: Any) -> dict[str, Any]:
    """Regularisation."""
    return {"alpha": trial.suggest_float("alpha", 1e-4, 1e3, log=True)}


def lasso(trial: Any) -> dict[str, Any]:
    """Regularisation, on the standardised target: an alpha of 1 leaves no coefficient."""
    return {"alpha": trial.suggest_float("alpha", 1e-5, 0.3, log=True)}


def knn(trial: Any) -> dict[str, Any]:
    """Neighbours, weights and distance."""
    return {
        "n_neighbors": trial.suggest_int("n_neighbors", 1, 30),
        "weights": trial.suggest_categorical("weights", ["uniform", "distance"]),
        "p": trial.suggest_categorical("p", [1, 2]),
    }


def tree(trial: Any) -> dict[str, Any]:
    """Depth and leaves."""
    return {
        "max_depth": trial.suggest_int("max_depth", 2, 16),
        "min_samples_leaf": trial.suggest_int("min_samples_leaf", 1, 32, log=True),
        "min_samples_split": trial.suggest_int("min_samples_split", 2, 32, log=True),
    }


def adaboost(trial: Any) -> dict[str, Any]:
    """Trees, their depth and the learning rate."""
    return {
        "n_estimators": trial.suggest_int("n_estimators", 10, 200, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 2.0, log=True),
        "estimator__max_depth": trial.suggest_int("max_depth", 2, 8),
    }


def forest(trial: Any) -> dict[str, Any]:
    """Trees, their depth, leaves and columns."""
    return {
        "n_estimators": trial.suggest_int("n_estimators", 10, 200, log=True),
        "max_depth": trial.suggest_int("max_depth", 2, 16),
        "min_samples_leaf": trial.suggest_int("min_samples_leaf", 1, 16, log=True),
        "max_features": trial.suggest_float("max_features", 0.2, 1.0),
    }


def svr(trial: Any) -> dict[str, Any]:
    """Penalty, tube and width of the kernel."""
    return {
        "C": trial.suggest_float("C", 0.1, 100.0, log=True),
        "epsilon": trial.suggest_float("epsilon", 0.01, 0.5, log=True),
        "gamma": trial.suggest_float("gamma", 0.03, 10.0, log=True),
    }


def mlp(trial: Any) -> dict[str, Any]:
    """Shape and training."""
    width = trial.suggest_int("width", 16, 256, log=True)
    return {
        "hidden_layer_sizes": (width,) * trial.suggest_int("n_layers", 1, 3),
        "learning_rate_init": trial.suggest_float("learning_rate_init", 5e-4, 0.03, log=True),
        "alpha": trial.suggest_float("alpha", 1e-6, 0.1, log=True),
        "batch_size": trial.suggest_categorical("batch_size", [32, 64, 128, 256]),
    }


def lightgbm(trial: Any) -> dict[str, Any]:
    """Trees, leaves and regularisation."""
    return {
        "n_estimators": trial.suggest_int("n_estimators", 50, 600, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.3, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 4, 64, log=True),
        "min_child_samples": trial.suggest_int("min_child_samples", 3, 50, log=True),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.4, 1.0),
        "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 10.0, log=True),
    }


def with_prefix(space: Space, prefix: str) -> Space:
    """Return a space whose parameters are those of a step of a pipeline."""

    def placed(trial: Any) -> dict[str, Any]:
        return {f"{prefix}{key}": value for key, value in space(trial).items()}

    return placed
