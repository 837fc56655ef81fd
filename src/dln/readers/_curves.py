"""Rules that read one column only, added up to the column's curve: bands of values, each with one weight."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dln.circuit._circuit import MISSING, UNKNOWN, Above, Circuit, Values, from_grid
from dln.circuit._formula import CategoryCondition, Condition, NumberCondition
from dln.circuit._graph import node_columns
from dln.circuit._words import formula_text

#: A column with so many rules of its own is read as a curve, unless it is asked for otherwise.
MIN_RULES: Final = 4


@dataclass(frozen=True, slots=True)
class Band:
    """Values of a column, in words and as a condition, and the sum of the weights of the rules that hold for them."""

    text: str
    weight: float
    condition: Condition


@dataclass(frozen=True, slots=True)
class Curve:
    """The bands of a column in order, and the indices of the rules that they add up; `column` is its index."""

    column: int
    rules: tuple[int, ...]
    bands: tuple[Band, ...]


def column_cutoffs(literals: Sequence[object]) -> dict[int, tuple[float, ...]]:
    cutoffs: dict[int, set[float]] = {}
    for literal in literals:
        if isinstance(literal, Above):
            cutoffs.setdefault(literal.column, set()).add(literal.cutoff)
    return {j: tuple(sorted(of_column)) for j, of_column in cutoffs.items()}


def curves(circuit: Circuit) -> tuple[Curve, ...]:
    """Return the curve of each column that two or more rules read alone: exact for every value."""
    by_column: dict[int, list[int]] = {}
    for i, rule in enumerate(circuit.rules):
        if len(read := node_columns(circuit, rule.node)) == 1:
            by_column.setdefault(read[0], []).append(i)
    made = (Curve(j, tuple(own), _bands(circuit, j, own)) for j, own in by_column.items() if len(own) > 1)
    return tuple(curve for curve in made if curve.bands)  # rules that cancel out have none


def _bands(circuit: Circuit, j: int, rules: list[int]) -> tuple[Band, ...]:
    """Return the bands of a column: its rules are evaluated once in every block of values between their tests."""
    column = circuit.columns[j]
    cutoffs = column_cutoffs(circuit.literals).get(j, ())
    if column.categories is None:
        above = [math.nextafter(cutoffs[-1], math.inf)] if cutoffs else [0.0]
        values: Values = np.array([*cutoffs, *above, math.nan])  # "x > c" is strict: a cut-off ends its block
    else:
        values = np.array([*range(len(column.categories)), UNKNOWN, MISSING], dtype=np.int32)
    others = [np.nan if other.categories is None else np.int32(MISSING) for other in circuit.columns]
    table = [values if k == j else np.full(len(values), other) for k, other in enumerate(others)]
    fires = circuit.rule_values(table)
    steps = np.zeros(len(values))
    for i in rules:
        steps += fires[i] * float(circuit.grid(circuit.rules[i].weight))
    *levels, missing = from_grid(steps, circuit.decimals).tolist()
    conditions = _intervals(j, cutoffs, levels, missing) if column.categories is None else _sets(j, levels, missing)
    return tuple(Band(formula_text(condition, circuit.columns), weight, condition) for condition, weight in conditions)


def _intervals(
    j: int, cutoffs: tuple[float, ...], levels: list[float], missing: float
) -> Iterator[tuple[NumberCondition, float]]:
    """Yield intervals and their weights; neighbours of equal weight are one."""
    starts = [k for k in range(len(levels)) if k == 0 or levels[k] != levels[k - 1]]
    for start, end in zip(starts, [*starts[1:], len(levels)], strict=True):
        ends = (*cutoffs[max(start - 1, 0) : start], *cutoffs[end - 1 : end])
        low, like_missing = start == 0, missing == levels[0]
        if ends or not like_missing:
            yield NumberCondition(j, ends, low, missing=low and like_missing), levels[start]
    if missing != levels[0]:
        yield NumberCondition(j, (), low=False, missing=True), missing


def _sets(j: int, levels: list[float], missing: float) -> Iterator[tuple[CategoryCondition, float]]:
    """Yield sets of categories and their weights, the largest first; the last of the levels is that of any other."""
    *known, other = levels
    for level in sorted(set(levels), reverse=True):
        codes = tuple(code for code, weight in enumerate(known) if (weight == level) != (level == other))
        if codes or missing != level:
            yield CategoryCondition(j, codes, level == other, missing == level), level
    if missing not in levels:
        yield CategoryCondition(j, (), other=False, missing=True), missing
