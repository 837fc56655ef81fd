"""Columns of numbers → floats, NaN where missing."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any, Final

import narwhals as nw
import numpy as np
import numpy.typing as npt

from dln._errors import PrecisionWarning
from dln.circuit._circuit import Values
from dln.data._column_kinds import TEXT_DTYPES, Raw, as_array, complex_refused, held_by, is_missing_type, wrong_type

#: Floats up to this size hold whole numbers exactly.
LARGEST_WHOLE: Final = 2**53

_ID_NAME: Final = re.compile(r"(?i)(^|[_\s.-])(id|uuid|guid|index|idx|row|rownum|row_number|key)$|[a-z](Id|ID)$")


def numbers_of(raw: Raw, name: str, *, first_row: int = 0, learns: bool = False) -> Values:
    """Return a number column, ``(n_rows,) float32 or float64``: a view if X holds such floats already.

    `first_row` is that of messages; `learns` warns of whole numbers that float64 rounds.
    """
    may_round = learns and _may_hold_large_whole_numbers(raw)
    if isinstance(raw, nw.Series):
        if isinstance(raw.dtype, TEXT_DTYPES):
            if raw.null_count() < len(raw):
                raise _not_numbers(name, "text")
            return np.full(len(raw), np.nan)
        raw = as_array(raw, name)
    if raw.dtype.kind == "O":
        raw = _object_numbers(raw, name, first_row)
    elif raw.dtype.kind == "c":
        raise complex_refused(name, str(raw.dtype))
    elif raw.dtype.kind in "UT":
        raise _not_numbers(name, "text")
    elif raw.dtype.kind not in "fiub":
        raise wrong_type(name, f"{raw.dtype}")
    values = raw if is_plain(raw) else raw.astype(np.float64)
    if raw.dtype.kind == "f":
        check_finite(values, name, first_row)
    if may_round and (np.abs(values) >= LARGEST_WHOLE).any():
        message = (
            f"column {name!r} holds whole numbers above 2**53, which float64 rounds, so that different ones may become "
            "equal: if they are identifiers, name the column in categorical_features, or drop it"
        )
        warnings.warn(message, PrecisionWarning, stacklevel=2)
    return values


def _may_hold_large_whole_numbers(raw: Raw) -> bool:
    if isinstance(raw, nw.Series):
        return raw.dtype.is_integer() or isinstance(raw.dtype, (nw.Decimal, nw.Object))
    return raw.dtype.kind in "iuO"


def is_plain(array: npt.NDArray[Any]) -> bool:
    """Return whether an array holds floats that are used as they are."""
    return array.dtype in (np.float32, np.float64) and array.dtype.isnative


def _object_numbers(array: npt.NDArray[Any], name: str, first_row: int) -> Values:
    if other := held_by(array, name, first_row) - {"numbers", "Booleans"}:
        raise _not_numbers(name, " and ".join(sorted(other)))
    try:
        try:
            return array.astype(np.float64)
        except TypeError:  # pandas.NA; None becomes NaN by itself
            return np.array([math.nan if is_missing_type(type(value)) else float(value) for value in array])
    except OverflowError:
        message = f"column {name!r} must hold numbers that fit in float64, but one is too large: scale the column"
        raise ValueError(message) from None


def _not_numbers(name: str, what: str) -> ValueError:
    return ValueError(
        f"column {name!r} must hold numbers, but it holds {what}: convert it, or let categorical_features at fit take "
        "it as categories"
    )


def row_numbers(name: str, values: Values) -> str | None:
    """Return why whole numbers, all different, name the rows and do not describe them; None if they may.

    >>> row_numbers("x", np.arange(3.0)), row_numbers("order_id", np.array([7.0, np.nan, 5.0]))
    ('it counts the rows', 'every row has a number of its own, and its name says so too')
    """
    known = values[~np.isnan(values)]
    if len(np.unique(known)) < len(known) or (known % 1).any():
        return None
    if _ID_NAME.search(name):
        return "every row has a number of its own, and its name says so too"
    return "it counts the rows" if values[0] in (0, 1) and (np.diff(known) == 1).all() else None


def check_finite(values: Values, name: str, first_row: int = 0) -> None:
    """Raise where a number is infinite."""
    infinite = np.isinf(values)
    if infinite.any():
        message = (
            f"Input X contains infinity: column {name!r} must hold finite numbers or NaN, but row "
            f"{first_row + int(infinite.argmax())} holds inf; replace it by NaN or a large number"
        )
        raise ValueError(message)
