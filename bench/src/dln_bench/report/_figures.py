"""The figures: R² against operations, its spread over datasets, correlations of models.

A model has the same colour and marker everywhere; the paper's numbers are grey.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dln_bench.datasets import names
from dln_bench.models._models import MODELS, PAPER
from dln_bench.report import _paper
from dln_bench.report._scores import Entry, Scores, average
from dln_bench.report._tables import common, n_common

#: Paul Tol's muted colours for the baselines, stronger ones of Okabe and Ito for ours and its nearest peers.
STYLES: Final[Mapping[str, tuple[str, str]]] = {
    "linear": ("#88ccee", "o"),
    "ridge": ("#44aa99", "s"),
    "lasso": ("#117733", "D"),
    "knn": ("#999933", "v"),
    "tree": ("#ddcc77", "^"),
    "adaboost": ("#cc6677", "<"),
    "forest": ("#882255", ">"),
    "svr": ("#aa4499", "p"),
    "mlp": ("#332288", "h"),
    "dln": ("#0072b2", "*"),
    "rules": ("#d55e00", "P"),
    "lightgbm": ("#e69f00", "X"),
}
_PAPER: Final = "#b0b0b0"
_INK: Final = "#222222"
_LINES: Final = (":", "--", "-")
#: R² below this would squeeze everything else: the chart ends there.
_LOWEST_R2: Final = -0.1
_STYLE: Final[dict[Any, Any]] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],  # Verdana has the same widths
    "font.size": 10,
    "axes.edgecolor": "#5f6368",
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "svg.hashsalt": "dln",
    "svg.fonttype": "none",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture as SVG, with its caption."""

    name: str
    caption: str
    svg: str


def style(model: str) -> tuple[str, str]:
    """Return colour and marker of a model."""
    return STYLES[model]


def pareto(scores: Scores) -> Figure | None:
    """Draw mean R² against operations at the three budgets, with their frontiers, and the paper's at 128 trials."""
    points: dict[int, dict[str, tuple[float, float]]] = {}
    for budget in _paper.BUDGETS:
        entries = [entry for model in PAPER if scores.has(entry := scores.entry(model, budget))]
        found, n_shared = _points(scores, entries, "multiply"), n_common(scores, entries)
        if len(found) > 1:
            points[budget] = found
    if not points:
        return None
    last = points[max(points)]
    printed = {
        model: (
            average("ops", [_paper.table("ops")[model, name].mean for name in names()]),
            average("r2", [_paper.table("r2")[model, name].mean for name in names()]),
        )
        for model in PAPER
    }
    with canvas(9.0, 5.6) as (figure, ax):
        ax.set_xscale("log")
        ax.margins(x=0.12)
        for x, y in printed.values():
            ax.plot(x, y, "o", color="white", markeredgecolor=_PAPER, markersize=6, zorder=1)
        _frontier(ax, list(printed.values()), color=_PAPER, linestyle="-", label="the paper, 128 trials")
        for line, (budget, found) in zip(_LINES[-len(points) :], points.items(), strict=True):
            _frontier(ax, list(found.values()), color=_INK, linestyle=line, label=f"{budget} trials")
            for model, (x, y) in found.items():
                _point(ax, model, x, y, size=9 if found is last else 5)
        if "dln" in last:
            select = _points(scores, [scores.entry("dln", max(points))], "select")["dln"]
            ax.plot(*select, marker=style("dln")[1], color="white", markeredgecolor=style("dln")[0], markersize=10)
        ax.set_xlabel("operations of one prediction, reading multiply (geometric mean over datasets)")
        ax.set_ylabel("test R² (mean over datasets)")
        figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
        _label(figure, ax, {MODELS[model].title: point for model, point in last.items()}, list(printed.values()))
        picture = to_svg(figure)
    caption = (
        "Mean R² against operations at three budgets of search, with the Pareto frontiers; large markers: "
        f"{max(points)} trials, over the {n_shared} datasets that all have; hollow star: DLN under the reading select; "
        "grey: the paper's."
    )
    return Figure("pareto", caption, picture)


def _points(scores: Scores, entries: Sequence[Entry], cost: str) -> dict[str, tuple[float, float]]:
    """Return (cost, R²) by model over the datasets that all of them have."""
    accuracy, costs = common(scores, "r2", entries), common(scores, cost, entries)
    return {
        model: (max(average(cost, costs[model]), 1.0), average("r2", values))
        for model, values in accuracy.items()
        if values and len(costs[model]) == len(values)
    }


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


