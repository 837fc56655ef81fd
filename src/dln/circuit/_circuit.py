"""The frozen circuit: what a model *is*.

A circuit is a sum of rules: ``prediction = intercept + Σ weight · [rule fires]``. A rule is a gate or a literal;
gates take literals and earlier gates; a literal is a test on one column. `Circuit.evaluate` is the definition of
meaning, in plain numpy: whatever else computes a prediction is tested against it.

Weights lie on a decimal grid, multiples of ``10**-decimals``. They are summed as whole numbers and divided once,
so a sum does not depend on the order of its terms, and the printed weight is the weight, digit for digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._errors import CircuitError
from dln.circuit._gates import GATES, gate_values

#: Codes of a category column: 0, 1, … index its categories.
MISSING: Final = -1
UNKNOWN: Final = -2

#: Sums of whole numbers below 2**53 are exact in float64; an eighth of it leaves a margin for rounding.
LARGEST_SUM: Final = 2**50

#: Powers of ten that float64 can hold.
MAX_DECIMALS: Final = 308

Category: TypeAlias = str | bool | int | float
#: One column of a table: numbers (NaN is missing), or int codes of a category column.
Values: TypeAlias = npt.NDArray[Any]
Bits: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Column:
    """An input column: a number, or a category with its known values in order."""

    name: str
    categories: tuple[Category, ...] | None = None
    whole_to: int | None = None
    """The largest number of a column that was learned from whole numbers from 0 up only: rules on it read `x = 0`."""
    seen: tuple[int, ...] | None = None
    """Fingerprints of all categories of the training table, those included that no rule names."""


@dataclass(frozen=True, slots=True)
class Above:
    """The literal ``column > cutoff``; 0 where the value is missing."""

    column: int
    cutoff: float


@dataclass(frozen=True, slots=True)
class IsIn:
    """The literal ``column in {categories}``; 0 where the value is missing or unknown."""

    column: int
    codes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IsMissing:
    """The literal ``column is missing``."""

    column: int


Literal: TypeAlias = Above | IsIn | IsMissing


@dataclass(frozen=True, slots=True)
class Gate:
    """A two-input gate; `a` and `b` are nodes: literals are 0 … L-1, gate i is node L+i."""

    kind: int
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A node that enters the sum, with its weight."""

    node: int
    weight: float


@dataclass(frozen=True, slots=True)
class Circuit:
    """A weighted sum of logic rules over tests on the columns of a table.

    Parameters
    ----------
    columns : tuple of Column
        The columns of the table, in order.
    literals : tuple of Above, IsIn or IsMissing
        Tests on one column each; these are nodes 0, 1, …
    gates : tuple of Gate
        Functions of two earlier nodes each; they are the nodes after the literals.
    rules : tuple of Rule
        The nodes that enter the sum, with their weights.
    intercept : float
        What the sum begins with.
    decimals : int
        Intercept and weights are multiples of ``10**-decimals``.

    Raises
    ------
    CircuitError
        If the parts do not fit together.

    Examples
    --------
    >>> circuit = Circuit(
    ...     columns=(Column("bmi"), Column("smoker", ("no", "yes"))),
    ...     literals=(Above(0, 30.0), IsIn(1, (1,))),
    ...     gates=(Gate(1, 0, 1),),
    ...     rules=(Rule(2, 23900.0), Rule(1, 3120.5)),
    ...     intercept=8410.0,
    ...     decimals=1,
    ... )
    >>> circuit
    prediction = 8410
      + 23900.0 · [bmi > 30 and smoker = "yes"]
      +  3120.5 · [smoker = "yes"]
    >>> circuit.evaluate([np.array([35.0, 35.0, np.nan]), np.array([1, 0, 1])])
    array([35430.5,  8410. , 11530.5])

    """

    columns: tuple[Column, ...]
    literals: tuple[Literal, ...]
    gates: tuple[Gate, ...]
    rules: tuple[Rule, ...]
    intercept: float
    decimals: int

    def __post_init__(self) -> None:
        _check(self)

    def __repr__(self) -> str:
        from dln.circuit._words import circuit_text  # words are a reader of the circuit; repr is their only way back

        return circuit_text(self)

    def evaluate(self, columns: Sequence[Values]) -> npt.NDArray[np.float64]:
        """Return the predictions for a table given column by column, ``(n_rows,) float64``."""
        self._check_columns(columns)
        total = np.full(len(columns[0]), float(self.grid(self.intercept)))
        for rule, fires in zip(self.rules, self.rule_values(columns), strict=True):
            total += fires * float(self.grid(rule.weight))
        return from_grid(total, self.decimals)

    def rule_values(self, columns: Sequence[Values]) -> list[Bits]:
        """Return where each rule fires, one ``(n_rows,) bool`` array per rule."""
        nodes = self.node_values(columns)
        return [nodes[rule.node] for rule in self.rules]

    def node_values(self, columns: Sequence[Values]) -> list[Bits]:
        """Return the value of every literal, then of every gate."""
        self._check_columns(columns)
        nodes = [literal_values(literal, columns[literal.column]) for literal in self.literals]
        for gate in self.gates:
            nodes.append(gate_values(gate.kind, nodes[gate.a], nodes[gate.b]))
        return nodes

    def simplify(self) -> Circuit:
        """Return a circuit with the same predictions on every input that costs no more and reads no longer."""
        from dln.circuit._simplify import simplify

        return simplify(self)

    def to_sympy(self) -> Any:
        """Return the circuit as a SymPy expression; needs the extra ``symbolic``."""
        from dln.readers._symbols import to_sympy

        return to_sympy(self)

    def to_latex(self, target: str = "prediction") -> str:
        """Return the circuit as a LaTeX formula, one rule per line."""
        from dln.readers._symbols import to_latex

        return to_latex(self, target)

    def grid(self, weight: float) -> int:
        """Return the weight as a whole number of grid steps of ``10**-decimals``."""
        return to_grid(weight, self.decimals)

    def _check_columns(self, columns: Sequence[Values]) -> None:
        if len(columns) != len(self.columns):
            message = f"the circuit reads {len(self.columns)} columns, but {len(columns)} were given"
            raise CircuitError(message)
        lengths = sorted({len(values) for values in columns})
        if len(lengths) > 1:
            # numpy would stretch a column of one row without a word.
            message = f"columns must have equally many rows, got {lengths}"
            raise CircuitError(message)


