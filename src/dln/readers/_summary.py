"""A fitted model in a few lines: its training, its size, its cost and its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from dln.circuit._circuit import Circuit
from dln.circuit._cost import Reading, count_conditions
from dln.circuit._words import counted, name_text, thousands

#: Columns that are listed by name.
MAX_NAMES: Final = 20


def summary_facts(model: Any) -> list[tuple[str, str]]:
    """Return names and texts of the facts of a fitted model; those of the training of networks first."""
    facts, circuit = model.training_facts_, model.circuit_
    network = [] if facts.get("network") is None else _network_facts(model, facts["network"])
    literals, gates = counted(len(circuit.literals), "literal"), counted(len(circuit.gates), "gate")
    costs = [f"{thousands(int(model.cost(reading)))} ({reading})" for reading in get_args(Reading)]
    importances = model.importances_
    used = {circuit.columns[literal.column].name for literal in circuit.literals}
    read = [f"{name_text(row.column)} {row.importance:.0%}" for row in importances if row.column in used]
    unread = [name_text(row.column) for row in importances if row.column not in used]
    constraints = getattr(model, "constraints_", None)
    return [
        ("rows", rows_text(facts)),
        *([] if facts.get("folds") is None else [("held out by", _folds_text(**facts["folds"]))]),
        *network,
        *(("constraint", sentence) for sentence in (constraints.sentences if constraints else ())),
        ("size", f"{model.rules_.size_text}, as a circuit {literals} and {gates}"),
        ("cost", f"{' or '.join(costs)} operations per prediction"),
        ("inputs used", f"{len(read)} of {len(importances)}{', by importance: ' * bool(read)}{_listed(read)}"),
        *([("inputs not used", _listed(unread))] if unread else []),
        *(("edited", text) for text in edit_texts(model)),
    ]


def rows_text(facts: Mapping[str, Any], unit: str = "") -> str:
    """Return the number of rows of a fit, and of the distinct ones if there are fewer."""
    rows, distinct = int(facts["rows"]), int(facts["distinct_rows"])
    return f"{thousands(rows)}{unit}" + f", {thousands(distinct)} of them distinct" * (distinct < rows)


def edit_texts(model: Any) -> list[str]:
    """Return a sentence for each edit by hand, the first one first."""
    sentences = []
    for edit in getattr(model, "edits_", ()):
        rules = dict(edit) | {"changed": [" to ".join(pair) for pair in edit.get("changed", ())]}
        refitted = rules.pop("refitted", None)
        parts = [f"{what} [{'], ['.join(some)}]" for what, some in rules.items() if some]
        sentences.append("; ".join(parts) if refitted is None else f"weights solved for on {thousands(refitted)} rows")
    return sentences


def _folds_text(kind: str, n_folds: int | None, n_groups: int | None, column: str | None = None) -> str:
    counts = [counted(n, what) for n, what in ((n_folds, "fold"), (n_groups, "group")) if n is not None]
    return ", ".join([*([name_text(column)] if column else []), kind, *counts])


def _network_facts(model: Any, facts: dict[str, Any]) -> list[tuple[str, str]]:
    layers, open_rules = facts["layers"], facts["open_rules"]
    whole: Circuit = model.network_circuit_
    n = len(open_rules)
    size = f"{counted(len(whole.rules), 'rule')}, {counted(sum(count_conditions(whole)), 'condition')}"
    return [
        ("network", f"{n} x " * (n > 1) + f"layers of {', '.join(map(str, layers))} neurons"),
        ("training", f"{counted(model.n_iter_, 'epoch')}, the kept one at temperature {facts['temperature']:.3g}"),
        ("open rules", f"{' + '.join(map(str, open_rules))} of {' + '.join([str(layers[-1])] * n)}"),
        ("gates", f"{thousands(facts['gates'])}, simplified to {thousands(len(whole.gates))}"),
        ("whole network", size),
    ]


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:MAX_NAMES])
    return f"{shown} and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else shown