def boxes(scores: Scores) -> Figure | None:
    """Draw the spread of R² over datasets for each model, the paper's beside it in grey."""
    models = [*PAPER, "rules", "lightgbm"]
    entries = [entry for model in models if scores.has(entry := scores.entry(model))]
    blocks = common(scores, "r2", entries)
    if not any(blocks.values()):
        return None
    with canvas(max(6.0, 1.6 + 0.75 * len(blocks)), 4.8) as (figure, ax):
        for i, (model, values) in enumerate(blocks.items()):
            printed = [_paper.table("r2")[model, name].mean for name in names()] if model in PAPER else []
            shift = 0.19 if printed else 0.0
            _box(ax, values, i - shift, style(model)[0], width=0.34)
            if printed:
                _box(ax, printed, i + shift, _PAPER, width=0.22)
        ax.set_xticks(range(len(blocks)), [MODELS[model].title for model in blocks], rotation=35, ha="right")
        ax.set_ylabel("test R²")
        ax.set_xlim(-0.6, len(blocks) - 0.4)
        ax.set_ylim(max(ax.get_ylim()[0], _LOWEST_R2), 1.03)
        picture = to_svg(figure)
    caption = (
        f"R² over {n_common(scores, entries)} datasets (dots), each the mean over splits: median, quartiles, and the "
        "range up to 1.5 times their distance. Grey: the paper's, over fifteen."
    )
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


def correlations(scores: Scores) -> Figure | None:
    """Draw Pearson correlations of the models' R² over datasets, the paper's beside ours."""
    entries = [entry for model in PAPER if scores.has(entry := scores.entry(model))]
    blocks = common(scores, "r2", entries)
    if len(blocks) < 2 or len(next(iter(blocks.values()))) < 3:  # noqa: PLR2004 (two points always correlate)
        return None
    titles = [MODELS[model].title for model in blocks]
    printed = [[_paper.table("r2")[model, name].mean for name in names()] for model in blocks]
    matrices = {"ours": np.corrcoef(list(blocks.values())), "the paper": np.corrcoef(printed)}
    floor = np.floor(10 * min(matrix.min() for matrix in matrices.values())) / 10
    with canvas(2.8 + 0.9 * len(titles), 1.6 + 0.42 * len(titles), panels=2) as (figure, axes):
        for ax, (title, matrix) in zip(axes, matrices.items(), strict=True):
            image = ax.imshow(matrix, cmap="cividis", vmin=floor, vmax=1.0)
            ax.set_title(title, fontsize=10, loc="left")
            ax.set_xticks(range(len(titles)), titles, rotation=45, ha="right", rotation_mode="anchor", fontsize=9)
            ax.set_yticks(range(len(titles)), titles, fontsize=9)
            ax.grid(visible=False)
            for (row, column), value in np.ndenumerate(matrix):
                ink = "k" if value > (floor + 1) / 2 else "w"
                ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=ink)
        figure.colorbar(image, ax=list(axes), shrink=0.7, pad=0.03)
        picture = to_svg(figure)
    return Figure("correlations", "Pearson correlation of the models' R² over datasets.", picture)


def _frontier(ax: Any, points: Sequence[tuple[float, float]], **line: Any) -> None:
    ax.plot(*zip(*frontier(points), strict=True), drawstyle="steps-post", linewidth=1.2, zorder=3, **line)


def _point(ax: Any, model: str, x: float, y: float, size: float) -> None:
    color, marker = style(model)
    ax.plot(
        x, y, marker=marker, linestyle="none", color=color, markeredgecolor="white", markeredgewidth=0.5,
        markersize=1.5 * size if marker == "*" else size, zorder=4,
    )  # fmt: skip


def _label(
    figure: Any, ax: Any, points: Mapping[str, tuple[float, float]], others: Sequence[tuple[float, float]]
) -> None:
    """Write names beside their points, so that they cover neither points nor each other."""
    from adjustText import adjust_text

    figure.canvas.draw()  # settles the axes
    figure.set_layout_engine("none")
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
    texts = [ax.text(x, y, name, fontsize=9.5, zorder=3.5, bbox=box) for name, (x, y) in points.items()]
    xs, ys = zip(*(*points.values(), *others), strict=True)
    arrows = {"arrowstyle": "-", "color": _PAPER, "linewidth": 0.6}
    adjust_text(texts, xs, ys, ax=ax, expand=(1.2, 1.6), force_text=(0.4, 0.8), iter_lim=100, arrowprops=arrows)


@contextmanager
def canvas(width: float, height: float, panels: int = 1) -> Iterator[Any]:
    """Yield a figure in the report's style, outside of pyplot, with its axes."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context(_STYLE):
        figure = Canvas(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)  # measures text, whatever the user's own backend
        axes = figure.subplots(1, panels)
        for ax in np.ravel(axes):
            ax.grid(visible=True, color="#e6e6e6", linewidth=0.6, zorder=0)
            ax.set_axisbelow(True)
        yield figure, axes


def to_svg(figure: Any) -> str:
    """Return a figure's picture, the same for the same figure."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
