"""The model as a synthesisable Verilog module: thresholds inside, combinational or pipelined, sums of whole numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dln._errors import ExportError
from dln.circuit._circuit import Above, Column, IsMissing, Literal
from dln.export._form import Form, part_levels
from dln.export._language import Language, exported_by, expression_text, from_template, identifiers
from dln.export._scaled import Scaled, scaled_columns

#: Bits of number inputs: the smallest that hold all cut-offs.
SIZES: Final = (8, 16, 32, 64)
#: Largest latency in clock cycles.
MAX_LATENCY: Final = 64


@dataclass(frozen=True, slots=True)
class Port:
    """An input: the name of a column's value, None if no rule compares it, and of the bit for a missing value."""

    column: Column
    name: str
    value: str | None
    bits: int
    scaled: Scaled | None
    """Scale of a number column; None for a category column, whose first free code stands for any other value."""

    @property
    def missing(self) -> str:
        """Name of the bit that is 1 where the value is missing."""
        return f"{self.name}_missing"

    @property
    def declaration(self) -> str:
        return f"{'signed ' if self.scaled is not None else ''}[{self.bits - 1}:0] "


@dataclass(slots=True)
class _Signal:
    """A value: its width and sign, its level of logic (inputs are at -1), and the number of registers behind it."""

    declaration: str
    level: int
    text: str = ""
    words: str = ""
    delay: int = 0


@dataclass(slots=True)
class _Pipeline:
    """Signals by name; a later stage reads them through registers."""

    cuts: list[int]
    """Registers stand behind these levels, ascending; one level may have several."""
    signals: dict[str, _Signal] = field(default_factory=dict)

    def read(self, name: str, level: int) -> str:
        """Return the name under which a signal is read at a level."""
        signal = self.signals[name]
        delay = sum(signal.level <= cut < level for cut in self.cuts)
        signal.delay = max(signal.delay, delay)
        return f"{name}_d{delay}" if delay else name


def to_verilog(form: Form, *, latency: int = 0, name: str | None = None) -> str:
    """Return the module; with a `latency`, the result comes so many clock cycles after its inputs, one each cycle."""
    if not 0 <= latency <= MAX_LATENCY:
        raise ExportError(f"latency must be a number of clock cycles from 0 to {MAX_LATENCY}, got {latency}")
    ports = module_ports(form)
    pipeline = _compute(form, ports, latency)
    result = pipeline.read("total", max(pipeline.signals["total"].level, *pipeline.cuts, 0) + 1)
    return from_template(
        "module.v",
        form=form,
        facts=exported_by("verilog", latency=latency, name=name),
        latency=latency,
        name=module_name(form, name),
        ports=list(ports.values()),
        signals=pipeline.signals,
        result=result,
    )


def module_name(form: Form, name: str | None = None) -> str:
    return identifiers([name or form.target])[0]


def module_ports(form: Form) -> dict[int, Port]:
    names = identifiers([column.name for _, column in form.columns], ("clk", "steps", "total"))
    scaled = scaled_columns(form, SIZES)
    ports = {}
    for (j, column), name in zip(form.columns, names, strict=True):
        compared = any(literal != IsMissing(j) for literal in form.literals() if literal.column == j)
        # One code more than there are categories: the unknown.
        bits = scaled[j].bits if column.categories is None else max(1, len(column.categories).bit_length())
        ports[j] = Port(column, name, f"{name}_value" if compared else None, bits, scaled.get(j))
    return ports


def result_bits(form: Form) -> int:
    """Return the bits of the result: enough for every sum on the way."""
    return form.bound.bit_length() + 1


def _compute(form: Form, ports: dict[int, Port], latency: int) -> _Pipeline:
    """Return what is computed, level by level: tests, parts, rules, and an adder tree of the weights."""
    depths = part_levels(form.parts)
    rules_level = max(depths, default=0) + 1
    n_sums = max(1, len(form.rules).bit_length())
    n_levels = rules_level + 1 + n_sums
    pipeline = _Pipeline([(k + 1) * n_levels // latency - 1 for k in range(latency)])
    for port in ports.values():
        pipeline.signals[port.missing] = _Signal("", -1)
        if port.value is not None:
            pipeline.signals[port.value] = _Signal(port.declaration, -1)
    tests = {literal: f"test_{i}" for i, literal in enumerate(form.literals())}
    for literal, name in tests.items():
        pipeline.signals[name] = _Signal("", 0, _test(literal, ports, pipeline))

    def language(level: int) -> Language:
        def signal(name: str, negated: bool) -> str:  # noqa: FBT001 (internal)
            return f"{'~' if negated else ''}{pipeline.read(name, level)}"

        return Language(
            lambda check: signal(tests[check.literal], check.negated),
            lambda part: signal(f"part_{part.number}", part.negated),
            *(" & ", " | ", " ^ ", " ~^ ", "1'b1", "1'b0"),
        )

    for i, (part, depth) in enumerate(zip(form.parts, depths, strict=True)):
        pipeline.signals[f"part_{i}"] = _Signal("", depth, expression_text(part, language(depth)))
    for i, rule in enumerate(form.rules):
        text = expression_text(rule.expression, language(rules_level))
        pipeline.signals[f"rule_{i + 1}"] = _Signal("", rules_level, text, rule.text)
    _add_up(form, pipeline, rules_level + 1)
    return pipeline


def _add_up(form: Form, pipeline: _Pipeline, level: int) -> None:
    """Add a balanced tree of adders: the first level chooses each weight or zero, two rules at a time."""
    bits = result_bits(form)
    declaration = f"signed [{bits - 1}:0] "
    terms = [signed_constant(form.intercept, bits)]
    for i, rule in enumerate(form.rules):
        fires = pipeline.read(f"rule_{i + 1}", level)
        terms.append(f"({fires} ? {signed_constant(rule.steps, bits)} : {signed_constant(0, bits)})")
    while True:
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        names = ["total"] if len(pairs) == 1 else [f"sum_{level}_{i}" for i in range(len(pairs))]
        for name, pair in zip(names, pairs, strict=True):
            pipeline.signals[name] = _Signal(declaration, level, " + ".join(pair))
        if len(pairs) == 1:
            return
        level += 1
        terms = [pipeline.read(name, level) for name in names]


def _test(literal: Literal, ports: dict[int, Port], pipeline: _Pipeline) -> str:
    port = ports[literal.column]
    missing = pipeline.read(port.missing, 0)
    if port.value is None or isinstance(literal, IsMissing):
        return missing
    value = pipeline.read(port.value, 0)
    if isinstance(literal, Above):
        assert port.scaled is not None  # noqa: S101 (a cut-off has a number column)
        return f"~{missing} & ({value} > {signed_constant(port.scaled.cutoffs[literal.cutoff], port.bits)})"
    hits = " | ".join(f"({value} == {port.bits}'d{code})" for code in literal.codes)
    return f"~{missing} & ({hits})"


def signed_constant(number: int, bits: int) -> str:
    return f"{'-' if number < 0 else ''}{bits}'sd{abs(number)}"
