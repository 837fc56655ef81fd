"""Categories in the C file: enums, and the way from a text or a number to them."""

from __future__ import annotations

from dln.circuit._circuit import Category, Column
from dln.circuit._words import category_text
from dln.export._c_names import CNames
from dln.export._c_text import c_string, cutoff_text
from dln.export._form import Form
from dln.export._kinds import category_kind
from dln.export._text import comment_text, json_string


def enum_lines(j: int, column: Column, names: CNames) -> list[str]:
    """Return the enum of a column: unknown and missing first, then the categories by code."""
    start = f"{names.prefix}_{names.members[j]}".upper()
    entries = [
        f"{name} = {code} /* {comment_text(category_text(category))} */"
        for code, (name, category) in enumerate(zip(names.enumerators[j], column.categories or (), strict=True))
    ]
    body = [f"  {start}_UNKNOWN = -2", f"  {start}_MISSING = -1", *(f"  {entry}" for entry in entries)]
    separated = [line.replace(" /*", ", /*", 1) if " /*" in line else f"{line}," for line in body[:-1]]
    return [
        f"/* The categories of the column {comment_text(json_string(column.name))}. */",
        "typedef enum {",
        *separated,
        body[-1],
        f"}} {names.prefix}_{names.members[j]};",
    ]


def lookup_head(j: int, column: Column, names: CNames) -> str:
    """Return the head of the function that finds a category."""
    kind = category_kind(column, "C")
    type_name = f"{names.prefix}_{names.members[j]}"
    if kind == "number" and names.scaled is None:
        return f"{type_name} {type_name}_from_number(double number)"
    return f"{type_name} {type_name}_from_text(const char *text)"


def lookup_lines(form: Form, names: CNames) -> list[str]:
    """Return the functions that find categories."""
    category_columns = [(j, column) for j, column in form.columns if column.categories is not None]
    if not category_columns:
        return []
    same = f"{names.prefix}_same_text"
    lines = []
    if any("_from_text" in lookup_head(j, column, names) for j, column in category_columns):
        lines += [
            f"static uint32_t {same}(const char *a, const char *b)",
            "{",
            "  while ((*a == *b) && (*a != '\\0')) {",
            "    a++;",
            "    b++;",
            "  }",
            "  return (uint32_t)(*a == *b);",
            "}",
            "",
        ]
    for j, column in category_columns:
        lines += [lookup_head(j, column, names), "{", *_lookup_body(j, column, names, same), "}", ""]
    return lines


def _lookup_body(j: int, column: Column, names: CNames, same: str) -> list[str]:
    start = f"{names.prefix}_{names.members[j]}".upper()
    by_number = "_from_number" in lookup_head(j, column, names)
    missing = "number != number" if by_number else "text == (const char *)0"
    lines = [f"  if ({missing}) {{ return {start}_MISSING; }}"]
    for name, category in zip(names.enumerators[j], column.categories or (), strict=True):
        if by_number:
            lines.append(f"  if (number == {cutoff_text(float(category))}) {{ return {name}; }}")
        else:
            lines += [f"  if ({same}(text, {c_string(text)}) != 0U) {{ return {name}; }}" for text in _texts(category)]
    return [*lines, f"  return {start}_UNKNOWN;"]


def _texts(category: Category) -> tuple[str, ...]:
    """Return how a category is written: truth values in the ways that people and programs write them."""
    if isinstance(category, bool):
        return ("true", "True", "TRUE", "1") if category else ("false", "False", "FALSE", "0")
    return (category if isinstance(category, str) else category_text(category),)
