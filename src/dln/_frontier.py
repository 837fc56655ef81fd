"""The frontier: how the error falls as rules are allowed, the best rules found for every number of them.

Two greedy paths are followed, one adding the rule that helps most, one dropping the rule that is missed least. Rules
of each small subset are exchanged for others while that helps; for each size the better subset is kept and its weights
are solved for again. Everything after one product of the rules
with themselves happens on that Gram matrix, so the number of rows hardly matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from dln._circuit import Circuit, Rule, on_grid
from dln._cone import without_dead
from dln._products import products

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Penalty of the weights as a share of a rule's mean variance: enough to solve for rules that nearly repeat each other.
PENALTY: Final = 1e-4
#: A rule whose variance given the chosen ones falls below this share of its own is a sum of them.
_DEPENDENT: Final = 1e-7
#: Every size up to this one is on the frontier, then steps of a tenth.
_EVERY_SIZE_UP_TO: Final = 40
#: Subsets up to this size are improved by exchanging rules, at most so many of them.
_EXCHANGE_UP_TO: Final = 100
_EXCHANGES: Final = 20


@dataclass(frozen=True, slots=True)
class Point:
    """A subset of the rules with its weights; errors are root mean squares in the target's units."""

    n_rules: int
    training_error: float
    validation_error: float | None
    intercept: float
    rules: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Frontier:
    """The best subsets found, from no rule to all of them.

    >>> rng = np.random.default_rng(0)
    >>> rules = rng.random((3, 200)) < 0.5
    >>> found = find_frontier(rules, 5.0 * rules[2] - 2.0 * rules[0] + 1.0)
    >>> [(point.n_rules, point.rules, round(point.training_error, 1)) for point in found]
    [(0, (), 2.7), (1, (2,), 1.0), (2, (0, 2), 0.0), (3, (0, 1, 2), 0.0)]
    """

    points: tuple[Point, ...]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, position: int) -> Point:
        return self.points[position]

    def __repr__(self) -> str:
        validated = any(point.validation_error is not None for point in self.points)
        lines = ["rules  training error" + ("  validation error" if validated else "")]
        for point in self.points:
            tail = "" if point.validation_error is None else f"  {point.validation_error:>16.6g}"
            lines.append(f"{point.n_rules:>5}  {point.training_error:>14.6g}{tail}")
        return "\n".join(lines)

    def pick(self, max_rules: int) -> Point:
        """Return the largest subset of at most so many rules."""
        if max_rules < 0:
            message = f"max_rules must be at least 0, got {max_rules}"
            raise ValueError(message)
        return max((point for point in self.points if point.n_rules <= max_rules), key=lambda point: point.n_rules)

    def within(self, point: Point) -> Frontier:
        """Return the points that use only the rules of a point, those rules numbered as `prune` leaves them."""
        place = {rule: i for i, rule in enumerate(point.rules)}
        inside = [other for other in self.points if set(other.rules) <= place.keys()]
        return Frontier(tuple(replace(other, rules=tuple(place[rule] for rule in other.rules)) for other in inside))

    def to_pandas(self) -> pd.DataFrame:
        """Return the frontier as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """Return the frontier as a polars DataFrame."""
        import polars as pl

        return pl.DataFrame(
            {name: list(map(list, c)) if c and isinstance(c[0], tuple) else c for name, c in self._columns().items()}
        )

    def _columns(self) -> dict[str, list[Any]]:
        return {field.name: [getattr(point, field.name) for point in self.points] for field in fields(Point)}


@dataclass(frozen=True, slots=True)
class _Problem:
    """Weighted least squares on centred rules."""

    means: Floats
    y_mean: float
    gram: Floats
    right: Floats
    total: float
    rows: float
    penalty: float

    def solve(self, chosen: list[int]) -> Floats:
        inner = self.gram[np.ix_(chosen, chosen)]
        return np.asarray(np.linalg.solve(inner + self.penalty * np.eye(len(chosen)), self.right[chosen]), np.float64)

    def squares(self, chosen: list[int], weights: Floats) -> float:
        inner = self.gram[np.ix_(chosen, chosen)]
        return max(self.total - 2 * float(weights @ self.right[chosen]) + float(weights @ inner @ weights), 0.0)


def find_frontier(
    rules: Bools,
    y: Floats,
    weight: Floats | None = None,
    *,
    validation: tuple[Bools, Floats, Floats | None] | None = None,
    sizes: Sequence[int] | None = None,
    also: int | None = None,
) -> Frontier:
    """Return the frontier of rules ``(n_rules, n) bool`` for a target ``(n,)``.

    `validation` holds the same rules on other rows, their target and their weights; `sizes` are the numbers of rules
    to look at, by default all up to 40 and then in steps of a tenth; `also` adds one size.
    """
    problem = _problem(rules, y, weight)
    n_rules = len(rules)
    forward = _forward(problem)
    backward = _backward(problem)
    asked = [*(_default_sizes(n_rules) if sizes is None else sizes), *([] if also is None else [also])]
    wanted = sorted({min(size, n_rules) for size in asked})
    points = []
    for size in wanted:
        best: tuple[float, list[int], Floats] | None = None
        for start in (forward[:size], backward[:size]):
            chosen = sorted(_exchanged(problem, start) if size <= _EXCHANGE_UP_TO else start)
            weights = problem.solve(chosen)
            squares = problem.squares(chosen, weights)
            if len(chosen) == size and (best is None or squares < best[0]):
                best = (squares, chosen, weights)
        assert best is not None  # noqa: S101 (the backward path has every size)
        squares, chosen, weights = best
        intercept = problem.y_mean - float(weights @ problem.means[chosen])
        error = None if validation is None else _error(validation, chosen, weights, intercept)
        training = float(np.sqrt(squares / problem.rows))
        points.append(Point(size, training, error, intercept, tuple(chosen), tuple(weights.tolist())))
    return Frontier(tuple(points))


def prune(circuit: Circuit, point: Point) -> Circuit:
    """Return the circuit with only the rules of a point of its frontier, in their order, and the point's weights."""
    decimals = circuit.decimals
    rules = [
        Rule(circuit.rules[i].node, on_grid(weight, decimals))
        for i, weight in zip(point.rules, point.weights, strict=True)
    ]
    intercept = on_grid(point.intercept, decimals)
    kept = Circuit(circuit.columns, circuit.literals, circuit.gates, tuple(rules), intercept, decimals)
    return without_dead(kept)


