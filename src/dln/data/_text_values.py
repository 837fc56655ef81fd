"""Columns of text → numbers, dates, Booleans or nothing: each value by itself, so that fit and predict read alike."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from dln.data._dates import ORDERS, WEEKDAYS, DatePart, Dates, date_part, weekday_codes

#: Text that means "no value", in lower case, in any column.
NO_VALUE: Final = ("", "na", "n/a", "#n/a", "nan", "null", "?", "nat")
#: The same among numbers or dates.
NO_NUMBER: Final = (*NO_VALUE, "-", "--", ".", "none", "missing", "unknown")
LONGEST_NO_VALUE: Final = max(map(len, NO_NUMBER))
#: No date without an offset from Greenwich is longer than ``2024-12-31``.
LONGEST_WITHOUT_OFFSET: Final = 10
#: Formats that cannot be mistaken for one another.
PLAIN_FORMATS: Final = tuple(
    f"{date}{time}"
    for date in ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y")
    for time in ("", " %H:%M:%S%.f", " %H:%M", *(("T%H:%M:%S%.f", "T%H:%M") if date == "%Y-%m-%d" else ()))
)
#: Formats that can: a column's name has to give the order of day and month.
SLASH_FORMATS: Final = {
    order: tuple(f"{date}{time}" for time in ("", " %H:%M:%S", " %H:%M"))
    for order, date in zip(ORDERS, ("%d/%m/%Y", "%m/%d/%Y"), strict=True)
}
_SPACES: Final = r"^-?\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d*)?$"
_THOUSANDS: Final = r"^-?\d{1,3}(,\d{3})+(\.\d*)?$"
_THOUSAND_POINTS: Final = r"^-?\d{1,3}(\.\d{3})+(,\d*)?$"
_OFFSET: Final = r"^(.*\d:\d{2}(?:\.\d+)?)\s*(?:Z|[+-]\d{2}:?\d{2})$"


def text(column: pl.Series, no_value: tuple[str, ...] = NO_VALUE) -> pl.Series:
    """Return text without the blanks around it; null where it means that there is no value."""
    stripped = column.str.strip_chars()
    # Few texts are this short, and lower case is slow.
    nothing = (stripped.str.len_bytes() <= LONGEST_NO_VALUE) & stripped.str.to_lowercase().is_in(list(no_value))
    return stripped.set(nothing.fill_null(value=False), None) if nothing.any() else stripped


def number(column: pl.Series, *, decimal_comma: bool = False) -> pl.Series:
    """Return text as Float64, null where it is no number; ``1,250``, ``1 250``, ``$3.50`` and ``12 %`` are numbers."""
    stripped = column.str.strip_chars()
    if decimal_comma:
        bare = _without_units(stripped)
        # With points that part no thousands it is a date, like 29.07.2020.
        is_other = bare.str.contains(".", literal=True) & ~bare.str.contains(_THOUSAND_POINTS)
        bare = bare.set(is_other.fill_null(value=False), None).str.replace_all(".", "", literal=True)
        return bare.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    plain = stripped.cast(pl.Float64, strict=False)
    odd = plain.is_null() & stripped.is_not_null()
    if not odd.any():
        return plain
    bare = _without_units(stripped.set(~odd, None))
    has_thousands = bare.str.contains(_THOUSANDS).fill_null(value=False)
    bare = bare.str.replace_all(",", "", literal=True).zip_with(has_thousands, bare)
    return plain.zip_with(~odd, bare.cast(pl.Float64, strict=False))


def _without_units(column: pl.Series) -> pl.Series:
    """Return text without signs of money and per cent, and without spaces between thousands."""
    bare = column.str.replace(r"^(-?)\s*[$€£]\s*", "$1").str.replace(r"\s*[%$€£]$", "")
    has_spaces = bare.str.contains(_SPACES).fill_null(value=False)
    return bare.str.replace_all(r"\s", "").zip_with(has_spaces, bare) if has_spaces.any() else bare


def is_code(column: pl.Series) -> pl.Series:
    """Return where digits are no number to a person: a post code like ``01067``."""
    return column.str.strip_chars().str.contains(r"^0\d+$")


def boolean(column: pl.Series) -> pl.Series:
    """Return true and false, in any case, as Booleans; null where it is neither."""
    lower = column.str.strip_chars().str.to_lowercase()
    return (lower == "true").set(~lower.is_in(["true", "false"]).fill_null(value=False), None)


def date(column: pl.Series, order: str | None = None) -> pl.Series:
    """Return text as Datetime, by the clock that it was written by; null where it is no date."""
    wall_clock = column.str.strip_chars()
    if (wall_clock.str.len_bytes() > LONGEST_WITHOUT_OFFSET).any():
        wall_clock = wall_clock.str.replace(_OFFSET, "$1")
    dates = pl.Series(column.name, [None], dtype=pl.Datetime("us")).new_from_index(0, len(column))
    # A file is nearly always of one format: most of the others are never tried.
    for form in PLAIN_FORMATS if order is None else SLASH_FORMATS[order]:
        if dates.null_count() == wall_clock.null_count():
            break
        parsed = wall_clock.str.to_datetime(form, time_unit="us", strict=False)
        dates = dates.zip_with(dates.is_not_null(), parsed)
    return dates


def part_of_dates(name: str, dates: Dates, part: DatePart) -> pl.Series:
    """Return a part of dates as a column: numbers, or names of weekdays; null where it is missing."""
    if part == "weekday":
        names = np.array([*WEEKDAYS, None], dtype=object)  # MISSING is -1: it picks the last
        return pl.Series(name, names[weekday_codes(dates)], dtype=pl.String)
    return pl.Series(name, date_part(dates, part)).cast(pl.Float64).fill_nan(None)
