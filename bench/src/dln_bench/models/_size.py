"""How large a fitted model is: the comparisons that it prints, or makes."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import AdaBoostRegressor, RandomForestRegressor
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeRegressor

from dln._regressor import CircuitRegressor


def conditions(model: Any) -> int | None:
    """Return the conditions of a fitted model; None where it is not made of comparisons.

    A condition of a rule is a printed comparison, of a tree a split, of an additive model of bins an edge.
    """
    last = model[-1] if isinstance(model, Pipeline) else model
    match type(last).__name__:
        case "FIGSRegressor":
            return int(last.complexity_)
        case "RuleFitRegressor":
            chosen = [rule for rule in last.rules_ if getattr(rule, "args", [0])[0] != 0]
            return sum(len(rule.agg_dict) for rule in chosen)
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


def _edges(model: Any) -> int:
    """Return the edges between bins of all terms; a term of two columns has those of both."""
    total = 0
    for term in model.term_features_:
        for column in term:
            levels = model.bins_[column]
            total += len(levels[min(len(levels), len(term)) - 1])
    return total
