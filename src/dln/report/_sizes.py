"""What models of other sizes are worth."""

from __future__ import annotations

from dln.circuit._words import counted
from dln.readers._frontier import Frontier
from dln.report._data import SizePoint, Sizes


def sizes(frontier: Frontier | None, n_conditions: int) -> Sizes | None:
    """Return the frontier as the page tells it, or None where it is not known."""
    own = None if frontier is None else frontier.own
    if frontier is None or own is None or own.r2 is None:
        return None
    points = tuple(
        SizePoint(
            point.max_conditions if point.conditions is None else point.conditions, point.rules, point.r2, point is own
        )
        for point in frontier
        if point.r2 is not None
    )
    return Sizes(points, frontier.ceiling, _sentence(frontier, own.r2, n_conditions))


def _sentence(frontier: Frontier, r2: float, n_conditions: int) -> str:
    sentence = f"This model's {counted(n_conditions, 'condition')} reach R² {r2:.3f} on rows not learned from"
    more = frontier.worthwhile()
    if more is None:
        return f"{sentence}; no larger model was clearly better."
    return f"{sentence}; {more.max_conditions} conditions would reach {more.r2:.3f}."
