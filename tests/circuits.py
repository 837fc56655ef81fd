"""Random circuits and tables for property-based tests, and tables that visit every case of a circuit.

>>> from hypothesis import given
>>> @given(circuits_with_tables())
... def test_something(pair):
...     circuit, table = pair
...     circuit.evaluate(table)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, IsMissing, Literal, Rule, Values, on_grid

#: Names that a careless reader of circuits breaks on.
HOSTILE_NAMES = (
    'say "hi"',
    "two\nlines",
    "<script>alert(1)</script>",
    "θ μέση",
    "🏠 price",
    "a_b^c{d}$%&#~\\",
    "tab\there",
    "and",
    "",
    "c" * 80,
)
_NAMES = ("age", "bmi", "region", "smoker", "x > 3", *HOSTILE_NAMES)
_CUTOFFS = (-1e9, -1.5, -1.0, 0.0, 0.1, 0.5, 1.0, 2.0, 2.5, 3.0, 30.01, 1e9, 5e-324)
_CATEGORIES: tuple[tuple[str | bool | int | float, ...], ...] = (
    ("no", "yes"),
    (False, True),
    (1, 2, 3),
    ("southeast", "southwest", "northeast", "northwest"),
    ('"', "<b>", "a\nb", "😀"),
    (0.5, 1.5, 2.5),
)


@st.composite
def columns(draw: st.DrawFn, max_columns: int = 4) -> tuple[Column, ...]:
    """Draw number and category columns, some with hostile names; two columns may share a name."""
    kinds = draw(st.lists(st.none() | st.sampled_from(_CATEGORIES), min_size=1, max_size=max_columns))
    return tuple(Column(draw(st.sampled_from(_NAMES)), categories) for categories in kinds)


@st.composite
def literals(draw: st.DrawFn, table_columns: tuple[Column, ...]) -> Literal:
    """Draw one literal over the given columns."""
    index = draw(st.integers(0, len(table_columns) - 1))
    categories = table_columns[index].categories
    if draw(st.integers(0, 5)) == 0:
        return IsMissing(index)
    if categories is None:
        return Above(index, draw(st.sampled_from(_CUTOFFS)))
    codes = draw(st.sets(st.integers(0, len(categories) - 1), min_size=1, max_size=draw(st.integers(1, 3))))
    return IsIn(index, tuple(sorted(codes)))


@st.composite
def circuits(
    draw: st.DrawFn, *, max_columns: int = 4, max_literals: int = 8, max_gates: int = 12, max_rules: int = 5
) -> Circuit:
    """Draw a circuit: all sixteen gates, shared and dead gates, equal literals, zero and negative weights."""
    table_columns = draw(columns(max_columns))
    tests = tuple(draw(st.lists(literals(table_columns), min_size=0, max_size=max_literals)))
    gates: list[Gate] = []
    if tests:
        for _ in range(draw(st.integers(0, max_gates))):
            node = st.integers(0, len(tests) + len(gates) - 1)
            gates.append(Gate(draw(st.integers(0, 15)), draw(node), draw(node)))
    decimals = draw(st.integers(-2, 6))
    weight = st.floats(-1e4, 1e4).map(lambda value: on_grid(value, decimals))
    rules: list[Rule] = []
    if tests:
        nodes = st.integers(0, len(tests) + len(gates) - 1)
        rules = [Rule(draw(nodes), draw(weight)) for _ in range(draw(st.integers(0, max_rules)))]
    return Circuit(table_columns, tests, tuple(gates), tuple(rules), draw(weight), decimals)


@st.composite
def tables(draw: st.DrawFn, circuit: Circuit, max_rows: int = 20) -> list[Values]:
    """Draw a table for a circuit: values on and just above its cut-offs, NaN, infinities, unknown categories."""
    n_rows = draw(st.integers(1, max_rows))
    return [
        np.array(draw(st.lists(st.sampled_from(choices), min_size=n_rows, max_size=n_rows)), dtype=choices.dtype)
        for choices in (_interesting_values(circuit, index) for index in range(len(circuit.columns)))
    ]


@st.composite
def circuits_with_tables(draw: st.DrawFn, max_rows: int = 20) -> tuple[Circuit, list[Values]]:
    """Draw a circuit and a table for it."""
    circuit = draw(circuits())
    return circuit, draw(tables(circuit, max_rows))


def every_case(circuits: Sequence[Circuit] | Circuit, max_rows: int = 50_000) -> list[Values]:
    """Return a table with every combination of cases that the circuits' literals distinguish.

    Circuits that agree on this table agree on every input. Where the combinations exceed `max_rows`, a fixed random
    sample of them.
    """
    together = [circuits] if isinstance(circuits, Circuit) else list(circuits)
    choices = [
        np.unique(np.concatenate([_interesting_values(circuit, index) for circuit in together]))
        for index in range(len(together[0].columns))
    ]
    if math.prod(map(len, choices)) <= max_rows:
        rows = list(itertools.product(*choices))
        return [np.array([row[i] for row in rows], dtype=values.dtype) for i, values in enumerate(choices)]
    rng = np.random.default_rng(0)
    return [rng.choice(values, max_rows) for values in choices]


def worst_step(circuit: Circuit, column: int, direction: int) -> float:
    """Return the largest step against the direction as a column rises, over every case of a circuit."""
    table = every_case(circuit, max_rows=200_000)
    predicted = direction * np.rint(circuit.evaluate(table) * 10.0**circuit.decimals)
    runs: dict[tuple[object, ...], list[tuple[float, float]]] = {}
    for i, row in enumerate(zip(*(values.tolist() for values in table), strict=True)):
        if not math.isnan(row[column]):
            rest = tuple("missing" if math.isnan(value) else value for j, value in enumerate(row) if j != column)
            runs.setdefault(rest, []).append((row[column], predicted[i]))
    steps = [np.diff([value for _, value in sorted(run)]) for run in runs.values()]
    return float(-np.concatenate(steps).min(initial=0.0))


def _interesting_values(circuit: Circuit, index: int) -> npt.NDArray[np.float64] | npt.NDArray[np.int64]:
    """Return the values of one column that matter to the circuit, a few more, and what should never be there."""
    categories = circuit.columns[index].categories
    if categories is not None:
        return np.arange(-2, len(categories))
    cutoffs = [test.cutoff for test in circuit.literals if isinstance(test, Above) and test.column == index]
    around = [around for cutoff in cutoffs for around in (cutoff, np.nextafter(cutoff, np.inf))]
    return np.unique(np.array([-np.inf, np.inf, np.nan, *around]))


def layered_circuit(
    seed: int,
    *,
    n_rules: int,
    layers: Sequence[int],
    n_columns: int = 12,
    thresholds: int = 10,
    n_categories: int = 4,
    all_gates: bool = False,
) -> Circuit:
    """Return a random circuit shaped like a trained network, with literals also feeding every later layer.

    A quarter of the columns hold categories; the gates are those a trained network may choose from.
    """
    rng = np.random.default_rng(seed)
    table_columns: list[Column] = []
    tests: list[Literal] = []
    for index in range(n_columns):
        if index % 4 == 3:
            table_columns.append(Column(f"c{index}", tuple(f"v{code}" for code in range(n_categories))))
            tests += [IsIn(index, (code,)) for code in range(n_categories)]
        else:
            table_columns.append(Column(f"x{index}"))
            tests += [Above(index, float(cut)) for cut in range(thresholds)]
            tests += [IsMissing(index)] if index % 4 == 1 else []
    kinds = range(16) if all_gates else (8, 14, 6, 9, 7, 1, 3, 5)
    gates: list[Gate] = []
    previous: list[int] = []
    for width in layers:
        choices = np.array(previous + list(range(len(tests))))
        start = len(tests) + len(gates)
        for _ in range(width):
            # Half the inputs come from the layer below, half from the literals, as the concatenated network has it.
            a, b = (int(rng.choice(previous if previous and rng.random() < 0.7 else choices)) for _ in range(2))
            gates.append(Gate(int(rng.choice(np.array(kinds))), a, b))
        previous = list(range(start, start + width))
    nodes = rng.choice(previous, n_rules, replace=n_rules > len(previous))
    weights = [on_grid(float(w), 3) for w in rng.normal(size=n_rules)]
    rules = tuple(Rule(int(node), weight) for node, weight in zip(nodes, weights, strict=True))
    return Circuit(tuple(table_columns), tuple(tests), tuple(gates), rules, 1.5, 3)
