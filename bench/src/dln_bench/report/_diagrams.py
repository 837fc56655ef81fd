"""Three diagrams of the method, drawn from a real small fit: the network, the workflow, and training."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from scipy.special import softmax

from dln import DLNRegressor
from dln.circuit._gates import CANDIDATE_ORDER
from dln.circuit._words import number_text
from dln.data._encoding import Encoder
from dln.network._network import Network, open_links
from dln.network._train import Trained
from dln.readers._draw import Picture
from dln_bench import datasets
from dln_bench._split import Split, split
from dln_bench.report._figures import Figure, canvas, to_svg

DATASET: Final = "insurance"
#: Every parameter that would depend on the number of epochs is set: then a shorter fit is the start of a longer one.
SMALL: Final[dict[str, Any]] = {
    "hidden_layer_sizes": (8, 6),
    "n_thresholds": 3,
    "n_candidate_links": 4,
    "learning_rate": 0.01,
    "temperature_decay": 0.97,
    "validation_fraction": None,
    "random_state": 0,
    "n_jobs": 1,
}
EPOCHS: Final = (1, 5, 10, 20, 30, 40, 50, 60, 80, 100, 120)
#: Names of the gates by their number.
GATES: Final = (
    "0", "AND", "A∧¬B", "A", "¬A∧B", "B", "XOR", "OR", "NOR", "XNOR", "¬B", "A∨¬B", "¬A", "¬A∨B", "NAND", "1",
)  # fmt: skip
_CHOSEN, _PALE, _MORE, _LESS = "#222222", "#d5d5d5", "#1b5e9e", "#b3261e"


class _Kept(DLNRegressor):
    """A `DLNRegressor` that keeps what is trained, before it is discretised."""

    def _freeze(self, X: Any, rows: Any, encoder: Encoder, networks: Sequence[Trained], *more: Any) -> None:
        self.trained_, self.encoder_ = networks[0], encoder
        super()._freeze(X, rows, encoder, networks, *more)


def diagrams() -> list[Figure]:
    """Return the three diagrams; none where the table is not here."""
    if not datasets.is_here(DATASET):
        return []
    rows = split(DATASET, 0)
    fits = [_Kept(**SMALL, max_epochs=epochs).fit(rows.X_train, rows.y_train) for epochs in EPOCHS]
    return [_example(fits[-1]), _workflow(fits[-1], rows), _training(fits)]


def _example(model: Any) -> Figure:
    """Draw the layers with their candidates, the chosen links and gates, and the open links of the sum."""
    network, temperature = model.trained_.network, model.trained_.temperature
    wiring, parameters = network.wiring, network.parameters
    chosen = _chosen_links(network)
    inputs = sorted({row for link in chosen for row in link if row < wiring.first_neuron})
    starts = np.cumsum([0, *wiring.layer_sizes])
    layers = [inputs, *(list(wiring.first_neuron + np.arange(a, b)) for a, b in pairwise(starts))]
    place = {
        row: (3.2 * x, (i + 0.5) / len(layer)) for x, layer in enumerate(layers) for i, row in enumerate(layer[::-1])
    }
    gates = wiring.gates[parameters.gate_logits.argmax(axis=0)]
    is_open = open_links(parameters.sum_logits, temperature, model.sum_link_threshold)
    total = (3.2 * len(layers), 0.5)
    with canvas(10.0, 6.4) as (figure, ax):
        ax.axis("off")
        for neuron in range(wiring.n_neurons):
            end = place[wiring.first_neuron + neuron]
            for row in set(wiring.links[:, :, neuron].ravel().tolist()) & place.keys():
                _line(ax, place[row], end, color=_PALE, linewidth=0.6, zorder=1)
            for row in chosen[neuron]:
                _line(ax, place[row], end, color=_CHOSEN, linewidth=1.1, zorder=2)
        for row, weight, is_kept in zip(wiring.rule_rows.tolist(), parameters.weights, is_open, strict=True):
            style = {"color": _MORE if weight > 0 else _LESS, "linewidth": 0.6 + 2.5 * abs(float(weight))}
            _line(ax, place[row], total, zorder=2, **(style if is_kept else {"color": _PALE, "linestyle": ":"}))
        for row, (x, y) in place.items():
            kind, text = ("box", _input_text(model, row)) if row < wiring.first_neuron else ("gate", "")
            text = text or GATES[gates[row - wiring.first_neuron]]
            shape = {"boxstyle": "square,pad=0.3" if kind == "box" else "round,pad=0.4", "edgecolor": "#5f6368"}
            fill = {"facecolor": "#ffe680" if kind == "box" else "white", **shape}
            ax.text(x, y, text, ha="center", va="center", fontsize=8, bbox=fill, zorder=3)
        circle = {"boxstyle": "circle,pad=0.4", "facecolor": "#dfeaf5", "edgecolor": "#5f6368"}
        ax.text(*total, "Σ", ha="center", va="center", fontsize=14, bbox=circle, zorder=3)
        titles = ("ThresholdLayer and categories", "LogicLayer 1", "LogicLayer 2", "SumLayer")
        for x, title in enumerate(titles):
            ax.text(3.2 * x, 1.03, title, ha="center", fontsize=10)
        ax.set_xlim(-1.3, total[0] + 0.6)
        ax.set_ylim(-0.01, 1.07)
        picture = to_svg(figure)
    caption = (
        f"A network of {' and '.join(map(str, wiring.layer_sizes))} neurons, trained on {DATASET} and made discrete. "
        f"Dark: chosen links, each from {SMALL['n_candidate_links']} candidates (pale; inputs that nothing chose are "
        "left out). LogicLayer 2 reads thresholds of its own, too. Lines to Σ: open links of the sum; blue adds, red "
        "subtracts, width by coefficient; dotted: closed. A cut-off beyond the data is constant."
    )
    return Figure("network", caption, picture)


def _chosen_links(network: Network) -> list[tuple[int, int]]:
    """Return the two rows that each neuron reads."""
    choices = network.parameters.link_logits.argmax(axis=1)[:, np.newaxis]
    a, b = np.take_along_axis(network.wiring.links, choices, axis=1)[:, 0].tolist()
    return list(zip(a, b, strict=True))


def _input_text(model: Any, row: int) -> str:
    """Return the test of a row of inputs, of a category or of a threshold in the column's unit."""
    wiring, encoder = model.trained_.network.wiring, model.encoder_
    if row < wiring.n_bits:
        bit = encoder.bits[row]
        column = encoder.columns[bit.column]
        return f"{column.name} = {', '.join(str(column.categories[code]) for code in bit.codes)}"
    threshold = row - wiring.n_bits
    parameters = model.trained_.network.parameters
    scaled = encoder.scaled[wiring.threshold_input[threshold]]
    cutoff = scaled.low + float(parameters.bias[threshold]) * (scaled.high - scaled.low)
    sign = ">" if parameters.slope[threshold] > 0 else "<"
    return f"{encoder.columns[scaled.column].name} {sign} {number_text(float(f'{cutoff:.3g}'))}"


