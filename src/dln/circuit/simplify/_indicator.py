"""The edge that says "this column lies in these blocks", in as few literals as it takes."""

from __future__ import annotations

from dln.circuit._circuit import Above, IsIn, IsMissing
from dln.circuit.simplify._domain import Axis, CategoryAxis, EdgeAxis, NumberAxis
from dln.circuit.simplify._graph import FALSE_EDGE, TRUE_EDGE, Graph


def indicator(graph: Graph, axis: Axis, on: int, off: int) -> int:
    """Return an edge that is 1 on the blocks `on`, 0 on the blocks `off` (bit sets) and anything elsewhere."""
    if isinstance(axis, EdgeAxis):
        return {0: FALSE_EDGE, 1: axis.edge ^ 1, 2: axis.edge, 3: TRUE_EDGE}[on]
    return graph.all_of(indicator_terms(graph, axis, on, off))


def indicator_terms(graph: Graph, axis: Axis, on: int, off: int) -> list[int]:
    """Return edges whose AND is the indicator; an interval comes as its two ends, which other rules may share."""
    if isinstance(axis, EdgeAxis):
        return [indicator(graph, axis, on, off)]
    return _interval(graph, axis, on, off) if isinstance(axis, NumberAxis) else _set(graph, axis, on, off)


def _interval(graph: Graph, axis: NumberAxis, on: int, off: int) -> list[int]:
    n = len(axis.cutoffs) + 1
    wanted = [1 if on >> j & 1 else 0 if off >> j & 1 else None for j in range(n)]
    missing = (1 if on >> n & 1 else 0 if off >> n & 1 else None) if axis.missing else None
    # The lowest block is free: start with whichever value asks for fewer literals.
    starts = [wanted[0]] if wanted[0] is not None else [next((v for v in wanted if v is not None), missing), missing]
    best: tuple[int, int, list[int]] | None = None
    for start in starts:
        if start is None:
            continue
        changes = []
        value = start
        for j in range(1, n):
            if wanted[j] is not None and wanted[j] != value:
                value = 1 - value
                changes.append(j - 1)
        count = len(changes) + (missing is not None and missing != start)
        if best is None or count < best[0]:
            best = (count, start, changes)
    if best is None:
        return []
    _, start, changes = best
    above = [graph.literal(Above(axis.column, axis.cutoffs[j])) for j in changes]
    correct = missing is not None and missing != start
    is_missing = graph.literal(IsMissing(axis.column)) if correct else FALSE_EDGE
    if start == 0:
        # 0 … 1 … 0 …: above the first, and not (above the second, and not …)
        terms = [above[0], _nested(graph, above[1:]) ^ 1] if above else [FALSE_EDGE]
        return [graph.either(graph.all_of(terms), is_missing)] if correct else terms
    terms = [_nested(graph, above) ^ 1]
    return [*terms, is_missing ^ 1] if correct else terms


def _nested(graph: Graph, above: list[int]) -> int:
    result = FALSE_EDGE
    for edge in reversed(above):
        result = graph.both(edge, result ^ 1)
    return result


def _set(graph: Graph, axis: CategoryAxis, on: int, off: int) -> list[int]:
    n = len(axis.groups)
    other = 1 if on >> n & 1 else 0 if off >> n & 1 else None
    missing = (1 if on >> (n + 1) & 1 else 0 if off >> (n + 1) & 1 else None) if axis.missing else None
    inside = [code for j, codes in enumerate(axis.groups) if on >> j & 1 for code in codes]
    outside = [code for j, codes in enumerate(axis.groups) if off >> j & 1 for code in codes]
    if other is None:
        # Nothing is asked of the other categories: name the shorter list.
        other = int((len(outside) + (missing == 0)) < (len(inside) + (missing == 1)))
    named = sorted(outside if other else inside)
    edge = graph.literal(IsIn(axis.column, tuple(named))) ^ other if named else FALSE_EDGE ^ other
    if missing is None or missing == other:
        return [edge]
    is_missing = graph.literal(IsMissing(axis.column))
    return [graph.either(edge, is_missing)] if missing else [edge, is_missing ^ 1]
