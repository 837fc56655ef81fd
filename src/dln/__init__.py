"""dln: regression models that people can read.

>>> from dln import RuleRegressor
>>> model = RuleRegressor(random_state=0).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 5.0, 5.0])
>>> model.predict([[1.5], [3.5]]).shape
(2,)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dln._version import __version__

if TYPE_CHECKING:
    from dln import tune
    from dln._dln import DLNRegressor
    from dln._errors import (
        CircuitError,
        ColumnWarning,
        CompileCacheWarning,
        ConstraintError,
        ExportError,
        MissingExtraError,
        ModelFileError,
        NotVerifiedWarning,
        PrecisionWarning,
        RuleSyntaxError,
        TimeLimitWarning,
        UnknownCategoryWarning,
        VerificationError,
    )
    from dln._load import Predictor, load, load_predictor
    from dln._rule import RuleRegressor
    from dln.circuit._circuit import Circuit
    from dln.circuit._operations import operations

__all__ = [
    "Circuit",
    "CircuitError",
    "ColumnWarning",
    "CompileCacheWarning",
    "ConstraintError",
    "DLNRegressor",
    "ExportError",
    "MissingExtraError",
    "ModelFileError",
    "NotVerifiedWarning",
    "PrecisionWarning",
    "Predictor",
    "RuleRegressor",
    "RuleSyntaxError",
    "TimeLimitWarning",
    "UnknownCategoryWarning",
    "VerificationError",
    "__version__",
    "load",
    "load_predictor",
    "operations",
    "tune",
]

#: Public name → module, imported on first access (PEP 562); the rest are in `_errors`.
_MODULES = {
    "Circuit": "circuit._circuit",
    "RuleRegressor": "_rule",
    "DLNRegressor": "_dln",
    "load": "_load",
    "load_predictor": "_load",
    "Predictor": "_load",
    "operations": "circuit._operations",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        message = f"module 'dln' has no attribute {name!r}"
        raise AttributeError(message)
    if name == "tune":
        return import_module("dln.tune")
    value = getattr(import_module(f"dln.{_MODULES.get(name, '_errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