def _line(ax: Any, start: tuple[float, float], end: tuple[float, float], **style: Any) -> None:
    ax.plot(*zip(start, end, strict=True), solid_capstyle="round", **style)


def _workflow(model: Any, rows: Split) -> Figure:
    """Draw the steps from a table to a tested model, with the numbers of this fit."""
    network, last = model.trained_.network, model.trained_.epochs[-1]
    wiring = network.wiring
    steps = {
        "Preparation": f"{len(rows.X_train):,} rows, {len(model.encoder_.scaled)} numbers scaled to [0, 1],<br/>"
        f"{wiring.n_bits} bits of categories; target standardised",
        "Search": "Optuna draws parameters, 2 to 4 folds test them;<br/>the lowest squared error wins (not here)",
        "Training": f"{wiring.n_thresholds} thresholds, {wiring.n_neurons} neurons, {last.epoch} epochs,<br/>"
        f"temperature {model.temperature:g} → {last.temperature:.2g}",
        "Discretisation": "the likeliest gate and links of each neuron;<br/>"
        f"{last.open_rules} of {len(wiring.rule_rows)} links of the sum ≥ {model.sum_link_threshold:g}",
        "Simplification": f"{len(model.circuit_.rules)} rules, {model.rules_.n_conditions} conditions;<br/>"
        "no prediction changes",
        "Evaluation": f"R² {model.score(rows.X_test, rows.y_test):.3f} on {len(rows.X_test):,} test rows,<br/>"
        f"{model.cost('select').total:,} operations (select)",
    }
    labels = [f"<b>{title}</b><br/>{text}" for title, text in steps.items()]
    nodes = "; ".join(f"{i} [label=<{label}>]" for i, label in enumerate(labels))
    style = 'node [shape=box, style="rounded,filled", fillcolor="#dfeaf5", fontname="Helvetica,Arial,sans-serif"]'
    dot = f"digraph {{ {style} {nodes}; {' -> '.join(map(str, range(len(steps))))} }}"
    return Figure("workflow", f"The workflow, with the numbers of the fit above on {DATASET}.", Picture(dot).svg)


