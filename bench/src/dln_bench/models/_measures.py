"""Measures of a fitted model: scores on test rows, operations under both readings, conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostRegressor, RandomForestRegressor
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeRegressor

from dln import operations
from dln.circuit._cost import FLOAT16, GATE, MULTIPLY_ADD, SELECT_ADD, Reading
from dln_bench._split import Split


def measures(model: Any, rows: Split) -> dict[str, Any]:
    """Return the measures of a fitted model, by their fields in a result."""
    predicted = np.asarray(model.predict(rows.X_test), dtype=np.float64)
    if not np.isfinite(predicted).all():
        message = "it predicted values that are not finite"
        raise ValueError(message)
    found = {
        "r2": float(r2_score(rows.y_test, predicted)),
        "rmse": float(root_mean_squared_error(rows.y_test, predicted)),
        "mae": float(mean_absolute_error(rows.y_test, predicted)),
        "multiply": count_operations(model, "multiply"),
        "select": count_operations(model, "select"),
        "conditions": conditions(model),
    }
    circuit = getattr(model, "circuit_", None)
    if circuit is not None:
        found["rules"] = len(circuit.rules)
    return found


def conditions(model: Any) -> int | None:
    """Return the conditions of a fitted model; None where it is not made of comparisons.

    A condition of a rule is a printed comparison, of a tree a split, of an additive model of bins an edge.
    """
    last = _last(model)
    if isinstance(last, DecisionTreeRegressor):
        return int(last.get_n_leaves()) - 1
    if isinstance(last, (RandomForestRegressor, AdaBoostRegressor)):
        return sum(int(tree.get_n_leaves()) - 1 for tree in last.estimators_)
    match type(last).__name__:
        case "DLNRegressor" | "RuleRegressor":
            return int(last.rules_.n_conditions)
        case "FIGSRegressor":
            return int(last.complexity_)
        case "RuleFitRegressor":
            return sum(_rule_lengths(last))
        case "LGBMRegressor":
            return sum(int(tree["num_leaves"]) - 1 for tree in last.booster_.dump_model()["tree_info"])
        case "ExplainableBoostingRegressor":
            return _edges(last)
    return None


def count_operations(model: Any, reading: Reading) -> int:
    """Return the operations of one prediction.

    The paper has no formula for imodels' two: FIGS is counted as a forest without the division, RuleFit as the sum of
    a circuit. The readings differ for sums of rules only.
    """
    last = _last(model)
    match type(last).__name__:
        case "FIGSRegressor":
            return sum(_depth(tree) * FLOAT16.comparison + FLOAT16.addition for tree in last.trees_)
        case "RuleFitRegressor":
            per_rule = (MULTIPLY_ADD if reading == "multiply" else SELECT_ADD) - GATE
            return sum(length * (FLOAT16.comparison + GATE) + per_rule for length in _rule_lengths(last))
    return int(operations(model, reading).total)


def _last(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model


def _rule_lengths(model: Any) -> list[int]:
    """Return the comparisons of each rule of RuleFit that has a weight."""
    return [len(rule.agg_dict) for rule in model.rules_ if getattr(rule, "args", [0])[0] != 0]


def _depth(node: Any) -> int:
    """Return the comparisons from a node of FIGS to its deepest leaf."""
    below = [child for child in (node.left, node.right) if child is not None]
    return 1 + max(map(_depth, below)) if below else 0


def _edges(model: Any) -> int:
    """Return the edges between bins of all terms of an EBM; a term of two columns has those of both."""
    total = 0
    for term in model.term_features_:
        for column in term:
            levels = model.bins_[column]
            total += len(levels[min(len(levels), len(term)) - 1])
    return total
