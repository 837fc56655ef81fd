"""Prices in basic logic operations (OPs), and the cost of a circuit.

An AND, OR, NAND or NOR of two bits is one operation, an XOR or XNOR three, NOT and wires are free. Arithmetic on
numbers is priced by the logic it takes, after the paper's cost model; `FLOAT16` is its table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from dln.circuit._circuit import Above, Circuit, IsIn
from dln.circuit._cone import cone
from dln.circuit._gates import GATES

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


@dataclass(frozen=True, slots=True)
class CircuitCost:
    """The cost of a circuit in basic logic operations, by part.

    `reading` is the price of a rule: ``"multiply"`` multiplies its weight by 0 or 1 and adds (1244 operations),
    ``"select"`` passes the weight or 0 and adds (140 operations).
    """

    n_thresholds: int
    n_category_bits: int
    n_missing_tests: int
    n_gates: int
    n_xor_gates: int
    n_rules: int
    category_gates: int
    reading: Reading = "multiply"

    @property
    def thresholds(self) -> int:
        """Operations of the comparisons ``x > c`` in use, on 16-bit numbers."""
        return self.n_thresholds * COMPARISON

    @property
    def categories(self) -> int:
        """Operations of the tests for a category or for a missing value."""
        return (self.n_category_bits + self.n_missing_tests) * CATEGORY_BIT + self.category_gates * GATE

    @property
    def gates(self) -> int:
        """Operations of the gates in use."""
        return (self.n_gates - self.n_xor_gates) * GATE + self.n_xor_gates * XOR_GATE

    @property
    def rules(self) -> int:
        """Operations of the weighted sum, in float16."""
        return self.n_rules * (MULTIPLY_ADD if self.reading == "multiply" else SELECT_ADD)

    @property
    def total(self) -> int:
        """All operations of one prediction."""
        return self.thresholds + self.categories + self.gates + self.rules

    def read(self, reading: Reading) -> CircuitCost:
        """Return the same cost under the other reading."""
        return replace(self, reading=reading)

    def __int__(self) -> int:
        return self.total

    def __str__(self) -> str:
        how = "multiply and add" if self.reading == "multiply" else "select and add"
        n_tests = self.n_category_bits + self.n_missing_tests
        n_plain = self.n_gates - self.n_xor_gates
        return aligned(
            ("thresholds", self.thresholds, f"{self.n_thresholds} × {COMPARISON} (compare, 16 bit)"),
            ("categories", self.categories, f"{n_tests} × {CATEGORY_BIT} + {self.category_gates} (test, or)"),
            ("gates", self.gates, f"{n_plain} × {GATE} + {self.n_xor_gates} × {XOR_GATE} (xor)"),
            ("rules", self.rules, f"{self.n_rules} × {self.rules // max(self.n_rules, 1)} ({how}, float16)"),
            ("total", self.total, f"logic operations, reading {self.reading!r}"),
        )


def aligned(*rows: tuple[str, int, str]) -> str:
    """Return lines of a name, a number of operations and a remark."""
    first, second = (max(len(str(row[i])) for row in rows) for i in range(2))
    return "\n".join(f"{name:<{first}}  {number:>{second}}  {remark}" for name, number, remark in rows)


def circuit_cost(circuit: Circuit, reading: Reading = "multiply") -> CircuitCost:
    """Return the cost of one prediction: nodes that no rule uses are free, nodes that several rules use count once."""
    n_literals = len(circuit.literals)
    used = cone(circuit, (rule.node for rule in circuit.rules))
    tests = {circuit.literals[node] for node in used if node < n_literals}
    prices = [GATES[circuit.gates[node - n_literals].kind].cost for node in used if node >= n_literals]
    sets = [test for test in tests if isinstance(test, IsIn)]
    return CircuitCost(
        n_thresholds=sum(isinstance(test, Above) for test in tests),
        n_category_bits=len({(test.column, code) for test in sets for code in test.codes}),
        n_missing_tests=len(tests) - len(sets) - sum(isinstance(test, Above) for test in tests),
        n_gates=sum(price > 0 for price in prices),
        n_xor_gates=sum(price == XOR_GATE for price in prices),
        n_rules=len(circuit.rules),
        category_gates=sum(len(test.codes) - 1 for test in sets),
        reading=reading,
    )
