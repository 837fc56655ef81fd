"""Number columns as scaled whole numbers, for machines without floating point.

A cut-off is a decimal number, so some power of ten makes all cut-offs of a column whole. The column's values are scaled
by the same power and rounded *up*: ``ceil(v) > n`` exactly where ``v > n``, for every whole n. A value is the decimal
number that it is printed as; of two floats the larger one prints as the larger decimal, so no row crosses a cut-off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from dln._errors import ExportError
from dln.circuit._circuit import Above
from dln.export._form import Form

#: Whole numbers are stored in as many bits.
SIZES: Final = (32, 64)


@dataclass(frozen=True, slots=True)
class Scaled:
    """A number column in steps of ``10**-decimals``, in so many bits; the most negative number means missing."""

    decimals: int
    cutoffs: dict[float, int]
    bits: int

    @property
    def missing(self) -> int:
        return -(1 << (self.bits - 1))

    @property
    def largest(self) -> int:
        return -self.missing - 1

    def value(self, number: float) -> int:
        """Return a number scaled, rounded up, and kept within bounds."""
        if math.isnan(number):
            return self.missing
        scaled = Decimal(repr(float(number))).scaleb(self.decimals)
        return math.ceil(min(max(scaled, Decimal(-self.largest)), Decimal(self.largest)))


def scaled_columns(form: Form, sizes: tuple[int, ...] = SIZES) -> dict[int, Scaled]:
    """Return the number columns that rules read, as scaled whole numbers in the smallest of the sizes that will do."""
    return {j: _scaled(form, j, sizes) for j, column in form.columns if column.categories is None}


def _scaled(form: Form, j: int, sizes: tuple[int, ...]) -> Scaled:
    cutoffs = sorted({lit.cutoff for lit in form.literals() if isinstance(lit, Above) and lit.column == j})
    exact = [Decimal(repr(cutoff)) for cutoff in cutoffs]
    exponents = [exponent for number in exact if isinstance(exponent := number.normalize().as_tuple().exponent, int)]
    decimals = max(0, -min(exponents, default=0))
    whole = [int(number.scaleb(decimals)) for number in exact]
    # One step is left above the largest cut-off, for values beyond it.
    needed = max((abs(number) + 2 for number in whole), default=0)
    for bits in sizes:
        if needed < 2 ** (bits - 1):
            return Scaled(decimals, dict(zip(cutoffs, whole, strict=True)), bits)
    raise ExportError(
        f"whole numbers of {sizes[-1]} bits cannot hold the cut-offs of column {form.circuit.columns[j].name!r}, which "
        f"go from {cutoffs[0]!r} to {cutoffs[-1]!r}: scale the column and fit again, or export with floating point"
    )
