"""A column of a frame or an array: what it holds, by its type and of objects by theirs; its numbers as floats."""

from __future__ import annotations

import math
import numbers
import re
import warnings
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from dln._errors import ColumnWarning, PrecisionWarning
from dln.circuit._circuit import Values
from dln.data._dates import DATE_TYPES, Dates, dates_of_objects

#: A column of a frame, or of an array.
Raw: TypeAlias = npt.NDArray[Any] | nw.Series[Any]
#: Frame types that hold text.
TEXT_DTYPES: Final = (nw.String, nw.Categorical, nw.Enum)
#: Frame types that are split into parts.
DATE_DTYPES: Final = (nw.Datetime, nw.Date, nw.Time)
#: Frame types that are converted to float64 before numpy gets them.
NOT_IN_NUMPY: Final = (nw.Decimal, nw.Int128, nw.UInt128, nw.Boolean)
#: Python's types of each kind, in this order: to Python, True is a number.
_OBJECTS: Final = {
    "Booleans": (bool, np.bool_),
    "numbers": (numbers.Real, Decimal),
    "text": (str,),
    "dates": DATE_TYPES,
}
#: Floats up to this size hold whole numbers exactly.
LARGEST_WHOLE: Final = 2**53
#: Names of columns that number the rows; a CSV file's first column without a name is one.
_ID_NAME: Final = re.compile(
    r"(?i)(^|[_\s.-])(id|uuid|guid|index|idx|row|rownum|row_?names?|row_?numbers?|key)$|^(unnamed: ?\d+)?$"
    r"|(?-i:[a-z](Id|ID)$)"
)
#: A column is taken for numbers, or dates, with errors in it if at least this share of its values are.
MEANT: Final = 0.9
#: Text of which more than this share is different names a row and does not describe it.
DIFFERENT: Final = 0.9
#: In fewer rows than this, values may all be different by chance.
ROWS_TO_JUDGE: Final = 20
#: A column whose ranks are correlated with the target's so closely, each with so many values, may contain the target.
LEAK_CORRELATION: Final = 0.999
LEAK_VALUES: Final = 50
#: Rows on which that is judged.
LEAK_ROWS: Final = 2000


def kind_of(raw: Raw, name: str, *, is_category: bool | None = None) -> Literal["numbers", "categories", "dates"]:
    """Return the kind to learn a column as: by what it holds, unless `is_category` decides; dates are always dates."""
    held = held_by(raw, name)
    if held == {"dates"}:
        if is_category:
            raise TypeError(
                f"column {name!r} holds dates, which are split into year, month, weekday and hour: leave it out of "
                "categorical_features, or convert it to text"
            )
        return "dates"
    if is_category is not None:
        return "categories" if is_category else "numbers"
    if len(held) > 1:
        raise ValueError(
            f"column {name!r} must hold numbers or categories, but it mixes {' and '.join(sorted(held))}: convert it, "
            "or name it in categorical_features"
        )
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
        if what := next((what for what, types in _OBJECTS.items() if issubclass(kind, types)), None):
            held.add(what)
        elif issubclass(kind, numbers.Complex):
            raise complex_refused(name, kind.__name__)
        else:
            row = first_row + next(i for i, value in enumerate(array) if type(value) is kind)
            # "argument must be a string or a number" is what scikit-learn's checks look for.
            raise TypeError(
                f"column {name!r}, row {row}: argument must be a string or a number, not {kind.__name__!r}; convert it "
                "to numbers or text, or drop the column"
            )
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
        raise TypeError(
            f"column {name!r} must hold dates, as it did when the model was fitted, but it holds "
            f"{' and '.join(sorted(held))}: convert it to a datetime type"
        )
    if isinstance(raw, nw.Series):
        has_zone = isinstance(raw.dtype, nw.Datetime) and raw.dtype.time_zone is not None
        raw = (raw.dt.replace_time_zone(None) if has_zone else raw).to_numpy()
    return dates_of_objects(raw) if raw.dtype.kind == "O" else raw


