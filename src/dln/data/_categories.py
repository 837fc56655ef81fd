"""Columns of categories → codes: each row's index among the categories, `MISSING`, or `UNKNOWN`."""

from __future__ import annotations

import math
import numbers
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt

from dln._errors import ColumnWarning, UnknownCategoryWarning
from dln.circuit._circuit import MISSING, UNKNOWN, Category, Column
from dln.data._column_kinds import (
    DIFFERENT,
    LARGEST_WHOLE,
    MEANT,
    ROWS_TO_JUDGE,
    TEXT_DTYPES,
    Raw,
    as_array,
    check_finite,
    held_by,
    is_missing_type,
    numbers_of,
)

Codes: TypeAlias = npt.NDArray[np.int32]

#: Frame types whose whole numbers are exact in Python only.
EXACT_IN_PYTHON: Final = (nw.Decimal, nw.Int128, nw.UInt128)
#: Series up to this length are coded value by value, which is faster than a frame's `unique`.
FEW: Final = 500


def learn_categories(raw: Raw, name: str) -> tuple[Codes, tuple[Category, ...]]:
    """Return the codes of a column, and its categories: Booleans, numbers by value, text by code point."""
    codes, distinct = _distinct(raw, name)
    _check_exact(distinct, name)
    for category in distinct:
        if isinstance(category, str):
            writable_text(category, f"a category of column {name!r}")
        elif math.isinf(category):
            check_finite(np.array([category]), name)
    categories = (False, True) if are_booleans(distinct) else tuple(sorted(distinct, key=_key))
    return recoded(codes, distinct, categories), categories


def warn_of_text(name: str, codes: Codes, categories: tuple[Category, ...]) -> None:
    """Warn of a column of text that reads as numbers or dates, or that has a text of its own in every row."""
    counts = np.bincount(codes[codes >= 0], minlength=len(categories))
    n_rows, n_known, what = len(codes), int(counts.sum()), ""
    if n_known < ROWS_TO_JUDGE:
        return
    if len(categories) > DIFFERENT * n_known:
        what = f"holds {len(categories)} different texts in {n_rows} rows, which name the rows: leave it out"
    for kind in ("dates", "numbers"):
        if (n_such := int(counts[[_reads_as(kind, text) for text in categories]].sum())) >= MEANT * n_known:
            what = (
                f"holds text that reads as {kind} in {n_such} of {n_rows} rows, but is taken as categories: convert it "
                f"to {kind}, or name it in categorical_features"
            )
    if what:
        warnings.warn(f"column {name!r} {what}", ColumnWarning, stacklevel=6)  # the caller of fit


def _reads_as(kind: str, text: Category) -> bool:
    """Return whether text is a date or a number; 01067 is a code, and so are numbers too long for a float."""
    try:
        if kind == "dates":
            return bool(datetime.fromisoformat(str(text).strip()))
        return abs(float(text)) < LARGEST_WHOLE and not re.fullmatch(r"\s*0\d+\s*", str(text))
    except ValueError:
        return False


def are_booleans(categories: Sequence[Category]) -> bool:
    """Return whether categories are Booleans; to Python, True equals 1."""
    return bool(categories) and all(isinstance(category, bool) for category in categories)


def fingerprint(category: Category) -> int:
    """Return 16 bits of a category: enough to notice a new one, too few to tell which ones there were."""
    return zlib.crc32(str(category).encode(errors="replace")) & 0xFFFF


def codes_of(
    raw: Raw, column: Column, first_row: int = 0, unknown: Counter[tuple[str, Category]] | None = None
) -> Codes:
    """Return the codes of a column among known categories; `first_row` is that of messages.

    Rows of categories that the training table did not have are counted in `unknown`.

    1 and 1.0 are the same category, True and "1" are others. Where all categories are text, a number is read as its
    text; where they are Booleans, 0 and 1 are read as such, for those with missing values often arrive as floats.
    """
    name, categories = column.name, column.categories or ()
    codes, distinct = _distinct(raw, name, first_row)
    if any(isinstance(category, int) and _is_large(category) for category in categories):
        _check_exact(distinct, name)
    new = recoded(codes, distinct, categories)
    if unknown is not None and column.seen is not None and (new == UNKNOWN).any():
        for code, n_rows in enumerate(np.bincount(codes[new == UNKNOWN], minlength=len(distinct)).tolist()):
            if n_rows and fingerprint(distinct[code]) not in column.seen:
                unknown[name, distinct[code]] += n_rows
    return new


