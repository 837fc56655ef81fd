"""Every target is held to one suite: run by the real engine, each prediction has the bits of `Circuit.evaluate`."""

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from circuits import circuits, every_case, layered_circuit
from dln import RuleRegressor
from dln._errors import ExportError, VerificationError
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, IsMissing, Rule
from dln.export._form import lower
from dln.export._verification import cases, compare
from engines.chips import Job, simulate
from exported import VARIANTS, all_verified, engine, hostile_circuit, variant_name, write

#: The folder of the real datasets.
SHARED = Path(os.environ.get("DLN_DATA_HOME") or Path(__file__).parents[3] / "shared" / "datasets")

#: Circuits that are drawn for a target or dialect: engines take from a millisecond to seconds to start.
EXAMPLES = {"c": 15, "javascript": 20, "python": 20, "sql": 50, "onnx": 50, "excel": 3, "verilog": 1, "spark": 4}

#: A wrong circuit in so many is run, where engines take their time.
STEPS = {"c": 3, "javascript": 2, "python": 2, "sql": 1, "onnx": 1, "excel": 8, "spark": 8}

#: Five tables with numbers, categories and gaps: the column to predict, and those that hold categories.
TABLES = {
    "insurance": ("charges", ["sex", "smoker", "region"]),
    "abalone": ("Rings", ["Sex"]),
    "mpg": ("mpg", ["origin", "cylinders"]),
    "concrete": ("Concrete_compressive_strength", []),
    "estate": ("Y house price of unit area", []),
}

each_variant = pytest.mark.parametrize(("target", "options"), VARIANTS, ids=map(variant_name, VARIANTS))


@each_variant
def test_any_circuit_is_exported_bit_for_bit(target, options, tmp_path_factory):
    """Whatever the gates, cut-offs, categories and weights: every bit is that of `evaluate`, or it is refused."""
    engine(target, **options)
    folder = tmp_path_factory.mktemp(target)
    several = 12 if target == "verilog" else 1

    # Without shrinking, where an engine takes seconds: it would go on for minutes.
    phases = [Phase.generate] if target in ("excel", "verilog") else list(Phase)

    @settings(max_examples=EXAMPLES.get(options.get("dialect"), EXAMPLES[target]), database=None, phases=phases)
    @given(st.lists(circuits(), min_size=several, max_size=several))
    def check(drawn):
        taken = [circuit for circuit in drawn if _is_taken(folder, target, circuit, **options)]
        all_verified(folder, target, taken, **options)

    check()


def _is_taken(folder, target, circuit, **options):
    """Return whether a target can hold a circuit; two columns of one name, for example, few can."""
    try:
        write(folder, target, lower(circuit, "price"), **options)
    except ExportError:
        return False
    return True


@each_variant
def test_large_circuits_are_exported_bit_for_bit(target, options, tmp_path):
    """Sixty rules over shared gates of every kind: what rules share is computed once and named."""
    circuit = layered_circuit(0, n_rules=60, layers=(60, 40, 30), all_gates=True)
    all_verified(tmp_path, target, [circuit], **options)


@each_variant
def test_hostile_names_do_no_harm(target, options, tmp_path):
    """Quotes, line breaks, reserved words, emoji and commands in names and categories mean nothing but themselves."""
    all_verified(tmp_path, target, [hostile_circuit()], **options)


@each_variant
def test_odd_models_are_exported_bit_for_bit(target, options, tmp_path):
    """No rules, constants only, categories only, weights of any size, sums that cancel: every bit is right."""
    all_verified(tmp_path, target, odd_circuits(), **options)


def odd_circuits():
    """Return circuits at the edges of what a circuit can be."""
    number, text = Column("x"), Column("c", ("a", "b", "c"))
    numbers, flags = Column("n", (1, 2, 30)), Column("f", (False, True))
    above = Above(0, 0.1)
    return [
        Circuit((number,), (), (), (), 3.5, 1),
        Circuit((number,), (above,), (Gate(15, 0, 0), Gate(0, 0, 0)), (Rule(1, 2.0), Rule(2, 1.0)), 0.0, 1),
        Circuit((text, numbers, flags), (IsIn(0, (0, 2)), IsIn(1, (2,)), IsIn(2, (1,))), (Gate(6, 0, 1), Gate(9, 3, 2)),
                (Rule(4, -1.0), Rule(1, 3.0)), 0.0, 0),
        Circuit((text, number), (IsMissing(0), IsMissing(1)), (Gate(8, 0, 1),), (Rule(0, 1.0), Rule(2, -4.0)), 0.0, 0),
        Circuit((number,), (above, Above(0, 0.2)), (), (Rule(0, 4e14), Rule(1, -4e14)), 7.0, 0),
        Circuit((number,), (above,), (), (Rule(0, 3e20),), -5e20, -19),
        Circuit((number,), (above,), (), (Rule(0, 3e-12),), 1e-12, 12),
        Circuit((number,), (Above(0, -1e9), Above(0, 1e9)), (Gate(2, 0, 1),), (Rule(2, 0.1),), 0.2, 1),
    ]  # fmt: skip


