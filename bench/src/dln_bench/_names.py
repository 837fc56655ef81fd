"""The names of models, ablations and datasets, in the order of the tables."""

from __future__ import annotations

from typing import Final

#: Model name -> title. The first ten are the paper's; with the rest they are the main tables.
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
    "dln-paper-3": "DLN (paper), 3 networks",
    "dln": "DLN (ours)",
    "lightgbm-default": "LightGBM, default",
    "lightgbm": "LightGBM, searched",
    "ebm": "EBM",
    "figs-100": "FIGS, 100 splits",
    "rulefit-100": "RuleFit, 50 rules",
}
PAPER: Final = tuple(MODELS)[:10]

#: Ablations of the paper's DLN: name -> title. Each changes one setting of `DLNRegressor`.
ABLATIONS: Final[dict[str, str]] = {
    "no-schedule": "No temperature schedule",
    "two-phases": "Two phases",
    "subspace-16": "Subspace of 16",
    "subspace-4": "Subspace of 4",
    "no-concatenation": "No concatenation",
    "no-straight-through": "No straight-through",
    "no-refit": "No refit",
}

#: Conditions that readable models are held to beside each other; 100 is the default of ours.
SIZES: Final = (20, 50, 100, 200, 400)

#: Models at other sizes than those above, for R² against conditions: name -> title.
SIZED: Final[dict[str, str]] = {
    **{f"dln-{size}": f"DLN (ours), {size} conditions" for size in SIZES if size != 100},  # noqa: PLR2004 (the default)
    "dln-any": "DLN (ours), any size",
    "dln-17-rules": "DLN (ours), 17 rules",
    **{f"cart-{size}": f"Decision tree, {size} splits" for size in SIZES},
    **{f"figs-{size}": f"FIGS, {size} splits" for size in SIZES if f"figs-{size}" not in MODELS},
    **{f"rulefit-{size}": f"RuleFit, {size // 2} rules" for size in SIZES if f"rulefit-{size}" not in MODELS},
}

#: Models as their libraries ship them, on the table as it is: no clipping, no scaling, no search.
DEFAULTS: Final[dict[str, str]] = {
    "linear-default": "Linear, plain table",
    "tree-default": "Decision tree, default",
    "forest-default": "Random forest, default",
    "dln-paper-default": "DLN (paper), default",
}

#: What each idea brings to our model: the default without it.
WITHOUT: Final[dict[str, str]] = {
    "dln-no-networks": "DLN (ours) without networks",
    "dln-no-growth": "DLN (ours) without grown rules",
    "dln-no-teachers": "DLN (ours) without teachers",
    "dln-no-generations": "DLN (ours) without recombination",
}

#: Models whose parameters are searched for; the others are fitted as they are made.
SEARCHED: Final = frozenset({*PAPER, "dln-paper-3", "lightgbm", *ABLATIONS}) - {"linear"}

#: Every model by name.
TITLES: Final[dict[str, str]] = {**MODELS, **ABLATIONS, **SIZED, **DEFAULTS, **WITHOUT}

#: Names that stand for several models.
GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "paper": PAPER,
    "ablations": tuple(ABLATIONS),
    "sizes": tuple(SIZED),
    "defaults": ("dln", *DEFAULTS, "lightgbm-default", "ebm"),
    "without": tuple(WITHOUT),
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

#: Models from cheap to dear: an interrupted run has something of everything.
ORDER: Final = (
    "linear",
    "linear-default",
    "ridge",
    "lasso",
    *(name for name in SIZED if name.startswith("cart")),
    "tree-default",
    "tree",
    "lightgbm-default",
    "forest-default",
    *(name for name in TITLES if name.startswith(("figs", "rulefit"))),
    "knn",
    "lightgbm",
    "dln-paper-default",
    "dln-paper",
    "dln-paper-3",
    "dln",
    *(name for name in SIZED if name.startswith("dln")),
    *WITHOUT,
    "forest",
    "adaboost",
    "svr",
    "ebm",
    "mlp",
    *ABLATIONS,
)
