"""From the files that public homes hold to the CSV that is kept: one separator, one header, one way to write a number.

The result is checked against a SHA-256 afterwards, so that every step here either gives the same bytes or is refused.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from dln_bench._download import Source

Row: TypeAlias = list[str]

#: The separator that is any run of blanks and tabs, with quotes around text.
BLANKS: Final = "whitespace"
#: Missing values as the original files write them; ours leave the field empty.
MISSING: Final = "?"


def to_csv(source: Source, contents: list[bytes]) -> bytes:
    """Return the CSV that is kept, from the files of a public home."""
    rows: list[Row] = [source.columns] if source.columns else []
    for number, content in enumerate(contents):
        part = _workbook_rows(content) if source.workbook else _text_rows(content, source.separator)
        if source.columns and part and _is_header(part[0]):
            part = part[1:]
        if source.rewritten:
            part = _transposed([_written(column) for column in _transposed(part)])
        added = source.added[number] if source.added else []
        rows += [[*row, *added] for row in part]
    return "".join(f"{','.join(row)}\n" for row in rows).encode()


def _text_rows(content: bytes, separator: str) -> list[Row]:
    """Return the fields of each line as they are written; lines may end in any way."""
    lines = [line.strip() for line in content.decode("utf-8-sig").splitlines()]
    split = shlex.split if separator == BLANKS else lambda line: line.split(separator)
    return [["" if field == MISSING else field for field in split(line)] for line in lines if line]


def _workbook_rows(content: bytes) -> list[Row]:
    """Return the rows of a workbook's first sheet, without those and the columns that are empty."""
    import polars as pl

    # Cells as text would have 15 digits, as Excel shows them; as numbers they have all.
    table = pl.read_excel(io.BytesIO(content), engine="calamine", infer_schema_length=None)
    table = table.filter(~pl.all_horizontal(pl.all().is_null()))
    table = table.select(column for column in table.iter_columns() if column.null_count() < len(column))
    values = [_written([_cell(value) for value in column]) for column in table.iter_columns()]
    return [list(table.columns), *_transposed(values)]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return repr(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _transposed(rows: Iterable[Row]) -> list[Row]:
    return [list(column) for column in zip(*rows, strict=True)]


def _is_header(row: Row) -> bool:
    return not any(_is_number(field) for field in row)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _written(column: Row) -> Row:
    """Return a column of numbers as text: all without decimals where none has a point, else all with; text as it is.

    >>> _written(["97.00", "2835", "86."]), _written(["8", "4"]), _written(["", "1.5"])
    (['97.0', '2835.0', '86.0'], ['8', '4'], ['', '1.5'])
    """
    present = [field for field in column if field]
    if not all(_is_number(field) for field in present):
        return column
    if all(_is_whole(field) for field in present):
        return column
    return [repr(float(field)) if field else "" for field in column]


def _is_whole(field: Any) -> bool:
    return "." not in field and "e" not in field.casefold()
