"""A fitted estimator ⇄ the model that a file holds."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Final, TypeVar
from typing import Literal as TypingLiteral

import numba
import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import BaseEstimator

from dln._atomic import AnyPath
from dln._errors import ModelFileError
from dln._version import __version__
from dln.circuit._circuit import Circuit, Column, IsIn, Literal, Values
from dln.circuit._conditions import count_conditions
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


#: What a file calls the classes: files hold no names of classes.
KINDS: Final[dict[str, TypingLiteral["rules", "network"]]] = {"RuleRegressor": "rules", "DLNRegressor": "network"}


def training_facts(
    n_rows: int, n_distinct: int, y: npt.NDArray[np.float64], ranges: Mapping[str, tuple[float, float]]
) -> dict[str, Any]:
    """Return facts of the training table, without times and paths: the same fit gives the same file."""
    facts: dict[str, Any] = {
        "rows": n_rows,
        "distinct_rows": n_distinct,
        "target_min": float(y.min()),
        "target_max": float(y.max()),
        "versions": {
            "dln": __version__,
            "numba": numba.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "scikit-learn": sklearn.__version__,
        },
    }
    return facts | {"ranges": dict(ranges)} if ranges else facts


def learned_ranges(
    circuit: Circuit, values: Sequence[Values], rows: npt.NDArray[np.intp]
) -> dict[str, tuple[float, float]]:
    """Return the ends of each number column that rules read: beyond them a prediction is a guess, and is shown as one.

    >>> from dln.circuit._circuit import Above, Rule
    >>> circuit = Circuit((Column("age"), Column("bmi")), (Above(0, 47.5),), (), (Rule(0, 2.5),), 0.0, 1)
    >>> learned_ranges(circuit, [np.array([18.0, np.nan, 64.0]), np.array([20.0, 30.0, 40.0])], np.arange(3))
    {'age': (18.0, 64.0)}
    """
    ranges = {}
    for j in sorted({literal.column for literal in circuit.literals}):
        if circuit.columns[j].categories is None:
            known = values[j][rows]
            known = known[~np.isnan(known)]
            if len(known):
                ranges[circuit.columns[j].name] = (float(known.min()), float(known.max()))
    return ranges


def without_unused_categories(circuits: Sequence[Circuit]) -> list[Circuit]:
    """Return circuits over the same columns with only those categories that their rules name.

    The others may be private, and mean nothing: to a rule, a category that it does not name is like one that it has
    never seen. True and False are no secrets.

    >>> from dln.circuit._circuit import Rule
    >>> columns = (Column("town", ("Aas", "Bergen", "Oslo")),)
    >>> circuit = Circuit(columns, (IsIn(0, (1,)),), (), (Rule(0, 2.5),), 0.0, 1)
    >>> without_unused_categories([circuit])[0].columns[0].categories
    ('Bergen',)
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
    """Return a circuit over the same columns with other codes for their categories; those that it reads must be there.

    >>> from dln.circuit._circuit import Rule
    >>> circuit = Circuit((Column("town", ("Aas", "Oslo")),), (IsIn(0, (1,)),), (), (Rule(0, 2.5),), 0.0, 1)
    >>> recoded(circuit, (Column("town", ("Oslo",)),)).literals
    (IsIn(column=0, codes=(0,)),)
    """
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
    """Return the content of a fitted estimator's file."""
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
        kind=KINDS.get(type(model).__name__, "rules"),
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
    """Return the fitted estimator that a file holds."""
    model = _with_parameters(kind, saved.parameters, os.fspath(path))
    features = with_dates_whole([column.name for column in saved.circuit.columns], saved.dates)
    fitted = {
        "circuit_": saved.circuit,
        "n_features_in_": len(features),
        "training_facts_": dict(saved.training),
        "_frontier": saved.frontier or _frontier_of_one(saved),
    }
    if saved.kind == "network":
        fitted |= {"n_iter_": saved.n_iter, "history_": dict(saved.history)}
        fitted["network_circuit_"] = saved.circuit if saved.network is None else saved.network
    else:
        fitted["_constraints"] = tuple(saved.constraints)
    if saved.named:
        fitted["feature_names_in_"] = np.array(features, dtype=object)
    for name, field in OPTIONAL.items():
        if getattr(saved, field) is not None:
            fitted[name] = getattr(saved, field)
    vars(model).update(fitted)
    return model


def _frontier_of_one(saved: SavedModel) -> Frontier:
    n = sum(count_conditions(saved.circuit))
    return Frontier((Point(n, n, len(saved.circuit.rules), None, saved.circuit, tuple(saved.support or ())),))


def _with_parameters(kind: type[Estimator], parameters: Mapping[str, Any], path: str) -> Estimator:
    known = set(kind._get_param_names()) - set(NOT_SAVED)  # noqa: SLF001 (scikit-learn's own way to ask)
    for name in parameters:
        if name not in known:
            reason = "this version of dln has no such parameter"
            raise ModelFileError(reason, f"parameters.{name}", path)
    model: Estimator = kind(**parameters)
    try:
        model._validate_params()  # noqa: SLF001 (as `fit` does)
    except ValueError as error:
        raise ModelFileError(str(error), "parameters", path) from error
    return model
