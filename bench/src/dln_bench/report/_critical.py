"""The critical-difference diagram: models on a line of average ranks; a bar joins those that may be equal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dln_bench.report._figures import Figure, canvas, color, short_title, svg
from dln_bench.report._statistics import ALPHA, Verdict

_LINE: Final = 0.36


def cliques(ranks: Sequence[float], critical: float) -> list[tuple[int, int]]:
    """Return runs of at least two sorted ranks that lie within the critical difference, none inside another.

    >>> cliques([1.0, 1.5, 3.0, 3.2], 1.6)
    [(0, 1), (1, 2), (2, 3)]
    >>> cliques([1.0, 1.5, 3.0, 3.2], 1.75)
    [(0, 1), (1, 3)]
    """
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(i for i in range(first, len(ranks)) if ranks[i] - ranks[first] <= critical)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def critical_difference(ranks: Mapping[str, float], verdict: Verdict) -> Figure | None:
    """Draw the average ranks with the critical difference, where there is one."""
    if verdict.critical is None or len(ranks) < 3:  # noqa: PLR2004 (two models have no critical difference)
        return None
    order = sorted(ranks, key=lambda model: (ranks[model], model))
    sorted_ranks = [ranks[model] for model in order]
    joined = cliques(sorted_ranks, verdict.critical)
    half = math.ceil(len(order) / 2)
    depth = 0.45 + 0.16 * len(joined)
    height = 1.3 + depth * 0.5 + _LINE * half
    with canvas(9.0, height) as figure:
        ax = figure.subplots()
        ax.set_axis_off()
        best, worst = 1, len(order)
        margin = 0.42 * (worst - best)
        ax.set_xlim(best - margin, worst + margin)
        ax.set_ylim(-(depth + half * _LINE + 0.1), 0.95)
        ax.plot([best, worst], [0, 0], color="#222222", linewidth=1.2)
        for rank in range(best, worst + 1):
            ax.plot([rank, rank], [0, 0.1], color="#222222", linewidth=1.0)
            ax.text(rank, 0.16, str(rank), ha="center", va="bottom", fontsize=9)
        _ruler(ax, best, verdict.critical)
        for i, (first, last) in enumerate(joined):
            y = -0.2 - 0.16 * i
            reach = 0.012 * (worst - best)
            ax.plot(
                [sorted_ranks[first] - reach, sorted_ranks[last] + reach], [y, y],
                color="#222222", linewidth=3.2, solid_capstyle="round", zorder=4,
            )  # fmt: skip
        for i, model in enumerate(order):
            left = i < half
            y = -(depth + _LINE * (i if left else len(order) - 1 - i))
            end = best - 0.06 * margin if left else worst + 0.06 * margin
            ax.plot(
                [ranks[model], ranks[model], end], [0, y, y], color=color(model), linewidth=1.4, solid_joinstyle="miter"
            )
            ax.plot(ranks[model], 0, "o", color=color(model), markersize=5, zorder=5)
            name, number = short_title(model), f"{ranks[model]:.2f}"
            text = f"{name}  {number}" if left else f"{number}  {name}"
            ax.text(
                end + (-0.03 if left else 0.03) * margin, y, text, ha="right" if left else "left", va="center",
                fontsize=10,
            )  # fmt: skip
        picture = svg(figure)
    caption = (
        f"Average ranks over {verdict.datasets} datasets, 1 is the best. A bar joins models whose ranks differ by less "
        f"than the critical difference of {verdict.critical:.2f} (Friedman and Nemenyi, α = {ALPHA:g})."
    )
    return Figure("critical-difference", caption, picture)


def _ruler(ax: Any, start: float, critical: float) -> None:
    """Draw how long the critical difference is."""
    ax.plot([start, start + critical], [0.66, 0.66], color="#222222", linewidth=1.2)
    for x in (start, start + critical):
        ax.plot([x, x], [0.6, 0.72], color="#222222", linewidth=1.2)
    ax.text(start + critical / 2, 0.75, f"critical difference {critical:.2f}", ha="center", va="bottom", fontsize=9)
