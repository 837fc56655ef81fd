"""From the files that public homes hold to the CSV that is kept: one separator, one header, one way to write a number.

The result is checked against a SHA-256 afterwards, so that every step here either gives the same bytes or is refused.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from dln._errors import MissingExtraError

if TYPE_CHECKING:
    from dln.bench._download import Source

#: The separator that is any run of blanks and tabs, with quotes around text.
BLANKS: Final = "whitespace"
#: How the original files write a missing value; ours leave the field empty.
MISSING: Final = "?"


def to_csv(name: str, source: Source, contents: list[bytes]) -> bytes:
    """Return the CSV that is kept, from the files of a public home."""
    lines = [",".join(source.columns)] if source.columns else []
    for number, content in enumerate(contents):
        rows = _workbook_rows(name, content) if source.workbook else _text_rows(content, source.separator)
        added = source.added[number] if source.added else []
        for place, row in enumerate(rows):
            if place == 0 and (source.header == "ours" or (source.header == "own" and number > 0)):
                continue
            lines.append(",".join([*row, *added]))
    return "".join(f"{line}\n" for line in lines).encode()


def _text_rows(content: bytes, separator: str) -> Iterator[list[str]]:
    """Yield the fields of each line as they are written, but for "?" and a point without decimals behind it."""
    for line in content.decode("utf-8-sig").splitlines():
        text = line.strip()
        if not text:
            continue
        if separator == ",":
            yield [text]
        elif separator == BLANKS:
            yield [_field(value) for value in shlex.split(text)]
        else:
            yield [_field(value) for value in text.split(separator)]


def _field(text: str) -> str:
    if text == MISSING:
        return ""
    return f"{text}0" if text.endswith(".") and text[:-1].isdigit() else text


def _workbook_rows(name: str, content: bytes) -> Iterator[list[str]]:
    """Yield the rows of a workbook's first sheet; columns of whole numbers are written without decimals."""
    import polars as pl

    try:
        table = pl.read_excel(io.BytesIO(content), engine="calamine")
    except ModuleNotFoundError:
        feature = f"downloading {name}, which is a workbook at its home,"
        raise MissingExtraError(feature, "bench", "fastexcel") from None
    yield [str(column) for column in table.columns]
    columns: list[list[str]] = [_written(column.to_list()) for column in table.iter_columns()]
    for row in zip(*columns, strict=True):
        yield list(row)


def _written(values: list[Any]) -> list[str]:
    numbers = [value for value in values if value is not None]
    whole = all(isinstance(value, int) or (isinstance(value, float) and value.is_integer()) for value in numbers)
    return ["" if value is None else str(int(value)) if whole else repr(float(value)) for value in values]
