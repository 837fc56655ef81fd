"""The critical-difference diagram: models on a line of average ranks; a bar joins those that may be equal."""

from __future__ import annotations

import math

from dln_bench.report._figures import Figure, canvas, svg
from dln_bench.report._statistics import ALPHA, Verdict


def critical_difference(verdict: Verdict) -> Figure | None:
    """Let autorank draw the average ranks with the critical difference, where there is one."""
    if verdict.critical is None or verdict.ranked is None:
        return None
    import autorank

    # The height that autorank itself takes for so many names at this width.
    with canvas(9.0, 1.6 + 0.3 * math.ceil(verdict.models / 2)) as figure:
        ax = figure.subplots()
        autorank.plot_stats(verdict.ranked, allow_insignificant=True, ax=ax)
        picture = svg(figure)
    caption = (
        f"Average ranks over {verdict.datasets} datasets, 1 is the best. A bar joins models whose ranks differ by less "
        f"than the critical difference of {verdict.critical:.2f} (Friedman and Nemenyi, α = {ALPHA:g})."
    )
    return Figure("critical-difference", caption, picture)
