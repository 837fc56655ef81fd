"""The edge that says "this column lies in these blocks", in as few literals as it takes."""

from __future__ import annotations

from collections.abc import Sequence

from dln.circuit._circuit import Above, IsIn, IsMissing
from dln.circuit._graph import FALSE_EDGE, TRUE_EDGE
from dln.circuit.simplify._domain import Axis, CategoryAxis, EdgeAxis, NumberAxis
from dln.circuit.simplify._rewritable import RewritableGraph


def indicator(graph: RewritableGraph, axis: Axis, on: int, off: int) -> int:
    """Return an edge that is 1 on the blocks `on`, 0 on the blocks `off` (bit sets) and anything elsewhere."""
    if isinstance(axis, EdgeAxis):
        return {0: FALSE_EDGE, 1: axis.edge ^ 1, 2: axis.edge, 3: TRUE_EDGE}[on]
    return graph.all_of(indicator_terms(graph, axis, on, off))


def indicator_terms(graph: RewritableGraph, axis: Axis, on: int, off: int) -> list[int]:
    """Return edges whose AND is the indicator; an interval comes as its two ends, which other rules may share."""
    if isinstance(axis, EdgeAxis):
        return [indicator(graph, axis, on, off)]
    asked = [1 if on >> block & 1 else 0 if off >> block & 1 else None for block in range(axis.size)]
    missing = asked.pop() if axis.missing else None
    if isinstance(axis, NumberAxis):
        start, changes = _fewest_changes(asked, missing)
        terms = _interval(graph, [graph.literal(Above(axis.column, axis.cutoffs[j])) for j in changes], start)
    else:
        start, codes = _shorter_list(axis, asked, missing)
        terms = [graph.literal(IsIn(axis.column, codes)) ^ start if codes else FALSE_EDGE ^ start]
    # A missing value is above no cut-off and in no set, so it gets the value of the lowest block, or of all others.
    if missing is None or missing == start:
        return terms
    is_missing = graph.literal(IsMissing(axis.column))
    return [graph.either(graph.all_of(terms), is_missing)] if missing else [*terms, is_missing ^ 1]


def _fewest_changes(asked: Sequence[int | None], missing: int | None) -> tuple[int, list[int]]:
    """Return the value of the lowest block, and the cut-offs at which the value changes, as few as can be.

    >>> _fewest_changes([None, 1, None, 0], None), _fewest_changes([0, 1, 0], 0)
    ((1, [2]), (0, [0, 1]))
    """
    # Where nothing is asked of the lowest block, it may have the first value that is asked for, or that of missing.
    first = next((value for value in asked if value is not None), missing)
    starts = [start for start in (first, missing if asked[0] is None else None) if start is not None]
    paths = [(start, _changes(asked, start)) for start in starts]
    return min(paths, key=lambda path: len(path[1]) + (missing not in {None, path[0]}), default=(1, []))


def _changes(asked: Sequence[int | None], start: int) -> list[int]:
    changes = []
    value = start
    for j, wanted in enumerate(asked):
        if wanted not in {None, value}:
            value = 1 - value
            changes.append(j - 1)
    return changes


def _interval(graph: RewritableGraph, above: list[int], start: int) -> list[int]:
    """Return edges whose AND is `start` at first and changes above each cut-off."""
    nested = FALSE_EDGE
    for edge in reversed(above if start else above[1:]):
        nested = graph.both(edge, nested ^ 1)
    if start:
        return [nested ^ 1]
    # 0 … 1 … 0 …: above the first, and not (above the second, and not …)
    return [above[0], nested ^ 1] if above else [FALSE_EDGE]


def _shorter_list(axis: CategoryAxis, asked: Sequence[int | None], missing: int | None) -> tuple[int, tuple[int, ...]]:
    """Return the value of the categories that are not named, and the codes of those that are."""
    *groups, other = asked
    lists = [
        sorted(code for codes, value in zip(axis.groups, groups, strict=True) if value == wanted for code in codes)
        for wanted in (0, 1)
    ]
    if other is None:  # nothing is asked of the others: name the shorter list
        other = int(len(lists[0]) + (missing == 0) < len(lists[1]) + (missing == 1))
    return other, tuple(lists[1 - other])
