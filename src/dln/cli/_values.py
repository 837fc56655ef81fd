"""What a piece of text says: a number, a date, yes or no, or nothing.

Each reading looks at one value alone, so that fit and predict read alike, whatever else the file holds.
"""

from __future__ import annotations

from typing import Final, Literal

import polars as pl

DatePart = Literal["year", "month", "weekday", "hour"]
DATE_PARTS: Final[tuple[DatePart, ...]] = ("year", "month", "weekday", "hour")
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

#: Text that means "no value", in lower case, in any column.
NO_VALUE: Final = ("", "na", "n/a", "#n/a", "nan", "null", "?", "nat")
#: The same where numbers or dates stand.
NO_NUMBER: Final = (*NO_VALUE, "-", "--", ".", "none", "missing", "unknown")

#: Formats that cannot be mistaken for one another.
PLAIN_FORMATS: Final = (
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
)
#: Formats that can: a column's name has to say which it is.
SLASH_FORMATS: Final = {
    order: tuple(f"{date}{time}" for time in ("", " %H:%M:%S", " %H:%M"))
    for order, date in (("d/m/y", "%d/%m/%Y"), ("m/d/y", "%m/%d/%Y"))
}

_THOUSANDS: Final = r"^-?\d{1,3}(,\d{3})+(\.\d*)?$"
_OFFSET: Final = r"^(.*\d:\d{2}(?:\.\d+)?)\s*(?:Z|[+-]\d{2}:?\d{2})$"


def text(column: pl.Expr, no_value: tuple[str, ...] = NO_VALUE) -> pl.Expr:
    """Return text without the blanks around it; null where it means that there is no value."""
    stripped = column.str.strip_chars()
    return pl.when(stripped.str.to_lowercase().is_in(list(no_value))).then(None).otherwise(stripped)


def number(column: pl.Expr, *, decimal_comma: bool = False) -> pl.Expr:
    """Return text as Float64, null where it is no number; ``1,250``, ``$3.50`` and ``12 %`` are numbers.

    >>> frame = pl.DataFrame({"x": ["1,250", " $3.50", "12 %", "1e3", "six"]})
    >>> frame.select(number(pl.col("x")))["x"].to_list()
    [1250.0, 3.5, 12.0, 1000.0, None]
    """
    bare = column.str.strip_chars().str.replace(r"^(-?)\s*[$€£]\s*", "$1").str.replace(r"\s*[%$€£]$", "")
    if decimal_comma:
        bare = bare.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    else:
        bare = pl.when(bare.str.contains(_THOUSANDS)).then(bare.str.replace_all(",", "")).otherwise(bare)
    return bare.cast(pl.Float64, strict=False)


def is_code(column: pl.Expr) -> pl.Expr:
    """Tell digits that are no number to a person: a post code like ``01067``."""
    return column.str.strip_chars().str.contains(r"^0\d+$")


def boolean(column: pl.Expr) -> pl.Expr:
    """Return true and false, in any case, as Booleans; null where it is neither."""
    lower = column.str.strip_chars().str.to_lowercase()
    return pl.when(lower == "true").then(True).when(lower == "false").then(False)  # noqa: FBT003 (values of a column)


def date(column: pl.Expr, order: str | None = None) -> pl.Expr:
    """Return text as Datetime, by the clock that it was written by; null where it is no date.

    >>> frame = pl.DataFrame({"x": ["2024-03-01", "1.3.2024 14:30", "2024-03-01T14:30:00+02:00", "3/1/2024"]})
    >>> frame.select(date(pl.col("x")))["x"].dt.hour().to_list()
    [0, 14, 14, None]
    """
    wall_clock = column.str.strip_chars().str.replace(_OFFSET, "$1")
    formats = PLAIN_FORMATS if order is None else SLASH_FORMATS[order]
    return pl.coalesce(wall_clock.str.to_datetime(form, time_unit="us", strict=False) for form in formats)


def date_part(column: pl.Expr, part: DatePart) -> pl.Expr:
    """Return a part of a date: numbers, and names of weekdays."""
    if part == "weekday":
        return column.dt.weekday().replace_strict(list(range(1, 8)), list(WEEKDAYS), return_dtype=pl.String)
    return {"year": column.dt.year, "month": column.dt.month, "hour": column.dt.hour}[part]().cast(pl.Float64)


def part_name(name: str, part: DatePart, order: str | None = None) -> str:
    """Return the name of a column that holds a part of a date.

    >>> part_name("sold_at", "month"), part_name("sold_at", "month", "d/m/y")
    ('sold_at (month)', 'sold_at (month of d/m/y)')
    """
    return f"{name} ({part})" if order is None else f"{name} ({part} of {order})"


def split_part_name(name: str) -> tuple[str, DatePart, str | None] | None:
    """Return the date column, the part and the order of day and month that a name tells, or None.

    >>> split_part_name("sold_at (month of d/m/y)"), split_part_name("area (m2)")
    (('sold_at', 'month', 'd/m/y'), None)
    """
    base, bracket, inner = name.removesuffix(")").rpartition(" (")
    if bracket and name.endswith(")"):
        for part in DATE_PARTS:
            if inner == part:
                return base, part, None
            if inner.removeprefix(f"{part} of ") in SLASH_FORMATS and inner.startswith(f"{part} of "):
                return base, part, inner.removeprefix(f"{part} of ")
    return None
