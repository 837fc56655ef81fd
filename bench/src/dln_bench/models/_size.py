"""How large a fitted model is: the comparisons that it prints, or makes, and the operations of one prediction."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import AdaBoostRegressor, RandomForestRegressor
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeRegressor

from dln import operations
from dln._regressor import CircuitRegressor
from dln.circuit._cost import FLOAT16, GATE


def conditions(model: Any) -> int | None:
    """Return the conditions of a fitted model; None where it is not made of comparisons.

    A condition of a rule is a printed comparison, of a tree a split, of an additive model of bins an edge.
    """
    last = _last(model)
    match type(last).__name__:
        case "FIGSRegressor":
            return int(last.complexity_)
        case "RuleFitRegressor":
            return sum(_rule_lengths(last))
        case "LGBMRegressor":
            return sum(int(tree["num_leaves"]) - 1 for tree in last.booster_.dump_model()["tree_info"])
        case "ExplainableBoostingRegressor":
            return _edges(last)
    if isinstance(last, CircuitRegressor):
        return int(last.rules_.n_conditions)
    if isinstance(last, DecisionTreeRegressor):
        return int(last.get_n_leaves()) - 1
    if isinstance(last, (RandomForestRegressor, AdaBoostRegressor)):
        return sum(int(tree.get_n_leaves()) - 1 for tree in last.estimators_)
    return None


def count_operations(model: Any) -> int:
    """Return the operations of one prediction, as the paper counts them.

    The paper has no formula for imodels' two: FIGS is counted as a forest, without the division, and RuleFit as the
    sum of a DLN.
    """
    last = _last(model)
    match type(last).__name__:
        case "FIGSRegressor":
            return sum(_depth(tree) * FLOAT16.comparison + FLOAT16.addition for tree in last.trees_)
        case "RuleFitRegressor":
            per_rule = FLOAT16.multiplication + FLOAT16.addition - GATE
            return sum(length * (FLOAT16.comparison + GATE) + per_rule for length in _rule_lengths(last))
    return int(operations(model).total)


def _last(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model


def _rule_lengths(model: Any) -> list[int]:
    """Return the comparisons of each rule of RuleFit that has a weight."""
    return [len(rule.agg_dict) for rule in model.rules_ if getattr(rule, "args", [0])[0] != 0]


def _depth(node: Any) -> int:
    """Return the longest way from a node of FIGS to a leaf, in comparisons."""
    below = [child for child in (node.left, node.right) if child is not None]
    return 1 + max(map(_depth, below)) if below else 0


def _edges(model: Any) -> int:
    """Return the edges between bins of all terms; a term of two columns has those of both."""
    total = 0
    for term in model.term_features_:
        for column in term:
            levels = model.bins_[column]
            total += len(levels[min(len(levels), len(term)) - 1])
    return total
