"""The cost of one prediction in basic logic operations, of circuits and of models of other libraries.

The counting rules are the paper's where they can be recovered from its table, and stated here where they cannot. Models
are recognised by the names of their classes, so none of their libraries is imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import numpy as np

from dln.circuit._circuit import Circuit
from dln.circuit._cost import CATEGORY_BIT, FLOAT16, MULTIPLY_ADD, Cost, Part, Reading, circuit_cost

#: A kind of operation, its count and its price.
Counts: TypeAlias = Iterable[tuple[str, int, int]]


def operations(model: Any, reading: Reading = "multiply") -> Cost:
    """Return the cost of one prediction of a circuit or a fitted model of dln or another library.

    Known are scikit-learn's linear models, nearest neighbours, trees, forests, boosting, SVR and MLPRegressor, a
    torch module of linear layers, LightGBM and EBM; a Pipeline counts as its last step, a search as its best model.

    Parameters
    ----------
    model : Circuit or fitted model
        The model.
    reading : {"multiply", "select"}, default="multiply"
        How the weights of a circuit's rules are counted, as for `RuleRegressor.cost`.

    Returns
    -------
    Cost
        ``int`` of it is the number of operations, ``print`` shows the parts.

    Raises
    ------
    TypeError
        If the model is of a kind that is not known.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> cost = operations(LinearRegression().fit([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]], [1.0, 2.0, 4.0]))
    >>> print(cost)
    multiply-add  2488  2 × 1244
    total         2488  logic operations, LinearRegression

    """
    if isinstance(model, Circuit):
        return circuit_cost(model, reading)
    for inner in ("circuit_", "best_estimator_", "regressor_", "module_"):
        if hasattr(model, inner):
            return operations(getattr(model, inner), reading)
    if hasattr(model, "steps"):
        return operations(model.steps[-1][1], reading)
    for kind in type(model).__mro__:
        count = _KNOWN.get((kind.__module__.partition(".")[0], kind.__name__))
        if count is not None:
            return Cost(
                type(model).__name__, tuple(Part(name, n * price, f"{n} × {price}") for name, n, price in count(model))
            )
    raise TypeError(f"operations() cannot count a {type(model).__name__}; it knows {', '.join(n for _, n in _KNOWN)}")


def _multiply_adds(count: Any) -> Counts:
    yield "multiply-add", int(count), MULTIPLY_ADD


def _trees(depths: Iterable[int]) -> Counts:
    depths = list(map(int, depths))
    yield "compare", sum(depths), FLOAT16.comparison
    yield "add", len(depths), FLOAT16.addition


def _neighbours(model: Any) -> Counts:
    # Distance to every stored row, then the k nearest by k passes; roots and the mean of k are left out, as in the
    # paper.
    n, d = int(model.n_samples_fit_), int(model.n_features_in_)
    yield "subtract", n * d, FLOAT16.addition
    if not (model.metric == "manhattan" or (model.metric == "minkowski" and model.p == 1)):
        yield "multiply", n * d, FLOAT16.multiplication
    yield "add", n * (d - 1), FLOAT16.addition
    yield "compare", n * int(model.n_neighbors), FLOAT16.comparison


def _forest(model: Any) -> Counts:
    yield from _trees(tree.get_depth() for tree in model.estimators_)
    yield "divide", 1, FLOAT16.division


def _adaboost(model: Any) -> Counts:
    # The paper's count is not recoverable. Ours: every tree, then the weighted median that the model predicts: sort
    # the T predictions, add up their weights, search for the half.
    trees = model.estimators_
    halvings = math.ceil(math.log2(max(len(trees), 2)))
    yield from _trees(tree.get_depth() for tree in trees)
    yield "compare (sort)", len(trees) * halvings, FLOAT16.comparison
    yield "compare (median)", halvings, FLOAT16.comparison


def _support_vectors(model: Any) -> Counts:
    # Exponentials cost as much as logarithms.
    n, d = model.support_vectors_.shape
    if model.kernel == "rbf":
        yield "distance (subtract, multiply, add)", n * d, FLOAT16.addition + MULTIPLY_ADD
        yield "scale", n, FLOAT16.multiplication
        yield "exponential", n, FLOAT16.logarithm
    elif model.kernel in {"linear", "poly", "sigmoid"}:
        yield "inner product", n * d, MULTIPLY_ADD
        if model.kernel != "linear":
            yield "scale and shift", n, MULTIPLY_ADD
        if model.kernel == "poly":
            yield "power", n * (int(model.degree) - 1), FLOAT16.multiplication
        if model.kernel == "sigmoid":  # tanh by one exponential: (e − 1) / (e + 1)
            yield "tanh", n, FLOAT16.logarithm + 2 * FLOAT16.addition + FLOAT16.division
    else:
        raise TypeError(f"operations() cannot count an SVR with the kernel {model.kernel!r}")
    yield "multiply-add", n, MULTIPLY_ADD


def _torch(model: Any) -> Counts:
    layers = [layer for layer in model.modules() if type(layer).__name__ == "Linear"]
    if not layers:
        raise TypeError("operations() counts a torch module by its Linear layers, but this one has none")
    return _multiply_adds(sum(layer.weight.numel() for layer in layers))


def _lightgbm(model: Any) -> Counts:
    booster = getattr(model, "booster_", model)
    return _trees(_depth(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"])


def _depth(tree: dict[str, Any]) -> int:
    return max((1 + _depth(tree[side]) for side in ("left_child", "right_child") if side in tree), default=0)


def _ebm(model: Any) -> Counts:
    # A column's bin is found by halving, once per resolution; its score is looked up, which is free, and added.
    needed = {
        (feature, min(len(term), len(model.bins_[feature])) - 1) for term in model.term_features_ for feature in term
    }
    levels = [model.bins_[feature][level] for feature, level in sorted(needed)]
    cuts = [len(level) for level in levels if not isinstance(level, dict)]
    yield "compare", sum(math.ceil(math.log2(n + 1)) for n in cuts), FLOAT16.comparison
    yield "category test", sum(len(level) for level in levels if isinstance(level, dict)), CATEGORY_BIT
    yield "add", len(model.term_features_), FLOAT16.addition


_KNOWN: Final[dict[tuple[str, str], Callable[[Any], Counts]]] = {
    ("sklearn", "LinearRegression"): lambda model: _multiply_adds(np.count_nonzero(model.coef_)),
    ("sklearn", "LinearModel"): lambda model: _multiply_adds(np.count_nonzero(model.coef_)),
    ("sklearn", "KNeighborsRegressor"): _neighbours,
    ("sklearn", "BaseDecisionTree"): lambda model: [("compare", int(model.get_depth()), FLOAT16.comparison)],
    ("sklearn", "BaseForest"): _forest,
    ("sklearn", "AdaBoostRegressor"): _adaboost,
    ("sklearn", "BaseGradientBoosting"): lambda model: _trees(tree.get_depth() for tree in np.ravel(model.estimators_)),
    ("sklearn", "BaseHistGradientBoosting"): lambda model: _trees(
        tree.get_max_depth()
        for stage in model._predictors  # noqa: SLF001 (no public name)
        for tree in stage
    ),
    ("sklearn", "BaseLibSVM"): _support_vectors,
    ("sklearn", "BaseMultilayerPerceptron"): lambda model: _multiply_adds(sum(layer.size for layer in model.coefs_)),
    ("torch", "Module"): _torch,
    ("lightgbm", "LGBMModel"): _lightgbm,
    ("lightgbm", "Booster"): _lightgbm,
    ("interpret", "EBMModel"): _ebm,
}
