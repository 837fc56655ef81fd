"""A picture of a circuit in the paper's style: yellow inputs with their cut-offs, gates in diamonds, weights on edges.

Equal parts are drawn once; a small circle at the end of an edge negates. Beyond two dozen rules the boxes are repeated
where they are used, and every rule has a sum sign of its own: lines across the whole picture cannot be followed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dln._errors import import_extra
from dln.circuit._circuit import Circuit
from dln.circuit._formula import AllOf, AnyOf, CategoryCondition, Formula, NumberCondition, OddOf, formula, negate
from dln.circuit._words import MAX_LITERALS_IN_TEXT, formula_text, name_text, node_sizes, number_text, weight_text

#: Up to this many rules inputs are at the top, as in the paper; more are easier to follow from left to right.
MAX_RULES_TOP_DOWN: Final = 8
#: Up to this many rules, boxes are drawn once and all rules lead into one sum.
MAX_RULES_TOGETHER: Final = 24
#: Text in a box is broken into lines of about so many characters.
_LINE: Final = 34
_SIGNS: Final = "><≤=≠"
_GATES: Final = {AllOf: "AND", AnyOf: "OR", OddOf: "XOR"}
_FONT: Final = "Helvetica,Arial,sans-serif"
_MORE: Final = "#1b5e9e"
_LESS: Final = "#b3261e"
_LINES: Final = "#5f6368"


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn circuit; notebooks show it, `save` writes it as SVG, PNG or PDF."""

    dot: str

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return _render(self.dot, "svg").decode()

    @property
    def png(self) -> bytes:
        """The picture as PNG, 144 dots per inch."""
        return _render(self.dot, "png")

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file; its ending, .svg, .png or .pdf, says how. Return the path."""
        path = Path(path)
        kind = path.suffix.lower().removeprefix(".")
        if kind not in {"svg", "png", "pdf"}:
            raise ValueError(f"a picture is saved as .svg, .png or .pdf, got {path.name!r}")
        path.write_bytes(_render(self.dot, kind))
        return path

    def _repr_svg_(self) -> str:
        return self.svg


def draw(
    circuit: Circuit, *, max_rules: int | None = 20, order: Sequence[int] | None = None, target: str = "prediction"
) -> Picture:
    """Return a picture of the circuit's first `max_rules` rules in an order, by default that of their weights."""
    if max_rules is not None and max_rules < 1:
        raise ValueError(f"max_rules must be at least 1 or None, got {max_rules}")
    if order is None:
        order = sorted(range(len(circuit.rules)), key=lambda i: (-abs(circuit.rules[i].weight), i))
    shown = list(order[:max_rules])
    drawing = _Drawing(circuit, len(shown) <= MAX_RULES_TOGETHER)
    sizes = node_sizes(circuit)
    tops = []
    # From left to right, Graphviz puts what is named last at the top.
    for rule in (circuit.rules[i] for i in (shown if drawing.together else reversed(shown))):
        if sizes[rule.node] > MAX_LITERALS_IN_TEXT:
            top = drawing.box(f"a rule of {sizes[rule.node]} literals", "box", "#eeeeee"), False
        else:
            top = drawing.part(formula(circuit, rule.node))
        tops.append((*top, rule.weight))
    title = f"{name_text(target)}\n= {number_text(circuit.intercept)} + Σ"
    if len(shown) < len(circuit.rules):
        title += f"\n({len(shown)} of {len(circuit.rules)} rules shown)"
    return Picture(drawing.finish(_escaped(title), tops))


