"""What the paper's network is trained on, and all that the result of the training depends on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from dln._regressor import Rows, Unseen
from dln._version import __version__
from dln.data._encoding import Encoded
from dln.data._rows import CanonicalRows
from dln.data._target import Target
from dln.network._checkpoint import array_digest
from dln.network._layout import Data
from dln.network._networks import NetworkTask

#: Rows that are converted at once: float64 numbers on their way to float32 are not to fill the memory.
ROWS_AT_ONCE: Final = 65_536


def task_data(rows: Rows) -> Data:
    """Return the rows of a fit as the kernels train on them."""
    return _data(rows.encoder.encode(rows.values, rows.distinct.index), rows.y, rows.distinct, rows.target)


def validation_data(rows: Rows, unseen: Unseen) -> Data:
    """Return the user's own validation rows as the kernels judge by them."""
    n = len(unseen.y)
    return _data(rows.encoder.encode(unseen.values), unseen.y, CanonicalRows(np.arange(n), np.ones(n)), rows.target)


def facts_of(task: NetworkTask) -> dict[str, Any]:
    """Return all that the result of training depends on, in the user's words where there are any."""
    plan = asdict(task.plan)
    plan["n_iter_no_change"] = plan.pop("patience")
    return {
        "number of distinct rows": len(task.data.target),
        "data": array_digest(*task.data),
        "validation data": None if task.validation is None else array_digest(*task.validation),
        "number of rows set aside": task.n_validation,
        **asdict(task.architecture),
        **plan,
        "seeds": list(task.seeds),
        "version of dln": __version__,
        "version of numpy": np.__version__,
        "version of numba": numba.__version__,
    }


def _data(encoded: Encoded, y: npt.NDArray[np.float64], rows: CanonicalRows, target: Target) -> Data:
    """Return what the kernels train on: the target standardised, weights of mean one."""
    standardised, weight = (np.empty(len(rows.index), dtype=np.float32) for _ in range(2))
    mean = rows.weight.mean()
    for start in range(0, len(rows.index), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        standardised[part] = target.standardise(y[rows.index[part]])
        weight[part] = rows.weight[part] / mean
    return Data(encoded.numbers, encoded.bits, standardised, weight)
