"""Fast predictions are those of the circuit's definition."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from circuits import circuits, circuits_with_tables, every_case, layered_circuit
from dln._errors import CircuitError
from dln.circuit._circuit import MISSING, UNKNOWN, Above, Circuit, Column, Gate, IsIn, IsMissing, Rule, Values
from dln.circuit.bits import PreparedCircuit, predict, predict_array, prepare
from dln.export._c import float32_below

SIZES = (0, 1, 2, 63, 64, 65, 1000, 1023, 1024, 1025, 2500)


def random_table(circuit: Circuit, n_rows: int, dtype: type, seed: int = 0) -> list[Values]:
    """A table of values that matter to the circuit; number columns are of the given type."""
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        return [
            rng.choice(values.astype(np.int32 if values.dtype.kind == "i" else dtype), n_rows)
            for values in every_case(circuit, 5000)
        ]


def numbers_only(circuit: Circuit) -> Circuit:
    """The circuit with number columns in place of category columns, and cut-offs in place of sets of codes."""
    columns = tuple(Column(column.name) for column in circuit.columns)
    literals = tuple(
        Above(test.column, test.codes[0] + 0.5) if isinstance(test, IsIn) else test for test in circuit.literals
    )
    return Circuit(columns, literals, circuit.gates, circuit.rules, circuit.intercept, circuit.decimals)


def assert_same_bits(got: np.ndarray, expected: np.ndarray) -> None:
    """Equal to the last bit, the sign of zero included."""
    assert got.dtype == expected.dtype == np.float64
    np.testing.assert_array_equal(got.view(np.int64), expected.view(np.int64))


@given(circuits_with_tables())
def test_predictions_equal_the_definition_for_any_circuit(pair: tuple[Circuit, list[Values]]) -> None:
    """Whatever the gates, literals and weights, on and around the cut-offs, every bit is that of `evaluate`."""
    circuit, table = pair
    assert_same_bits(predict(circuit, table), circuit.evaluate(table))


@given(circuits(), st.sampled_from(SIZES), st.sampled_from([np.float32, np.float64]), st.integers(0, 99))
def test_predictions_equal_the_definition_for_any_number_of_rows(
    circuit: Circuit, n_rows: int, dtype: type, seed: int
) -> None:
    """Words and blocks that are not full, empty tables, float32 and float64: every bit is that of `evaluate`."""
    table = random_table(circuit, n_rows, dtype, seed)
    assert_same_bits(predict(circuit, table), circuit.evaluate(table))


@given(circuits(), st.sampled_from(SIZES), st.sampled_from([np.float32, np.float64]), st.sampled_from("CF"))
def test_columns_may_be_views_of_one_array(circuit: Circuit, n_rows: int, dtype: type, order: str) -> None:
    """Columns of a 2-D array in either order, forwards and backwards, are read in place."""
    circuit = numbers_only(circuit)
    array = np.array(random_table(circuit, n_rows, dtype)).T.copy(order=order)
    for view in (array, array[::-1], array[::3], np.asarray(array[:, ::-1], order=order)[:, ::-1]):
        columns = list(view.T)
        assert_same_bits(predict(circuit, columns), circuit.evaluate(columns))


@given(circuits(), st.sampled_from(SIZES), st.sampled_from([np.float32, np.float64]), st.sampled_from("CF"))
def test_an_array_is_predicted_as_its_columns_are(circuit: Circuit, n_rows: int, dtype: type, order: str) -> None:
    """`predict_array` equals the definition, and returns None exactly if a column that counts holds an infinity."""
    circuit = numbers_only(circuit)
    array = np.array(random_table(circuit, n_rows, dtype)).T.copy(order=order)
    prepared = PreparedCircuit(circuit)
    got = predict_array(prepared, array)
    if np.isinf(array[:, list(prepared.program.used)]).any():
        assert got is None
        array[np.isinf(array)] = np.nan
        got = predict_array(prepared, array)
    assert got is not None
    assert_same_bits(got, circuit.evaluate(list(array.T)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_circuit_of_trained_size_is_predicted_alike_with_any_number_of_threads(dtype: type) -> None:
    """Sixty rules over mixed columns: one thread, two and seven give the bits of the definition."""
    circuit = layered_circuit(0, n_rules=60, layers=(80, 80, 60), all_gates=True)
    table = random_table(circuit, 400_123, dtype)
    expected = circuit.evaluate(table)
    prepared = PreparedCircuit(circuit)
    for n_threads in (1, 2, 7):
        assert_same_bits(predict(prepared, table, n_threads), expected)


@pytest.mark.parametrize("kind", range(16))
@pytest.mark.parametrize("inner", range(16))
def test_every_pair_of_gates_keeps_its_meaning(kind: int, inner: int) -> None:
    """NOT, pass and constants moved into their readers change nothing, for every gate above every gate."""
    columns = (Column("a"), Column("b"))
    gates = (Gate(inner, 0, 1), Gate(kind, 2, 1), Gate(kind, 0, 2), Gate(kind, 2, 2), Gate(kind, 3, 4))
    rules = tuple(Rule(node, float(2**node)) for node in range(7))
    circuit = Circuit(columns, (Above(0, 0.0), Above(1, 0.0)), gates, rules, 0.0, 0)
    table = [np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])]
    assert_same_bits(predict(circuit, table), circuit.evaluate(table))


@given(st.lists(st.integers(0, 40), min_size=1, unique=True), st.sampled_from([np.int8, np.int32, np.int64]))
def test_any_set_of_codes_is_tested(codes: list[int], dtype: type) -> None:
    """A literal of any set of categories is 1 on its codes and 0 on others, on missing and on unknown ones."""
    literals = (IsIn(0, tuple(sorted(codes))), IsMissing(0))
    column = Column("c", tuple(range(41)))
    circuit = Circuit((column,), literals, (), (Rule(0, 1.0), Rule(1, 10.0)), 0.0, 0)
    table = [np.array([UNKNOWN, MISSING, *range(41)], dtype=dtype)]
    assert_same_bits(predict(circuit, table), circuit.evaluate(table))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_float32_is_compared_exactly_with_any_cutoff(cutoff: float) -> None:
    """The cut-off for float32 columns separates the same float32 numbers, to the neighbours of the cut-off."""
    below = np.float32(float32_below(cutoff))
    with np.errstate(over="ignore", under="ignore"):
        around = [below, np.nextafter(below, np.float32(np.inf)), np.nextafter(below, np.float32(-np.inf))]
        values = np.array([*around, cutoff, -cutoff, 0.0, np.nan, np.inf, -np.inf], dtype=np.float32)
    circuit = Circuit((Column("x"),), (Above(0, cutoff),), (), (Rule(0, 1.0),), 0.0, 0)
    assert_same_bits(predict(circuit, [values]), circuit.evaluate([values]))


@pytest.mark.parametrize("largest", [2**30, 2**31 - 20, 2**31, 2**49])
def test_weights_of_any_size_are_summed_exactly(largest: int) -> None:
    """Sums that fit in 32 bits and sums that do not are exact, with signs that cancel and that add up."""
    weights = (float(largest), -float(largest // 2), float(largest // 4) - 1.0, -1.0)
    literals = tuple(Above(0, float(cut)) for cut in range(4))
    rules = tuple(Rule(node, weight) for node, weight in enumerate(weights))
    for intercept in (0.0, -float(largest // 8)):
        circuit = Circuit((Column("x"),), literals, (), rules, intercept, 0)
        table = [np.arange(-1.0, 6.0, 0.5)]
        assert_same_bits(predict(circuit, table), circuit.evaluate(table))


def test_a_program_holds_only_what_the_rules_need() -> None:
    """Dead gates, unread columns, equal nodes and rules of weight zero leave nothing behind."""
    columns = (Column("a"), Column("b"), Column("c"))
    literals = (Above(0, 1.0), Above(1, 1.0), Above(0, 1.0), Above(2, 5.0))
    gates = (Gate(1, 0, 1), Gate(14, 2, 1), Gate(6, 3, 0), Gate(12, 4, 4))
    rules = (Rule(4, 1.0), Rule(5, 2.0), Rule(6, 0.0), Rule(7, 4.0))
    program = prepare(Circuit(columns, literals, gates, rules, 0.0, 0))
    assert program.used == (0, 1)
    _, tests, kept_gates, kept_rules, steps, scale, n_nodes = program.parts
    assert [len(part) for part in (tests, kept_gates, kept_rules)] == [2, 1, 1]
    assert steps.tolist() == [1.0 - 2.0 - 4.0]
    assert scale[0] == 2.0 + 4.0
    assert n_nodes == 3


def test_values_of_a_wrong_type_are_refused() -> None:
    """Numbers must be floats, codes must be whole numbers, and an array must have the circuit's columns."""
    columns = (Column("a"), Column("b", ("no", "yes")))
    literals = (Above(0, 1.0), IsIn(1, (1,)))
    circuit = Circuit(columns, literals, (), (Rule(0, 1.0), Rule(1, 1.0)), 0.0, 0)
    numbers, codes = np.zeros(3), np.zeros(3, dtype=np.int32)
    with pytest.raises(CircuitError, match="column 0: values must be float32 or float64, got int64"):
        predict(circuit, [np.zeros(3, dtype=np.int64), codes])
    with pytest.raises(CircuitError, match="column 1: values must be integer codes, got float64"):
        predict(circuit, [numbers, numbers])
    with pytest.raises(CircuitError, match="reads 2 columns, but 1 were given"):
        predict(circuit, [numbers])
    with pytest.raises(CircuitError, match="equally many rows"):
        predict(circuit, [numbers, codes[:2]])
    with pytest.raises(CircuitError, match=r"reads 2 columns, but an array of shape \(3, 3\) was given"):
        predict_array(PreparedCircuit(circuit), np.zeros((3, 3)))
    with pytest.raises(CircuitError, match="must be float32 or float64"):
        predict_array(PreparedCircuit(circuit), np.zeros((3, 2)))


def test_columns_that_are_not_read_may_be_anything_of_the_right_length() -> None:
    """A broadcast value, as `read_table` gives for columns that are not read, does no harm, read or not."""
    columns = (Column("a"), Column("b"))
    circuit = Circuit(columns, (Above(0, 1.0),), (), (Rule(0, 1.0),), 0.0, 0)
    table = [np.array([0.0, 2.0, np.nan]), np.broadcast_to(np.float32(np.nan), 3)]
    assert_same_bits(predict(circuit, table), circuit.evaluate(table))
    assert_same_bits(predict(circuit, table[::-1]), circuit.evaluate(table[::-1]))


def test_no_memory_is_read_after_it_is_freed():
    """With freed memory overwritten, as Python's debug allocators do, predictions stay what they are."""
    program = """
import numpy as np
from test_bits import PreparedCircuit, layered_circuit, predict, random_table

circuit = layered_circuit(0, n_rules=30, layers=(40, 30))
table = random_table(circuit, 3000, np.float64)
for n_threads in (1, 3):
    assert (predict(PreparedCircuit(circuit), table, n_threads) == circuit.evaluate(table)).all()
"""
    environment = {
        **os.environ,
        "PYTHONMALLOC": "debug",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
