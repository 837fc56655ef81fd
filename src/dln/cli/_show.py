"""``dln show``, ``dln prune``, ``dln explain``: a model, a smaller one, and one of its predictions, as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dln.cli import _options
from dln.cli._files import check_model_output, open_model
from dln.cli._messages import UsageError, print_status
from dln.cli._table_file import open_table

if TYPE_CHECKING:
    from dln._regressor import CircuitRegressor


def show(
    model: _options.Model,
    *,
    max_rules: Annotated[int | None, typer.Option(min=1, help="Rules to show, at most.", show_default="all")] = None,
    by: Annotated[Literal["rule", "column"] | None, typer.Option(help="One by one, or bands of a column.")] = None,
    numbers: Annotated[bool, typer.Option("--numbers", help="Show the numbers that dln edit knows rules by.")] = False,
    as_json: _options.Json = False,
) -> None:
    """Show a model: its rules and weights, its columns, its cost, and the held-out R² of other sizes."""
    from dln.cli import _printing
    from dln.readers._summary import summary_facts

    fitted = open_model(model)
    if as_json:
        columns = [
            {"name": column.name, "categories": None if column.categories is None else list(column.categories)}
            for column in fitted.circuit_.columns
        ]
        document = {
            "columns": columns,
            "columns_used": columns_used(fitted),
            "importances": fitted.importances_.to_dicts(),
            "epochs": getattr(fitted, "n_iter_", None),
            "cost": {reading: int(fitted.cost(reading)) for reading in ("multiply", "select")},
        }
        _printing.print_json({**_printing.model_json(model, fitted, max_rules), **document})
        return
    _printing.show(
        _printing.rules_table(fitted, max_rules, by=by, numbered=numbers),
        "",
        _printing.facts([("file", model), *summary_facts(fitted)]),
    )
    if len(fitted.frontier_) > 1:
        _printing.show(
            "\nHeld-out R² of other sizes, and the sizes that dln prune can cut the model to:\n", str(fitted.frontier_)
        )


def columns_used(model: CircuitRegressor) -> list[str]:
    """Return the names of the columns that rules read."""
    used = {literal.column for literal in model.circuit_.literals}
    return [column.name for j, column in enumerate(model.circuit_.columns) if j in used]


def prune(
    model: _options.Model,
    max_conditions: Annotated[int, typer.Option(min=0, metavar="N", help="Conditions to keep, at most.")],
    output: Annotated[str, _options.output("Where the smaller model goes, like small.dln.")],
    *,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Make a model smaller: the best found for so many conditions, with weights of its own. Needs no table."""
    from dln.cli._printing import model_json, page_of_rules, print_json, show, size_sentences

    check_model_output(output, force=force)
    whole = open_model(model)
    smaller = whole.prune(max_conditions)
    smaller.save(output)
    if as_json:
        before = {"conditions_before": whole.rules_.n_conditions, "rules_before": len(whole.rules_)}
        print_json({**model_json(output, smaller), "pruned_from": model, **before})
    elif not quiet:
        show(f"{model} has {whole.rules_.size_text}.", *size_sentences(smaller)[:1], "")
        show(page_of_rules(smaller, output), f"\nSaved to {output}.")


def explain(
    model: _options.Model,
    table: _options.Table,
    row: Annotated[
        int | None, typer.Option(min=1, help="Which row, counted from 1; the header does not count.", show_default="1")
    ] = None,
    reasons: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Write so many reasons for every row, as CSV.")
    ] = None,
    output: Annotated[str, _options.output("Where reasons go.")] = "-",
    direction: Annotated[
        Literal["higher", "lower"],
        typer.Option(help="Reasons why predictions are higher than the reference, or lower."),
    ] = "higher",
    reference: Annotated[
        str, typer.Option(metavar="REFERENCE", help="best, mean, or the number of a row to compare with.")
    ] = "best",
    reason_text: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=TEXT", help="Text for the reason of a column or rule; may be given again."),
    ] = None,
    *,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Explain a prediction: the rules that fired for a row, and their weights, which add up to it.

    With --reasons: for every row the rules that move its prediction most.
    """
    if reasons is not None:
        if row is not None or as_json:
            raise UsageError("--reasons writes CSV for all rows: leave out --row and --json, which are for one")
        from dln.cli._compare import write_reasons

        how = {"n": reasons, "direction": direction}
        n_rows = write_reasons(model, table, output, reason_text or [], reference, how, force=force)
        if not quiet and output != "-":
            print_status(f"reasons for {n_rows:,} rows written to {output}.")
        return
    if output != "-" or direction != "higher" or reference != "best" or reason_text:
        raise UsageError(
            "--output, --direction, --reference and --reason-text are about reasons: give --reasons 4, too"
        )
    row = row or 1
    from dln.circuit._words import category_text, name_text, thousands, weight_text
    from dln.cli import _printing
    from dln.cli._model_columns import needed_columns, one_row
    from dln.readers._explain import interval_text

    fitted = open_model(model)
    with open_table(table) as file:
        X = one_row(file, fitted.circuit_, needed_columns(file, fitted.circuit_, Path(model).name), row)
    explanation = fitted.explain(X)[0]
    if as_json:
        _printing.print_json({"row": row, "values": X.row(0, named=True), **explanation.to_dict()})
        return
    used, decimals = columns_used(fitted), explanation.decimals
    values = [
        (name_text(name), "missing" if value is None else category_text(value))
        for name, value in X.row(0, named=True).items()
        if name in used
    ]
    weights = _printing.signed([explanation.intercept, *(term.weight for term in explanation.terms)], decimals)
    rules = ["intercept", *(term.rule for term in explanation.terms)]
    _printing.show(
        f"Row {thousands(row)} of {'standard input' if table == '-' else table}:",
        _printing.facts(values),
        f"\n{name_text(explanation.target)} = {weight_text(explanation.prediction, decimals)}, the sum of",
        _printing.table(("", " "), zip(weights, rules, strict=True), left=" "),
        *([] if explanation.interval is None else [f"\n{interval_text(*explanation.interval, decimals)}"]),
    )
