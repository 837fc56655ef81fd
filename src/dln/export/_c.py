"""The model as one C99 file that is header and source in one: nothing but ``stdint.h``, no memory, no globals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dln.circuit._circuit import Above, Category, Column, IsIn
from dln.circuit._words import category_text
from dln.export._form import Check, Form, category_kind, check_columns
from dln.export._language import (
    Language,
    comment_text,
    exported_by,
    expression_text,
    from_template,
    identifiers,
    json_string,
)
from dln.export._scaled import Scaled, scaled_columns

#: Bytes that need no escape in a C string; a question mark does, because two of them may begin a trigraph.
_PLAIN: Final = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 !#$%&'()*+,-./:;<=>@[]^_`{|}~"
)
_WHOLE: Final = "Numbers are whole numbers, scaled as the struct states and rounded up; there is no floating point."
_FLOATING: Final = (
    "Numbers are double, or float where DLN_FLOAT is defined. Do not compile with -ffast-math: it ignores NaN."
)


@dataclass(frozen=True, slots=True)
class CNames:
    prefix: str
    members: dict[int, str]
    enumerators: dict[int, list[str]]
    scaled: dict[int, Scaled] | None
    """The columns as whole numbers, in the variant without floating point."""

    @property
    def upper(self) -> str:
        return self.prefix.upper()


def c_names(form: Form, name: str, *, integers: bool) -> CNames:
    prefix = identifiers([name])[0].rstrip("_").lower()
    members = dict(zip(form.used, identifiers([column.name for _, column in form.columns]), strict=True))
    enumerators = {
        j: [
            f"{prefix}_{members[j]}_{word}".upper()
            for word in identifiers([str(category) for category in column.categories], ("missing", "unknown"))
        ]
        for j, column in form.columns
        if column.categories is not None
    }
    return CNames(prefix, members, enumerators, scaled_columns(form) if integers else None)


def to_c(form: Form, *, integers: bool = False, name: str | None = None) -> str:
    """Return the model as the text of a C file; `name` is the prefix of every name in it, by default the target's."""
    check_columns(form, "C")
    names = c_names(form, name or form.target, integers=integers)
    return from_template(
        "module.c",
        title=comment_text(form.title()),
        facts=exported_by("c", integers=integers, name=name),
        numbers=_WHOLE if integers else _FLOATING,
        file=f"{names.prefix}.c",
        header=f"{names.upper}_H",
        source=f"{names.upper}_C",
        declarations=_declarations(form, names),
        definitions=_definitions(form, names),
    )


def _declarations(form: Form, names: CNames) -> list[str]:
    prefix, upper = names.prefix, names.upper
    lines = []
    if names.scaled is None:
        lines += ["#ifdef DLN_FLOAT", f"typedef float {prefix}_number;", "#else", f"typedef double {prefix}_number;"]
        lines += ["#endif", ""]
    for j, column in form.columns:
        if column.categories is not None:
            lines += [*enum_lines(j, column, names), ""]
    lines += ["typedef struct {", *_members(form, names), f"}} {prefix}_row;", ""]
    lines += [
        f"/* The sum of the weights of the rules that fire, in steps of 1e{-form.decimals}: exact. */",
        f"int64_t {prefix}_steps(const {prefix}_row *row);",
    ]
    scale = f"#define {upper}_DECIMALS ({form.decimals}) /* the prediction is the steps times 10 to the minus this */"
    lines.append(scale if names.scaled is not None else f"double {prefix}_predict(const {prefix}_row *row);")
    return lines + [f"{lookup_head(j, column, names)};" for j, column in form.columns if column.categories is not None]


def _members(form: Form, names: CNames) -> list[str]:
    lines = []
    for j, column in form.columns:
        label = comment_text(json_string(column.name))
        if column.categories is not None:
            lines.append(f"  {names.prefix}_{names.members[j]} {names.members[j]}; /* {label} */")
        elif names.scaled is None:
            lines.append(f"  {names.prefix}_number {names.members[j]}; /* {label}; NaN where it is missing */")
        else:
            scaled = names.scaled[j]
            lines.append(
                f"  int{scaled.bits}_t {names.members[j]}; /* {label}, in steps of 1e{-scaled.decimals}, rounded up; "
                f"INT{scaled.bits}_MIN where it is missing */"
            )
    return lines or ["  uint8_t unused; /* no rule reads a column */"]


def _definitions(form: Form, names: CNames) -> list[str]:
    prefix, upper = names.prefix, names.upper
    lines = []
    if names.scaled is None:
        cut = f"#define {upper}_CUT(as_double, as_float)"
        lines += ["#ifdef DLN_FLOAT", f"{cut} (as_float)", "#else", f"{cut} (as_double)", "#endif", ""]
    language = _language(form, names)
    lines += [f"int64_t {prefix}_steps(const {prefix}_row *row)", "{"]
    lines += [f"  int64_t total = {steps_text(form.intercept)};"]
    for i, part in enumerate(form.parts):
        lines.append(f"  const uint32_t part_{i} = {expression_text(part, language)};")
    for rule in form.rules:
        fires = expression_text(rule.expression, language)
        lines += [
            f"  /* {comment_text(rule.text)} */",
            f"  total += (({fires}) != 0U) ? {steps_text(rule.steps)} : INT64_C(0);",
        ]
    lines += ["  (void)row;"] if not form.used else []
    lines += ["  return total;", "}", ""]
    if names.scaled is None:
        sign = "/" if form.decimals >= 0 else "*"
        lines += [f"double {prefix}_predict(const {prefix}_row *row)", "{"]
        lines += [f"  return (double){prefix}_steps(row) {sign} {form.scale!r};", "}", ""]
    return lines + lookup_lines(form, names)


