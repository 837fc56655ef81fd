"""What a column holds: numbers, categories or dates, told by its type, and of objects by what they are."""

from __future__ import annotations

import numbers
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from dln.data._dates import DATE_TYPES, Dates, dates_of_objects

#: A column as it came: of an array, or of a frame.
Raw: TypeAlias = npt.NDArray[Any] | nw.Series[Any]

#: Number types that numpy lacks, and Booleans that may be missing.
NOT_IN_NUMPY: Final = (nw.Decimal, nw.Int128, nw.UInt128, nw.Boolean)

#: Frame types that are categories whatever they hold.
CATEGORY_TYPES: Final = (nw.Boolean, nw.String, nw.Categorical, nw.Enum)

#: Frame types that are split into parts.
DATE_DTYPES: Final = (nw.Datetime, nw.Date, nw.Time)


def kind_of(raw: Raw, name: str) -> Literal["numbers", "categories", "dates"]:
    """Tell what a column is by its type, and an object column by what it holds."""
    if isinstance(raw, nw.Series):
        dtype = raw.dtype
        if dtype.is_numeric():
            return "numbers"
        if isinstance(dtype, CATEGORY_TYPES):
            return "categories"
        if isinstance(dtype, DATE_DTYPES):
            return "dates"
        raw = as_array(raw, name)
    if raw.dtype.kind != "O":
        return "categories" if raw.dtype.kind in "UT" else "dates" if raw.dtype.kind == "M" else "numbers"
    kinds = object_kinds(raw, name)
    if len(kinds) > 1:
        message = (
            f"column {name!r} must hold numbers or categories, but it mixes {' and '.join(sorted(kinds))}: convert it, "
            "or name it in categorical_features"
        )
        raise ValueError(message)
    if not kinds or kinds == {"numbers"}:
        return "numbers"
    return "dates" if kinds == {"dates"} else "categories"


def holds_dates(raw: Raw) -> bool:
    """Whether a column is one of dates, whatever else it was said to be."""
    if isinstance(raw, nw.Series):
        if not isinstance(raw.dtype, (nw.Object, nw.Unknown)):
            return isinstance(raw.dtype, DATE_DTYPES)
        raw = raw.to_numpy()
    if raw.dtype.kind != "O":
        return raw.dtype.kind == "M"
    kinds = [kind for kind in set(map(type, raw)) if not is_missing_type(kind)]
    return bool(kinds) and all(issubclass(kind, DATE_TYPES) for kind in kinds)


def dates_of(raw: Raw, name: str) -> Dates:
    """Return a column of dates, by the clock that they were written by; a column of anything else is refused."""
    if isinstance(raw, nw.Series):
        dtype = raw.dtype
        if isinstance(dtype, nw.Datetime):
            raw = (raw if dtype.time_zone is None else raw.dt.replace_time_zone(None)).to_numpy()
        elif isinstance(dtype, (nw.Date, nw.Time)):
            raw = raw.to_numpy()
        elif isinstance(dtype, (nw.Object, nw.Unknown)):
            raw = as_array(raw, name)
        else:
            raise _not_dates(name, str(dtype))
    if raw.dtype.kind == "O":
        if object_kinds(raw, name) - {"dates"}:
            raise _not_dates(name, "other objects")
        return dates_of_objects(raw)
    if raw.dtype.kind != "M":
        raise _not_dates(name, str(raw.dtype))
    return raw


def _not_dates(name: str, what: str) -> TypeError:
    return TypeError(
        f"column {name!r} must hold dates, as it did when the model was fitted, but it holds {what}: convert it to a "
        "datetime type"
    )


def as_array(series: nw.Series[Any], name: str) -> npt.NDArray[Any]:
    """Return a frame's column that is neither text nor category as an array; lists, structs and so on are refused."""
    dtype = series.dtype
    if isinstance(dtype, (nw.Object, nw.Unknown)):
        return series.to_numpy()
    if isinstance(dtype, NOT_IN_NUMPY):
        return series.cast(nw.Float64).to_numpy()
    if dtype.is_numeric():
        return series.to_numpy()
    raise wrong_type(name, f"{dtype}")


def wrong_type(name: str, what: str) -> TypeError:
    """Return the error for a column of a type that nothing can be learned from."""
    return TypeError(
        f"column {name!r} must hold numbers, text, Booleans, categories or dates, but it holds {what}: convert it to "
        "numbers or text, or drop it"
    )


def complex_refused(name: str, what: str) -> ValueError:
    """Return the error for complex numbers, in scikit-learn's words."""
    return ValueError(f"Complex data not supported: column {name!r} must hold real numbers, but it holds {what}")


def object_kinds(array: npt.NDArray[Any], name: str, first_row: int = 0) -> set[str]:
    """Return which of Booleans, numbers, text and dates an object column holds."""
    kinds: set[str] = set()
    for kind in set(map(type, array)):
        if is_missing_type(kind):  # pandas.NaT, which says of itself that it is a date
            continue
        if issubclass(kind, (bool, np.bool_)):
            kinds.add("Booleans")
        elif issubclass(kind, (numbers.Real, Decimal)):
            kinds.add("numbers")
        elif issubclass(kind, str):
            kinds.add("text")
        elif issubclass(kind, DATE_TYPES):
            kinds.add("dates")
        elif issubclass(kind, numbers.Complex):
            raise complex_refused(name, kind.__name__)
        else:
            row = first_row + next(i for i, value in enumerate(array) if type(value) is kind)
            # "argument must be a string or a number" is what scikit-learn's checks look for.
            message = (
                f"column {name!r}, row {row}: argument must be a string or a number, not {kind.__name__!r}; convert it "
                "to numbers or text, or drop the column"
            )
            raise TypeError(message)
    return kinds


def is_missing_type(kind: type) -> bool:
    """Tell None, pandas.NA and pandas.NaT, without importing pandas."""
    return kind is type(None) or (kind.__name__ in ("NAType", "NaTType") and kind.__module__.startswith("pandas."))
