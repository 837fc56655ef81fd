"""The models that are compared: how each is made for a dataset and a seed, and its search space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import AdaBoostRegressor, RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from dln import DLNRegressor, RuleRegressor
from dln.tune import PAPER_GRID, Space, paper_space
from dln.tune import _draw as draw_from_grid
from dln_bench._split import Split
from dln_bench.datasets import Facts
from dln_bench.models import _spaces
from dln_bench.models._float16 import rounded_to_float16
from dln_bench.models._preparation import one_hot, prepared

#: Conditions at which readable models stand beside each other.
SIZES: Final = (20, 50, 100, 200)


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the benchmark.

    Parameters
    ----------
    title : str
        Its name in tables.
    make : callable
        Returns the estimator for a dataset's facts and a seed.
    space : Space, optional
        Its search space; None: it is never searched for.
    prefix : str
        Prefix of the model's own parameters in those of the pipeline around it.
    searched_as : str
        The model whose search it shares, so that its own differs in `changes` alone.
    changes : dict
        Parameters that are set for the last fit; in its own search, for every trial.
    finish : callable, optional
        Changes the fitted model before it is tested.
    paper : str
        The model of the paper's tables that it stands beside.
    weighs_operations : bool
        Of the trials within one standard error of the lowest squared error, the cheapest model counts, not the best.

    """

    title: str
    make: Callable[[Facts, int], Any]
    space: Space | None = None
    prefix: str = ""
    searched_as: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    finish: Callable[[Any, Split], None] | None = None
    paper: str = ""
    weighs_operations: bool = False


def _scaled(title: str, paper: str, model: Callable[[int], Any], space: Space | None = None) -> Model:
    """Return a model of scaled numbers and one-hot categories."""
    placed = None if space is None else _spaces.with_prefix(space, "model__")
    return Model(title, lambda facts, seed: prepared(facts, model(seed)), placed, "model__", paper=paper)


def _standardised(title: str, paper: str, model: Callable[[int], Any], space: Space) -> Model:
    """Return a model of scaled numbers and one-hot categories, fitted to the standardised target."""
    prefix = "model__regressor__"

    def make(facts: Facts, seed: int) -> Any:
        return prepared(facts, TransformedTargetRegressor(regressor=model(seed), transformer=StandardScaler()))

    return Model(title, make, _spaces.with_prefix(space, prefix), prefix, paper=paper)


def _network(_facts: Facts, seed: int) -> Any:
    return DLNRegressor(random_state=seed, n_jobs=1)


def _option(title: str, finish: Callable[[Any, Split], None] | None = None, **changes: Any) -> Model:
    """Return the published method with named options, and the best parameters of its search."""
    return Model(title, _network, paper_space, searched_as="dln", changes=changes, finish=finish, paper="dln")


def _ablation(title: str, **changes: Any) -> Model:
    """Return the published method without one of its parts, with a search of its own for all that is not set."""
    grid = {name: values for name, values in PAPER_GRID.items() if name not in changes}

    def space(trial: Any) -> dict[str, Any]:
        params = {**draw_from_grid(DLNRegressor, grid, trial), **changes}
        return {name: params[name] for name in (*PAPER_GRID, *changes)}

    return Model(title, _network, space, changes=changes)


def _rules(max_conditions: int) -> Model:
    def make(_facts: Facts, seed: int) -> Any:
        return RuleRegressor(max_conditions=max_conditions, random_state=seed, n_jobs=1)

    return Model(f"Rules, {max_conditions} conditions", make, paper="dln")


def _lightgbm(_facts: Facts, seed: int) -> Any:
    from lightgbm import LGBMRegressor

    # It reads categories itself, but refuses some characters in names. Deterministic: the same on any machine.
    model = LGBMRegressor(random_state=seed, n_jobs=1, verbose=-1, deterministic=True, force_row_wise=True)
    return Pipeline([("names", FunctionTransformer(_plain_names)), ("model", model)])


def _plain_names(X: Any) -> Any:
    return X.set_axis([f"x{i}" for i in range(X.shape[1])], axis=1)


def _ebm(_facts: Facts, seed: int) -> Any:
    from interpret.glassbox import ExplainableBoostingRegressor

    return ExplainableBoostingRegressor(random_state=seed, n_jobs=1)


def _figs(size: int) -> Model:
    def make(_facts: Facts, seed: int) -> Any:
        from imodels import FIGSRegressor

        return one_hot(FIGSRegressor(max_rules=size, random_state=seed))

    return Model(f"FIGS, {size} splits", make, prefix="model__")