def warn_of_unknown(unknown: Counter[tuple[str, Category]]) -> None:
    """Warn of categories that the training table did not have, with the rows that hold them."""
    if unknown:
        warnings.warn(unknown_text(unknown), UnknownCategoryWarning, stacklevel=3)


def unknown_text(unknown: Counter[tuple[str, Category]]) -> str:
    """Return a sentence on categories that the training table did not have."""
    listed = [
        f"{value!r:.40} in column {name!r} ({n} row{'s' * (n > 1)})" for (name, value), n in unknown.most_common(5)
    ]
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""  # noqa: PLR2004 (as many as are listed)
    return f"categories that the training data did not have, and that no rule names: {', '.join(listed)}{more}"


def _check_exact(distinct: Iterable[Category], name: str) -> None:
    """Raise where a float may be a whole number that was rounded, and taken for another."""
    for category in distinct:
        if isinstance(category, float) and _is_large(category):
            raise ValueError(
                f"the categories of column {name!r} must be exact, but {category!r} is a float, in which whole numbers "
                "above 2**53 are rounded (one missing value turns whole numbers into floats in pandas): give whole "
                'numbers, in pandas of type "Int64" from the start, or text'
            )


def _is_large(number: float) -> bool:
    return LARGEST_WHOLE <= abs(number) < math.inf


def _distinct(raw: Raw, name: str, first_row: int = 0) -> tuple[Codes, list[Category]]:
    """Return each row's index among the distinct values of a column, or `MISSING`, and these values."""
    if isinstance(raw, nw.Series):
        dtype = raw.dtype
        if isinstance(dtype, (*TEXT_DTYPES, nw.Boolean)):
            return _distinct_in_series(raw)
        if (dtype.is_integer() and raw.null_count()) or isinstance(dtype, EXACT_IN_PYTHON):
            return _distinct_objects(raw.to_list())  # in numpy they would be rounded
        raw = as_array(raw, name)
    if raw.dtype.kind == "T":
        raw = raw.astype(object)
    if raw.dtype.kind == "O":
        held_by(raw, name, first_row)  # refuses what is no category
        return _distinct_objects(raw)
    if raw.dtype.kind not in "Ubiu":
        raw = numbers_of(raw, name, first_row=first_row)
    known = raw == raw  # noqa: PLR0124 (all but NaN)
    values, inverse = np.unique(raw[known], return_inverse=True)
    codes = np.full(len(raw), MISSING, dtype=np.int32)
    codes[known] = inverse
    return codes, [cast("Category", _plain(value)) for value in values.tolist()]


def _distinct_objects(objects: Iterable[Any]) -> tuple[Codes, list[Category]]:
    code_of: dict[tuple[int, Category], int] = {}
    seen: dict[tuple[type, Any], int] = {}  # many rows hold the same few objects
    codes = []
    for value in objects:
        code = seen.get((type(value), value))
        if code is None:
            plain = _plain(value)
            code = MISSING if plain is None else code_of.setdefault(_key(plain), len(code_of))
            seen[type(value), value] = code
        codes.append(code)
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


def recoded(codes: Codes, distinct: Sequence[Category], categories: tuple[Category, ...]) -> Codes:
    """Return codes among distinct values as codes among categories, `UNKNOWN` for values that are not there."""
    code_of = {_key(category): code for code, category in enumerate(categories)}
    if code_of.keys() == {(0, False), (0, True)}:
        code_of |= {(1, 0): code_of[0, False], (1, 1): code_of[0, True]}
    if all(isinstance(category, str) for category in categories):
        distinct = [category if isinstance(category, bool) else str(category) for category in distinct]
    # MISSING is -1: it picks the last entry.
    new = np.array([*(code_of.get(_key(category), UNKNOWN) for category in distinct), MISSING], dtype=np.int32)
    return new[codes]


def writable_text(text: str, what: str) -> str:
    """Return the text if it can be written to a file."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{what} must be valid Unicode text, but {text!r} holds half a character: repair the text"
        ) from None
    return text
