"""Parameters in a form that a file can hold and that can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, Final

import joblib
import numpy as np

from dln._saving import NOT_SAVED

_PLAIN: Final = (bool, int, str, type(None))


def plain_values(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as plain values: equal where the parameters are.

    >>> plain_values({"alpha": np.float64(0.5), "sizes": (8, 4), "solver": None})
    {'alpha': '0.5', 'sizes': '[8, 4]', 'solver': None}
    """
    return {name: _text(value) for name, value in params.items()}


def parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that a fit depends on, in a form that a file can hold."""
    params = estimator.get_params(deep=True)
    return plain_values(
        {name: value for name, value in sorted(params.items()) if name.split("__")[-1] not in NOT_SAVED}
    )


def _text(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, (Integral, float, np.floating)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, (*_PLAIN, float, np.generic)) for item in value):
        return repr([item.item() if isinstance(item, np.generic) else item for item in value])
    if hasattr(value, "get_params"):
        return type(value).__name__  # its own parameters are told one by one
    try:
        return f"{type(value).__name__} {joblib.hash(value)}"
    except Exception:  # noqa: BLE001 (whatever cannot be pickled)
        return type(value).__name__
