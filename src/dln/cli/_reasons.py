"""``dln explain --reasons``: the principal reasons for every row of a table, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dln.cli._messages import UsageError
from dln.cli._predict import ROW, write_rows

if TYPE_CHECKING:
    from dln.readers._reasons import Reference


def write_reasons(
    model: str, table: str, output: str, texts: Sequence[str], reference: str, how: dict[str, Any], *, force: bool
) -> int:
    """Write the reasons for every row, and return their number.

    `reference` may be a row's number; `how` is for `ReasonFinder`.
    """
    import polars as pl

    from dln.cli._files import check_output, open_saved, output_kind
    from dln.cli._model_columns import model_columns, needed_columns
    from dln.cli._show import one_row
    from dln.cli._table_file import open_table
    from dln.data._reader import read_table
    from dln.readers._reasons import ReasonFinder

    kind = output_kind(output)
    check_output(output, force=force)
    fitted = open_saved(model)
    circuit, compared = fitted.circuit, cast("Reference", reference)  # other words are refused by the finder
    with open_table(table) as file:
        needed = needed_columns(file, circuit, Path(model).name)
        if reference.isdecimal():
            row = one_row(file, circuit, needed, int(reference), "--reference")
            compared = read_table(row, circuit.columns).values
        try:
            finder = ReasonFinder(circuit, fitted.support, reference=compared, reason_texts=_texts(texts), **how)
        except ValueError as error:
            raise UsageError(str(error)) from error

        def found(frame: pl.DataFrame) -> pl.DataFrame:
            types = {name: pl.String if name.startswith("reason_") else pl.Float64 for name in finder.columns()}
            if not frame.height:
                return pl.DataFrame(schema=types)
            X = model_columns(file, frame, circuit, int(frame[ROW][0]) + 1)
            columns = finder.find(read_table(X, circuit.columns).values)
            return pl.DataFrame({name: column.tolist() for name, column in columns.items()}, types).fill_nan(None)

        return write_rows(output, kind, file, needed, found)


def _texts(given: Sequence[str]) -> dict[str, str]:
    """Return the texts of options like ``age=Length of history``; names of rules may hold further signs."""
    texts = {}
    for option in given:
        name, sign, text = option.rpartition("=")
        if not (sign and name and text):
            raise UsageError(
                f"--reason-text must be like age=Length of history: a column or rule, =, its text; got {option!r}"
            )
        texts[name] = text
    return texts