def _training(fits: Sequence[Any]) -> Figure:
    """Draw the temperature, one neuron's gate and one threshold from soft to hard."""
    last = fits[-1].trained_
    neuron = int(np.argmax([np.unique([_gates(one)[:, n].argmax() for one in fits]).size
                            for n in range(last.network.wiring.n_neurons)]))  # fmt: skip
    with canvas(11.0, 3.9, panels=3) as (figure, (left, middle, right)):
        epochs = [epoch.epoch for epoch in last.epochs]
        left.plot(epochs, [epoch.temperature for epoch in last.epochs], color=_MORE, label="temperature τ")
        left.plot(epochs, [epoch.training_loss for epoch in last.epochs], color=_LESS, label="training loss")
        for name, of in (("gates", _gates), ("links", _links)):
            sure = [float(of(one).max(axis=0).mean()) for one in fits]
            left.plot(
                EPOCHS, sure, "--" if name == "links" else "-", color=_CHOSEN, label=f"probability, chosen {name}"
            )
        left.set_ylim(0, 1.05)
        left.set_xlabel("epoch")
        left.legend(frameon=False, fontsize=8)
        left.set_title("cooling", fontsize=10, loc="left")
        shares = np.column_stack([_gates(one)[:, neuron] for one in fits])
        image = middle.imshow(shares, cmap="cividis", vmin=0, vmax=1, aspect="auto")
        middle.grid(visible=False)
        middle.set_yticks(range(len(shares)), [GATES[gate] for gate in CANDIDATE_ORDER[: len(shares)]], fontsize=8)
        middle.set_xticks(range(len(EPOCHS)), map(str, EPOCHS), fontsize=8)
        middle.set_xlabel("epoch")
        middle.set_title("gate of one neuron", fontsize=10, loc="left")
        figure.colorbar(image, ax=middle, pad=0.02)
        x = np.linspace(0, 1, 201)
        wiring = last.network.wiring
        slope, is_inside = last.network.parameters.slope, np.abs(last.network.parameters.bias - 0.5) < 0.3  # noqa: PLR2004
        inside = int(np.where(is_inside, slope, 0).argmax())
        column = fits[-1].encoder_.columns[fits[-1].encoder_.scaled[wiring.threshold_input[inside]].column].name
        for number, one in enumerate(fits[::3]):
            parameters, temperature = one.trained_.network.parameters, one.trained_.temperature
            y = 1 / (1 + np.exp(-parameters.slope[inside] * (x - parameters.bias[inside]) / temperature))
            shade = str(0.75 - 0.75 * number / (len(fits[::3]) - 1))
            right.plot(x, y, color=shade, label=f"epoch {EPOCHS[3 * number]}, τ = {temperature:.2g}")
        right.set_xlabel(f"{column}, scaled")
        right.set_ylim(-0.02, 1.02)
        right.legend(frameon=False, fontsize=8)
        right.set_title("one threshold", fontsize=10, loc="left")
        picture = to_svg(figure)
    caption = (
        f"Training of the same network on {DATASET}. Left: the temperature falls, the choices become certain (mean "
        "probability of the likeliest gate and link). Middle: probabilities of one neuron's candidate gates. Right: a "
        "threshold, from soft to hard."
    )
    return Figure("training", caption, picture)


def _gates(model: Any) -> Any:
    """Return the probabilities of the candidate gates, (n_gates, n_neurons)."""
    return softmax(model.trained_.network.parameters.gate_logits / model.trained_.temperature, axis=0)


def _links(model: Any) -> Any:
    """Return the probabilities of the candidates of both inputs, (n_links, 2 * n_neurons)."""
    parameters = model.trained_.network.parameters
    return softmax(np.hstack(list(parameters.link_logits)) / model.trained_.temperature, axis=0)
