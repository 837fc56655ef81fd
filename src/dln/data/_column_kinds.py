"""A column of a frame or an array: what it holds, by its type, and of objects by theirs."""

from __future__ import annotations

import numbers
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from dln.data._dates import DATE_TYPES, Dates, dates_of_objects

#: A column of a frame, or of an array.
Raw: TypeAlias = npt.NDArray[Any] | nw.Series[Any]

#: Frame types that hold text.
TEXT_DTYPES: Final = (nw.String, nw.Categorical, nw.Enum)

#: Frame types that are split into parts.
DATE_DTYPES: Final = (nw.Datetime, nw.Date, nw.Time)

#: Frame types that are converted to float64 before numpy gets them.
NOT_IN_NUMPY: Final = (nw.Decimal, nw.Int128, nw.UInt128, nw.Boolean)


def kind_of(raw: Raw, name: str, *, is_category: bool | None = None) -> Literal["numbers", "categories", "dates"]:
    """Return the kind to learn a column as: by what it holds, unless `is_category` decides; dates are always dates."""
    held = held_by(raw, name)
    if held == {"dates"}:
        if is_category:
            message = (
                f"column {name!r} holds dates, which are split into year, month, weekday and hour: leave it out of "
                "categorical_features, or convert it to text"
            )
            raise TypeError(message)
        return "dates"
    if is_category is not None:
        return "categories" if is_category else "numbers"
    if len(held) > 1:
        message = (
            f"column {name!r} must hold numbers or categories, but it mixes {' and '.join(sorted(held))}: convert it, "
            "or name it in categorical_features"
        )
        raise ValueError(message)
    return "numbers" if held <= {"numbers"} else "categories"


def held_by(raw: Raw, name: str, first_row: int = 0) -> set[str]:
    """Return which of numbers, text, Booleans and dates a column holds; `first_row` is that of messages."""
    if isinstance(raw, nw.Series):
        dtype = raw.dtype
        if dtype.is_numeric():
            return {"numbers"}
        for what, dtypes in (("text", TEXT_DTYPES), ("dates", DATE_DTYPES), ("Booleans", nw.Boolean)):
            if isinstance(dtype, dtypes):
                return {what}
        raw = as_array(raw, name)
    if raw.dtype.kind == "O":
        return _held_by_objects(raw, name, first_row)
    return {"text" if raw.dtype.kind in "UT" else "dates" if raw.dtype.kind == "M" else "numbers"}


def _held_by_objects(array: npt.NDArray[Any], name: str, first_row: int) -> set[str]:
    held: set[str] = set()
    for kind in set(map(type, array)):
        if is_missing_type(kind):  # before dates: pandas.NaT is an instance of them
            continue
        if issubclass(kind, (bool, np.bool_)):
            held.add("Booleans")
        elif issubclass(kind, (numbers.Real, Decimal)):
            held.add("numbers")
        elif issubclass(kind, str):
            held.add("text")
        elif issubclass(kind, DATE_TYPES):
            held.add("dates")
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
    return held


def is_missing_type(kind: type) -> bool:
    """Return whether a type is that of None, pandas.NA or pandas.NaT, without importing pandas."""
    return kind is type(None) or (kind.__name__ in ("NAType", "NaTType") and kind.__module__.startswith("pandas."))


def as_array(series: nw.Series[Any], name: str) -> npt.NDArray[Any]:
    """Return a frame's column of numbers, Booleans or objects as an array; lists, structs and so on are refused."""
    dtype = series.dtype
    if isinstance(dtype, NOT_IN_NUMPY):
        return series.cast(nw.Float64).to_numpy()
    if dtype.is_numeric() or isinstance(dtype, (nw.Object, nw.Unknown)):
        return series.to_numpy()
    raise wrong_type(name, f"{dtype}")


def dates_of(raw: Raw, name: str) -> Dates:
    """Return a column of dates, by the clock that they were written by; a column of anything else is refused."""
    if held := held_by(raw, name) - {"dates"}:
        message = (
            f"column {name!r} must hold dates, as it did when the model was fitted, but it holds "
            f"{' and '.join(sorted(held))}: convert it to a datetime type"
        )
        raise TypeError(message)
    if isinstance(raw, nw.Series):
        has_zone = isinstance(raw.dtype, nw.Datetime) and raw.dtype.time_zone is not None
        raw = (raw.dt.replace_time_zone(None) if has_zone else raw).to_numpy()
    return dates_of_objects(raw) if raw.dtype.kind == "O" else raw


def wrong_type(name: str, what: str) -> TypeError:
    """Return the error for a column of a type that nothing can be learned from."""
    return TypeError(
        f"column {name!r} must hold numbers, text, Booleans, categories or dates, but it holds {what}: convert it to "
        "numbers or text, or drop it"
    )


def complex_refused(name: str, what: str) -> ValueError:
    """Return the error for complex numbers, in scikit-learn's words."""
    return ValueError(f"Complex data not supported: column {name!r} must hold real numbers, but it holds {what}")
