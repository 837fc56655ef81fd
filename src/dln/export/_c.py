"""The model as one C99 file that is header and source in one: nothing but ``stdint.h``, no memory, no globals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dln.circuit._circuit import Above, Category, IsIn
from dln.circuit._words import category_text
from dln.export._form import Check, Form, category_kind, check_columns
from dln.export._language import Language, exported_by, expression_text, from_template, identifiers
from dln.export._scaled import Scaled, scaled_columns

#: Bytes that need no escape in a C string; a question mark does, because two of them may begin a trigraph.
_PLAIN: Final = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 !#$%&'()*+,-./:;<=>@[]^_`{|}~"
)


@dataclass(frozen=True, slots=True)
class CColumn:
    """A column as a member of the struct: its type, a note on its values, and its categories by enumerator."""

    name: str
    member: str
    type: str
    note: str = ""
    scaled: Scaled | None = None
    categories: tuple[tuple[str, Category], ...] = ()
    lookup: str = ""
    """How a category is found: by "text" or by "number"."""


def c_columns(form: Form, name: str, *, integers: bool) -> tuple[str, dict[int, CColumn]]:
    """Return the prefix of all names, and the columns that rules read, as whole numbers if `integers`."""
    prefix = identifiers([name])[0].rstrip("_").lower()
    members = dict(zip(form.used, identifiers([column.name for _, column in form.columns]), strict=True))
    scaled = scaled_columns(form) if integers else {}
    columns = {}
    for j, column in form.columns:
        named, kind = (column.name, members[j]), f"{prefix}_{members[j]}"
        if column.categories is not None:
            words = identifiers([str(category) for category in column.categories], ("missing", "unknown"))
            known = zip((f"{kind}_{word}".upper() for word in words), column.categories, strict=True)
            lookup = "number" if category_kind(column, "C") == "number" and not integers else "text"
            columns[j] = CColumn(*named, kind, categories=tuple(known), lookup=lookup)
        elif integers:
            bits = scaled[j].bits
            note = f", in steps of 1e{-scaled[j].decimals}, rounded up; INT{bits}_MIN where it is missing"
            columns[j] = CColumn(*named, f"int{bits}_t", note, scaled[j])
        else:
            columns[j] = CColumn(*named, f"{prefix}_number", "; NaN where it is missing")
    return prefix, columns


def to_c(form: Form, *, integers: bool = False, name: str | None = None) -> str:
    """Return the model as the text of a C file; `name` is the prefix of every name in it, by default the target's."""
    check_columns(form, "C")
    prefix, columns = c_columns(form, name or form.target, integers=integers)
    # Conditions are whole numbers 0 and 1: ``&`` and ``|`` on them need no branch.
    language = Language(
        lambda check: _check(check, prefix, columns[check.literal.column]),
        lambda part: f"(part_{part.number} ^ 1U)" if part.negated else f"part_{part.number}",
        *(" & ", " | ", " ^ ", " ^ 1U ^ ", "1U", "0U"),
    )
    return from_template(
        "module.c",
        form=form,
        facts=exported_by("c", integers=integers, name=name),
        integers=integers,
        prefix=prefix,
        columns=list(columns.values()),
        text=lambda expression: expression_text(expression, language),
        steps=steps_text,
        number=lambda category: cutoff_text(float(category)),
        spellings=category_texts,
        string=c_string,
    )


def _check(check: Check, prefix: str, column: CColumn) -> str:
    value = f"row->{column.member}"
    match check.literal:
        case Above(cutoff=cutoff) if column.scaled is not None:
            text = f"{value} > {steps_text(column.scaled.cutoffs[cutoff], column.scaled.bits)}"
        case Above(cutoff=cutoff):
            cuts = f"{cutoff_text(cutoff)}, {cutoff_text(float32_below(cutoff), 'F')}"
            text = f"{value} > {prefix.upper()}_CUT({cuts})"
        case IsIn(codes=codes):
            text = " || ".join(f"({value} == {column.categories[code][0]})" for code in codes)
        case _ if column.lookup:
            text = f"{value} == {column.type.upper()}_MISSING"
        case _ if column.scaled is not None:
            text = f"{value} == INT{column.scaled.bits}_MIN"
        case _:
            text = f"{value} != {value}"  # only NaN is not itself
    return f"(uint32_t)(!({text}))" if check.negated else f"(uint32_t)({text})"


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
