"""The figures, in matplotlib: cost against accuracy, spread over datasets, likeness of models, seconds.

Colours are the same for a model everywhere and are told apart by people with any colour vision; names and markers say
the same again. The paper's numbers are grey.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dln_bench.report import _paper
from dln_bench.report._cells import plural, score
from dln_bench.report._common import Comparison, title
from dln_bench.report._tables import common_average

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Paul Tol's muted colours, and for our model and its nearest peers the stronger ones of Okabe and Ito.
COLORS: Final[Mapping[str, str]] = {
    "linear": "#88ccee",
    "ridge": "#44aa99",
    "lasso": "#117733",
    "knn": "#999933",
    "tree": "#ddcc77",
    "adaboost": "#cc6677",
    "forest": "#882255",
    "svr": "#aa4499",
    "mlp": "#332288",
    "dln-paper": "#0072b2",
    "dln-paper-3": "#003f63",
    "dln": "#d55e00",
    "lightgbm": "#e69f00",
    "lightgbm-default": "#f0c04a",
    "ebm": "#000000",
    "figs-100": "#009e73",
    "rulefit-100": "#56b4e9",
}
MARKERS: Final[Mapping[str, str | tuple[int, int, int]]] = {
    "linear": "o",
    "ridge": "s",
    "lasso": "D",
    "knn": "v",
    "tree": "^",
    "adaboost": "<",
    "forest": ">",
    "svr": "p",
    "mlp": "h",
    "dln-paper": "P",
    "dln-paper-3": (6, 1, 0),  # a star of six
    "dln": "*",
    "lightgbm": "X",
    "lightgbm-default": (4, 1, 45),  # a star of four points: the letters that are filled are used up
    "ebm": "d",
    "figs-100": "8",
    "rulefit-100": "H",
}
_OTHER: Final = "#777777"
_PAPER: Final = "#b0b0b0"
_PAPER_LINE: Final = "#8c8c8c"
_INK: Final = "#222222"
#: R² below this would squeeze everything else; the chart ends there and says so.
_LOWEST_R2: Final = -0.1
#: Characters of a name in a figure.
_MAX_NAME: Final = 24
#: Times that a person knows, in seconds.
_TICKS: Final = (0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 360_000)
#: R² that differ by less are equal but for rounding.
_SAME: Final = 1e-12
#: Columns from which on the numbers in a matrix are too small to read.
_MAX_NUMBERS: Final = 16

_STYLE: Final[dict[Any, Any]] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.edgecolor": "#5f6368",
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "svg.hashsalt": "dln",
    "svg.fonttype": "path",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture for the page, as SVG, with what it shows in words."""

    name: str
    caption: str
    svg: str


def color(model: str) -> str:
    """Return the colour of a model; one that the benchmark does not know is grey.

    >>> color("dln")
    '#d55e00'
    """
    return COLORS.get(model, _OTHER)


def short_title(model: str) -> str:
    r"""Return a model's name for a figure: not too long, and a dollar sign starts no formula.

    >>> print(short_title("dln"), short_title("$"), short_title("a model with quite a long name"))
    DLN (ours) \$ a model with quite a lo…
    """
    text = title(model)
    return (text if len(text) <= _MAX_NAME else f"{text[: _MAX_NAME - 1]}…").replace("$", r"\$")


