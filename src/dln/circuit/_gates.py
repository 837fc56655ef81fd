"""The sixteen two-input Boolean functions, as one table.

A gate's index is its truth table: the outputs for (a, b) = 00, 01, 10, 11, read as a four-bit number.
So ``GATES[1]`` is AND (0001), ``GATES[7]`` is OR (0111) and ``GATES[6]`` is XOR (0110).

On real numbers in [0, 1] every gate is the polynomial ``c0 + c1*a + c2*b + c3*a*b``
(AND is ``a*b``, OR is ``a + b - a*b``), so a mixture of gates is one such polynomial too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

# The cost of XOR and XNOR is three basic operations, of the other true two-input gates one; NOT, pass and
# constants are free (the paper's cost model).
_XOR_COST: Final = 3


@dataclass(frozen=True, slots=True)
class GateKind:
    """One of the sixteen two-input Boolean functions.

    >>> GATES[1].name, GATES[1].truth, GATES[1].coefficients
    ('AND', (0, 0, 0, 1), (0, 0, 0, 1))
    """

    index: int
    name: str
    cost: int

    @property
    def truth(self) -> tuple[int, int, int, int]:
        """Outputs for (a, b) = 00, 01, 10, 11."""
        i = self.index
        return (i >> 3 & 1, i >> 2 & 1, i >> 1 & 1, i & 1)

    @property
    def coefficients(self) -> tuple[int, int, int, int]:
        """``(c0, c1, c2, c3)`` of the polynomial ``c0 + c1*a + c2*b + c3*a*b``."""
        t00, t01, t10, t11 = self.truth
        return (t00, t10 - t00, t01 - t00, t11 - t10 - t01 + t00)


GATES: Final[tuple[GateKind, ...]] = (
    GateKind(0, "FALSE", 0),
    GateKind(1, "AND", 1),
    GateKind(2, "A AND NOT B", 1),
    GateKind(3, "A", 0),
    GateKind(4, "NOT A AND B", 1),
    GateKind(5, "B", 0),
    GateKind(6, "XOR", _XOR_COST),
    GateKind(7, "OR", 1),
    GateKind(8, "NOR", 1),
    GateKind(9, "XNOR", _XOR_COST),
    GateKind(10, "NOT B", 0),
    GateKind(11, "A OR NOT B", 1),
    GateKind(12, "NOT A", 0),
    GateKind(13, "NOT A OR B", 1),
    GateKind(14, "NAND", 1),
    GateKind(15, "TRUE", 0),
)

FALSE, AND, A_AND_NOT_B, A, NOT_A_AND_B, B, XOR, OR = range(8)
NOR, XNOR, NOT_B, A_OR_NOT_B, NOT_A, NOT_A_OR_B, NAND, TRUE = range(8, 16)

#: ``(16, 4) float32``: row k holds the polynomial coefficients of gate k.
COEFFICIENTS: Final[npt.NDArray[np.float32]] = np.array([g.coefficients for g in GATES], dtype=np.float32)

#: Gates in the order in which a neuron's candidates are taken: the first eight are NOR, NAND, XOR, XNOR, OR, AND, A, B.
CANDIDATE_ORDER: Final = (NOR, NAND, XOR, XNOR, OR, AND, A, B, NOT_A, NOT_B, A_OR_NOT_B, NOT_A_OR_B, A_AND_NOT_B,
                          NOT_A_AND_B, FALSE, TRUE)  # fmt: skip


def complement(index: int) -> int:
    """Return the gate that is 1 where this one is 0.

    >>> complement(AND) == NAND, complement(XOR) == XNOR
    (True, True)
    """
    return index ^ 15


def swap_inputs(index: int) -> int:
    """Return the gate g with ``g(b, a) == gate(a, b)``.

    >>> swap_inputs(A_AND_NOT_B) == NOT_A_AND_B, swap_inputs(XOR) == XOR
    (True, True)
    """
    return (index & 0b1001) | (index & 0b0100) >> 1 | (index & 0b0010) << 1


def negate_a(index: int) -> int:
    """Return the gate g with ``g(a, b) == gate(not a, b)``.

    >>> negate_a(AND) == NOT_A_AND_B
    True
    """
    return (index & 0b0011) << 2 | index >> 2


def negate_b(index: int) -> int:
    """Return the gate g with ``g(a, b) == gate(a, not b)``.

    >>> negate_b(AND) == A_AND_NOT_B
    True
    """
    return (index & 0b0101) << 1 | (index & 0b1010) >> 1
