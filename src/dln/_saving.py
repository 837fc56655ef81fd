"""A fitted estimator ⇄ the model that a file holds."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from numbers import Integral
from typing import Any, Final, TypeVar

import numba
import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import BaseEstimator

from dln._atomic import AnyPath
from dln._errors import ModelFileError
from dln._model_file import SavedModel
from dln._version import __version__

Estimator = TypeVar("Estimator", bound=BaseEstimator)

#: Parameters that say how to run a fit and not what to learn: the model does not depend on them, nor does its file.
NOT_SAVED: Final = ("callbacks", "checkpoint", "n_jobs", "verbose")

#: Fitted attributes that a model may have, and their names in the file.
OPTIONAL: Final = {"support_": "support", "target_name_": "target"}


def training_facts(n_rows: int, n_distinct: int, y: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return what a model remembers of the table that it learned from.

    No times and no places: the same fit gives the same file.
    """
    return {
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


def to_saved(model: Any) -> SavedModel:
    """Return what a file holds of a fitted estimator."""
    model._validate_params()  # noqa: SLF001 (they may have been set since the fit, and must be readable again)
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in NOT_SAVED}
    if not isinstance(parameters["random_state"], (Integral, type(None))):
        parameters["random_state"] = None  # a generator has moved on since the fit: its state now would say nothing
    optional = {place: getattr(model, name) for name, place in OPTIONAL.items() if hasattr(model, name)}
    return SavedModel(
        circuit=model.circuit_,
        named=hasattr(model, "feature_names_in_"),
        parameters=parameters,
        n_iter=model.n_iter_,
        history=model.history_,
        training=model.training_facts_,
        **optional,
    )


def from_saved(kind: type[Estimator], saved: SavedModel, path: AnyPath = "") -> Estimator:
    """Return the fitted estimator that a file holds."""
    model = _with_parameters(kind, saved.parameters, os.fspath(path))
    fitted = {
        "circuit_": saved.circuit,
        "n_features_in_": len(saved.circuit.columns),
        "n_iter_": saved.n_iter,
        "history_": dict(saved.history),
        "training_facts_": dict(saved.training),
    }
    if saved.named:
        fitted["feature_names_in_"] = np.array([column.name for column in saved.circuit.columns], dtype=object)
    for name, place in OPTIONAL.items():
        if getattr(saved, place) is not None:
            fitted[name] = getattr(saved, place)
    vars(model).update(fitted)
    return model


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
