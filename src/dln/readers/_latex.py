"""A circuit as a LaTeX formula."""

from __future__ import annotations

from typing import Final

from dln.circuit._circuit import Circuit, Column
from dln.circuit._formula import AllOf, AnyOf, CategoryCondition, Formula, NumberCondition, OddOf, formula
from dln.circuit._words import (
    MAX_LITERALS_IN_TEXT,
    category_text,
    name_text,
    node_sizes,
    node_text,
    number_text,
    weight_text,
)

_LATEX_SPECIAL: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "_": r"\_",
        "%": r"\%",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        '"': "''",
    }
)


def to_latex(circuit: Circuit, target: str = "prediction") -> str:
    r"""Return the circuit as a LaTeX formula, one rule per line, the strongest weight first.

    >>> from dln.circuit._circuit import Above, Column, Rule
    >>> print(to_latex(Circuit((Column("body_mass"),), (Above(0, 30.5),), (), (Rule(0, -2.5),), 1.0, 1), "y"))
    \begin{aligned}
    \text{y} ={} & 1 \\
      & - 2.5 \cdot [\text{body\_mass} > 30.5]
    \end{aligned}
    """
    lines = [rf"{latex_name(target)} ={{}} & {_latex_number(number_text(circuit.intercept))}"]
    for rule in sorted(circuit.rules, key=lambda rule: -abs(rule.weight)):
        sign = "-" if rule.weight < 0 else "+"
        weight = _latex_number(weight_text(abs(rule.weight), circuit.decimals))
        lines.append(rf"  & {sign} {weight} \cdot [{node_latex(circuit, rule.node)}]")
    body = " \\\\\n".join(lines)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def node_latex(circuit: Circuit, node: int) -> str:
    """Return a literal or gate in LaTeX."""
    if node_sizes(circuit)[node] > MAX_LITERALS_IN_TEXT:
        return latex_name(node_text(circuit, node))
    return _latex(formula(circuit, node), circuit.columns)[0]


def latex_name(name: str) -> str:
    """Return any text as LaTeX text: special characters escaped, control characters written out."""
    return rf"\text{{{name_text(name).translate(_LATEX_SPECIAL)}}}"


def _latex(condition: Formula, columns: tuple[Column, ...]) -> tuple[str, str]:
    """Return the formula, and the operator that joins it at the top ("" if none does)."""
    match condition:
        case bool():
            return (r"\top" if condition else r"\bot"), ""
        case AllOf(parts) | AnyOf(parts):
            operator = r"\wedge" if isinstance(condition, AllOf) else r"\vee"
            return f" {operator} ".join(_latex_inside(part, columns, operator) for part in parts), operator
        case OddOf(parts, even):
            text = r" \oplus ".join(_latex_inside(part, columns, r"\oplus") for part in parts)
            return (rf"\neg ({text})", "") if even else (text, r"\oplus")
        case NumberCondition():
            return _latex_number_condition(condition, latex_name(columns[condition.column].name))
        case CategoryCondition():
            return _latex_category(condition, columns[condition.column])


def _latex_inside(condition: Formula, columns: tuple[Column, ...], operator: str) -> str:
    text, joint = _latex(condition, columns)
    return f"({text})" if joint and joint != operator else text


def _latex_number_condition(condition: NumberCondition, name: str) -> tuple[str, str]:
    if not condition.ends:
        missing = "missing" if condition.missing else "not missing"
        return rf"{name}\ \text{{is {missing}}}", ""
    if condition.low and condition.missing:
        inner = r" \vee ".join(_latex_intervals(condition.ends, name, low=False))
        return rf"\neg ({inner})", ""
    pieces = _latex_intervals(condition.ends, name, low=condition.low)
    pieces += [rf"{name}\ \text{{is missing}}"] if condition.missing else []
    return r" \vee ".join(pieces), r"\vee" if len(pieces) > 1 else ""


def _latex_intervals(ends: tuple[float, ...], name: str, *, low: bool) -> list[str]:
    edges = ["", *map(_latex_float, ends)] if low else [*map(_latex_float, ends)]
    edges += [""] if len(edges) % 2 else []
    pieces = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        pieces.append(f"{name} > {start}" if not end else (f"{start} < " if start else "") + rf"{name} \le {end}")
    return pieces


def _latex_category(condition: CategoryCondition, column: Column) -> tuple[str, str]:
    name = latex_name(column.name)
    values = [latex_name(category_text((column.categories or ())[code])) for code in condition.codes]
    if not values:
        missing = "missing" if condition.missing else "not missing"
        return rf"{name}\ \text{{is {missing}}}", ""
    if len(values) == 1:
        relation = r"\ne" if condition.other else "="
        text = f"{name} {relation} {values[0]}"
    else:
        relation = r"\notin" if condition.other else r"\in"
        text = rf"{name} {relation} \{{{', '.join(values)}\}}"
    if condition.missing == condition.other:
        return text, ""
    if condition.missing:
        return rf"{text} \vee {name}\ \text{{is missing}}", r"\vee"
    return rf"{text} \wedge {name}\ \text{{is not missing}}", r"\wedge"


def _latex_float(value: float) -> str:
    return _latex_number(number_text(value))


def _latex_number(text: str) -> str:
    r"""Return the text of a number with its power of ten written as one.

    >>> _latex_number("1e-07")
    '1 \\times 10^{-7}'
    """
    digits, _, exponent = text.partition("e")
    return rf"{digits} \times 10^{{{int(exponent)}}}" if exponent else digits
