"""Charts in matplotlib: importance of columns, course of training, frontier of conditions against validated R²."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln._errors import import_extra
from dln.circuit._words import name_text
from dln.readers._frontier import Frontier

_TRAINING: Final = "#1b5e9e"
_VALIDATION: Final = "#b3261e"
#: Columns shown in the chart of importances.
_MAX_BARS: Final = 30
#: Characters of a name beside a bar.
_MAX_NAME: Final = 40


def importance_chart(names: Sequence[str], importances: npt.NDArray[np.float64], ax: Any = None) -> Any:
    """Draw the importance of each column, the largest at the top; return the matplotlib axes."""
    order = sorted(range(len(names)), key=lambda i: (-importances[i], i))[:_MAX_BARS]
    ax = _axes(ax, height=1.0 + 0.28 * len(order))
    ax.barh(range(len(order)), [importances[i] for i in order], color=_TRAINING, height=0.7)
    ax.set_yticks(range(len(order)), [_plain(names[i]) for i in order])
    ax.invert_yaxis()
    ax.set_xlabel("importance (share of what the rules move)")
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
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    ax.set_yscale("log")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False)
    return _tidy(ax)


def frontier_chart(frontier: Frontier, ax: Any = None) -> Any:
    """Draw validated R² by the number of conditions; return the matplotlib axes."""
    ax = _axes(ax)
    known = [point for point in frontier if point.r2 is not None]
    ax.plot([point.max_conditions for point in known], [point.r2 for point in known], ".-", color=_TRAINING)
    own = max((point for point in known if point.circuit is not None), key=lambda p: p.max_conditions, default=None)
    if own is not None:
        ax.plot([own.max_conditions], [own.r2], "o", color=_VALIDATION, label="this model")
    if frontier.ceiling is not None:
        ax.axhline(frontier.ceiling, color=_TRAINING, linewidth=0.8, linestyle=":", label="best model found")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("conditions")
    ax.set_ylabel("R² on held-out rows")
    ax.set_ylim(bottom=min([0.0, *(point.r2 for point in known if point.r2 is not None)]), top=1.0)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, loc="lower right")
    return _tidy(ax)


def _axes(ax: Any, height: float = 3.6) -> Any:
    if ax is not None:
        return ax
    plt = import_extra("matplotlib.pyplot", "a chart", "plot")
    return plt.subplots(figsize=(6.0, height), layout="constrained")[1]


def _tidy(ax: Any) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _plain(name: str) -> str:
    r"""Return a name that matplotlib shows as it is: a dollar sign would start a formula.

    >>> print(_plain("$x$"))
    \$x\$
    """
    text = name_text(name)
    return (text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 1] + "…").replace("$", r"\$")
