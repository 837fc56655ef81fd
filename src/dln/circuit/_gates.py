"""The sixteen two-input Boolean functions, as one table.

A gate's index is its truth table: the outputs for (a, b) = 00, 01, 10, 11, read as a four-bit number.
So ``GATES[1]`` is AND (0001), ``GATES[7]`` is OR (0111) and ``GATES[6]`` is XOR (0110).

On real numbers in [0, 1] every gate is the polynomial ``c0 + c1*a + c2*b + c3*a*b``
(AND is ``a*b``, OR is ``a + b - a*b``), so a mixture of gates is one such polynomial too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Bools: TypeAlias = npt.NDArray[np.bool_]

# The cost of XOR and XNOR is three basic operations, of the other true two-input gates one; NOT, pass and
# constants are free (the paper's cost model).
_XOR_COST: Final = 3


FALSE, AND, A_AND_NOT_B, A, NOT_A_AND_B, B, XOR, OR = range(8)
NOR, XNOR, NOT_B, A_OR_NOT_B, NOT_A, NOT_A_OR_B, NAND, TRUE = range(8, 16)


class Form(NamedTuple):
    """A gate as one of FALSE, TRUE, A, B, AND, OR and XOR, of inputs that may be negated."""

    join: int
    not_a: bool = False
    not_b: bool = False


@dataclass(frozen=True, slots=True)
class GateKind:
    """One of the sixteen two-input Boolean functions.

    Its `form` has the negations at the inputs: NOR is the AND of both negated, XNOR the XOR of ``not a`` and b.

    >>> GATES[1].name, GATES[1].truth, GATES[1].coefficients
    ('AND', (0, 0, 0, 1), (0, 0, 0, 1))
    """

    index: int
    name: str
    cost: int
    form: Form

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
    GateKind(FALSE, "FALSE", 0, Form(FALSE)),
    GateKind(AND, "AND", 1, Form(AND)),
    GateKind(A_AND_NOT_B, "A AND NOT B", 1, Form(AND, not_b=True)),
    GateKind(A, "A", 0, Form(A)),
    GateKind(NOT_A_AND_B, "NOT A AND B", 1, Form(AND, not_a=True)),
    GateKind(B, "B", 0, Form(B)),
    GateKind(XOR, "XOR", _XOR_COST, Form(XOR)),
    GateKind(OR, "OR", 1, Form(OR)),
    GateKind(NOR, "NOR", 1, Form(AND, not_a=True, not_b=True)),
    GateKind(XNOR, "XNOR", _XOR_COST, Form(XOR, not_a=True)),
    GateKind(NOT_B, "NOT B", 0, Form(B, not_b=True)),
    GateKind(A_OR_NOT_B, "A OR NOT B", 1, Form(OR, not_b=True)),
    GateKind(NOT_A, "NOT A", 0, Form(A, not_a=True)),
    GateKind(NOT_A_OR_B, "NOT A OR B", 1, Form(OR, not_a=True)),
    GateKind(NAND, "NAND", 1, Form(OR, not_a=True, not_b=True)),
    GateKind(TRUE, "TRUE", 0, Form(TRUE)),
)

#: ``(16, 4) float32``: row k holds the polynomial coefficients of gate k.
COEFFICIENTS: Final[npt.NDArray[np.float32]] = np.array([g.coefficients for g in GATES], dtype=np.float32)

#: Gates in the order in which a neuron's candidates are taken: the first eight are NOR, NAND, XOR, XNOR, OR, AND, A, B.
CANDIDATE_ORDER: Final = (NOR, NAND, XOR, XNOR, OR, AND, A, B, NOT_A, NOT_B, A_OR_NOT_B, NOT_A_OR_B, A_AND_NOT_B,
                          NOT_A_AND_B, FALSE, TRUE)  # fmt: skip


_JOINED: Final[dict[int, Callable[[Bools, Bools], Bools]]] = {
    FALSE: lambda a, _: np.zeros_like(a),
    TRUE: lambda a, _: np.ones_like(a),
    A: lambda a, _: a,
    B: lambda _, b: b,
    AND: lambda a, b: a & b,
    OR: lambda a, b: a | b,
    XOR: lambda a, b: a ^ b,
}


def gate_values(index: int, a: Bools, b: Bools) -> Bools:
    """Return the outputs of a gate for inputs ``(n,)``.

    >>> gate_values(A_AND_NOT_B, np.array([False, True, True]), np.array([False, False, True])).tolist()
    [False, True, False]
    """
    form = GATES[index].form
    return _JOINED[form.join](~a if form.not_a else a, ~b if form.not_b else b)


def complement(index: int) -> int:
    """Return the gate that is 1 where this one is 0.

    >>> complement(AND) == NAND, complement(XOR) == XNOR
    (True, True)
    """
    return index ^ 15


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
