"""Dates as columns of their parts, ``sold_at (year)``: a model's column names are enough to make them again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING

DatePart: TypeAlias = Literal["year", "month", "weekday", "hour"]
DATE_PARTS: Final[tuple[DatePart, ...]] = ("year", "month", "weekday", "hour")
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
#: The two meanings of 3/4/2024; where a text file leaves it open, the names of columns hold the one that was taken.
ORDERS: Final = ("d/m/y", "m/d/y")
#: Python's types of dates; pandas' Timestamp is a subclass.
DATE_TYPES: Final = (dt.date, dt.time)
#: ``(n_rows,) datetime64``, or the hours of times that have no date, ``(n_rows,) float32``.
Dates: TypeAlias = npt.NDArray[Any]


def date_part(dates: Dates, part: DatePart) -> npt.NDArray[np.float32]:
    """Return a part of dates as numbers, NaN where it is missing; Monday is 0."""
    if dates.dtype.kind != "M":
        return dates.astype(np.float32) if part == "hour" else np.full(len(dates), np.nan, dtype=np.float32)
    if part == "hour" and np.datetime_data(dates.dtype)[0] == "D":  # days have no hours
        return np.full(len(dates), np.nan, dtype=np.float32)
    days, missing = dates.astype("datetime64[D]"), np.isnat(dates)
    if part == "year":
        numbers = days.astype("datetime64[Y]").astype(np.int64) + 1970
    elif part == "month":
        numbers = days.astype("datetime64[M]").astype(np.int64) % 12 + 1
    elif part == "weekday":
        numbers = (days.astype(np.int64) + 3) % 7  # day 0, the first of January 1970, was a Thursday
    else:
        numbers = (dates.astype("datetime64[h]") - days.astype("datetime64[h]")).astype(np.int64)
    return np.where(missing, np.float32(np.nan), numbers.astype(np.float32))


def weekday_codes(dates: Dates) -> npt.NDArray[np.int32]:
    """Return weekdays as indices into `WEEKDAYS`, `MISSING` where there is none."""
    return np.nan_to_num(date_part(dates, "weekday"), nan=MISSING).astype(np.int32)


def dates_of_objects(values: Sequence[Any] | npt.NDArray[Any]) -> Dates:
    """Return Python's dates, datetimes or times, None among them, by the clock that they were written by."""
    known = [value for value in values if isinstance(value, DATE_TYPES) and value == value]  # noqa: PLR0124 (not NaT)
    if known and all(isinstance(value, dt.time) for value in known):
        hours = [float(value.hour) if isinstance(value, dt.time) else np.nan for value in values]
        return np.array(hours, dtype=np.float32)
    has_hours = any(isinstance(value, dt.datetime) for value in known)
    plain = [_wall_clock(value) for value in values]
    return np.array(plain, dtype="datetime64[us]" if has_hours or not known else "datetime64[D]")


def _wall_clock(value: Any) -> np.datetime64:
    if not isinstance(value, dt.date) or value != value:  # noqa: PLR0124 (NaT)
        return np.datetime64("NaT")
    if isinstance(value, dt.datetime):
        return np.datetime64(value.replace(tzinfo=None), "us")
    return np.datetime64(value, "D")


def varying_parts(dates: Dates) -> tuple[DatePart, ...]:
    """Return the parts that differ from row to row; the year, or the hour of times, if none does."""
    known = {part: (numbers := date_part(dates, part))[~np.isnan(numbers)] for part in DATE_PARTS}
    varying = tuple(part for part, numbers in known.items() if (numbers != numbers[:1]).any())
    return varying or (("year",) if dates.dtype.kind == "M" else ("hour",))


def part_name(name: str, part: DatePart, order: str | None = None) -> str:
    return f"{name} ({part})" if order is None else f"{name} ({part} of {order})"


def split_part_name(name: str) -> tuple[str, DatePart, str | None] | None:
    """Return the date column, the part and the order of day and month in a name, or None.

    >>> split_part_name("sold_at (month of d/m/y)"), split_part_name("area (m2)")
    (('sold_at', 'month', 'd/m/y'), None)
    """
    base, bracket, inner = name.removesuffix(")").rpartition(" (")
    part, _, order = inner.partition(" of ")
    if not (bracket and name.endswith(")") and part in DATE_PARTS and (order in ORDERS or inner == part)):
        return None
    return base, part, order or None


def with_dates_whole(names: Sequence[str], dates: Sequence[str] | None = None) -> list[str]:
    """Return the names of a table whose dates became parts: of all that look like it, or of those named."""
    whole: dict[str, None] = {}
    for name in names:
        split = split_part_name(name)
        is_part = split is not None and (split[0] not in names if dates is None else split[0] in dates)
        whole[split[0] if split is not None and is_part else name] = None
    return list(whole)