def _language(form: Form, names: CNames) -> Language:
    """Return C with conditions as whole numbers 0 and 1: ``&`` and ``|`` on them need no branch."""
    return Language(
        lambda check: _check(check, form, names),
        lambda part: f"(part_{part.number} ^ 1U)" if part.negated else f"part_{part.number}",
        *(" & ", " | ", " ^ ", " ^ 1U ^ ", "1U", "0U"),
    )


def _check(check: Check, form: Form, names: CNames) -> str:
    j = check.literal.column
    value = f"row->{names.members[j]}"
    match check.literal:
        case Above(cutoff=cutoff) if names.scaled is not None:
            text = f"{value} > {steps_text(names.scaled[j].cutoffs[cutoff], names.scaled[j].bits)}"
        case Above(cutoff=cutoff):
            text = f"{value} > {names.upper}_CUT({cutoff_text(cutoff)}, {cutoff_text(float32_below(cutoff), 'F')})"
        case IsIn(codes=codes):
            text = " || ".join(f"({value} == {names.enumerators[j][code]})" for code in codes)
        case _ if form.circuit.columns[j].categories is not None:
            text = f"{value} == {names.prefix.upper()}_{names.members[j].upper()}_MISSING"
        case _ if names.scaled is not None:
            text = f"{value} == INT{names.scaled[j].bits}_MIN"
        case _:
            text = f"{value} != {value}"  # only NaN is not itself
    return f"(uint32_t)(!({text}))" if check.negated else f"(uint32_t)({text})"


def enum_lines(j: int, column: Column, names: CNames) -> list[str]:
    start = f"{names.prefix}_{names.members[j]}".upper()
    entries = [(f"{start}_UNKNOWN = -2", ""), (f"{start}_MISSING = -1", "")]
    for code, (name, category) in enumerate(zip(names.enumerators[j], column.categories or (), strict=True)):
        entries.append((f"{name} = {code}", f" /* {comment_text(category_text(category))} */"))
    return [
        f"/* The categories of the column {comment_text(json_string(column.name))}. */",
        "typedef enum {",
        *(f"  {entry},{words}" for entry, words in entries[:-1]),
        "  " + "".join(entries[-1]),
        f"}} {names.prefix}_{names.members[j]};",
    ]


def lookup_head(j: int, column: Column, names: CNames) -> str:
    type_name = f"{names.prefix}_{names.members[j]}"
    if category_kind(column, "C") == "number" and names.scaled is None:
        return f"{type_name} {type_name}_from_number(double number)"
    return f"{type_name} {type_name}_from_text(const char *text)"


def lookup_lines(form: Form, names: CNames) -> list[str]:
    category_columns = [(j, column) for j, column in form.columns if column.categories is not None]
    same = f"{names.prefix}_same_text"
    lines = []
    if any("_from_text" in lookup_head(j, column, names) for j, column in category_columns):
        lines += from_template("same_text.c", name=same).split("\n")
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
            lines += [
                f"  if ({same}(text, {c_string(text)}) != 0U) {{ return {name}; }}" for text in category_texts(category)
            ]
    return [*lines, f"  return {start}_UNKNOWN;"]


def category_texts(category: Category) -> tuple[str, ...]:
    """Return the spellings of a category: those of truth values in common programs, otherwise one."""
    if isinstance(category, bool):
        return ("true", "True", "TRUE", "1") if category else ("false", "False", "FALSE", "0")
    return (category if isinstance(category, str) else category_text(category),)


def c_string(text: str) -> str:
    """Return a string literal of the text in UTF-8, in ASCII: three octal digits cannot swallow what follows."""
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in text.encode()) + '"'


def cutoff_text(number: float, suffix: str = "") -> str:
    """Return a floating-point literal with all the digits that matter."""
    if math.isinf(number):  # of a cut-off beyond float, for float rows
        return f"({'-' if number < 0 else ''}1.0{suffix} / 0.0{suffix})"
    return f"{float(number)!r}{suffix}"


def steps_text(steps: int, bits: int = 64) -> str:
    """Return a whole number of so many bits; C has no negative literals."""
    return f"{'-' if steps < 0 else ''}INT{bits}_C({abs(steps)})"


def float32_below(cutoff: float) -> float:
    """Return the largest float32 that is not above the cut-off: what float32 is above the one is above the other."""
    with np.errstate(over="ignore"):
        nearest = np.float32(cutoff)
    return float(nearest if float(nearest) <= cutoff else np.nextafter(nearest, np.float32(-np.inf)))
