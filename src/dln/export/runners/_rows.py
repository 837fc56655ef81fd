"""Rows column by column, in codes → the values that a user's rows hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from dln.circuit._circuit import MISSING, Category, Column, Values
from dln.export._form import Form
from dln.export._kinds import kind_of

#: A value of a row; None is missing.
Value: TypeAlias = Category | None


def decoded(form: Form, values: Sequence[Values]) -> list[list[Value]]:
    """Return the columns that rules read, one list each: numbers as floats, NaN where missing, categories by value."""
    return [
        [float(value) for value in values[j]] if column.categories is None else _categories(column, values[j])
        for j, column in form.columns
    ]


def _categories(column: Column, codes: Values) -> list[Value]:
    known = column.categories or ()
    unknown = unknown_category(column)
    return [known[code] if code >= 0 else None if code == MISSING else unknown for code in codes.tolist()]


def unknown_category(column: Column) -> Category:
    """Return a value of the kind of the column's categories that is none of them.

    >>> unknown_category(Column("smoker", ("no", "yes"))), unknown_category(Column("rooms", (1, 2)))
    ('unknown', 3)
    """
    known = column.categories or ()
    kinds = {kind_of(category) for category in known}
    if "text" in kinds or not kinds:
        text = "unknown"
        while text in known:
            text += "_"
        return text
    numbers = [float(category) for category in known]
    return int(min(max(numbers) + 1, 2.0**53 - 1)) if max(numbers) < 2.0**52 else -1.5
