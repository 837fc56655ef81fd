"""Tables in files: CSV, TSV and Parquet, plain or gzipped, or from standard input; opened lazily.

The format is found in the first bytes, and the name decides only where they do not. Text columns come as text.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dln._text import closest
from dln.cli._messages import UsageError, quoted

if TYPE_CHECKING:
    import polars as pl

STANDARD: Final = "-"
#: What may separate the names in a header; the one that occurs most there, outside quotes, does.
SEPARATORS: Final = (",", ";", "\t", "|")
#: Enough of a file to find its separator and its header.
SAMPLE_BYTES: Final = 1 << 18
#: Text files up to this size are read once more by Python's csv, which sees lines that are too short.
CHECKED_BYTES: Final = 1 << 26
#: The least similarity, of 1, of a file name that is suggested: endings are alike anyway.
SIMILAR: Final = 0.8
_NUMBER: Final = re.compile(r"[-+]?[0-9.,]*[0-9][0-9.,eE+-]*")
_DECIMAL_COMMA: Final = re.compile(r'(?:^|[;"\n])\s*-?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+\s*(?=[;"\r\n]|$)')
_DECIMAL_POINT: Final = re.compile(r'(?:^|[;"\n])\s*-?\d+\.\d{1,2}\s*(?=[;"\r\n]|$)')


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table on disk whose header was read and checked."""

    label: str
    """The user's name for it."""
    path: Path
    """A plain file: the user's own, or a temporary copy of what was zipped or came through a pipe."""
    names: tuple[str, ...]
    separator: str | None
    """None for Parquet; in the others, all columns come as text."""
    decimal_comma: bool = False
    blank_lines: int = 0
    """Before the header."""

    def scan(self) -> pl.LazyFrame:
        import polars as pl

        if self.separator is None:
            return pl.scan_parquet(self.path, glob=False)
        return pl.scan_csv(
            self.path,
            separator=self.separator,
            infer_schema=False,
            glob=False,
            skip_lines=self.blank_lines,
            with_column_names=lambda _: list(self.names),
            extra_columns="raise",
        )

    def read(self) -> pl.DataFrame:
        self._check_shape()
        with self.reading():
            frame = self.scan().collect(engine="streaming")
        if not frame.height:
            raise UsageError(
                f"{self.label} has a header but no rows: give a table with at least one row below the header"
            )
        return frame

    def count_rows(self) -> int:
        import polars as pl

        with self.reading():
            return int(self.scan().select(pl.len()).collect(engine="streaming").item())

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raise a `UsageError` in place of what polars raises where the file cannot be read."""
        import polars as pl

        try:
            yield
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise self.unreadable() from None

    def unreadable(self) -> UsageError:
        """Return what is wrong with a file that polars could not read."""
        if self.separator is None:
            return _damaged_parquet(self.label)
        odd = 0
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    line.decode()
                except UnicodeDecodeError as error:
                    return UsageError(
                        f"{self.label} must be UTF-8 text, but line {number} holds the byte 0x{line[error.start]:02x}: "
                        "convert it, for example with iconv -f latin1 -t utf-8"
                    )
                if not odd and line.count(b'"') % 2:
                    odd = number
        try:
            self._check_shape()
        except UsageError as error:
            return error
        where = f"line {odd}" if odd else "one of its lines"
        return UsageError(
            f"{self.label} could not be read as a table: quotation marks in {where} are not closed, or stand inside a "
            "field without being doubled"
        )

    def _check_shape(self) -> None:
        """Raise a `UsageError` if a line has too many or too few fields, unless the file is too large to look."""
        if self.separator is None or self.path.stat().st_size > CHECKED_BYTES:
            return
        with self.path.open(encoding="utf-8-sig", errors="replace", newline="") as text:
            csv.field_size_limit(CHECKED_BYTES)  # Python's own limit is shorter than texts that people keep in tables
            rows = csv.reader(text, delimiter=self.separator)
            try:
                for _ in range(self.blank_lines + 1):
                    next(rows, None)
                for number, row in enumerate(rows, start=1):
                    if row and len(row) != len(self.names):
                        what = f"row {number} (line {rows.line_num}) has {len(row)} fields, but the header "
                        what += f"names {len(self.names)} columns: correct that line"
                        if len(self.names) == 1:
                            what = f"the first line, {quoted(self.names[0])}, names one column, but line "
                            what += (
                                f"{rows.line_num} has {len(row)} fields: begin the file with the names of all columns"
                            )
                        raise UsageError(f"{self.label}: {what}")
            except csv.Error as error:
                raise UsageError(f"{self.label} could not be read as text: {error}") from None


@contextmanager
def open_table(name: str) -> Iterator[TableFile]:
    """Open a file, or standard input for ``-``, and read its header; temporary copies go when it is closed."""
    with tempfile.TemporaryDirectory(prefix="dln-", ignore_cleanup_errors=True) as folder:
        label, path = _plain_file(name, Path(folder))
        with path.open("rb") as binary:
            start = binary.read(SAMPLE_BYTES)
        if start.startswith(b"PAR1"):
            yield _open_parquet(label, path)
        else:
            yield _open_text(label, name, path, start)


def existing_file(name: str, *, what: str) -> Path:
    path = Path(name)
    try:
        if path.is_dir():
            raise UsageError(f"{name!r} is a folder: give {what} in it")
        with path.open("rb"):
            return path
    except FileNotFoundError:
        folder = path.parent if path.parent.is_dir() else Path()
        others = [other.name for other in folder.iterdir() if other.is_file()]
        meant = closest(path.name, others, SIMILAR)
        hint = ": check its name and folder" if meant is None else f"; did you mean {str(path.with_name(meant))!r}?"
        raise UsageError(f"there is no file {name!r}{hint}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{name!r} cannot be opened: {getattr(error, 'strerror', None) or error}") from None


def _plain_file(name: str, folder: Path) -> tuple[str, Path]:
    """Return what to call the input and a plain file that holds it, in the folder where it is a copy."""
    if name == STANDARD:
        label, path = "standard input", folder / "stdin"
        if sys.stdin.isatty():
            raise UsageError("a table was expected on standard input: pipe one in, or give a file's name instead of -")
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
    else:
        label, path = name, existing_file(name, what="a CSV, TSV or Parquet file")
    with path.open("rb") as binary:
        start = binary.read(4)
    if start.startswith(b"\x1f\x8b"):
        plain = folder / "plain"
        try:
            with gzip.open(path) as zipped, plain.open("wb") as copy:
                shutil.copyfileobj(zipped, copy, 1 << 20)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise UsageError(f"{label} is a damaged gzip file, perhaps cut short: fetch or zip it again") from None
        path = plain
    return label, path


def _open_parquet(label: str, path: Path) -> TableFile:
    import polars as pl

    try:
        names = tuple(pl.scan_parquet(path, glob=False).collect_schema())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise _damaged_parquet(label) from None
    return TableFile(label, path, names, None)


def _damaged_parquet(label: str) -> UsageError:
    return UsageError(f"{label} is a damaged Parquet file, perhaps cut short: fetch or write it again")


def _open_text(label: str, name: str, path: Path, start: bytes) -> TableFile:
    _refuse_other_formats(label, name, start)
    if b"\r" in start and b"\n" not in start and len(start.splitlines()) > 1:
        raise UsageError(
            f"{label} ends its lines with carriage returns alone: save it with line feeds, for example with "
            "tr '\\r' '\\n'"
        )
    text = start.decode("utf-8-sig", errors="replace")
    suffixes = {suffix.lower() for suffix in Path(name).suffixes}
    first_line = re.sub(r'"[^"]*"', "", text).lstrip("\r\n").partition("\n")[0]
    separator = "\t" if suffixes & {".tsv", ".tab"} else max(SEPARATORS, key=first_line.count)
    blank_lines, cells = _header(label, text, separator)
    comma = separator == ";" and bool(_DECIMAL_COMMA.search(text)) and not _DECIMAL_POINT.search(text)
    return TableFile(label, path, tuple(cells), separator, comma, blank_lines)


def _header(label: str, text: str, separator: str) -> tuple[int, list[str]]:
    """Return the number of blank lines before the header, and the names in it, each another."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    lines = enumerate([cell.strip() for cell in row] for row in rows)
    try:
        blank_lines, cells = next((line for line in lines if any(line[1])), (0, []))
    except csv.Error as error:
        raise UsageError(f"the first line of {label} could not be read as the names of columns: {error}") from None
    if not cells:
        raise UsageError(f"{label} is empty: give a table with a header and at least one row")
    if len(cells) > 1 and all(_NUMBER.fullmatch(cell) for cell in cells):
        raise UsageError(
            f"the first line of {label} must name the columns, but it holds only numbers: add a header line"
        )
    first: dict[str, int] = {}
    for number, cell in enumerate(cells, start=1):
        if cell in first:
            what = f"the name {cell!r}" if cell else "no name"
            raise UsageError(
                f"{label}: columns {first[cell]} and {number} have {what}: give each its own in the header"
            )
        first[cell] = number
    return blank_lines, cells


def _refuse_other_formats(label: str, name: str, start: bytes) -> None:
    suffix = Path(name).suffix.lower()
    if start.startswith(b"PK\x03\x04"):
        what = "an Excel workbook" if suffix in {".xlsx", ".xlsm"} else "a zip archive"
        message = f"{label} is {what}: save the table in it as CSV or Parquet first"
    elif start.startswith((b"\xff\xfe", b"\xfe\xff")):
        message = f"{label} is UTF-16 text: save it as UTF-8, for example with iconv -f utf-16 -t utf-8"
    elif suffix in {".parquet", ".pq"}:
        message = f"{label} is named like a Parquet file but does not begin like one: fetch or write it again"
    elif b"\0" in start:
        message = f"{label} is a binary file: dln reads CSV, TSV and Parquet, plain or gzipped"
    elif suffix in {".json", ".jsonl", ".ndjson"} or start.lstrip().startswith(b"{"):
        message = f"{label} holds JSON: dln reads CSV, TSV and Parquet, plain or gzipped"
    else:
        return
    raise UsageError(message)
