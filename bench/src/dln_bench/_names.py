"""The names of the benchmark's models, ablations and datasets, in the order of its tables."""

from __future__ import annotations

from typing import Final

#: Model name -> title. The first ten are the paper's.
MODELS: Final[dict[str, str]] = {
    "linear": "Linear",
    "ridge": "Ridge",
    "lasso": "Lasso",
    "knn": "KNN",
    "tree": "Decision tree",
    "adaboost": "AdaBoost",
    "forest": "Random forest",
    "svr": "SVR",
    "mlp": "MLP",
    "dln-paper": "DLN (paper)",
    "dln": "DLN (ours)",
    "lightgbm": "LightGBM",
    "ebm": "EBM",
}

#: Ablations of the paper's DLN: name -> title. Each changes one setting of `PaperDLNRegressor`.
ABLATIONS: Final[dict[str, str]] = {
    "no-schedule": "No temperature schedule",
    "two-phases": "Two phases",
    "subspace-16": "Subspace of 16",
    "subspace-4": "Subspace of 4",
    "no-concatenation": "No concatenation",
    "no-straight-through": "No straight-through",
    "with-refit": "With refit",
}

#: The paper's datasets.
DATASETS: Final[tuple[str, ...]] = (
    "abalone",
    "airfoil",
    "bike",
    "ccpp",
    "concrete",
    "electrical",
    "energy",
    "estate",
    "housing",
    "infrared",
    "insurance",
    "mpg",
    "parkinsons",
    "wine",
    "yacht",
)
