"""Shared by the tests of the exports: the engines, and models and tables that exports stumble over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, IsMissing, Rule
from dln.export._form import Form, lower
from dln.export._methods import TARGETS
from dln.export._verification import Engine, EngineMissing, Verification, cases, compare
from dln.export._verilog import to_verilog
from engines.chips import Job, simulate, simulator
from engines.databases import postgres, spark
from engines.spreadsheets import spreadsheet

CIRCUIT = Circuit(
    (Column("bmi"), Column("smoker", ("no", "yes")), Column("rooms", (1, 2, 3)), Column("garage", (False, True))),
    (Above(0, 30.01), IsIn(1, (1,)), IsMissing(0), IsIn(2, (0, 2)), IsIn(3, (1,))),
    (Gate(1, 0, 1), Gate(6, 0, 3), Gate(14, 5, 4)),
    (Rule(5, 23900.0), Rule(6, 3120.5), Rule(2, -12.5), Rule(7, 1.0)),
    8410.0,
    1,
)


#: Every target with the options that lead to different code or another engine.
VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("c", {}),
    ("c", {"integers": True}),
    ("javascript", {}),
    ("python", {}),
    ("sql", {"dialect": "sqlite"}),
    ("sql", {"dialect": "duckdb"}),
    ("sql", {"dialect": "postgres"}),
    ("sql", {"dialect": "spark"}),
    ("onnx", {}),
    ("excel", {}),
    ("verilog", {}),
    ("verilog", {"latency": 3}),
)
#: Names that break quoting, parsing, or a person's trust.
HOSTILE = (
    "'; DROP TABLE data; --",
    'say "hi" \\',
    "two\nlines\r\n*/ /* ??/",
    "</script><!--",
    "🏠 price",
    "select",
    "__proto__",
    "class",
    "=1+1",
    "%s {0} $x `tick` [b]",
    "Größe (m²)",
    "grosse (m2)",
    "c" * 60,
)


#: Engines that the product does not run, by target and dialect.
HEAVY: Final[dict[tuple[str, str | None], Callable[[], Engine]]] = {
    ("sql", "postgres"): postgres,
    ("sql", "spark"): spark,
    ("excel", None): spreadsheet,
    ("verilog", None): simulator,
}


@cache
def engine(target: str, **options: Any) -> Engine:
    """Return the engine of a target, or skip the test and name what it lacks."""
    heavy = HEAVY.get((target, options.get("dialect")))
    try:
        return TARGETS[target].engine(**options) if heavy is None else heavy()
    except EngineMissing as missing:
        pytest.skip(f"{target} {options or ''} was not run: {missing}")


def variant_name(variant: tuple[str, dict[str, Any]]) -> str:
    """Return a variant as the name of a test."""
    target, options = variant
    return "-".join([target, *(str(value) if value is not True else key for key, value in options.items())])


def write(folder: Path, target: str, form: Form, **options: Any) -> Path:
    """Write a model to a file of its target's own ending."""
    path = folder / f"model{TARGETS[target].endings[0]}"
    path.write_bytes(TARGETS[target].write(form, **options))
    return path


def verified(folder: Path, target: str, circuit: Circuit, **options: Any) -> Verification:
    """Write a circuit, run it on every case, and compare every bit."""
    runs = engine(target, **options)
    form = lower(circuit, "price")
    return compare(write(folder, target, form, **options), form, cases(form, runs.limits), runs)


def all_verified(folder: Path, target: str, circuits: Sequence[Circuit], **options: Any) -> None:
    """Verify several circuits; Verilog modules in one simulation, for building one takes seconds."""
    if target != "verilog":
        for circuit in circuits:
            verified(folder, target, circuit, **options)
        return
    engine(target)
    forms = [lower(circuit, "price") for circuit in circuits]
    jobs = [Job(to_verilog(form, name=f"model{i}", **options), form, cases(form)) for i, form in enumerate(forms)]
    for job, found in zip(jobs, simulate(jobs), strict=True):
        expected = job.form.circuit.evaluate(job.values)
        assert found.tobytes() == expected.tobytes(), job.form.circuit


def hostile_circuit() -> Circuit:
    """Return a circuit whose columns and categories have every hostile name, and whose rules read them all."""
    columns = tuple(
        Column(name, None if i % 2 else tuple(sorted({*HOSTILE, "", " ", "NA", "nan", name[::-1]})))
        for i, name in enumerate(HOSTILE)
    )
    literals = tuple(
        Above(i, float(i)) if i % 2 else IsIn(i, tuple(range(i % 3, len(column.categories or ()), 3)))
        for i, column in enumerate(columns)
    ) + tuple(IsMissing(i) for i in range(len(columns)))
    n = len(columns)
    gates = tuple(Gate((1, 6, 11, 14)[i % 4], i, n + (i + 1) % n) for i in range(n))
    rules = tuple(Rule(2 * n + i, 2.0**i / 4) for i in range(n))
    return Circuit(columns, literals, gates, rules, -7.25, 2)