def pareto(comparison: Comparison) -> Figure | None:
    """Draw mean R² against the geometric mean of operations, with the frontier; the paper's beside it in grey."""
    ours, paper = {}, {}
    for model in comparison.compared:
        accuracy, cost = common_average(comparison, "r2", model), common_average(comparison, "ops", model)
        if accuracy is None or cost is None:
            continue
        ours[model] = (max(cost.value, 1.0), accuracy.value)
        if accuracy.paper is not None and cost.paper is not None:
            paper[model] = (cost.paper, accuracy.paper)
    if not ours:
        return None
    with canvas(9.0, 5.6) as figure:
        ax = figure.subplots()
        ax.set_xscale("log")
        for model, (x, y) in paper.items():
            ax.plot([x, ours[model][0]], [y, ours[model][1]], color=_PAPER, linewidth=0.8, zorder=1)
            ax.plot(
                x,
                y,
                marker=MARKERS.get(model, "o"),
                linestyle="none",
                color="white",
                markeredgecolor=_PAPER_LINE,
                markersize=6,
                zorder=2,
            )
        if paper:
            _frontier(ax, list(paper.values()), color=_PAPER_LINE, linestyle="--", label="frontier of the paper's")
        _frontier(ax, list(ours.values()), color=_INK, linestyle="-", label="frontier of ours")
        for model, (x, y) in ours.items():
            size = 14 if model == "dln" else 9
            ax.plot(
                x, y, marker=MARKERS.get(model, "o"), linestyle="none", color=color(model), markeredgecolor="white",
                markeredgewidth=0.6, markersize=size, zorder=4,
            )  # fmt: skip
        ax.set_xlabel("logic operations per prediction (geometric mean over datasets)")
        ax.set_ylabel("test R² (mean over datasets)")
        ax.grid(visible=True, color="#e6e6e6", linewidth=0.6, zorder=0)
        ax.margins(x=0.12, y=0.1)
        if paper:
            ax.plot([], [], "o", color="white", markeredgecolor=_PAPER_LINE, label="the paper's, tied to ours")
        figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
        label(figure, ax, {short_title(model): point for model, point in ours.items()}, list(paper.values()))
        picture = svg(figure)
    over = f"{plural(len(comparison.common), 'dataset')}, {plural(comparison.trials, 'trial')}"
    caption = (
        f"Mean R² against the geometric mean of operations ({over}), with the Pareto frontiers: up and to the left is "
        f"better. Grey: the paper's ({_paper.TABLE_TRIALS} trials, the same datasets)."
    )
    return Figure("pareto", caption, picture)


def frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points (cost, accuracy) that no other point beats in one without losing in the other, by cost.

    >>> frontier([(1, 0.5), (2, 0.4), (3, 0.9), (3, 0.8)])
    [(1, 0.5), (3, 0.9)]
    """
    kept: list[tuple[float, float]] = []
    for cost, accuracy in sorted(set(points), key=lambda point: (point[0], -point[1])):
        if not kept or accuracy > kept[-1][1]:
            kept.append((cost, accuracy))
    return kept


def label(
    figure: Any, ax: Any, points: Mapping[str, tuple[float, float]], others: Sequence[tuple[float, float]] = ()
) -> None:
    """Write names beside their points, so that they cover neither points nor each other."""
    from adjustText import adjust_text
    from matplotlib.patheffects import withStroke

    figure.canvas.draw()  # settles the axes, whose place decides what is free
    figure.set_layout_engine("none")
    texts = [ax.text(x, y, name, fontsize=9.5, zorder=3.5) for name, (x, y) in points.items()]
    for text in texts:
        text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])  # lines may pass below a name
    xs, ys = zip(*(*points.values(), *others), strict=True)
    adjust_text(
        texts,
        xs,
        ys,
        ax=ax,
        expand=(1.2, 1.6),
        force_text=(0.4, 0.8),
        iter_lim=400,  # not seconds: the picture must not depend on the machine
        arrowprops={"arrowstyle": "-", "color": _PAPER_LINE, "linewidth": 0.6},
    )


def _frontier(ax: Any, points: Sequence[tuple[float, float]], **line: Any) -> None:
    kept = frontier(points)
    ax.plot(*zip(*kept, strict=True), drawstyle="steps-post", linewidth=1.2, zorder=3, **line)


def boxes(comparison: Comparison) -> Figure | None:
    """Draw the spread of R² over the common datasets for each model, the paper's beside it in grey."""
    if not comparison.common:
        return None
    datasets = list(comparison.common)
    stated = _paper.table("r2")
    low = 0
    with canvas(max(6.0, 1.6 + 0.75 * len(comparison.compared)), 4.8) as figure:
        ax = figure.subplots()
        for i, model in enumerate(comparison.compared):
            values = comparison.blocks("r2", [model])[model]
            paper = [stated[dataset, model].mean for dataset in datasets if (dataset, model) in stated]
            shift = 0.19 if paper else 0.0
            _box(ax, values, i - shift, color(model), width=0.34)
            if paper:
                _box(ax, paper, i + shift, _PAPER, width=0.22)
            low += sum(value < _LOWEST_R2 for value in values)
        ax.set_xticks(range(len(comparison.compared)), [short_title(model) for model in comparison.compared])
        ax.tick_params(axis="x", length=0)
        for tick in ax.get_xticklabels():
            tick.set(rotation=35, ha="right", rotation_mode="anchor")
        ax.set_ylabel("test R²")
        ax.grid(visible=True, axis="y", color="#e6e6e6", linewidth=0.6, zorder=0)
        ax.set_axisbelow(True)
        ax.set_xlim(-0.6, len(comparison.compared) - 0.4)
        bottom, top = ax.get_ylim()
        ax.set_ylim(max(bottom, _LOWEST_R2) if low else bottom, max(min(top, 1.03), bottom + 0.05))
        picture = svg(figure)
    caption = (
        f"R² over {plural(len(datasets), 'dataset')}, each the mean over seeds: box of the middle half, line at the "
        f"median, dots for datasets. Grey: the paper's on the same datasets."
    )
    if low:
        caption += f" {low} {'value is' if low == 1 else 'values are'} below {score(_LOWEST_R2)} and outside the chart."
    return Figure("boxes", caption, picture)


