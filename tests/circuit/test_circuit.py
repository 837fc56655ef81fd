import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from circuits import circuits_with_tables
from dln._errors import CircuitError
from dln.circuit._circuit import (
    LARGEST_SUM,
    MAX_DECIMALS,
    MISSING,
    UNKNOWN,
    Above,
    Circuit,
    Column,
    Gate,
    IsIn,
    IsMissing,
    Rule,
    on_grid,
    to_grid,
)
from dln.circuit._gates import GATES

BMI, SMOKER = Column("bmi"), Column("smoker", ("no", "yes"))


def circuit(**changes):
    """Return a small valid circuit with some of its parts replaced."""
    parts = {
        "columns": (BMI, SMOKER),
        "literals": (Above(0, 30.0), IsIn(1, (1,)), IsMissing(0)),
        "gates": (Gate(1, 0, 1),),
        "rules": (Rule(3, 23900.0), Rule(2, 3120.5)),
        "intercept": 8410.0,
        "decimals": 1,
    }
    return Circuit(**(parts | changes))


def one_literal(literal, column=BMI):
    """Return the circuit whose prediction is the literal's value."""
    return circuit(columns=(column,), literals=(literal,), gates=(), rules=(Rule(0, 1.0),), intercept=0.0, decimals=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": ()}, "at least one column"),
        ({"decimals": MAX_DECIMALS + 1}, "decimals must lie in"),
        ({"decimals": -MAX_DECIMALS - 1}, "decimals must lie in"),
        ({"literals": (Above(2, 30.0),)}, "literal 0: column must be below 2, got 2"),
        ({"literals": (IsMissing(-1),)}, "literal 0: column must be below 2, got -1"),
        ({"literals": (Above(1, 30.0),)}, "literal 0: a cut-off needs a number column"),
        ({"literals": (IsIn(0, (1,)),)}, "literal 0: a category test needs a category column"),
        ({"literals": (Above(0, math.nan),)}, "literal 0: cut-off must be finite, got nan"),
        ({"literals": (Above(0, math.inf),)}, "literal 0: cut-off must be finite, got inf"),
        ({"literals": (IsIn(1, ()),)}, "literal 0: codes must be"),
        ({"literals": (IsIn(1, (2,)),)}, "literal 0: codes must be"),
        ({"literals": (IsIn(1, (MISSING,)),)}, "literal 0: codes must be"),
        ({"literals": (IsIn(1, (1, 0)),)}, "literal 0: codes must be"),
        ({"literals": (IsIn(1, (1, 1)),)}, "literal 0: codes must be"),
        ({"gates": (Gate(16, 0, 1),)}, "gate 0: kind must be one of 0 … 15, got 16"),
        ({"gates": (Gate(-1, 0, 1),)}, "gate 0: kind must be one of 0 … 15, got -1"),
        ({"gates": (Gate(1, 0, 3),)}, "gate 0: inputs must be literals or earlier gates"),
        ({"gates": (Gate(1, 4, 0), Gate(1, 0, 1))}, "gate 0: inputs must be literals or earlier gates"),
        ({"gates": (Gate(1, -1, 0),)}, "gate 0: inputs must be literals or earlier gates"),
        ({"rules": (Rule(4, 1.0),)}, "rule 0: node must be below 4, got 4"),
        ({"rules": (Rule(-1, 1.0),)}, "rule 0: node must be below 4, got -1"),
        ({"rules": (Rule(0, math.nan),)}, "rule 0: weight must be finite, got nan"),
        ({"rules": (Rule(0, -math.inf),)}, "rule 0: weight must be finite, got -inf"),
        ({"intercept": math.inf}, "intercept: weight must be finite, got inf"),
        ({"rules": (Rule(0, 0.25),)}, "rule 0: weight must have at most 1 decimals, got 0.25"),
        ({"intercept": 0.25}, "intercept: weight must have at most 1 decimals, got 0.25"),
        (
            {"rules": (Rule(0, 150.0),), "intercept": 0.0, "decimals": -2},
            "rule 0: weight must have at most -2 decimals",
        ),
        ({"rules": (Rule(0, 1e300),)}, "rule 0: weight 1e[+]300 is too large for a grid of 1 decimals"),
        ({"rules": (Rule(0, LARGEST_SUM / 20),) * 2}, "weights are too fine for their size"),
        ({"rules": (Rule(0, 1e308),) * 2, "intercept": 0.0, "decimals": -308}, "add up to more than a float can hold"),
    ],
)
def test_a_circuit_that_cannot_be_is_refused(changes, message):
    """Every kind of bad part raises `CircuitError` with one sentence that names the part."""
    with pytest.raises(CircuitError, match=message) as caught:
        circuit(**changes)
    assert "\n" not in str(caught.value)


