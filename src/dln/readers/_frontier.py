"""The frontier: R² of models of fewer and of more conditions on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import ClassVar, Final

from dln.circuit._circuit import Circuit, on_grid
from dln.readers._rules import Records

#: A larger size is mentioned if it raises the held-out R² by so much.
MIN_GAIN: Final = 0.005


@dataclass(frozen=True, slots=True)
class Point:
    """A size, the best model found that keeps it, its held-out R²; beyond the model's own size only `r2` is known."""

    max_conditions: int
    conditions: int | None
    rules: int | None
    r2: float | None
    circuit: Circuit | None = None
    support: tuple[float, ...] = ()
    """The share of training rows on which each rule of the circuit fires."""

    @property
    def can_be_pruned_to(self) -> bool:
        """Whether `prune` can return the model of this size."""
        return self.circuit is not None


@dataclass(frozen=True, slots=True)
class Frontier(Records[Point]):
    """Points from the smallest size to the largest, and the held-out R² of the best model found of any size."""

    rows: tuple[Point, ...]
    _names: ClassVar = ("max_conditions", "conditions", "rules", "r2", "can_be_pruned_to")
    ceiling: float | None = None

    def __repr__(self) -> str:
        own = self.own
        lines = ["conditions  rules  held-out R²"]
        for point in self.rows:
            rules = "" if point.rules is None else str(point.rules)
            mark = "  this model" if point is own else ""
            lines.append(f"{point.max_conditions:>10}  {rules:>5}  {_share(point.r2):>11}{mark}")
        if self.ceiling is not None:
            lines.append(f"{'no limit':>10}  {'':>5}  {_share(self.ceiling):>11}  best model found")
        return "\n".join(lines)

    @property
    def own(self) -> Point | None:
        """The point of the model itself: the largest that has a circuit."""
        return next((point for point in reversed(self.rows) if point.circuit is not None), None)

    def neighbours(self) -> list[Point]:
        """Return the next smaller and the next larger size whose held-out R² is known, as far as there are any."""
        known = [point for point in self.rows if point.r2 is not None]
        place = next((k for k, point in enumerate(known) if point is self.own), None)
        return [] if place is None else [*known[:place][-1:], *known[place + 1 :][:1]]

    def worthwhile(self) -> Point | None:
        """Return the smallest of the larger sizes that is clearly better and near the best of them; None if none is."""
        own = self.own
        if own is None or own.r2 is None:
            return None
        larger = [(point.r2, point) for point in self.rows if point.circuit is None and point.r2 is not None]
        best = max((r2 for r2, _ in larger), default=own.r2)
        if best < own.r2 + MIN_GAIN:
            return None
        enough = max(own.r2 + MIN_GAIN, best - MIN_GAIN)
        return min((point for r2, point in larger if r2 >= enough), key=lambda point: point.max_conditions)

    def pruned(self, max_conditions: int) -> Frontier:
        """Return the frontier of the largest model that has at most so many conditions.

        Below the smallest model the intercept alone is left: the mean prediction of that model.
        """
        if not isinstance(max_conditions, Integral) or max_conditions < 0:
            raise ValueError(f"max_conditions must be a whole number, at least 0, got {max_conditions!r}")
        sizes = {k: point.conditions or 0 for k, point in enumerate(self.rows) if point.circuit is not None}
        fitting = [k for k, size in sizes.items() if size <= max_conditions]
        n_kept = fitting[-1] + 1 if fitting else 0
        kept = self.rows[:n_kept] or (_intercept_alone(self.rows[min(sizes)]),)
        return replace(self, rows=(*kept, *(replace(p, circuit=None, support=()) for p in self.rows[n_kept:])))


def _intercept_alone(point: Point) -> Point:
    """Return the model without rules that predicts the mean of a model's predictions."""
    circuit = point.circuit
    assert circuit is not None  # noqa: S101 (only such points are pruned)
    mean = circuit.intercept + sum(
        rule.weight * share for rule, share in zip(circuit.rules, point.support, strict=False)
    )
    intercept = on_grid(mean, circuit.decimals)
    return Point(0, 0, 0, None, Circuit(circuit.columns, (), (), (), intercept, circuit.decimals))


def _share(r2: float | None) -> str:
    return "" if r2 is None else f"{r2:.3f}"
