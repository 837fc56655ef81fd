"""``dln edit``: rules dropped, added, changed and frozen by hand, and weights solved for on a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dln.cli import _options, _report
from dln.cli._files import check_model_output, open_model
from dln.cli._messages import UsageError, warnings_as_sentences
from dln.cli._table_file import open_table

if TYPE_CHECKING:
    from dln._edit import EditableRegressor


def edit(
    model: _options.Model,
    output: Annotated[str, _options.output("Where the edited model goes, like edited.dln.")],
    drop: Annotated[
        list[int] | None,
        typer.Option(metavar="NUMBER", help="A rule to leave out, by its number in dln show --numbers."),
    ] = None,
    add: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="A rule to add, as it would be printed; it weighs 0.")
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBER:RULE", help="A rule in the place of another, as in '5: bmi > 30'."),
    ] = None,
    freeze: Annotated[
        list[int] | None, typer.Option(metavar="NUMBER", help="A rule that keeps its weight, instead of those before.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Rows, with their target, to solve for the weights on.")
    ] = None,
    target: _report.OwnTarget = None,
    *,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Edit a model by hand, rule by rule, and solve for its weights on a table. Options may be given again."""
    from dln.cli._printing import model_json, page_of_rules, print_json, show, size_sentences

    check_model_output(output, force=force)
    fitted = open_model(model)
    _report.check_target(data, target)
    if not (drop or add or change or freeze or data):
        raise UsageError("there is nothing to edit: give --drop, --add, --change or --freeze, or new rows by --data")
    edits: dict[str, Any] = {"drop": drop or (), "add": add or (), "change": _changes(change or ()), "freeze": freeze}
    with warnings_as_sentences():
        new = fitted.edit(**edits) if data is None else _refitted(fitted, Path(model).name, edits, data, target)
    new.save(output)
    if as_json:
        print_json({**model_json(output, new), "edited_from": model, "edits": new.edits_})
    elif not quiet:
        show(*size_sentences(new)[:1], "", page_of_rules(new, output, numbered=True), f"\nSaved to {output}.")


def _changes(texts: Sequence[str]) -> dict[int, str]:
    changes = {}
    for text in texts:
        number, colon, rule = text.partition(":")
        if not colon or not number.strip().isdecimal() or int(number) in changes:
            raise UsageError(f"--change must be a rule's number, each once, and its text: '5: bmi > 30', got {text!r}")
        changes[int(number)] = rule
    return changes


def _refitted(
    model: EditableRegressor, model_name: str, edits: dict[str, Any], table: str, target: str | None
) -> EditableRegressor:
    """Return the edited model with weights for a table, of which its rules may name all categories."""
    from dln.circuit._circuit import IsMissing
    from dln.cli._model_columns import model_columns, needed_columns
    from dln.cli._training_table import target_of

    circuit = model.circuit_
    with open_table(table) as file:
        frame = file.read()
        y = target_of(file, frame, _report.target_name(file, model, model_name, target))
        texts = [j for j, one in enumerate(circuit.columns) if one.categories is not None and one.name in file.names]
        categories = replace(circuit, literals=tuple(map(IsMissing, texts)), gates=(), rules=())
        edited = model.edit(**edits, X=model_columns(file, frame, categories))
        needed_columns(file, edited.circuit_, model_name)
        X, known = model_columns(file, frame, edited.circuit_), y.is_not_null()
    return edited._refit(X.filter(known), y.filter(known))  # noqa: SLF001 (the public names differ)