def _box(ax: Any, values: Sequence[float], x: float, fill: str, width: float) -> None:
    ax.boxplot(
        [values],
        positions=[x],
        widths=width,
        patch_artist=True,
        manage_ticks=False,
        showfliers=False,
        boxprops={"facecolor": fill, "alpha": 0.55, "edgecolor": fill},
        medianprops={"color": _INK, "linewidth": 1.4},
        whiskerprops={"color": fill},
        capprops={"color": fill},
    )
    offsets = np.linspace(-0.25, 0.25, len(values)) * width if len(values) > 1 else np.zeros(1)
    ax.plot(x + offsets, sorted(values), ".", color=fill, markersize=4, markeredgewidth=0, zorder=3)


def correlations(comparison: Comparison) -> Figure | None:
    """Draw how alike models are: the correlation of their R² over the common datasets, the paper's beside it."""
    if len(comparison.compared) < 2 or len(comparison.common) < 3:  # noqa: PLR2004 (two points always correlate)
        return None
    ours = _correlation(list(comparison.blocks("r2").values()))
    stated = _paper.table("r2")
    ten = [model for model in comparison.compared if model in _paper.MODELS.values()]
    panels = [
        (f"ours\n{plural(comparison.trials, 'trial')}", [short_title(model) for model in comparison.compared], ours)
    ]
    if len(ten) > 1:
        blocks = [[stated[dataset, model].mean for dataset in comparison.common] for model in ten]
        panels.append(
            (f"the paper\n{_paper.TABLE_TRIALS} trials", [short_title(model) for model in ten], _correlation(blocks))
        )
    lowest = min((float(value) for *_, matrix in panels for value in matrix[np.isfinite(matrix)]), default=0.9)
    floor = math.floor(10 * min(lowest, 0.9)) / 10
    sizes = [len(names) for _, names, _ in panels]
    with canvas(2.4 + 0.42 * sum(sizes) + 1.3 * (len(panels) - 1), 1.5 + 0.42 * max(sizes)) as figure:
        axes = figure.subplots(1, len(panels), squeeze=False, width_ratios=sizes)[0]
        for ax, (name, names, matrix) in zip(axes, panels, strict=True):
            ax.set_anchor("N")
            image = ax.imshow(matrix, cmap="cividis", vmin=floor, vmax=1.0)
            ax.set_title(name, fontsize=10, loc="left")
            ax.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor", fontsize=9)
            ax.set_yticks(range(len(names)), names, fontsize=9)
            ax.tick_params(length=0)
            ax.spines[:].set_visible(False)
            if len(names) <= _MAX_NUMBERS:
                _numbers(ax, matrix, (floor + 1.0) / 2)
        figure.colorbar(image, ax=list(axes), shrink=0.7, pad=0.03, label="Pearson correlation")
        picture = svg(figure)
    caption = f"Correlation of models' R² over the {len(comparison.common)} datasets in common."
    if np.isnan(ours).any():
        caption += " A model with the same R² on every dataset has none."
    return Figure("correlations", caption, picture)


