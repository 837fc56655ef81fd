"""Charts in matplotlib: importance of columns, course of training, frontier of conditions against held-out R²."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from dln._errors import import_extra
from dln.circuit._words import name_text
from dln.readers._frontier import Frontier
from dln.readers._rules import Importances

_TRAINING: Final = "#1b5e9e"
_VALIDATION: Final = "#b3261e"
#: Columns shown in the chart of importances.
_MAX_BARS: Final = 30
#: Characters of a name beside a bar.
_MAX_NAME: Final = 40


def importance_chart(importances: Importances, ax: Any = None) -> Any:
    """Draw the importance of each column, the largest at the top; return the matplotlib axes."""
    shown = importances.rows[:_MAX_BARS]
    ax = _axes(ax, height=1.0 + 0.28 * len(shown))
    ax.barh(range(len(shown)), [row.importance for row in shown], color=_TRAINING, height=0.7)
    ax.set_yticks(range(len(shown)), [_plain(row.column) for row in shown])
    ax.invert_yaxis()
    ax.set_xlabel("importance")
    return _tidy(ax)


def history_chart(history: Mapping[str, Sequence[Any]], ax: Any = None) -> Any:
    """Draw training and validation loss by epoch, one line per network; return the matplotlib axes."""
    ax = _axes(ax)
    networks = np.asarray(history["network"])
    for network in dict.fromkeys(networks.tolist()):
        mine = [int(i) for i in np.flatnonzero(networks == network)]
        epochs = [history["epoch"][i] for i in mine]
        for name, color in (("training_loss", _TRAINING), ("validation_loss", _VALIDATION)):
            losses = [history[name][i] for i in mine]
            if all(loss is not None and np.isfinite(loss) for loss in losses):
                label = name.replace("_", " ") if network == networks[0] else None
                ax.plot(epochs, losses, color=color, linewidth=1.2, alpha=0.9, label=label)
    ax.set(xlabel="epoch", ylabel="loss", yscale="log")
    return _tidy(ax)


def frontier_chart(frontier: Frontier, ax: Any = None) -> Any:
    """Draw held-out R² by the number of conditions; return the matplotlib axes."""
    ax = _axes(ax)
    known = [(point.max_conditions, point.r2) for point in frontier if point.r2 is not None]
    ax.plot([size for size, _ in known], [r2 for _, r2 in known], ".-", color=_TRAINING)
    own = frontier.own
    if own is not None and own.r2 is not None:
        ax.plot([own.max_conditions], [own.r2], "o", color=_VALIDATION, label="this model")
    if frontier.ceiling is not None:
        ax.axhline(frontier.ceiling, color=_TRAINING, linewidth=0.8, linestyle=":", label="best model found")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="conditions", ylabel="held-out R²", ylim=(min([0.0, *(r2 for _, r2 in known)]), 1.0))
    return _tidy(ax, loc="lower right")


def _axes(ax: Any, height: float = 3.6) -> Any:
    if ax is not None:
        return ax
    plt = import_extra("matplotlib.pyplot", "a chart", "plot")
    return plt.subplots(figsize=(6.0, height), layout="constrained")[1]


def _tidy(ax: Any, **legend: Any) -> Any:
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, **legend)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _plain(name: str) -> str:
    """Return a name that matplotlib shows as it is: a dollar sign would start a formula."""
    text = name_text(name)
    return (text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 1] + "…").replace("$", r"\$")