@cache
def trained():
    """Return a small model of each of the five tables, with some of its rows."""
    found = []
    for name, (target, categories) in TABLES.items():
        table = pd.read_csv(SHARED / f"{name}.csv", na_values="?").sample(300, random_state=0)
        X = table.drop(columns=[target, *table.columns[table.columns == "car_name"]])
        X = X.astype(dict.fromkeys(categories, "category"))
        found.append((RuleRegressor(max_conditions=30, random_state=0).fit(X, table[target]), X))
    return found


@each_variant
@pytest.mark.skipif(not SHARED.exists(), reason="the datasets are not in this checkout")
def test_trained_models_predict_their_rows_bit_for_bit(target, options, tmp_path):
    """Models of five tables give `predict`'s bits on every case; where the engine is fast, on their own rows too."""
    all_verified(tmp_path, target, [model.circuit_ for model, _ in trained()], **options)
    if target not in ("excel", "verilog"):
        for model, X in trained():
            form = lower(model.circuit_, "price")
            path = write(tmp_path, target, form, **options)
            assert compare(path, form, model._values(X), engine(target, **options)).n_rows == len(X)
            assert (model.circuit_.evaluate(model._values(X)) == model.predict(X)).all()


def mutants(circuit):
    """Yield the circuit with one cut-off, one set of categories, one gate or one weight changed."""
    for i, literal in enumerate(circuit.literals):
        others = []
        if isinstance(literal, Above):
            others = [Above(literal.column, near) for near in (literal.cutoff * 1.001 + 1e-3, literal.cutoff - 1.0)]
        elif isinstance(literal, IsIn):
            others = [IsIn(literal.column, (0,)), IsIn(literal.column, (0, 1, 2))]
        for other in others:
            yield replace(circuit, literals=(*circuit.literals[:i], other, *circuit.literals[i + 1 :]))
    for i, gate in enumerate(circuit.gates):
        for kind in (1, 7, 6, 9, gate.kind ^ 15):
            changed = Gate(kind, gate.a, gate.b)
            yield replace(circuit, gates=(*circuit.gates[:i], changed, *circuit.gates[i + 1 :]))
    for i, rule in enumerate(circuit.rules):
        changed = Rule(rule.node, rule.weight + 10.0**-circuit.decimals)
        yield replace(circuit, rules=(*circuit.rules[:i], changed, *circuit.rules[i + 1 :]))
    yield replace(circuit, intercept=circuit.intercept + 10.0**-circuit.decimals)


@each_variant
def test_a_wrong_artefact_is_noticed(target, options, tmp_path):
    """A flipped cut-off, gate or weight is noticed wherever it changes a prediction on any input at all."""
    columns = (Column("x"), Column("y"), Column("c", ("a", "b", "c")))
    literals = (Above(0, 0.5), Above(0, 20.0), Above(1, -3.25), IsIn(2, (0, 2)), IsMissing(1))
    gates = (Gate(1, 0, 3), Gate(7, 2, 4), Gate(6, 1, 6))
    right = Circuit(columns, literals, gates, (Rule(5, 2.0), Rule(7, -0.5), Rule(3, 1.0)), 10.0, 1)
    form = lower(right, "price")
    wrong = [other for other in mutants(right) if _differs(right, other)]
    assert len(wrong) > 20
    runs = engine(target, **options)
    if target == "verilog":
        some = [lower(other, "price") for other in wrong[::3] if lower(other, "price").used == form.used]
        jobs = [
            Job(write(tmp_path, target, other, name=f"m{i}", **options).read_text(), other, cases(form))
            for i, other in enumerate(some)
        ]
        for found in simulate(jobs):
            assert (found != right.evaluate(cases(form))).any()
        return
    for other in wrong[:: STEPS.get(options.get("dialect"), STEPS[target])]:
        path = write(tmp_path, target, lower(other, "price"), **options)
        with pytest.raises(VerificationError):
            compare(path, form, cases(form, runs.limits), runs)


def _differs(right, other):
    table = every_case([right, other])
    return (right.evaluate(table) != other.evaluate(table)).any()