def _numbers(ax: Any, matrix: Any, middle: float) -> None:
    for (row, column), value in np.ndenumerate(matrix):
        if np.isfinite(value):
            text = f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−").replace("0.", ".", 1)
            text = "1" if text == "1.00" else text
            ax.text(column, row, text, ha="center", va="center", fontsize=7.5, color="k" if value > middle else "w")


def _correlation(blocks: Sequence[Sequence[float]]) -> Any:
    """Return Pearson correlations; NaN for a model with the same value everywhere."""
    matrix = np.array(blocks, dtype=np.float64)
    constant = np.ptp(matrix, axis=1) < _SAME
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.asarray(np.corrcoef(matrix))
    found[constant, :] = found[:, constant] = np.nan
    return found


def seconds(comparison: Comparison) -> Figure | None:
    """Draw how long a unit took for each model: search and fit together."""
    told = [(model, one.seconds) for (_, model, _), one in comparison.results.items() if one.seconds > 0]
    taken = {
        model: values
        for model in comparison.models
        if (values := [max(seconds, 1e-3) for other, seconds in told if other == model])
    }
    if not taken:
        return None
    with canvas(7.6, 1.2 + 0.34 * len(taken)) as figure:
        ax = figure.subplots()
        ax.set_xscale("log")
        for i, (model, values) in enumerate(taken.items()):
            low, middle, high = np.percentile(values, [25, 50, 75])
            ax.plot([min(values), max(values)], [i, i], color=color(model), linewidth=1.2, solid_capstyle="butt")
            ax.plot([low, high], [i, i], color=color(model), linewidth=7, solid_capstyle="butt", alpha=0.55)
            ax.plot(middle, i, "o", color=color(model), markeredgecolor="white", markersize=8, zorder=3)
            ax.annotate(
                _duration(float(middle)), (max(values), i), xytext=(6, 0), textcoords="offset points", va="center",
                fontsize=9,
            )  # fmt: skip
        ax.set_yticks(range(len(taken)), [short_title(model) for model in taken])
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(taken) - 0.5, -0.5)
        smallest, largest = min(map(min, taken.values())), max(map(max, taken.values()))
        ax.set_xlim(smallest / 1.5, max(largest, smallest * 10) * 3.5)
        shown = [tick for tick in _TICKS if smallest / 1.5 <= tick <= max(largest, smallest * 10) * 3.5]
        ax.set_xticks(shown, [_duration(tick) for tick in shown])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("time per unit: search and fit (log scale)")
        ax.grid(visible=True, axis="x", color="#e6e6e6", linewidth=0.6, zorder=0)
        picture = svg(figure)
    caption = (
        f"Time per unit at {plural(comparison.trials, 'trial')}: dot and number at the median, thick line over the "
        f"middle half, thin line over all units. Units ran on {_machines(comparison)}, beside other work or not."
    )
    return Figure("seconds", caption, picture)


def _machines(comparison: Comparison) -> str:
    found = sorted({one.machine or "machines that were not told" for one in comparison.results.values()})
    return "; ".join(found)


def _duration(value: float) -> str:
    """Return a time for reading.

    >>> _duration(0.02), _duration(0.5), _duration(42), _duration(90), _duration(7300)
    ('20 ms', '0.5 s', '42 s', '1.5 min', '2 h')
    """
    if value < 0.1:  # noqa: PLR2004 (of a second)
        return f"{1000 * value:.3g} ms"
    for size, unit in ((3600, "h"), (60, "min"), (1, "s")):
        if value >= size or unit == "s":
            return f"{value / size:.2g} {unit}" if value / size < 100 else f"{value / size:.0f} {unit}"  # noqa: PLR2004 (two digits)
    raise AssertionError  # the loop ends with seconds


@contextmanager
def canvas(width: float, height: float) -> Iterator[Any]:
    """Give a figure in the report's style that no window or other thread knows of."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context(_STYLE):
        figure = Canvas(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)  # measures text, whatever the user's own backend
        yield figure


def svg(figure: Any) -> str:
    """Return a figure's picture, the same for the same figure."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
