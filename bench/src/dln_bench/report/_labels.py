"""Labels beside the points of a chart that cover neither points nor each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

#: Where a label may stand: directions, and distances from its point in font points; the nearest that is free wins.
_DIRECTIONS: Final = (
    (1, 0),
    (-1, 0),
    (0, 1),
    (0, -1),
    (1, 1),
    (-1, 1),
    (1, -1),
    (-1, -1),
    (0.5, 1),
    (-0.5, 1),
    (0.5, -1),
    (-0.5, -1),
)
_DISTANCES: Final = (8.0, 14.0, 22.0, 32.0, 44.0, 58.0, 74.0)
#: Half the side of the square that a point takes up, in font points.
_POINT: Final = 6.0
#: Half the width that a line takes up, in font points.
_LINE: Final = 2.0
#: From this distance on a thin line ties the label to its point.
_FAR: Final = 12

Box = tuple[float, float, float, float]


def place_labels(
    figure: Any,
    ax: Any,
    labels: Sequence[tuple[str, tuple[float, float]]],
    points: Sequence[tuple[float, float]],
    lines: Sequence[Any] = (),
    *,
    size: float = 9.5,
) -> None:
    """Write each label near its point; `points`, in the axes' own units, and drawn `lines` must stay visible."""
    figure.canvas.draw()  # settles the axes, whose place decides what is free
    renderer = figure.canvas.get_renderer()
    scale = figure.dpi / 72
    frame = _box(ax.get_window_extent(renderer))
    taken = [_around(ax.transData.transform(point), _POINT * scale) for point in points]
    for line in lines:
        taken.extend(_along(line, _LINE * scale))
    # The lonely first: their labels stand where everybody would expect them, and the crowded take what is left.
    spots = [np.asarray(ax.transData.transform(point)) for _, point in labels]
    for i in sorted(range(len(labels)), key=lambda each: -_loneliness(each, spots)):
        name, point = labels[i]
        text = ax.annotate(
            name,
            point,
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=size,
            ha="center",
            va="center",
            zorder=6,
            arrowprops={"arrowstyle": "-", "color": "#8c8c8c", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3},
        )
        extent = _box(text.get_window_extent(renderer))
        width, height = extent[2] - extent[0], extent[3] - extent[1]
        x, y = float(spots[i][0]), float(spots[i][1])
        best: tuple[float, float, float, float, Box] | None = None
        for far in _DISTANCES:
            for across, up in _DIRECTIONS:
                cx = x + across * (far * scale + width / 2)
                cy = y + up * (far * scale + height / 2)
                box = (cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2)
                cost = sum(_overlap(box, other) for other in taken) + 10 * _outside(box, frame)
                if best is None or cost < best[0] - 1e-6:
                    best = (cost, far, cx - x, cy - y, box)
            if best is not None and best[0] == 0:
                break
        if best is None:
            continue
        _, far, dx, dy, box = best
        text.set_position((dx / scale, dy / scale))
        if far < _FAR:
            text.arrow_patch.set_visible(False)
        taken.append(_grown(box, 1.5 * scale))


def _loneliness(one: int, spots: Sequence[Any]) -> float:
    others = (spot for i, spot in enumerate(spots) if i != one)
    return min((float(np.hypot(*(spots[one] - spot))) for spot in others), default=0.0)


def _box(extent: Any) -> Box:
    return float(extent.x0), float(extent.y0), float(extent.x1), float(extent.y1)


def _around(point: Any, half: float) -> Box:
    x, y = float(point[0]), float(point[1])
    return x - half, y - half, x + half, y + half


def _along(line: Any, half: float) -> list[Box]:
    """Return boxes that cover a drawn line, step by step as it is drawn."""
    path = line.get_path().transformed(line.get_transform())
    corners = np.asarray(path.vertices, dtype=np.float64)
    boxes: list[Box] = []
    if str(line.get_drawstyle()).startswith("steps") and len(corners) > 1:
        corners = np.repeat(corners, 2, axis=0)[:-1]
        corners[1::2, 0] = corners[2::2, 0]
    for start, end in pairwise(corners):
        steps = max(1, int(np.hypot(*(end - start)) / (2 * half)))
        boxes.extend(_around(spot, half) for spot in np.linspace(start, end, steps + 1))
    return boxes


def _grown(box: Box, by: float) -> Box:
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


def _overlap(one: Box, other: Box) -> float:
    """Return the area that two boxes share.

    >>> _overlap((0, 0, 2, 2), (1, 1, 3, 3)), _overlap((0, 0, 1, 1), (2, 2, 3, 3))
    (1, 0)
    """
    across = min(one[2], other[2]) - max(one[0], other[0])
    up = min(one[3], other[3]) - max(one[1], other[1])
    return max(across, 0) * max(up, 0)


def _outside(box: Box, frame: Box) -> float:
    """Return the area of a box that is outside the frame."""
    return (box[2] - box[0]) * (box[3] - box[1]) - _overlap(box, frame)
