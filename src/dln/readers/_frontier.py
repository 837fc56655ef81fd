"""The frontier: R² of models of fewer and of more conditions on held-out rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from dln.circuit._circuit import Circuit

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: More conditions are mentioned if they raise the validated R² by so much.
WORTH_A_WORD: Final = 0.005


@dataclass(frozen=True, slots=True)
class Point:
    """A size, and the best model found that keeps it.

    `max_conditions` is what was allowed, `conditions` and `rules` what the model took; `r2` is its validated R²: the
    share of the target's variance that it explains on held-out rows. Of sizes beyond the model's own only `r2` is
    known, and `circuit` is None.
    """

    max_conditions: int
    conditions: int | None
    rules: int | None
    r2: float | None
    circuit: Circuit | None = None
    support: tuple[float, ...] = ()
    """The share of training rows on which each rule of the circuit fires."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """Points from the smallest size to the largest, and the validated R² of the best model of any size that was found.

    >>> points = (Point(10, 9, 5, 0.71), Point(100, 98, 40, 0.883), Point(200, None, None, 0.891))
    >>> Frontier(points, ceiling=0.91)
    conditions  rules  validated R²
            10      5         0.710
           100     40         0.883
           200                0.891
    any number                0.910
    """

    points: tuple[Point, ...]
    ceiling: float | None = None

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, position: int) -> Point:
        return self.points[position]

    def __repr__(self) -> str:
        lines = ["conditions  rules  validated R²"]
        for point in self.points:
            rules = "" if point.rules is None else point.rules
            lines.append(f"{point.max_conditions:>10}  {rules:>5}  {share_text(point.r2):>12}")
        if self.ceiling is not None:
            lines.append(f"any number  {'':>5}  {share_text(self.ceiling):>12}")
        return "\n".join(lines)

    @property
    def own(self) -> Point | None:
        """The point of the model itself: the largest that has a circuit."""
        known = [point for point in self.points if point.circuit is not None]
        return known[-1] if known else None

    def worthwhile(self) -> Point | None:
        """Return the smallest of the larger sizes that is clearly better and near the best of them; None if none is."""
        own = self.own
        if own is None or own.r2 is None:
            return None
        larger = [(point.r2, point) for point in self.points if point.circuit is None and point.r2 is not None]
        worth = max((r2 for r2, _ in larger), default=own.r2)
        if worth < own.r2 + WORTH_A_WORD:
            return None
        enough = max(own.r2 + WORTH_A_WORD, worth - WORTH_A_WORD)
        return min((point for r2, point in larger if r2 >= enough), key=lambda point: point.max_conditions)

    def pick(self, max_conditions: int) -> Point:
        """Return the model of the largest size that has at most so many conditions."""
        if max_conditions < 0:
            message = f"max_conditions must be at least 0, got {max_conditions}"
            raise ValueError(message)
        known = [point for point in self.points if point.conditions is not None and point.circuit is not None]
        fitting = [point for point in known if (point.conditions or 0) <= max_conditions]
        if not fitting:
            smallest = min(point.conditions or 0 for point in known)
            message = f"the smallest model that is known has {smallest} conditions, got {max_conditions}"
            raise ValueError(message)
        return fitting[-1]

    def at_most(self, point: Point) -> Frontier:
        """Return the frontier of the model of a point: smaller models are kept, of larger ones only the worth."""
        n_kept = self.points.index(point) + 1
        larger = (replace(p, circuit=None, support=()) for p in self.points[n_kept:])
        return replace(self, points=(*self.points[:n_kept], *larger))

    def to_pandas(self) -> pd.DataFrame:
        """Return the frontier as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """Return the frontier as a polars DataFrame."""
        import polars as pl

        return pl.DataFrame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        names = ("max_conditions", "conditions", "rules", "r2")
        return {name: [getattr(point, name) for point in self.points] for name in names}


def share_text(r2: float | None) -> str:
    """Return R² in three digits; nothing where it is not known."""
    return "" if r2 is None else f"{r2:.3f}"