def test_a_circuit_is_frozen():
    """A circuit cannot be changed once it is there."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        circuit().intercept = 0.0


def test_equal_circuits_are_equal():
    """Circuits are values: equal parts make equal circuits with equal hashes."""
    assert circuit() == circuit()
    assert hash(circuit()) == hash(circuit())
    assert circuit() != circuit(intercept=0.0)


def test_the_sum_of_the_rules_that_fire():
    """A prediction is the intercept plus the weights of the rules that fire."""
    columns = [np.array([35.0, 35.0, 20.0, np.nan]), np.array([1, 0, 1, 1])]
    assert circuit().evaluate(columns).tolist() == [32310.0, 8410.0, 8410.0, 11530.5]


def test_a_circuit_without_rules_is_its_intercept():
    """Without rules every row is predicted the intercept."""
    constant = circuit(literals=(), gates=(), rules=())
    assert constant.evaluate([np.zeros(3), np.zeros(3, dtype=int)]).tolist() == [8410.0] * 3


def test_cutoffs_are_strict():
    """A value equal to the cut-off is not above it; the next float is."""
    values = np.array([30.0, math.nextafter(30.0, math.inf), math.nextafter(30.0, -math.inf)])
    assert one_literal(Above(0, 30.0)).evaluate([values]).tolist() == [0.0, 1.0, 0.0]


def test_missing_numbers():
    """A missing number is above nothing, and is missing; infinities are ordinary numbers."""
    values = np.array([np.nan, 1.0, np.inf, -np.inf])
    assert one_literal(Above(0, -1e300)).evaluate([values]).tolist() == [0.0, 1.0, 1.0, 0.0]
    assert one_literal(IsMissing(0)).evaluate([values]).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_missing_and_unknown_categories():
    """A missing or unknown category is in no set of categories; only the missing one is missing."""
    codes = np.array([0, 1, MISSING, UNKNOWN])
    assert one_literal(IsIn(0, (0, 1)), SMOKER).evaluate([codes]).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert one_literal(IsMissing(0), SMOKER).evaluate([codes]).tolist() == [0.0, 0.0, 1.0, 0.0]


def test_float32_columns_are_not_rounded_to_the_cutoff():
    """A float32 value is compared with the cut-off itself, not with the cut-off rounded to float32."""
    below, above = 0.1, float(np.float32(0.1))
    assert above > below
    literal = one_literal(Above(0, below))
    assert literal.evaluate([np.array([0.1], dtype=np.float32)]).tolist() == [1.0]
    assert literal.evaluate([np.array([above])]).tolist() == [1.0]


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int64, np.float16, np.float32, np.float64])
def test_number_columns_of_any_dtype(dtype):
    """Numbers of any dtype are compared by value, and whole numbers are never missing."""
    values = np.array([0, 1], dtype=dtype)
    assert one_literal(Above(0, 0.5)).evaluate([values]).tolist() == [0.0, 1.0]
    assert one_literal(IsMissing(0)).evaluate([values]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n_rows", [0, 1, 2, 65])
def test_any_number_of_rows(n_rows):
    """An empty table gives no predictions, a table of n rows n, always float64."""
    predictions = circuit().evaluate([np.full(n_rows, 35.0), np.ones(n_rows, dtype=int)])
    assert predictions.dtype == np.float64
    assert predictions.tolist() == [32310.0] * n_rows


def test_a_wrong_number_of_columns():
    """A table of too few or too many columns is refused in one sentence."""
    with pytest.raises(CircuitError, match="reads 2 columns, but 1 were given"):
        circuit().evaluate([np.zeros(3)])


def test_columns_of_unequal_length():
    """Columns of unequal length are refused, also where numpy would stretch them."""
    with pytest.raises(CircuitError, match="equally many rows"):
        circuit().evaluate([np.zeros(3), np.zeros(1, dtype=int)])


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_gates_compute_their_truth_table(gate):
    """A gate in a circuit gives its truth table."""
    pairs = np.array(list(itertools.product((0.0, 1.0), repeat=2)))
    two = circuit(
        columns=(Column("a"), Column("b")),
        literals=(Above(0, 0.5), Above(1, 0.5)),
        gates=(Gate(gate.index, 0, 1),),
        rules=(Rule(2, 1.0),),
        intercept=0.0,
    )
    assert tuple(two.evaluate([pairs[:, 0], pairs[:, 1]])) == gate.truth


def test_negative_decimals():
    """With negative decimals the weights are multiples of a power of ten, and sums stay exact."""
    coarse = circuit(rules=(Rule(0, 1200.0), Rule(1, -300.0)), intercept=100.0, decimals=-2)
    assert coarse.evaluate([np.array([31.0, 0.0]), np.array([1, 1])]).tolist() == [1000.0, -200.0]


def test_decimals_are_not_lost_in_the_sum():
    """Ten times 0.1 is 1, because steps are summed and divided once."""
    ten = circuit(rules=(Rule(0, 0.1),) * 10, intercept=0.0)
    assert ten.evaluate([np.array([31.0]), np.array([0])]).tolist() == [1.0]


@given(circuits_with_tables(), st.randoms(use_true_random=False))
def test_the_order_of_the_rules_does_not_matter(drawn, random):
    """Whatever the order of its rules, a circuit predicts the same bits."""
    circuit, columns = drawn
    shuffled = list(circuit.rules)
    random.shuffle(shuffled)
    other = dataclasses.replace(circuit, rules=tuple(shuffled))
    assert other.evaluate(columns).tobytes() == circuit.evaluate(columns).tobytes()


@given(circuits_with_tables())
def test_rows_are_predicted_one_by_one(drawn):
    """The prediction of a row does not depend on the rows beside it."""
    circuit, columns = drawn
    together = circuit.evaluate(columns)
    alone = [circuit.evaluate([column[i : i + 1] for column in columns])[0] for i in range(len(together))]
    assert together.tolist() == alone
    assert np.isfinite(together).all()


@given(st.integers(-(2**49), 2**49), st.integers(-290, 290))
def test_the_grid_is_exact(steps, decimals):
    """A number of steps survives the way to a weight and back, and a weight on the grid stays where it is."""
    weight = on_grid(float(steps) * 10.0**-decimals, decimals)
    assert to_grid(weight, decimals) == steps
    assert on_grid(weight, decimals) == weight


@given(st.integers(-(2**49), 2**49), st.integers(-15, 15))
def test_weights_are_the_decimals_a_person_would_write(steps, decimals):
    """A weight on the grid is the float that Python reads from its decimal digits."""
    assert on_grid(float(f"{steps}e{-decimals}"), decimals) == float(f"{steps}e{-decimals}")