def wrong_type(name: str, what: str) -> TypeError:
    return TypeError(
        f"column {name!r} must hold numbers, text, Booleans, categories or dates, but it holds {what}: convert it to "
        "numbers or text, or drop it"
    )


def complex_refused(name: str, what: str) -> ValueError:
    """Return the error for complex numbers, in scikit-learn's words."""
    return ValueError(f"Complex data not supported: column {name!r} must hold real numbers, but it holds {what}")


def numbers_of(raw: Raw, name: str, *, first_row: int = 0, learns: bool = False) -> Values:
    """Return a number column, ``(n_rows,) float32 or float64``: a view if X holds such floats already.

    `first_row` is that of messages; `learns` warns of whole numbers that float64 rounds.
    """
    if isinstance(raw, nw.Series):
        may_round = raw.dtype.is_integer() or isinstance(raw.dtype, (nw.Decimal, nw.Object))
        if isinstance(raw.dtype, TEXT_DTYPES):
            if raw.null_count() < len(raw):
                raise _not_numbers(name, "text")
            return np.full(len(raw), np.nan)
        raw = as_array(raw, name)
    else:
        may_round = raw.dtype.kind in "iuO"
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
    if learns and may_round and (np.abs(values) >= LARGEST_WHOLE).any():
        message = (
            f"column {name!r} holds whole numbers above 2**53, which float64 rounds, so that different ones may become "
            "equal: if they are identifiers, name the column in categorical_features, or drop it"
        )
        warnings.warn(message, PrecisionWarning, stacklevel=2)
    return values


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
        raise ValueError(
            f"column {name!r} must hold numbers that fit in float64, but one is too large: scale the column"
        ) from None


def _not_numbers(name: str, what: str) -> ValueError:
    return ValueError(
        f"column {name!r} must hold numbers, but it holds {what}: convert it, or let categorical_features at fit take "
        "it as categories"
    )


def row_numbers(name: str, values: Values) -> str | None:
    """Return why whole numbers, all different, name the rows and do not describe them; None if they may."""
    known = values[~np.isnan(values)]
    if len(np.unique(known)) < len(known) or (known % 1).any():
        return None
    if _ID_NAME.search(name):
        return "every row has a number of its own, and its name says so too"
    return "it counts the rows" if values[0] in (0, 1) and (np.diff(known) == 1).all() else None


def warn_of_row_numbers(name: str, values: Values) -> None:
    if len(values) >= ROWS_TO_JUDGE and _ID_NAME.search(name) and row_numbers(name, values) is not None:
        message = (
            f"column {name!r} numbers the rows: every row has a number of its own; leave it out, since in other rows "
            "such numbers mean nothing"
        )
        warnings.warn(message, ColumnWarning, stacklevel=6)  # the caller of fit


def check_finite(values: Values, name: str, first_row: int = 0) -> None:
    if (infinite := np.isinf(values)).any():
        raise ValueError(
            f"Input X contains infinity: column {name!r} must hold finite numbers or NaN, but row "
            f"{first_row + int(infinite.argmax())} holds inf; replace it by NaN or a large number"
        )


def predicts_alone(values: Values, y: npt.NDArray[np.float64]) -> bool:
    """Return whether a number column predicts the target almost perfectly: one is a monotone function of the other.

    >>> y = np.arange(100.0)
    >>> predicts_alone(-np.sqrt(y), y), predicts_alone(y % 60, y)
    (True, False)
    """
    known = ~np.isnan(values)
    ranks, n_values = zip(*map(_ranks, (values[known], y[known])), strict=True)
    if min(n_values) < LEAK_VALUES or 2 * known.sum() < len(y):
        return False
    return bool(abs(np.corrcoef(ranks)[0, 1]) > LEAK_CORRELATION)


def _ranks(values: Values) -> tuple[npt.NDArray[np.float64], int]:
    """Return the rank of each value, the mean of them where values are equal, and the number of different values."""
    different, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[codes], len(different)


def leak_text(name: str, remedy: str = "") -> str:
    """Return the warning of a column that `predicts_alone`."""
    return (
        f"column {name!r} predicts the target almost perfectly by itself, and may contain it: leave it out{remedy} if "
        "it is not known when predicting"
    )