def _default_sizes(n_rules: int) -> list[int]:
    sizes = list(range(min(n_rules, _EVERY_SIZE_UP_TO) + 1))
    while sizes[-1] < n_rules:
        sizes.append(min(max(sizes[-1] + 1, round(sizes[-1] * 1.1)), n_rules))
    return sizes


def _problem(rules: Bools, y: Floats, weight: Floats | None) -> _Problem:
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    rows = float(weight.sum())
    y_mean = float(weight @ y) / rows
    centred = y - y_mean
    among, across = products(rules, weight, np.column_stack([np.ones(len(y)), centred]))
    means, right = across[:, 0] / rows, across[:, 1]
    gram = among - np.outer(means, means) * rows
    scale = float(np.trace(gram)) / max(len(gram), 1)
    penalty = PENALTY * scale if scale > 0 else 1.0
    return _Problem(means, y_mean, gram, right, float(weight @ centred**2), rows, penalty)


def _forward(problem: _Problem) -> list[int]:
    """Return the rules in the order in which each helps most, given those before: a pivoted Cholesky factorisation."""
    gram, n = problem.gram, len(problem.gram)
    diagonal = gram.diagonal() + problem.penalty
    smallest = _DEPENDENT * diagonal
    left, right = diagonal.copy(), problem.right.copy()
    factors = np.empty((n, n))
    order: list[int] = []
    for step in range(n):
        gains = np.where(left > smallest, right**2 / np.maximum(left, smallest), -1.0)
        gains[order] = -1.0
        best = int(np.argmax(gains))
        if gains[best] < 0:
            break
        column = gram[best] - factors[:step].T @ factors[:step, best]
        column[best] = left[best]
        column /= np.sqrt(left[best])
        right -= column * (right[best] / np.sqrt(left[best]))
        left -= column**2
        factors[step] = column
        order.append(best)
    return order


def _backward(problem: _Problem) -> list[int]:
    """Return the rules so that every beginning is what dropping the least missed rule, one by one, leaves."""
    n = len(problem.gram)
    names = np.arange(n)
    inverse = np.linalg.inv(problem.gram + problem.penalty * np.eye(n))
    weights = inverse @ problem.right
    alive = np.ones(n, dtype=np.bool_)
    dropped: list[int] = []
    for _ in range(n):
        loss = np.where(alive, weights**2 / np.maximum(inverse.diagonal(), np.finfo(np.float64).tiny), np.inf)
        worst = int(np.argmin(loss))
        column = inverse[:, worst].copy()
        weights -= column * (weights[worst] / column[worst])
        inverse -= np.outer(column, column / column[worst])
        alive[worst] = False
        dropped.append(int(names[worst]))
        if alive.sum() < len(alive) // 2:  # what is gone need not be carried along
            inverse, weights, names = inverse[np.ix_(alive, alive)], weights[alive], names[alive]
            alive = np.ones(len(names), dtype=np.bool_)
    return dropped[::-1]


def _exchanged(problem: _Problem, chosen: list[int]) -> list[int]:
    """Return the subset after exchanging one rule for another, the most helpful exchange first, while any helps."""
    chosen = list(chosen)
    outside = np.ones(len(problem.gram), dtype=np.bool_)
    outside[chosen] = False
    for _ in range(_EXCHANGES if chosen else 0):
        inverse = np.linalg.inv(problem.gram[np.ix_(chosen, chosen)] + problem.penalty * np.eye(len(chosen)))
        across = problem.gram[:, chosen] @ inverse
        weights = inverse @ problem.right[chosen]
        freed = 1.0 / inverse.diagonal()
        # What each rule outside would gain if one inside were gone, against what that one gains itself.
        right = problem.right - problem.gram[:, chosen] @ weights
        left = problem.gram.diagonal() + problem.penalty - (across * problem.gram[:, chosen]).sum(axis=1)
        smallest = _DEPENDENT * (problem.gram.diagonal() + problem.penalty)
        gains = (right[:, None] + across * (weights * freed)) ** 2
        gains /= np.maximum(left[:, None] + across**2 * freed, smallest[:, None])
        gains -= weights**2 * freed
        gains[~outside] = 0.0
        incoming, place = (int(i) for i in np.unravel_index(int(np.argmax(gains)), gains.shape))
        if gains[incoming, place] <= _DEPENDENT * problem.total:
            break
        outside[[chosen[place], incoming]] = True, False
        chosen[place] = incoming
    return chosen


def _error(
    validation: tuple[Bools, Floats, Floats | None], chosen: list[int], weights: Floats, intercept: float
) -> float:
    rules, y, weight = validation
    residual = y - intercept - weights @ rules[chosen]
    return float(np.sqrt(np.average(residual**2, weights=weight)))
