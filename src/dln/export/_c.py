"""The model as one C99 file that is header and source in one: nothing but ``stdint.h``, no memory, no globals."""

from __future__ import annotations

from dln.circuit._circuit import Above, IsIn
from dln.circuit.bits._prepare import float32_below
from dln.export._c_categories import enum_lines, lookup_head, lookup_lines
from dln.export._c_main import main_lines
from dln.export._c_names import CNames, c_names
from dln.export._c_text import cutoff_text, steps_text
from dln.export._form import Check, Form
from dln.export._kinds import check_categories
from dln.export._text import Language, check_names, comment_text, expression_text, json_string
from dln.export._titles import exported_by


def to_c(form: Form, *, integers: bool = False, name: str | None = None) -> str:
    """Return the model as the text of a C file; `integers` keeps all of it in whole numbers.

    `name` begins every name in the file; it is the target's if it is not given.
    """
    check_names(form, "the program in the C file")
    check_categories(form, "C")
    names = c_names(form, name or form.target, integers=integers)
    upper = names.upper
    lines = [
        *_heading(form, names),
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        "#include <stdint.h>",
        "",
        *_declarations(form, names),
        "",
        f"#endif /* {upper}_H */",
        "",
        f"#if !defined(DLN_HEADER) && !defined({upper}_C)",
        f"#define {upper}_C",
        "",
        *_definitions(form, names),
        "#ifdef DLN_MAIN",
        *main_lines(form, names.prefix, names.members, names.scaled),
        "#endif /* DLN_MAIN */",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _heading(form: Form, names: CNames) -> list[str]:
    file, prefix = f"{names.prefix}.c", names.prefix
    numbers = (
        "Numbers are whole numbers, scaled as the struct says and rounded up; there is no floating point."
        if names.scaled is not None
        else "Numbers are double, or float where DLN_FLOAT is defined. Do not compile with -ffast-math: it forgets NaN."
    )
    return [
        f"/* {comment_text(form.title())}",
        " *",
        f" * {exported_by('c', integers=names.scaled is not None)}",
        " * C99, nothing but <stdint.h>: no memory is taken, nothing is global.",
        f" * {numbers}",
        " *",
        f" * A source file:  cc -std=c99 -O2 -c {file}",
        f' * A header:       #define DLN_HEADER, then #include "{file}"',
        f" * A program:      cc -std=c99 -O2 -DDLN_MAIN {file} -o {prefix} && ./{prefix} < rows.csv",
        " */",
    ]


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
    if names.scaled is None:
        lines += [f"double {prefix}_predict(const {prefix}_row *row);"]
    else:
        lines += [
            f"#define {upper}_DECIMALS ({form.decimals}) /* the prediction is the steps times 10 to the minus this */"
        ]
    for j, column in form.columns:
        if column.categories is not None:
            lines.append(f"{lookup_head(j, column, names)};")
    return lines


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
        lines += [
            "#ifdef DLN_FLOAT",
            f"#define {upper}_CUT(as_double, as_float) (as_float)",
            "#else",
            f"#define {upper}_CUT(as_double, as_float) (as_double)",
            "#endif",
            "",
        ]
    language = _language(form, names)
    lines += [
        f"int64_t {prefix}_steps(const {prefix}_row *row)",
        "{",
        f"  int64_t total = {steps_text(form.intercept)};",
    ]
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
        check=lambda check: _check(check, form, names),
        part=lambda part: f"(part_{part.number} ^ 1U)" if part.negated else f"part_{part.number}",
        conjunction=" & ",
        disjunction=" | ",
        unequal=" ^ ",
        equal=" ^ 1U ^ ",
        true="1U",
        false="0U",
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
