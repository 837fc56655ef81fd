"""The size of a circuit: conditions that a person reads, and the cost of a prediction in basic logic operations (OPs).

A condition is a printed comparison. An AND, OR, NAND or NOR of two bits is one operation, an XOR or XNOR three, NOT and
wires are free. Arithmetic on numbers is priced by the logic it takes, after the paper's cost model; `FLOAT16` is its
table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from dln.circuit._circuit import Above, Circuit, IsIn
from dln.circuit._formula import AllOf, AnyOf, CategoryCondition, Formula, NumberCondition, OddOf, formula
from dln.circuit._gates import GATES
from dln.circuit._graph import cone
from dln.circuit._words import MAX_LITERALS_IN_TEXT, aligned, node_sizes

GATE: Final = 1
XOR_GATE: Final = 3
#: A test of one category bit, or of the bit that says "missing".
CATEGORY_BIT: Final = 3


class Prices(NamedTuple):
    """The price of one step of arithmetic, in basic logic operations."""

    equality: int
    comparison: int
    addition: int
    multiplication: int
    division: int
    logarithm: int


#: The formulas are in the tests: they count the gates of adders, comparators and multipliers.
FLOAT16: Final = Prices(63, 183, 124, 1120, 2360, 141_980)
COMPARISON: Final = FLOAT16.comparison
MULTIPLY_ADD: Final = FLOAT16.multiplication + FLOAT16.addition
#: A rule is 0 or 1, so its weight can be masked instead of multiplied: 16 ANDs, then an addition.
SELECT_ADD: Final = 16 * GATE + FLOAT16.addition

Reading = Literal["multiply", "select"]


class Part(NamedTuple):
    """A kind of operation: its operations in all, and how they are counted."""

    name: str
    operations: int
    remark: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one prediction in basic logic operations, by part: ``int`` of it is the total."""

    subject: str
    """The model's kind or, of a circuit, the reading of its rules' price."""
    parts: tuple[Part, ...]

    @property
    def total(self) -> int:
        """All operations of one prediction."""
        return sum(part.operations for part in self.parts)

    def __int__(self) -> int:
        return self.total

    def __str__(self) -> str:
        rows = [*self.parts, ("total", self.total, f"logic operations, {self.subject}")]
        return "\n".join(aligned([(name, str(number), remark) for name, number, remark in rows], left=1))


def circuit_cost(circuit: Circuit, reading: Reading = "multiply") -> Cost:
    """Return the cost of one prediction: nodes that no rule uses are free, nodes that several rules use count once.

    `reading` is the price of a rule: ``"multiply"`` multiplies its weight by 0 or 1 and adds (1244 operations),
    ``"select"`` passes the weight or 0 and adds (140 operations).
    """
    n_literals, n_rules = len(circuit.literals), len(circuit.rules)
    used = cone(circuit, (rule.node for rule in circuit.rules))
    tests = {circuit.literals[node] for node in used if node < n_literals}
    prices = [GATES[circuit.gates[node - n_literals].kind].cost for node in used if node >= n_literals]
    sets = [test for test in tests if isinstance(test, IsIn)]
    n_above = sum(isinstance(test, Above) for test in tests)
    n_bits = len({(test.column, code) for test in sets for code in test.codes}) + len(tests) - len(sets) - n_above
    n_or, n_xor = sum(len(test.codes) - 1 for test in sets), sum(price == XOR_GATE for price in prices)
    n_plain = sum(price > 0 for price in prices) - n_xor
    price, how = (MULTIPLY_ADD, "multiply") if reading == "multiply" else (SELECT_ADD, "select")
    n_operations = n_rules * price
    parts = (
        Part("thresholds", n_above * COMPARISON, f"{n_above} × {COMPARISON} (compare, 16 bit)"),
        Part("categories", n_bits * CATEGORY_BIT + n_or * GATE, f"{n_bits} × {CATEGORY_BIT} + {n_or} (test, or)"),
        Part("gates", n_plain * GATE + n_xor * XOR_GATE, f"{n_plain} × {GATE} + {n_xor} × {XOR_GATE} (xor)"),
        Part("rules", n_operations, f"{n_rules} × {n_operations // max(n_rules, 1)} ({how} and add, float16)"),
    )
    return Cost(f"reading {reading!r}", parts)


def count_conditions(circuit: Circuit) -> list[int]:
    """Return for every rule how many comparisons it prints.

    ``area > 120`` is one, ``18 < age ≤ 47`` two, ``region in {"a", "b"}`` one per category named, ``bmi is missing``
    one. A rule that is too long to print has as many as it has literals.
    """
    sizes = node_sizes(circuit)
    return [
        sizes[rule.node] if sizes[rule.node] > MAX_LITERALS_IN_TEXT else formula_conditions(formula(circuit, rule.node))
        for rule in circuit.rules
    ]


def formula_conditions(formula: Formula) -> int:
    """Return how many comparisons a formula prints."""
    match formula:
        case bool():
            return 0
        case NumberCondition(_, ends, low, missing):
            if not ends:
                return int(low != missing)
            # "x ≤ 3" speaks of missing values without a comparison of their own: see `number_pieces`.
            return len(ends) + int(missing and not low)
        case CategoryCondition(_, codes, other, missing):
            return max(1, len(codes) + int(missing != other)) if codes else 1
        case AllOf(parts) | AnyOf(parts) | OddOf(parts, _):
            return sum(map(formula_conditions, parts))
