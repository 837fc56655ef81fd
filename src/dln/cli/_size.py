"""How large a model is, and what other sizes are worth: in words, as a table, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from dln.readers._frontier import Frontier, share_text

if TYPE_CHECKING:
    from dln._regressor import CircuitRegressor

#: Differences below this are not seen in three digits.
_UNSEEN: Final = 0.0005


def frontier_of(model: CircuitRegressor) -> Frontier | None:
    """Return a model's frontier, or None where its file has none."""
    try:
        return model.frontier_
    except AttributeError:
        return None


def size_sentences(model: CircuitRegressor) -> list[str]:
    """Return what the model's conditions are worth, and what more of them would bring, as far as either is known."""
    frontier = frontier_of(model)
    own = None if frontier is None else frontier.own
    if frontier is None or own is None or own.r2 is None:
        return [f"{model.rules_.size_text}."]
    larger = [point for point in frontier if point.circuit is None and point.r2 is not None]
    best = max([own.r2, frontier.ceiling or own.r2, *(point.r2 or own.r2 for point in larger)])
    rest = (
        "as much as the best model found"
        if best < own.r2 + _UNSEEN
        else f"of {best:.3f} that the best model found reaches"
    )
    sentences = [f"{model.rules_.size_text} reach R² {own.r2:.3f} on held-out rows, {rest}."]
    more = frontier.worthwhile()
    if more is not None:
        size = more.max_conditions
        sentences.append(f"{size} conditions would reach {more.r2:.3f} (--max-conditions {size}).")
    return sentences


def frontier_table(frontier: Frontier) -> Table:
    """Return the frontier as a small table; the model itself is marked."""
    own = frontier.own
    table = Table(box=None, pad_edge=True, show_edge=False)
    for heading in ("conditions", "rules", "validated R²"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for point in frontier:
        size = point.max_conditions if point.conditions is None else point.conditions
        rules = "" if point.rules is None else str(point.rules)
        table.add_row(str(size), rules, share_text(point.r2), "this model" if point is own else "")
    if frontier.ceiling is not None:
        table.add_row("any number", "", share_text(frontier.ceiling), "the teachers")
    return table


def frontier_facts(model: CircuitRegressor) -> dict[str, Any] | None:
    """Return the frontier for machines."""
    frontier = frontier_of(model)
    if frontier is None:
        return None
    names = ("max_conditions", "conditions", "rules", "r2")
    return {
        "points": [
            {**{name: getattr(point, name) for name in names}, "can_be_pruned_to": point.circuit is not None}
            for point in frontier
        ],
        "best_found": frontier.ceiling,
    }
