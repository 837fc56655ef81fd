"""``dln report``, ``dln card`` and ``dln plot``: a page to open and play with, a model card, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dln._text import clean
from dln.cli import _options
from dln.cli._files import check_output, open_model, whole_or_nothing
from dln.cli._fit import split_rows
from dln.cli._messages import UsageError, nearest, print_status
from dln.cli._table_file import TableFile, open_table

if TYPE_CHECKING:
    from dln._regressor import CircuitRegressor


Data = Annotated[
    str | None,
    typer.Option(metavar="TABLE", help="Rows to measure and average over, with their target; - is standard input."),
]
OwnTarget = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="The target's column.", show_default="the model's"),
]


def report(
    model: _options.Model,
    output: Annotated[str, _options.output("Ends in .html.")],
    data: Data = None,
    target: OwnTarget = None,
    include_rows: Annotated[
        int, typer.Option(min=0, metavar="N", help="Rows of the table that the page holds, at most.")
    ] = 0,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The page's title.", show_default="the target's name")
    ] = None,
    *,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Write one page: the scorecard, what-if, why rows get their predictions, effects of columns, and errors.

    Of the table that dln fit learned from, only the rows that it tested on are measured.
    """
    check_output(output, force=force, endings=(".html",), what="a page's name")
    fitted = open_model(model)
    if data is None and include_rows:
        raise UsageError("--include-rows needs a table: give it with --data")
    options = _page_options(fitted, model, data, target)

    from dln.report import write_report

    write_report(fitted, output, title=title, include_rows=include_rows, **options)
    _print_written(model, output, options, as_json=as_json, quiet=quiet)


def card(
    model: _options.Model,
    output: Annotated[str, _options.output("Ends in .md or .json.")],
    data: Data = None,
    target: OwnTarget = None,
    *,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Write the model card: data, intended use (blank), accuracy, subgroups, constraints, limits and versions."""
    check_output(output, force=force, endings=(".md", ".json"), what="a card's name")
    fitted = open_model(model)
    options = _page_options(fitted, model, data, target)

    from dln.report import model_card

    model_card(fitted, **options).save(output)
    _print_written(model, output, options, as_json=as_json, quiet=quiet)


def check_target(data: str | None, target: str | None) -> None:
    """Refuse a target without a table."""
    if data is None and target is not None:
        raise UsageError("--target needs a table: give it with --data")


def _print_written(model: str, output: str, options: dict[str, Any], *, as_json: bool, quiet: bool) -> None:
    from dln.circuit._words import counted
    from dln.cli._printing import print_json

    size, rows = Path(output).stat().st_size, len(options.get("y", ()))
    if as_json:
        print_json({"model": model, "file": output, "bytes": size, "rows": rows, "source": options.get("source")})
    elif not quiet:
        measured = f", measured on {counted(rows, 'row')} of {options['source']}" if rows else ""
        print_status(f"{output}: {size // 1000 + 1} KB{measured}.")


def _page_options(model: CircuitRegressor, path: str, table: str | None, target: str | None) -> dict[str, Any]:
    """Return the options of the page or card of a model from a file.

    Of a table, the rows whose target is known; of the table that dln fit read, only its test rows.
    """
    from dln.cli._model_columns import model_columns, needed_columns
    from dln.cli._training_table import labels_of, table_digest, target_of
    from dln.data._division import ForwardChaining

    check_target(table, target)
    model_name = Path(path).name
    if table is None:
        return {"model_file": clean(model_name)}
    with open_table(table) as file:
        needed_columns(file, model.circuit_, model_name)
        name = target_name(file, model, model_name, target)
        frame = file.read()
        y = target_of(file, frame, name)
        known = y.is_not_null()
        X = model_columns(file, frame, model.circuit_).filter(known)
    y, numbers, label = y.filter(known), known.arg_true().to_numpy() + 1, clean(Path(file.label).name)
    facts, seed = model.training_facts_, model.get_params(deep=False)["random_state"]
    folds = facts.get("folds") or {}
    column, by_time = folds.get("column"), folds.get("kind") == ForwardChaining.__name__
    labels = labels_of(file, frame, known, column if column in file.names else None, by_time=by_time)
    n_test, is_learned_from = len(y) - int(facts["rows"]), facts.get("table") == table_digest(y)
    if is_learned_from and isinstance(seed, int) and n_test > 0 and (labels is not None or not column):
        tested = split_rows(len(y), n_test, seed, labels, by_time=by_time)[1]  # on the others, the model looks too good
        X, y, numbers, label = X[tested], y[tested], numbers[tested], f"{label} that dln fit tested on"
    return {"model_file": clean(model_name), "X": X, "y": y, "row_numbers": numbers, "source": label}


def target_name(file: TableFile, model: CircuitRegressor, model_name: str, target: str | None) -> str:
    """Return the target's column in a file: the one named, or the model's."""
    name = target or getattr(model, "target_name_", None)
    if name is None:
        raise UsageError(f"{model_name} does not hold the name of its target: give its column with --target")
    if name not in file.names:
        raise UsageError(
            f"{file.label} has no column {name!r}, the target that predictions are measured by: name its column "
            f"with --target, or leave out --data; {nearest(name, file.names)}"
        )
    return name


def plot(
    model: _options.Model,
    output: Annotated[str, _options.output("Ends in .svg, .png or .pdf.")],
    *,
    max_rules: Annotated[int, typer.Option(min=1, help="Rules to draw, those that move the prediction most.")] = 20,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Draw a model: inputs with their cut-offs, gates, and weights on the way to the sum."""
    from dln.cli._printing import print_json

    check_output(output, force=force, endings=(".svg", ".png", ".pdf"), what="a picture's name")
    fitted = open_model(model)
    picture = fitted.plot(max_rules=max_rules)
    with whole_or_nothing(output) as part:
        picture.save(part)
    n_rules = len(fitted.rules_)
    drawn = min(max_rules, n_rules)
    if as_json:
        print_json({"model": model, "file": output, "rules": n_rules, "rules_drawn": drawn})
    elif not quiet:
        print_status(f"{drawn} of {n_rules} rules drawn in {output}.")
