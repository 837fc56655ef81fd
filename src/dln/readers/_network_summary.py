"""A trained network in a few lines: its shape, its training, and the model that came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dln.circuit._circuit import Circuit
from dln.circuit._conditions import count_conditions
from dln.circuit._cost import Reading
from dln.circuit._words import counted, name_text, thousands


class TrainedNetwork(Protocol):
    """The attributes of a fitted `DLNRegressor` that its summary reads."""

    circuit_: Circuit
    network_circuit_: Circuit
    training_facts_: Mapping[str, Any]
    n_iter_: int

    def cost(self, reading: Reading = ...) -> Any:
        """Return the operations of a prediction."""


def network_summary(model: TrainedNetwork) -> str:
    """Return the summary of a fitted network, a fact a line."""
    facts = model.training_facts_["network"]
    layers, open_rules = facts["layers"], facts["open_rules"]
    whole = model.network_circuit_
    n = len(open_rules)
    lines = [
        ("network", f"{n} x " * (n > 1) + f"layers of {', '.join(map(str, layers))} neurons"),
        ("training", f"{counted(model.n_iter_, 'epoch')}, final temperature {facts['temperature']:.3g}"),
        ("open rules", f"{' + '.join(map(str, open_rules))} of {' + '.join([str(layers[-1])] * n)}"),
        ("gates", f"{thousands(facts['gates'])}, simplified to {thousands(len(whole.gates))}"),
        ("whole network", _size(whole)),
    ]
    if model.circuit_ != whole:
        lines.append(("kept", _size(model.circuit_)))
    readings: tuple[Reading, ...] = ("multiply", "select")
    costs = [f"{thousands(int(model.cost(reading)))} ({reading})" for reading in readings]
    used, unused = _inputs(model.circuit_)
    lines += [
        ("operations", " or ".join(costs)),
        ("inputs used", f"{len(used)} of {len(used) + len(unused)}: {_names(used)}"),
    ]
    if unused:
        lines.append(("inputs not used", _names(unused)))
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)


def _size(circuit: Circuit) -> str:
    conditions = sum(count_conditions(circuit))
    return f"{counted(len(circuit.rules), 'rule')}, {counted(conditions, 'condition')}"


def _inputs(circuit: Circuit) -> tuple[list[str], list[str]]:
    """Return the names of the columns that rules read, and of the others."""
    read = {literal.column for literal in circuit.literals}
    names = [name_text(column.name) for column in circuit.columns]
    return [name for j, name in enumerate(names) if j in read], [name for j, name in enumerate(names) if j not in read]


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:20])
    return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown or "none"  # noqa: PLR2004 (of one line)
