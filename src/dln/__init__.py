"""dln: regression models that people can read.

>>> from dln import DLNRegressor
>>> model = DLNRegressor(max_epochs=5, random_state=0).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 5.0, 5.0])
>>> model.predict([[1.5], [3.5]]).shape
(2,)
"""

from dln._circuit import Circuit
from dln._errors import (
    CheckpointError,
    CheckpointWarning,
    CircuitError,
    FitInterruptedWarning,
    MissingExtraError,
    ModelFileError,
)
from dln._estimator import DLNRegressor, load
from dln._version import __version__

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "Circuit",
    "CircuitError",
    "DLNRegressor",
    "FitInterruptedWarning",
    "MissingExtraError",
    "ModelFileError",
    "__version__",
    "load",
]
