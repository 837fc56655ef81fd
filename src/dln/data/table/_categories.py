"""Columns of categories: their distinct values, and each row's code, its index among them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final, TypeAlias, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, UNKNOWN, Category
from dln.data.table._kinds import CATEGORY_TYPES, Raw, as_array, is_missing_type, object_kinds
from dln.data.table._numbers import LARGEST_WHOLE, check_finite, numbers_of

Codes: TypeAlias = npt.NDArray[np.int32]

#: Frame types whose whole numbers are exact in Python only.
EXACT_IN_PYTHON: Final = (nw.Decimal, nw.Int128, nw.UInt128)

#: So many values are looked at one by one sooner than a frame finds the different ones.
FEW: Final = 500


def distinct_of(
    raw: Raw, name: str, first_row: int = 0, known: tuple[Category, ...] | None = None
) -> tuple[Codes, list[Category]]:
    """Return the distinct values of a column, and for each row its index among them or `MISSING`.

    Whole numbers are exact, however large. Floats that may be rounded ones are refused: to learn from, or where some
    of the `known` categories could be mistaken for them.
    """
    codes, distinct = _distinct(raw, name, first_row)
    if known is None or any(_is_large(category) for category in known if isinstance(category, int)):
        for category in distinct:
            if isinstance(category, float) and _is_large(category):
                message = (
                    f"the categories of column {name!r} must be exact, but {category!r} is a float, in which whole "
                    "numbers above 2**53 are rounded (one missing value turns whole numbers into floats in pandas): "
                    'give whole numbers, in pandas of type "Int64" from the start, or text'
                )
                raise ValueError(message)
    return codes, distinct


def _is_large(number: float) -> bool:
    return LARGEST_WHOLE <= abs(number) < math.inf


def _distinct(raw: Raw, name: str, first_row: int) -> tuple[Codes, list[Category]]:
    if isinstance(raw, nw.Series):
        dtype = raw.dtype
        if isinstance(dtype, CATEGORY_TYPES):
            return _distinct_in_series(raw)
        if (dtype.is_integer() and raw.null_count()) or isinstance(dtype, EXACT_IN_PYTHON):
            return _distinct_objects(raw.to_list())  # in numpy they would be rounded
        raw = as_array(raw, name)
    if raw.dtype.kind == "T":
        raw = raw.astype(object)
    if raw.dtype.kind == "O":
        object_kinds(raw, name, first_row)
        return _distinct_objects(raw)
    if raw.dtype.kind not in "Ub":
        raw = numbers_of(raw, name, first_row=first_row) if raw.dtype.kind not in "iu" else raw
    known = raw == raw  # noqa: PLR0124 — all but NaN
    values, inverse = np.unique(raw[known], return_inverse=True)
    codes_of_rows = np.full(len(raw), MISSING, dtype=np.int32)
    codes_of_rows[known] = inverse
    return codes_of_rows, [cast("Category", _plain(value)) for value in values.tolist()]


def _distinct_objects(objects: Iterable[Any]) -> tuple[Codes, list[Category]]:
    code_of: dict[tuple[int, Category], int] = {}
    codes = [
        MISSING if value is None else code_of.setdefault(_key(value), len(code_of)) for value in map(_plain, objects)
    ]
    return np.array(codes, dtype=np.int32), [value for _, value in code_of]


def _distinct_in_series(series: nw.Series[Any]) -> tuple[Codes, list[Category]]:
    if len(series) <= FEW:
        return _distinct_objects(series.to_list())
    if isinstance(series.dtype, nw.String):
        series = series.cast(nw.String)  # pyarrow's string_view lacks the kernels that follow
    native = series.drop_nulls().unique().to_list()
    if not native:
        return np.full(len(series), MISSING, dtype=np.int32), []
    codes = series.replace_strict(native, list(range(len(native))), default=MISSING, return_dtype=nw.Int32)
    return codes.to_numpy().astype(np.int32, copy=False), [cast("Category", _plain(value)) for value in native]


def _plain(value: Any) -> Category | None:
    """Return a value as a plain str, bool, int or float; None if it is missing."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if is_missing_type(type(value)) or math.isnan(value):
        return None
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < LARGEST_WHOLE else number


def _key(category: Category) -> tuple[int, Category]:
    """Return what sorts categories and tells them apart: to Python, True equals 1."""
    return (0 if isinstance(category, bool) else 2 if isinstance(category, str) else 1), category


def in_order(distinct: list[Category], name: str) -> tuple[Category, ...]:
    """Return the categories to learn, sorted: Booleans, numbers by value, text by code point."""
    for category in distinct:
        if isinstance(category, str):
            writable_text(category, f"a category of column {name!r}")
        elif math.isinf(category):
            check_finite(np.array([category]), name)
    if distinct and all(isinstance(category, bool) for category in distinct):
        return False, True
    return tuple(sorted(distinct, key=_key))


def writable_text(text: str, what: str) -> str:
    """Return the text if it can be written to a file."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = f"{what} must be valid Unicode text, but {text!r} holds half a character: repair the text"
        raise ValueError(message) from None
    return text


def recode(codes: Codes, distinct: list[Category], categories: tuple[Category, ...]) -> Codes:
    """Return the rows' indices into `categories`; values that are not there are `UNKNOWN`."""
    code_of = {_key(category): code for code, category in enumerate(categories)}
    if categories == (False, True) and isinstance(categories[0], bool):
        code_of |= {(1, 0): 0, (1, 1): 1}  # Booleans with missing values often arrive as 0.0 and 1.0
    # MISSING is -1: it picks the last entry.
    new = np.array([*(code_of.get(_key(category), UNKNOWN) for category in distinct), MISSING], dtype=np.int32)
    return new[codes]