def _rulefit(size: int) -> Model:
    def make(_facts: Facts, seed: int) -> Any:
        from imodels import RuleFitRegressor

        return one_hot(RuleFitRegressor(max_rules=size // 2, include_linear=False, random_state=seed))

    return Model(f"RuleFit, {size // 2} rules", make, prefix="model__")


def _cart(size: int) -> Model:
    def make(_facts: Facts, seed: int) -> Any:
        return one_hot(DecisionTreeRegressor(max_leaf_nodes=size + 1, random_state=seed))

    return Model(f"Decision tree, {size} splits", make, prefix="model__")


#: The paper's ten, in its order.
PAPER: Final[dict[str, Model]] = {
    "linear": _scaled("Linear", "linear", lambda _: LinearRegression()),
    "ridge": _scaled("Ridge", "ridge", lambda _: Ridge(), _spaces.ridge),
    "lasso": _standardised("Lasso", "lasso", lambda _: Lasso(alpha=0.001, max_iter=10_000), _spaces.lasso),
    "knn": _scaled("KNN", "knn", lambda _: KNeighborsRegressor(), _spaces.knn),
    "tree": _scaled(
        "Decision tree", "tree", lambda seed: DecisionTreeRegressor(max_depth=8, random_state=seed), _spaces.tree
    ),
    "adaboost": _scaled(
        "AdaBoost",
        "adaboost",
        lambda seed: AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), random_state=seed),
        _spaces.adaboost,
    ),
    "forest": _scaled(
        "Random forest",
        "forest",
        lambda seed: RandomForestRegressor(max_depth=16, random_state=seed, n_jobs=1),
        _spaces.forest,
    ),
    "svr": _standardised("SVR", "svr", lambda _: SVR(cache_size=500), _spaces.svr),
    "mlp": _standardised(
        "MLP",
        "mlp",
        lambda seed: MLPRegressor(early_stopping=True, n_iter_no_change=30, max_iter=300, random_state=seed),
        _spaces.mlp,
    ),
    "dln": Model("DLN", _network, paper_space, paper="dln"),
}

#: The published method with named options.
OPTIONS: Final[dict[str, Model]] = {
    "dln-float16": _option("DLN, float16", rounded_to_float16),
    "dln-cheap": replace(_option("DLN, operations weighed"), weighs_operations=True),
    "dln-open": _option("DLN, open links", sum_links="open"),
    "dln-refit": _option("DLN, refit", refit=True),
    "dln-cosine": _option("DLN, cosine rate", learning_rate_schedule="cosine"),
    "dln-3": _option("3 DLN", n_networks=3),
    "dln-3-refit": _option("3 DLN, refit", n_networks=3, refit=True),
    "dln-100": _option("DLN, 100 conditions", max_conditions=100),
    "dln-100-3": _option("3 DLN, 100 conditions", n_networks=3, max_conditions=100),
}

#: The published method without one of its parts.
ABLATIONS: Final[dict[str, Model]] = {
    "no-schedule": _ablation("No temperature schedule", temperature=1.0, min_temperature=1.0, temperature_decay=1.0),
    "two-phases": _ablation("Two phases", phases="alternating"),
    "subspace-16": _ablation("Subspace of 16", n_candidate_links=16, n_candidate_gates=16),
    "subspace-4": _ablation("Subspace of 4", n_candidate_links=4, n_candidate_gates=4),
    "no-concatenation": _ablation("No concatenation", concatenate_inputs=False),
    "no-straight-through": _ablation("No straight-through", straight_through=None),
}

PEERS: Final[dict[str, Model]] = {
    "lightgbm": Model("LightGBM", _lightgbm, _spaces.with_prefix(_spaces.lightgbm, "model__"), "model__"),
    "ebm": Model("EBM", _ebm),
}

RULES: Final[dict[str, Model]] = {"rules-50": _rules(50), "rules": _rules(100), "rules-200": _rules(200)}

#: Readable models of other libraries, by their conditions.
SIZED: Final[dict[str, Model]] = {
    **{f"cart-{size}": _cart(size) for size in SIZES},
    **{f"figs-{size}": _figs(size) for size in SIZES},
    **{f"rulefit-{size}": _rulefit(size) for size in SIZES},
}

MODELS: Final[dict[str, Model]] = {**PAPER, **OPTIONS, **RULES, **PEERS, **ABLATIONS, **SIZED}

#: Names that stand for several models.
GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "paper": tuple(PAPER),
    "options": tuple(OPTIONS),
    "page": tuple(RULES),
    "peers": tuple(PEERS),
    "ablations": tuple(ABLATIONS),
    "sizes": tuple(SIZED),
}