@dataclass(slots=True)
class _Drawing:
    circuit: Circuit
    together: bool
    boxes: list[str] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)
    known: dict[Formula, str] = field(default_factory=dict)

    def finish(self, title: str, tops: Sequence[tuple[str, bool, float]]) -> str:
        """Return the picture's text, given the top of each rule, whether it is negated, and the rule's weight."""
        few = len(tops) <= MAX_RULES_TOP_DOWN
        layout = "rankdir=TB, nodesep=0.3, ranksep=0.5" if few else "rankdir=LR, nodesep=0.12, ranksep=0.7"
        # Together all rules lead into one sum; beyond two dozen each has a sum sign, one below the other.
        signs = ["sum"] * len(tops) if self.together else [f"sum{i}" for i in range(len(tops))]
        if self.together:
            heading, style = "", 'shape=box, style="rounded,filled", fillcolor="#dfeaf5", margin="0.2,0.1"'
            sums = [f'sum [label="{title}", {style}];']
        else:
            heading = f'label="{title}", labelloc=t, fontsize=14, '
            style = 'label="Σ", shape=circle, style=filled, fillcolor="#dfeaf5", margin=0, width=0.28, fixedsize=true'
            sums = [*(f"{sign} [{style}];" for sign in signs), f"{{rank=same; {'; '.join(signs)};}}"]
        lines = [
            "digraph circuit {",
            f'graph [{layout}, {heading}fontname="{_FONT}", bgcolor="white", dpi=144];',
            f'node [fontname="{_FONT}", fontsize=11, color="{_LINES}", penwidth=1];',
            f'edge [fontname="{_FONT}", fontsize=10, color="{_LINES}", arrowsize=0.6];',
            *self.boxes,
            *sums,
            *self.edges,
        ]
        largest = max((abs(weight) for *_, weight in tops), default=0.0) or 1.0
        for sign, (name, negated, weight) in zip(signs, tops, strict=True):
            color = _LESS if weight < 0 else _MORE
            label = f"{'−' if weight < 0 else '+'}{weight_text(abs(weight), self.circuit.decimals)}"
            width = 0.8 + 2.2 * abs(weight) / largest
            lines.append(
                f'{name} -> {sign} [label=" {_escaped(label)} ", color="{color}", '
                f'fontcolor="{color}", penwidth={width:.2f}{_circle(negated)}];'
            )
        return "\n".join([*lines, "}"])

    def part(self, condition: Formula) -> tuple[str, bool]:
        """Draw a part of a rule if it is new; return its name, and whether it was drawn as its contrary."""
        positive, negated = _positive(condition)
        if positive in self.known:
            return self.known[positive], negated
        if isinstance(positive, AllOf | AnyOf | OddOf):
            inputs = [self.part(part) for part in positive.parts]
            name = self.box(_GATES[type(positive)], "diamond", "white")
            for source, flipped in inputs:
                self.edges.append(f'{source} -> {name} [label=""{_circle(flipped)}];')
        else:
            name = self.box(formula_text(positive, self.circuit.columns), "box", "#ffe680")
        if self.together or isinstance(positive, AllOf | AnyOf | OddOf):
            self.known[positive] = name
        return name, negated

    def box(self, label: str, shape: str, color: str) -> str:
        name = f"n{len(self.boxes)}"
        size = ', margin="0.02,0.02", height=0.4' if shape == "diamond" else ', margin="0.12,0.05", height=0.3'
        text = _escaped("\n".join(_wrapped(label)))
        self.boxes.append(f'{name} [label="{text}", shape={shape}, style=filled, fillcolor="{color}"{size}];')
        return name


def _positive(condition: Formula) -> tuple[Formula, bool]:
    """Return the formula or its contrary, whichever needs fewer negations, and whether it is the contrary."""
    contrary = negate(condition)
    return (contrary, True) if _negations(contrary) < _negations(condition) else (condition, False)


def _negations(condition: Formula) -> tuple[int, int]:
    match condition:
        case bool():
            return (0, 0)
        case NumberCondition(low=low, missing=missing):
            return (int(low), int(missing))
        case CategoryCondition(other=other, missing=missing):
            return (int(other), int(missing))
        case OddOf(even=even):
            return (int(even), 0)
        case AllOf(parts) | AnyOf(parts):
            flipped = sum(_positive(part)[1] for part in parts)
            return (flipped, int(isinstance(condition, AnyOf)))


def _wrapped(text: str) -> list[str]:
    """Return the text in lines, broken at spaces, but not beside a comparison sign."""
    for sign in _SIGNS:
        text = text.replace(f" {sign} ", f"\0{sign}\0")
    lines = textwrap.wrap(text, _LINE, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def _escaped(text: str) -> str:
    """Return text for a quoted string of Graphviz: a backslash or quote in it means itself, a line break is kept."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;").replace("\n", "\\n")


def _circle(negated: bool) -> str:  # noqa: FBT001 (internal)
    return ", arrowhead=odot, arrowsize=0.8" if negated else ""


def _render(dot: str, kind: str) -> bytes:
    graph = import_extra("pygraphviz", "drawing a circuit", "plot").AGraph(string=dot)
    drawn: bytes = graph.draw(format=kind, prog="dot")
    return drawn
