"""Where the parameters of the paper's other models, and of LightGBM, are searched; for DLN see `dln.tune.paper_space`.

Ranges are wide enough for the sizes that the paper's operations tell of: trees of depth 4 to 16, perceptrons of a few
hundred to twenty thousand weights.
"""

from __future__ import annotations

from typing import Any

from dln.tune import Context


def ridge(trial: Any, context: Context) -> dict[str, Any]:
    """Regularisation."""
    del context
    return {"alpha": trial.suggest_float("alpha", 1e-4, 1e3, log=True)}


def lasso(trial: Any, context: Context) -> dict[str, Any]:
    """Regularisation, on the standardised target: an alpha of 1 leaves no coefficient."""
    del context
    return {"alpha": trial.suggest_float("alpha", 1e-5, 0.3, log=True)}


def knn(trial: Any, context: Context) -> dict[str, Any]:
    """Neighbours, weights and distance."""
    return {
        "n_neighbors": trial.suggest_int("n_neighbors", 1, min(30, context.n_rows // 4)),
        "weights": trial.suggest_categorical("weights", ["uniform", "distance"]),
        "p": trial.suggest_categorical("p", [1, 2]),
    }


def tree(trial: Any, context: Context) -> dict[str, Any]:
    """Depth and leaves."""
    del context
    return {
        "max_depth": trial.suggest_int("max_depth", 2, 16),
        "min_samples_leaf": trial.suggest_int("min_samples_leaf", 1, 32, log=True),
        "min_samples_split": trial.suggest_int("min_samples_split", 2, 32, log=True),
    }


def adaboost(trial: Any, context: Context) -> dict[str, Any]:
    """Trees, their depth and the learning rate."""
    del context
    return {
        "n_estimators": trial.suggest_int("n_estimators", 10, 200, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 2.0, log=True),
        "estimator__max_depth": trial.suggest_int("max_depth", 2, 8),
    }


def forest(trial: Any, context: Context) -> dict[str, Any]:
    """Trees, their depth, leaves and columns."""
    del context
    return {
        "n_estimators": trial.suggest_int("n_estimators", 10, 200, log=True),
        "max_depth": trial.suggest_int("max_depth", 2, 16),
        "min_samples_leaf": trial.suggest_int("min_samples_leaf", 1, 16, log=True),
        "max_features": trial.suggest_float("max_features", 0.2, 1.0),
    }


def svr(trial: Any, context: Context) -> dict[str, Any]:
    """Penalty, tube and width of the kernel."""
    del context
    return {
        "C": trial.suggest_float("C", 0.1, 100.0, log=True),
        "epsilon": trial.suggest_float("epsilon", 0.01, 0.5, log=True),
        "gamma": trial.suggest_float("gamma", 0.03, 10.0, log=True),
    }


def mlp(trial: Any, context: Context) -> dict[str, Any]:
    """Shape and training."""
    del context
    return {
        "n_layers": trial.suggest_int("n_layers", 1, 3),
        "width": trial.suggest_int("width", 16, 256, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 5e-4, 0.03, log=True),
        "weight_decay": trial.suggest_float("weight_decay", 1e-6, 0.1, log=True),
        "batch_size": trial.suggest_categorical("batch_size", [32, 64, 128, 256]),
    }


def lightgbm(trial: Any, context: Context) -> dict[str, Any]:
    """Trees, leaves and regularisation."""
    del context
    return {
        "n_estimators": trial.suggest_int("n_estimators", 50, 600, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.3, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 4, 64, log=True),
        "min_child_samples": trial.suggest_int("min_child_samples", 3, 50, log=True),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.4, 1.0),
        "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 10.0, log=True),
    }
