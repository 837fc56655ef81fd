"""``dln show``: a model as a page of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dln.cli import _options

if TYPE_CHECKING:
    from dln import DLNRegressor


def show_model(
    model: _options.Model,
    *,
    max_rules: Annotated[int | None, typer.Option(min=1, help="Rules to show, at most.", show_default="all")] = None,
    as_json: _options.Json = False,
) -> None:
    """Show a model: its rules and weights, the columns it reads, how it was trained, what a prediction costs."""
    from dln.cli._model import open_model
    from dln.cli._terminal import print_json

    fitted = open_model(model)
    if as_json:
        print_json(_facts(model, fitted, max_rules))
    else:
        _page(model, fitted, max_rules)


def _facts(name: str, model: DLNRegressor, max_rules: int | None) -> dict[str, Any]:
    from dataclasses import asdict

    rules = model.rules_
    return {
        "model": name,
        "target": rules.target,
        "intercept": rules.intercept,
        "rules": [asdict(row) for row in list(rules)[:max_rules]],
        "n_rules": len(rules),
        "columns": [
            {"name": column.name, "categories": None if column.categories is None else list(column.categories)}
            for column in model.circuit_.columns
        ],
        "columns_used": columns_used(model),
        "epochs": model.n_iter_,
        "operations": {reading: int(model.cost(reading)) for reading in ("paper", "select")},
    }


def columns_used(model: DLNRegressor) -> list[str]:
    """Return the names of the columns that rules read."""
    used = {literal.column for literal in model.circuit_.literals}
    return [column.name for j, column in enumerate(model.circuit_.columns) if j in used]


def _page(name: str, model: DLNRegressor, max_rules: int | None) -> None:
    from dln._words import name_text
    from dln.cli._terminal import facts, show, thousands
    from dln.cli._text import rules_table

    circuit = model.circuit_
    used = columns_used(model)
    unused = [column.name for column in circuit.columns if column.name not in used]
    size = f"{thousands(len(circuit.rules))} rules, {thousands(len(circuit.literals))} tests, "
    costs = " or ".join(f"{thousands(int(model.cost(reading)))} ({reading})" for reading in ("select", "paper"))
    rows = [("file", name), ("reads", ", ".join(map(name_text, used)) or "no column")]
    if unused:
        rows.append(("does not read", ", ".join(map(name_text, unused))))
    rows += [
        ("size", size + f"{thousands(len(circuit.gates))} gates"),
        ("cost", f"{costs} logic operations a prediction"),
        ("trained", _training(model)),
    ]
    show(rules_table(model, max_rules, model.rules_.target), "", facts(rows))


def _training(model: DLNRegressor) -> str:
    losses = [loss for loss in model.history_.get("validation_loss", []) if loss is not None]
    share = (
        f", validation loss {min(losses):.3g} of the target's variance"
        if losses and model.loss == "squared_error"
        else ""
    )
    return f"{model.n_iter_} epochs{share}"
