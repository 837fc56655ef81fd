"""The geometry of charts: positions of marks and labels, which templates draw as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from dln.circuit._words import thousands
from dln.readers._intervals import USUAL, Intervals
from dln.report._effects import around
from dln.report._figures import plain
from dln.report._page_data import CardBand, Cell, NumberColumn, Scores, Sizes

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
    label: str


class Bar(NamedTuple):
    """An upright bar."""

    x: float
    y: float
    width: float
    height: float


class ScatterChart(NamedTuple):
    """Predicted against true: dots sized by their numbers of rows, and the band of the 90 % interval."""

    x: tuple[Tick, ...]
    y: tuple[Tick, ...]
    dots: tuple[Dot, ...]
    tenths: tuple[Dot, ...]
    band: str
    """Corners of the polygon, empty if there is none."""
    edge: tuple[float, float] = _EDGE
    side: float = _SIDE


def scatter_chart(scores: Scores, intervals: Intervals | None) -> ScatterChart:
    low, high = scores.ends
    left, right = _EDGE
    top, bottom = _SIDE - right, _SIDE - left
    across, up = Scale(low, high, left, right), Scale(low, high, bottom, top)
    most = max((cell.n_rows for cell in scores.cells), default=1)

    def dot(cell: Cell) -> Dot:
        radius = round(2.2 + 3.6 * math.sqrt((cell.n_rows - 1) / (most - 1)), 1) if most > 1 else 3.0
        return Dot(across(cell.true), up(cell.predicted), radius, "")

    band = ""
    if intervals is not None:
        edges = [edge for edge in intervals.scale.edges if low < edge < high]
        predicted = sorted([low, *edges, *(math.nextafter(edge, high) for edge in edges), high])
        lower, upper = (zip(end.tolist(), predicted, strict=True) for end in intervals.ends(predicted, USUAL))
        band = " ".join(f"{across(x)},{up(y)}" for x, y in [*lower, *reversed(list(upper))])
    numbers = ticks(low, high, 4)
    return ScatterChart(
        tuple(Tick(across(number), thousands(number)) for number in numbers),
        tuple(Tick(up(number), thousands(number)) for number in numbers),
        tuple(map(dot, scores.cells)),
        tuple(Dot(across(tenth.true), up(tenth.predicted), 5.0, "") for tenth in scores.calibration),
        band,
    )


class EffectChart(NamedTuple):
    """The prediction along a column: a staircase, cut-offs, and a histogram of the data."""

    line: str
    x: tuple[Tick, ...]
    y: tuple[Tick, ...]
    bars: tuple[Bar, ...]
    cutoffs: tuple[float, ...]
    learned: tuple[float, float] | None


def effect_chart(column: NumberColumn) -> EffectChart:
    low, high = column.ends
    across = Scale(low, high, *SIDES)
    levels = sorted({column.averages[0], *column.averages})
    margin = (levels[-1] - levels[0]) * 0.06 or abs(levels[0]) * 0.1 or 1.0
    up = Scale(levels[0] - margin, levels[-1] + margin, LINE[1], LINE[0])
    xs = [SIDES[0], *(min(max(across(cutoff), SIDES[0]), SIDES[1]) for cutoff in column.cutoffs), SIDES[1]]
    line = f"M{xs[0]},{up(column.averages[0])}"
    for level, end in zip(column.averages, xs[1:], strict=True):
        line += f"V{up(level)}H{end}"
    most = max(column.counts, default=0) or 1
    width = (SIDES[1] - SIDES[0]) / max(len(column.counts), 1)
    bars = []
    for k, count in enumerate(column.counts):
        height = round((_BARS[1] - _BARS[0]) * count / most, 1)
        bars.append(Bar(round(SIDES[0] + k * width + 0.5, 1), round(_BARS[1] - height, 1), round(width - 1, 1), height))
    learned = column.learned
    return EffectChart(
        line,
        tuple(Tick(across(number), plain(number)) for number in ticks(low, high, 5)),
        tuple(Tick(up(level), thousands(level)) for level in (levels[0], levels[-1])),
        tuple(bar for bar in bars if bar.height),
        tuple(across(cutoff) for cutoff in column.cutoffs),
        None if learned is None else (across(learned[0]), across(learned[1])),
    )


class StepChart(NamedTuple):
    """The weights of a column's bands, one step each, and where they are zero."""

    line: str
    x: tuple[Tick, ...]
    y: tuple[Tick, ...]
    zero: float


def step_chart(bands: Sequence[CardBand]) -> StepChart | None:
    """Return the chart of a number column's bands; None for categories."""
    steps = [(band.ends[1], band.weight) for band in bands if band.ends is not None]
    if len(steps) < 2:  # noqa: PLR2004 (a step has two sides)
        return None
    cutoffs, levels = [end for end, _ in steps[:-1]], [weight for _, weight in steps]
    low, high = around(cutoffs)
    across, up = Scale(low, high, *SIDES), Scale(min(0.0, *levels), max(0.0, *levels), 92.0, 14.0)
    line = f"M{SIDES[0]},{up(levels[0])}"
    for level, end in zip(levels, [*map(across, cutoffs), SIDES[1]], strict=True):
        line += f"V{up(level)}H{end}"
    x = tuple(Tick(across(number), plain(number)) for number in ticks(low, high, 5))
    y = tuple(Tick(up(level), thousands(level)) for level in dict.fromkeys((min(levels), max(levels))))
    return StepChart(line, x, y, up(0.0))


@dataclass(frozen=True, slots=True)
class SizesChart:
    """Conditions against held-out R²."""

    line: str
    dots: tuple[Dot, ...]
    own: Dot | None
    x: tuple[Tick, ...]
    y: tuple[Tick, ...]
    ceiling: Tick | None
    width: ClassVar = 560.0
    height: ClassVar = 260.0


def sizes_chart(sizes: Sizes) -> SizesChart:
    known = [point for point in sizes.points if point.conditions > 0]
    low, high = _share_range([point.r2 for point in known] + ([] if sizes.ceiling is None else [sizes.ceiling]))
    largest = max((point.conditions for point in known), default=1)
    across = Scale(1.0, float(max(largest, 2)), 52.0, SizesChart.width - 14.0, log=True)
    up = Scale(low, high, SizesChart.height - 34.0, 14.0)
    dots = [Dot(across(p.conditions), up(p.r2), 3.0, f"{p.conditions}: {p.r2:.3f}") for p in known]
    own = next((dot for dot, point in zip(dots, known, strict=True) if point.is_own), None)
    powers = [number for number in (1, 2, 5, 10, 20, 50, 100, 200, 400, 800) if number <= largest]
    return SizesChart(
        " ".join(f"{dot.x},{dot.y}" for dot in dots),
        tuple(dots),
        own,
        tuple(Tick(across(float(number)), str(number)) for number in powers),
        tuple(Tick(up(number), f"{number:.2f}") for number in ticks(low, high, 4)),
        None if sizes.ceiling is None else Tick(up(sizes.ceiling), f"{sizes.ceiling:.3f}"),
    )


def _share_range(shares: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis for values of R², with a margin beyond them, but none above 1."""
    low, high = min(shares, default=0.0), max(shares, default=1.0)
    margin = (high - low) * 0.08 or 0.05
    return low - margin, min(1.0, high + margin) if high <= 1.0 else high + margin


# --- scales -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps numbers from `low` to `high` to positions from `start` to `end`, by their logarithms if `log` is set."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, value = map(math.log, (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


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
