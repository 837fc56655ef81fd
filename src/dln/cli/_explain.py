"""``dln explain``: why a row gets the prediction that it gets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dln.cli import _options
from dln.cli._mistakes import Mistake

if TYPE_CHECKING:
    import polars as pl

    from dln._regressor import CircuitRegressor
    from dln.readers._explain import Explanation


def explain(
    model: _options.Model,
    table: _options.Table,
    row: Annotated[int, typer.Option(min=1, help="Which row, counted from 1; the header does not count.")] = 1,
    *,
    as_json: _options.Json = False,
) -> None:
    """Say why: the rules that fired for a row, and their weights, which add up to its prediction."""
    from dln.cli._model import open_model

    fitted = open_model(model)
    X = _row(fitted, Path(model).name, table, row)
    explanation = fitted.explain(X)[0]
    if as_json:
        _print_json(explanation, X, row)
    else:
        _tell(fitted, explanation, X, row, table)


def _row(model: CircuitRegressor, model_name: str, table: str, row: int) -> pl.DataFrame:
    """Return the model's columns of one row of the file."""
    import polars as pl

    from dln.circuit._words import thousands
    from dln.cli._model_columns import model_columns, needed_columns
    from dln.cli._table_file import open_table

    with open_table(table) as file:
        needed = needed_columns(file, model.circuit_, model_name)
        with file.reading():
            frame = file.scan().select(needed).slice(row - 1, 1).collect(engine="streaming")
            if not frame.height:
                n_rows = int(file.scan().select(pl.len()).collect(engine="streaming").item())
                message = f"--row must be one of the {thousands(n_rows)} rows of {file.label}, got {row}"
                raise Mistake(message)
        return model_columns(file, frame, model.circuit_, row)


def _values(model_columns: list[str], X: pl.DataFrame) -> list[tuple[str, str]]:
    from dln.circuit._words import category_text, name_text

    return [
        (name_text(name), "missing" if value is None else category_text(value))
        for name, value in X.row(0, named=True).items()
        if name in model_columns
    ]


def _tell(model: CircuitRegressor, explanation: Explanation, X: pl.DataFrame, row: int, table: str) -> None:
    from dln.circuit._words import name_text, thousands, weight_text
    from dln.cli._show import columns_used
    from dln.cli._terminal import facts, show
    from dln.cli._text import weights_table
    from dln.readers._explain import interval_text

    decimals = explanation.decimals
    label = "standard input" if table == "-" else table
    terms = [(term.weight, term.rule) for term in explanation.terms]
    show(
        f"Row {thousands(row)} of {label}:",
        facts(_values(columns_used(model), X)),
        f"\n{name_text(explanation.target)} = {weight_text(explanation.prediction, decimals)}, the sum of",
        weights_table([(explanation.intercept, "to begin with"), *terms], decimals),
        *([] if explanation.interval is None else [f"\n{interval_text(*explanation.interval)}"]),
    )


def _print_json(explanation: Explanation, X: pl.DataFrame, row: int) -> None:
    from dln.cli._terminal import print_json

    terms: list[dict[str, Any]] = [{"rule": term.rule, "weight": term.weight} for term in explanation.terms]
    print_json(
        {
            "row": row,
            "values": X.row(0, named=True),
            "prediction": explanation.prediction,
            "interval": None if explanation.interval is None else list(explanation.interval),
            "intercept": explanation.intercept,
            "fired": terms,
        }
    )
