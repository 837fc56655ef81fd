"""Where to search: functions from an Optuna trial to parameters of the estimator."""

from __future__ import annotations

from typing import Any

from dln._dln import DLNRegressor
from dln._rule import RuleRegressor
from dln.tune._context import Context, Space
from dln.tune._paper_space import paper_space


def default_space(trial: Any, context: Context) -> dict[str, Any]:
    """Return parameters for the page of rules: what proposes candidates, and how long the search goes on.

    Its size (`max_conditions`, `max_rule_length`, `max_rules`) is left alone: it says how much a person wants to read.

    Parameters
    ----------
    trial : optuna.Trial
        Suggests the values.
    context : Context
        What is known of the table.

    Returns
    -------
    dict
        Parameters to set.

    """
    del context
    parameters: dict[str, Any] = {
        "n_teachers": trial.suggest_categorical("n_teachers", [0, 4]),
        "n_grown_rules": trial.suggest_categorical("n_grown_rules", [300, 600, 1200]),
        "n_generations": trial.suggest_categorical("n_generations", [2, 4, 8]),
    }
    if parameters["n_teachers"]:
        parameters["n_synthetic_rows"] = trial.suggest_categorical("n_synthetic_rows", [0, 3000, 6000])
    return parameters


def own_space(estimator: Any) -> Space:
    """Return the space of an estimator that is a DLN."""
    if isinstance(estimator, DLNRegressor):
        return paper_space
    if not isinstance(estimator, RuleRegressor):
        message = (
            f"space must be given for {type(estimator).__name__}: a function space(trial, context) that returns "
            "parameters to set; only RuleRegressor and DLNRegressor have a space of their own"
        )
        raise ValueError(message)
    return default_space