def literal_values(literal: Literal, values: Values) -> Bits:
    """Return where a literal holds, ``(n_rows,) bool``."""
    match literal:
        case Above(cutoff=cutoff):
            # A numpy float64 scalar, so that float32 columns are compared exactly and not rounded.
            return np.asarray(values > np.float64(cutoff))
        case IsIn(codes=codes):
            return np.isin(values, codes)
        case IsMissing():
            return np.isnan(values) if values.dtype.kind == "f" else np.asarray(values == MISSING)


def to_grid(weight: float, decimals: int) -> int:
    """Return the whole number k for which ``k / 10**decimals`` is nearest to `weight`."""
    scaled = weight * 10.0**decimals if decimals >= 0 else weight / 10.0**-decimals
    return round(scaled)


def from_grid(total: npt.NDArray[np.float64], decimals: int) -> npt.NDArray[np.float64]:
    """Return ``total / 10**decimals``, rounded once."""
    return total / 10.0**decimals if decimals >= 0 else total * 10.0**-decimals


def on_grid(weight: float, decimals: int) -> float:
    """Return the number of the decimal grid nearest to `weight`.

    >>> on_grid(23900.04, 1), on_grid(1234567.0, -2)
    (23900.0, 1234600.0)
    """
    return float(from_grid(np.float64(to_grid(weight, decimals)), decimals))  # type: ignore[arg-type]


def _check(circuit: Circuit) -> None:
    """Raise `CircuitError` unless every index, cut-off and weight of the circuit makes sense."""
    if not circuit.columns:
        _fail("a circuit needs at least one column")
    if not -MAX_DECIMALS <= circuit.decimals <= MAX_DECIMALS:
        _fail(f"decimals must lie in [-{MAX_DECIMALS}, {MAX_DECIMALS}], got {circuit.decimals}")
    for i, literal in enumerate(circuit.literals):
        _check_literal(i, literal, circuit.columns)
    n_literals = len(circuit.literals)
    for i, gate in enumerate(circuit.gates):
        if not 0 <= gate.kind < len(GATES):
            _fail(f"gate {i}: kind must be one of 0 … 15, got {gate.kind}")
        if not (0 <= gate.a < n_literals + i and 0 <= gate.b < n_literals + i):
            _fail(
                f"gate {i}: inputs must be literals or earlier gates (below {n_literals + i}), got {gate.a}, {gate.b}"
            )
    n_nodes = n_literals + len(circuit.gates)
    steps = _check_weight("intercept", circuit.intercept, circuit.decimals)
    for i, rule in enumerate(circuit.rules):
        if not 0 <= rule.node < n_nodes:
            _fail(f"rule {i}: node must be below {n_nodes}, got {rule.node}")
        steps += _check_weight(f"rule {i}", rule.weight, circuit.decimals)
    if steps >= LARGEST_SUM:
        _fail(
            f"weights are too fine for their size: they add up to {steps} steps of the grid, {LARGEST_SUM} is the limit"
        )
    if not math.isfinite(steps * 10.0**-circuit.decimals):
        _fail(f"weights must not add up to more than a float can hold, got {steps} times 1e{-circuit.decimals}")


def _check_literal(i: int, literal: Literal, columns: tuple[Column, ...]) -> None:
    if not 0 <= literal.column < len(columns):
        _fail(f"literal {i}: column must be below {len(columns)}, got {literal.column}")
    categories = columns[literal.column].categories
    if isinstance(literal, Above):
        if categories is not None:
            _fail(f"literal {i}: a cut-off needs a number column, but column {literal.column} holds categories")
        if not math.isfinite(literal.cutoff):
            _fail(f"literal {i}: cut-off must be finite, got {literal.cutoff}")
    elif isinstance(literal, IsIn):
        if categories is None:
            _fail(f"literal {i}: a category test needs a category column, but column {literal.column} holds numbers")
        codes = literal.codes
        if not codes or list(codes) != sorted(set(codes)) or codes[0] < 0 or codes[-1] >= len(categories):
            _fail(f"literal {i}: codes must be distinct, ascending and below {len(categories)}, got {codes}")


def _check_weight(what: str, weight: float, decimals: int) -> int:
    """Return the weight's size in steps of the grid."""
    if not math.isfinite(weight):
        _fail(f"{what}: weight must be finite, got {weight}")
    if not abs(weight) < LARGEST_SUM * 10.0**-decimals:
        _fail(f"{what}: weight {weight!r} is too large for a grid of {decimals} decimals")
    if on_grid(weight, decimals) != weight:
        _fail(f"{what}: weight must have at most {decimals} decimals, got {weight!r}")
    return abs(to_grid(weight, decimals))


def _fail(message: str) -> NoReturn:
    raise CircuitError(message)
