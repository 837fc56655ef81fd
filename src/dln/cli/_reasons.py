"""``dln explain --reasons``: the principal reasons for every row of a table, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dln.cli._messages import UsageError, print_status
from dln.cli._predict import Run

if TYPE_CHECKING:
    import polars as pl

    from dln.readers._reasons import ReasonFinder


class _ReasonRun(Run):
    """One pass over a table that finds reasons."""

    finder: ReasonFinder

    def made(self, frame: pl.DataFrame) -> list[pl.Series]:
        """Return the predictions of some rows with their reasons."""
        import polars as pl

        from dln.data._reader import read_table

        if not frame.height:
            return [pl.Series(name, [], pl.String if name in self.texts else pl.Float64) for name in self.results]
        found = self.finder.find(read_table(self.inputs(frame), self.predictor.circuit_.columns).values)
        return [
            pl.Series(name, column.tolist(), pl.String)
            if name in self.texts
            else pl.Series(name, column).fill_nan(None)
            for name, column in found.items()
        ]


def write_reasons(
    model: str,
    table: str,
    output: str,
    texts: Sequence[str],
    reference: str,
    how: dict[str, Any],
    *,
    force: bool,
    quiet: bool,
) -> None:
    """Write the reasons for every row; `reference` may be a row's number, `how` is for `ReasonFinder`."""
    from dln._load import Predictor
    from dln.cli._files import check_output, open_saved, output_kind
    from dln.cli._model_columns import needed_columns
    from dln.cli._show import one_row
    from dln.cli._table_file import STANDARD, open_table
    from dln.data._reader import read_table
    from dln.readers._reasons import ReasonFinder, Reference

    kind = output_kind(output)
    check_output(output, force=force)
    fitted = open_saved(model)
    circuit, compared = fitted.circuit, cast("Reference", reference)  # other words are refused by the finder
    with open_table(table) as file:
        needed = needed_columns(file, circuit, Path(model).name)
        run = _ReasonRun(Predictor(fitted), file, needed, None, with_input=False)
        if reference.isdecimal():
            row = one_row(file, circuit, needed, int(reference), "--reference")
            compared = read_table(row, circuit.columns).values
        try:
            run.finder = ReasonFinder(circuit, fitted.support, reference=compared, reason_texts=_texts(texts), **how)
        except ValueError as error:
            raise UsageError(str(error)) from error
        run.results = tuple(run.finder.columns())
        run.texts = tuple(column for column in run.results if column.startswith("reason_"))
        n_rows = run.write(output, kind, show=not quiet)
    if not quiet and output != STANDARD:
        print_status(f"reasons for {n_rows:,} rows written to {output}.")


def _texts(given: Sequence[str]) -> dict[str, str]:
    """Return the texts of options like ``age=Length of history``; names of rules may hold further signs."""
    texts = {}
    for option in given:
        name, sign, text = option.rpartition("=")
        if not (sign and name and text):
            message = f"--reason-text must be like age=Length of history: a column or rule, =, its text; got {option!r}"
            raise UsageError(message)
        texts[name] = text
    return texts
