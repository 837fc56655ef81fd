"""Numbers and charts of a page: digits that matter, and positions of marks and labels, which templates draw as SVG.

Weights and predictions have all their digits, the rest the significant ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from dln.circuit._words import thousands
from dln.readers._frontier import Frontier
from dln.readers._intervals import USUAL, Intervals
from dln.report._effects import around
from dln.report._page_data import CardBand, NumberColumn, Scores

#: Largest number of digits after the point.
_MOST_DECIMALS: Final = 15
#: The plot of predicted against true.
_SIDE: Final = 480.0
_EDGE: Final = (88.0, 470.0)
#: A chart of a column, 320 wide: ranges of the line, of the histogram, and of both across.
LINE: Final = (20.0, 112.0)
_BARS: Final = (132.0, 160.0)
SIDES: Final = (8.0, 312.0)


class Tick(NamedTuple):
    """A position on an axis and its label."""

    at: float
    label: str


class Dot(NamedTuple):
    """A circle and its tooltip."""

    x: float
    y: float
    radius: float
    label: str = ""


def scatter_chart(scores: Scores, intervals: Intervals | None) -> dict[str, Any]:
    """Return predicted against true: dots sized by their numbers of rows, and the band of the 90 % interval."""
    low, high = scores.ends
    left, right = _EDGE
    across, up = scale(low, high, left, right), scale(low, high, _SIDE - left, _SIDE - right)
    most = max((n_rows for _, _, n_rows in scores.cells), default=1)
    radii = [round(2.2 + 3.6 * math.sqrt((n - 1) / (most - 1)), 1) if most > 1 else 3.0 for _, _, n in scores.cells]
    band = ""
    if intervals is not None:
        edges = [edge for edge in intervals.scale.edges if low < edge < high]
        predicted = sorted([low, *edges, *(math.nextafter(edge, high) for edge in edges), high])
        lower, upper = (zip(end.tolist(), predicted, strict=True) for end in intervals.ends(predicted, USUAL))
        band = " ".join(f"{across(x)},{up(y)}" for x, y in [*lower, *reversed(list(upper))])
    numbers = ticks(low, high, 4)
    return {
        "x": [Tick(across(number), thousands(number)) for number in numbers],
        "y": [Tick(up(number), thousands(number)) for number in numbers],
        "dots": [Dot(across(x), up(y), radius) for (x, y, _), radius in zip(scores.cells, radii, strict=True)],
        "tenths": [Dot(across(tenth.true), up(tenth.predicted), 5.0) for tenth in scores.calibration],
        "band": band,
        "edge": _EDGE,
        "side": _SIDE,
    }


def effect_chart(column: NumberColumn) -> dict[str, Any]:
    """Return the prediction along a column: a staircase, cut-offs, and the upright bars of a histogram of the data."""
    low, high = column.ends
    across = scale(low, high, *SIDES)
    levels = sorted({column.averages[0], *column.averages})
    margin = (levels[-1] - levels[0]) * 0.06 or abs(levels[0]) * 0.1 or 1.0
    up = scale(levels[0] - margin, levels[-1] + margin, LINE[1], LINE[0])
    most = max(column.counts, default=0) or 1
    width = (SIDES[1] - SIDES[0]) / max(len(column.counts), 1)
    heights = [round((_BARS[1] - _BARS[0]) * count / most, 1) for count in column.counts]
    return {
        "line": _staircase(map(up, column.averages), map(across, column.cutoffs)),
        "x": [Tick(across(number), plain(number)) for number in ticks(low, high, 5)],
        "y": [Tick(up(level), thousands(level)) for level in (levels[0], levels[-1])],
        "bars": [
            {"x": round(SIDES[0] + k * width + 0.5, 1), "y": round(_BARS[1] - height, 1), "height": height}
            for k, height in enumerate(heights)
            if height
        ],
        "width": round(width - 1, 1),
        "cutoffs": [across(cutoff) for cutoff in column.cutoffs],
        "learned": None if column.learned is None else [across(end) for end in column.learned],
    }


def step_chart(bands: Sequence[CardBand]) -> dict[str, Any] | None:
    """Return the weights of a number column's bands, one step each, and where they are zero; None for categories."""
    steps = [(band.ends[1], band.weight) for band in bands if band.ends is not None]
    if len(steps) < 2:  # noqa: PLR2004 (a step has two sides)
        return None
    cutoffs, levels = [end for end, _ in steps[:-1]], [weight for _, weight in steps]
    low, high = around(cutoffs)
    across, up = scale(low, high, *SIDES), scale(min(0.0, *levels), max(0.0, *levels), 92.0, 14.0)
    return {
        "line": _staircase(map(up, levels), map(across, cutoffs)),
        "x": [Tick(across(number), plain(number)) for number in ticks(low, high, 5)],
        "y": [Tick(up(level), thousands(level)) for level in dict.fromkeys((min(levels), max(levels)))],
        "zero": up(0.0),
    }


