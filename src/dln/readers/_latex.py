"""A circuit as a LaTeX formula."""

from __future__ import annotations

from typing import Final

from dln.circuit._circuit import Circuit
from dln.circuit._words import Notation, Written, category_text, name_text, node_text, number_text, weight_text

_NAMED: Final = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater"}
_LATEX_SPECIAL: Final = str.maketrans(
    {sign: rf"\text{name}{{}}" for sign, name in _NAMED.items()}
    | {sign: f"\\{sign}" for sign in "{}$&#_%"}
    | {'"': "''"}
)


def to_latex(circuit: Circuit, target: str = "prediction") -> str:
    """Return the circuit as a LaTeX formula, one rule per line, the strongest weight first."""
    lines = [rf"{latex_name(target)} ={{}} & {_latex_number(number_text(circuit.intercept))}"]
    for rule in sorted(circuit.rules, key=lambda rule: -abs(rule.weight)):
        sign = "-" if rule.weight < 0 else "+"
        weight = _latex_number(weight_text(abs(rule.weight), circuit.decimals))
        lines.append(rf"  & {sign} {weight} \cdot [{node_text(circuit, rule.node, LATEX)}]")
    body = " \\\\\n".join(lines)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def latex_name(name: str) -> str:
    """Return any text as LaTeX text: special characters escaped, control characters written out."""
    return rf"\text{{{name_text(name).translate(_LATEX_SPECIAL)}}}"


def _latex_number(text: str) -> str:
    """Return the text of a number with its power of ten written as one."""
    digits, _, exponent = text.partition("e")
    return rf"{digits} \times 10^{{{int(exponent)}}}" if exponent else digits


def _odd_of(parts: list[Written], even: bool) -> Written:  # noqa: FBT001 (as the formula has it)
    text = r" \oplus ".join(part.inside(r"\oplus") for part in parts)
    return Written(rf"\neg ({text})") if even else Written(text, r"\oplus")


LATEX: Final = Notation(
    constants=(r"\bot", r"\top"),
    all_of=r"\wedge",
    any_of=r"\vee",
    at_most=r"\le",
    relations=("=", r"\ne", r"\in", r"\notin"),
    braces=(r"\{", r"\}"),
    name=latex_name,
    number=lambda value: _latex_number(number_text(value)),
    category=lambda category: latex_name(category_text(category)),
    remark=lambda text: rf"\text{{{text}}}",
    odd_of=_odd_of,
)
