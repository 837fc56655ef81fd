"""``dln show``: a model as a page of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dln.cli import _options

if TYPE_CHECKING:
    from dln._regressor import CircuitRegressor


def show_model(
    model: _options.Model,
    *,
    max_rules: Annotated[int | None, typer.Option(min=1, help="Rules to show, at most.", show_default="all")] = None,
    as_json: _options.Json = False,
) -> None:
    """Show a model: its rules and weights, its columns, its cost, and what other sizes are worth."""
    from dln.cli._model import open_model
    from dln.cli._terminal import print_json

    fitted = open_model(model)
    if as_json:
        print_json(_facts(model, fitted, max_rules))
    else:
        _page(model, fitted, max_rules)


def _facts(name: str, model: CircuitRegressor, max_rules: int | None) -> dict[str, Any]:
    from dataclasses import asdict

    from dln.cli._size import frontier_facts

    rules = model.rules_
    return {
        "model": name,
        "target": rules.target,
        "intercept": rules.intercept,
        "rules": [asdict(row) for row in list(rules)[:max_rules]],
        "n_rules": len(rules),
        "conditions": rules.n_conditions,
        "frontier": frontier_facts(model),
        "columns": [
            {"name": column.name, "categories": None if column.categories is None else list(column.categories)}
            for column in model.circuit_.columns
        ],
        "columns_used": columns_used(model),
        "epochs": getattr(model, "n_iter_", None),
        "operations": {reading: int(model.cost(reading)) for reading in ("multiply", "select")},
    }


def columns_used(model: CircuitRegressor) -> list[str]:
    """Return the names of the columns that rules read."""
    used = {literal.column for literal in model.circuit_.literals}
    return [column.name for j, column in enumerate(model.circuit_.columns) if j in used]


def _page(name: str, model: CircuitRegressor, max_rules: int | None) -> None:
    from dln.circuit._words import counted, name_text, thousands
    from dln.cli._size import frontier_of, frontier_table
    from dln.cli._terminal import facts, show
    from dln.cli._text import rules_table

    circuit = model.circuit_
    used = columns_used(model)
    unused = [column.name for column in circuit.columns if column.name not in used]
    costs = " or ".join(f"{thousands(int(model.cost(reading)))} ({reading})" for reading in ("select", "multiply"))
    literals, gates = counted(len(circuit.literals), "literal"), counted(len(circuit.gates), "gate")
    rows = [("file", name), ("reads", ", ".join(map(name_text, used)) or "no column")]
    if unused:
        rows.append(("does not read", ", ".join(map(name_text, unused))))
    rows += [
        ("size", f"{model.rules_.size_text}, as a circuit {literals} and {gates}"),
        ("cost", f"{costs} logic operations a prediction"),
        ("trained", _training(model)),
    ]
    show(rules_table(model, max_rules), "", facts(rows))
    frontier = frontier_of(model)
    if frontier is not None and len(frontier) > 1:
        show("\nR² of other sizes on held-out rows, and the sizes that dln prune can cut the model to:\n")
        show(frontier_table(frontier))


def _training(model: CircuitRegressor) -> str:
    from dln.circuit._words import thousands

    facts = model.training_facts_
    rows = f"{thousands(facts['rows'])} rows"
    if facts["distinct_rows"] < facts["rows"]:
        rows += f", {thousands(facts['distinct_rows'])} of them distinct"
    epochs = getattr(model, "n_iter_", None)
    return f"on {rows}" if epochs is None else f"on {rows}; {epochs} epochs of each network"