def _staircase(heights: Iterable[float], steps: Iterable[float]) -> str:
    """Return the path of a line from side to side that goes to the next height at each step."""
    (first, last), levels = SIDES, list(heights)
    ends = [*(min(max(step, first), last) for step in steps), last]
    return f"M{first},{levels[0]}" + "".join(f"V{y}H{x}" for y, x in zip(levels, ends, strict=True))


def sizes_chart(frontier: Frontier) -> dict[str, Any] | None:
    """Return conditions against held-out R², or None if that of the model is not known."""
    own, width, height = frontier.own, 560.0, 260.0
    if own is None or own.r2 is None:
        return None
    points = [
        (point.max_conditions if point.conditions is None else point.conditions, point.r2, point)
        for point in frontier
        if point.r2 is not None
    ]
    known = [point for point in points if point[0] > 0]
    shares = [r2 for _, r2, _ in known] + ([] if frontier.ceiling is None else [frontier.ceiling])
    low, high = min(shares, default=0.0), max(shares, default=1.0)
    margin = (high - low) * 0.08 or 0.05
    low, high = low - margin, min(1.0, high + margin) if high <= 1.0 else high + margin
    largest = max((size for size, _, _ in known), default=1)
    across = scale(0.0, math.log(max(largest, 2)), 52.0, width - 14.0)
    up = scale(low, high, height - 34.0, 14.0)
    dots = [Dot(across(math.log(size)), up(r2), 3.0, f"{size}: {r2:.3f}") for size, r2, _ in known]
    powers = [number for number in (1, 2, 5, 10, 20, 50, 100, 200, 400, 800) if number <= largest]
    return {
        "points": [(size, r2, point.rules, point is own) for size, r2, point in points],
        "own_r2": own.r2,
        "more": frontier.worthwhile(),
        "best": frontier.ceiling,
        "line": " ".join(f"{dot.x},{dot.y}" for dot in dots),
        "dots": dots,
        "own": next((dot for dot, (_, _, point) in zip(dots, known, strict=True) if point is own), None),
        "x": [Tick(across(math.log(number)), str(number)) for number in powers],
        "y": [Tick(up(number), f"{number:.2f}") for number in ticks(low, high, 4)],
        "ceiling": None if frontier.ceiling is None else Tick(up(frontier.ceiling), f"{frontier.ceiling:.3f}"),
        "width": width,
        "height": height,
    }


# --- scales -----------------------------------------------------------------------------------------------------------


def scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Return the function that maps numbers from `low` to `high` to positions from `start` to `end`."""

    def position(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(start + share * (end - start), 1)

    return position


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return about n round numbers between two others."""
    if not high > low:
        return [low]
    rough = (high - low) / n
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((factor * power for factor in (1, 2, 2.5, 5, 10)), key=lambda size: abs(math.log(size / rough)))
    digits = max(0, 2 - math.floor(math.log10(step)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, digits) + 0.0 for k in range(first, last + 1)]


# --- numbers ----------------------------------------------------------------------------------------------------------


def points(value: float, decimals: int) -> str:
    """Return a weight or a prediction with all the digits of its grid."""
    if decimals > _MOST_DECIMALS or abs(value) >= 1e15:  # noqa: PLR2004 (digits that float64 has)
        return repr(value).replace("-", "−")
    return f"{value:,.{max(decimals, 0)}f}".replace("-", "−")


def signed(value: float, decimals: int) -> str:
    return points(value, decimals) if value < 0 else f"+{points(value, decimals)}"


def percent(share: float) -> str:
    """Return a share in percent, exact enough for rare things too."""
    hundredths = 100 * share
    if 0 < hundredths < 1 or 99 < hundredths < 100:  # noqa: PLR2004 (percent)
        return f"{min(max(hundredths, 0.1), 99.9):.1f}\u00a0%"
    return f"{hundredths:.0f}\u00a0%"


def unbroken(text: str) -> str:
    """Return a rule's words that go to a new line before a sign of comparison, never between it and its number."""
    return re.sub("([<>≤=≠]) ", "\\1\u00a0", text)


def plain(number: float) -> str:
    """Return a value of a column as rules print it: without a thousands separator, because it may be a year."""
    return thousands(number).replace(",", "")


def alike(value: float, size: float) -> str:
    """Return a number with the decimals that `size` has at three digits, so that columns of numbers align."""
    digits = max(0, 2 - math.floor(math.log10(size))) if 0 < size < math.inf else 0
    return f"{value:,.{min(digits, _MOST_DECIMALS)}f}".replace("-", "−")


def bar(value: float, ends: Sequence[float]) -> tuple[float, float, float]:
    """Return the start and the width of a bar and the position of zero, in percent of the range of `ends`."""
    low, high = ends
    span = (high - low) or 1.0
    zero, end = 100 * (0.0 - low) / span, 100 * (value - low) / span
    if math.isclose(zero, end):
        return round(zero, 1), 0.0, round(zero, 1)
    return round(min(zero, end), 1), round(abs(end - zero), 1), round(zero, 1)
