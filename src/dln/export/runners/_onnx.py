"""Runs an exported ONNX file in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dln._errors import VerificationError
from dln.circuit._circuit import MISSING, UNKNOWN, Column, Values
from dln.export._form import Form
from dln.export._kinds import category_kind
from dln.export._onnx import input_columns, missing_name
from dln.export.runners._engines import package
from dln.export.runners._rows import unknown_category


def run_onnx(path: Path, form: Form, values: Sequence[Values]) -> npt.NDArray[np.float64]:
    """Return the predictions of an ONNX file."""
    package("onnxruntime", "ONNX Runtime (pip install onnxruntime)")
    import onnxruntime

    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    feeds: dict[str, Any] = {}
    for j, column in input_columns(form):
        feeds[column.name] = _tensor(column, values[j])
        if (name := missing_name(form, j)) is not None:
            feeds[name] = values[j] == MISSING
    try:
        session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
        (predictions,) = session.run(["prediction"], feeds)
    except Exception as error:  # it has exceptions of its own for every kind of failure, and they share no name
        message = f"ONNX Runtime on {path.name} failed: {error}"
        raise VerificationError(message) from error
    return np.asarray(predictions, dtype=np.float64)


def _tensor(column: Column, values: Values) -> npt.NDArray[Any]:
    if column.categories is None:
        return values.astype(np.float64)
    # One more at the end for the unknown, and one for the missing: -2 and -1 pick them.
    unknown = unknown_category(column)
    if category_kind(column, "ONNX") == "text":
        return np.array([*column.categories, unknown, unknown], dtype=object)[values]
    assert (MISSING, UNKNOWN) == (-1, -2)  # noqa: S101 (what the order above rests on)
    return np.array([*column.categories, unknown, np.nan], dtype=np.float64)[values]
