"""What a category column holds: text, numbers or truth values. Typed targets have a column of one of them."""

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
    """Return what the categories of a column are, or say why `what` cannot hold them."""
    kinds = {kind_of(category) for category in column.categories or ()}
    if len(kinds) > 1:
        message = (
            f"{what} needs columns of one kind, but the categories of column {column.name!r} are "
            f"{' and '.join(sorted(kinds))}: make them all text and fit again"
        )
        raise ExportError(message)
    return next(iter(kinds), "text")


def check_categories(form: Form, what: str) -> None:
    """Raise `ExportError` for categories that a column of one type cannot tell apart."""
    for _, column in form.columns:
        if column.categories is None or category_kind(column, what) != "number":
            continue
        for category in column.categories:
            if int(float(category)) != category and float(category) != category:
                message = (
                    f"{what} holds numbers as double, which cannot tell the category {category} of column "
                    f"{column.name!r} from its neighbours: make the column text and fit again"
                )
                raise ExportError(message)


def check_names(form: Form, what: str) -> None:
    """Raise `ExportError` if rows that name their columns could not be told what is meant."""
    seen: set[str] = set()
    for _, column in form.columns:
        if column.name in seen:
            message = (
                f"{what} reads columns by name, but two columns that rules read are both named {column.name!r}: "
                "rename one of them and fit again"
            )
            raise ExportError(message)
        seen.add(column.name)
