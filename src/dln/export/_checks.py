"""Checks of columns before a model is written: names that differ, categories of one kind."""

from __future__ import annotations

from typing import Literal

from dln._errors import ExportError
from dln.circuit._circuit import Category, Column
from dln.export._form import Form

Kind = Literal["text", "number", "boolean"]


def kind_of(category: Category) -> Kind:
    """Return the kind of one category."""
    if isinstance(category, bool):
        return "boolean"
    return "text" if isinstance(category, str) else "number"


def category_kind(column: Column, what: str) -> Kind:
    """Return the kind of a column's categories; raise `ExportError` if `what` cannot hold several kinds."""
    kinds = {kind_of(category) for category in column.categories or ()}
    if len(kinds) > 1:
        message = (
            f"{what} needs columns of one kind, but the categories of column {column.name!r} are "
            f"{' and '.join(sorted(kinds))}: make them all text and fit again"
        )
        raise ExportError(message)
    return next(iter(kinds), "text")


def check_categories(form: Form, what: str) -> None:
    """Raise `ExportError` for categories that are equal in a column of one type."""
    for _, column in form.columns:
        if column.categories is None or category_kind(column, what) != "number":
            continue
        for category in column.categories:
            if int(float(category)) != category and float(category) != category:
                message = (
                    f"{what} holds numbers as double, and the category {category} of column "
                    f"{column.name!r} is not one: make the column text and fit again"
                )
                raise ExportError(message)


def check_names(form: Form, what: str) -> None:
    """Raise `ExportError` if two columns that rules read have the same name."""
    seen: set[str] = set()
    for _, column in form.columns:
        if column.name in seen:
            message = (
                f"{what} reads columns by name, but two columns that rules read are both named {column.name!r}: "
                "rename one of them and fit again"
            )
            raise ExportError(message)
        seen.add(column.name)
