"""A fitted estimator ⇄ the model that a file holds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Final, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from dln._atomic import AnyPath
from dln._errors import ModelFileError
from dln.circuit._circuit import Circuit, Column, IsIn, Literal
from dln.circuit._cost import count_conditions
from dln.data._dates import with_dates_whole
from dln.readers._frontier import Frontier, Point
from dln.readers.model_file import SavedModel

Estimator = TypeVar("Estimator", bound=BaseEstimator)
#: Parameters that say how to run a fit and not what to learn: the model does not depend on them, nor does its file.
NOT_SAVED: Final = ("callbacks", "n_jobs", "verbose")
#: Fitted attributes that a model may have, and their names in the file.
OPTIONAL: Final = {
    "support_": "support", "target_name_": "target", "intervals_": "intervals", "edits_": "edits", "frozen_": "frozen"
}  # fmt: skip


def without_unused_categories(circuits: Sequence[Circuit]) -> list[Circuit]:
    """Return circuits over the same columns with only those categories that their rules name.

    The others may be private, and mean nothing: to a rule, a category that it does not name is like one that it has
    never seen. True and False are no secrets.
    """
    columns = list(circuits[0].columns)
    for j, column in enumerate(columns):
        if column.categories and not all(isinstance(category, bool) for category in column.categories):
            tests = {literal for circuit in circuits for literal in circuit.literals if literal.column == j}
            used = {code for test in tests if isinstance(test, IsIn) for code in test.codes}
            kept = tuple(column.categories[code] for code in sorted(used))
            columns[j] = replace(column, categories=kept, seen=column.seen if used else None)
    return [recoded(circuit, tuple(columns)) for circuit in circuits]


def recoded(circuit: Circuit, columns: tuple[Column, ...]) -> Circuit:
    """Return a circuit over the same columns with other codes for their categories; those it reads must be there."""
    codes = [
        {} if column.categories is None else {category: code for code, category in enumerate(column.categories)}
        for column in columns
    ]

    def renamed(literal: Literal) -> Literal:
        if not isinstance(literal, IsIn):
            return literal
        categories = circuit.columns[literal.column].categories or ()
        return IsIn(literal.column, tuple(codes[literal.column][categories[code]] for code in literal.codes))

    return replace(circuit, columns=columns, literals=tuple(map(renamed, circuit.literals)))


def to_saved(model: Any) -> SavedModel:
    model._validate_params()  # noqa: SLF001 (they may have been set since the fit, and must be readable again)
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in NOT_SAVED}
    if not isinstance(parameters["random_state"], (Integral, type(None))):
        parameters["random_state"] = None  # a generator has moved on since the fit: its state now would say nothing
    if not isinstance(parameters["cv"], (Integral, type(None))):
        parameters["cv"] = None  # files hold no code: the training facts keep the kind and the number of folds
    optional = {field: getattr(model, name) for name, field in OPTIONAL.items() if hasattr(model, name)}
    columns = [column.name for column in model.circuit_.columns]
    features = getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])
    return SavedModel(
        dates=[name for name in features if name not in columns],
        circuit=model.circuit_,
        kind="network" if type(model).__name__ == "DLNRegressor" else "rules",  # files hold no names of classes
        frontier=model.frontier_,
        named=hasattr(model, "feature_names_in_"),
        parameters=parameters,
        n_iter=getattr(model, "n_iter_", 0),
        history=getattr(model, "history_", {}),
        training=model.training_facts_,
        network=getattr(model, "network_circuit_", None),
        constraints=getattr(model, "_constraints", ()),
        **optional,
    )


def from_saved(kind: type[Estimator], saved: SavedModel, path: AnyPath = "") -> Estimator:
    known = set(kind._get_param_names()) - set(NOT_SAVED)  # noqa: SLF001 (scikit-learn's own way to ask)
    if unknown := [name for name in saved.parameters if name not in known]:
        reason = "this version of dln has no such parameter"
        raise ModelFileError(reason, f"parameters.{unknown[0]}", os.fspath(path))
    model: Estimator = kind(**saved.parameters)
    try:
        model._validate_params()  # noqa: SLF001 (as `fit` does)
    except ValueError as error:
        raise ModelFileError(str(error), "parameters", os.fspath(path)) from error
    features = with_dates_whole([column.name for column in saved.circuit.columns], saved.dates)
    fitted = {
        "circuit_": saved.circuit,
        "n_features_in_": len(features),
        "training_facts_": dict(saved.training),
        "_frontier": saved.frontier or frontier_of_one(saved.circuit, saved.support),
    }
    if saved.kind == "network":
        fitted |= {"n_iter_": saved.n_iter, "history_": dict(saved.history)}
        fitted["network_circuit_"] = saved.circuit if saved.network is None else saved.network
    else:
        fitted["_constraints"] = tuple(saved.constraints)
    if saved.named:
        fitted["feature_names_in_"] = np.array(features, dtype=object)
    optional = {name: getattr(saved, field) for name, field in OPTIONAL.items()}
    fitted |= {name: value for name, value in optional.items() if value is not None}
    vars(model).update(fitted)
    return model


def frontier_of_one(circuit: Circuit, support: Sequence[float] | None, r2: float | None = None) -> Frontier:
    """Return the frontier of a model without smaller ones."""
    n = sum(count_conditions(circuit))
    return Frontier((Point(n, n, len(circuit.rules), r2, circuit, tuple(support or ())),))
