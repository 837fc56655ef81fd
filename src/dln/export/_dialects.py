"""Differences between the dialects of SQL that change the meaning of a statement; syntax is left to sqlglot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dln._errors import ExportError


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect: its name, its name in sqlglot, and its features."""

    name: str
    sqlglot: str
    star_except: bool = False
    """``SELECT *`` can leave out columns: then every rule is a column of a common table expression."""
    nan: bool = False
    """Numbers may be NaN, which is above every number: it has to become NULL first."""
    nan_function: bool = False
    """NaN equals nothing, so that only a function finds it."""
    empty_is_missing: bool = False
    """Columns of numbers may hold text: the empty one counts as missing."""
    folds_text: bool = False
    """Texts that differ in case or trailing blanks only are equal: they are compared as bytes."""
    limit: int | None = None
    """Largest number of characters of a statement."""


DIALECTS: Final = {
    dialect.name: dialect
    for dialect in (
        Dialect("duckdb", "duckdb", star_except=True, nan=True),
        Dialect("postgres", "postgres", nan=True),
        Dialect("sqlite", "sqlite", empty_is_missing=True, limit=1_000_000),
        Dialect("mysql", "mysql", folds_text=True),
        Dialect("bigquery", "bigquery", star_except=True, nan_function=True, limit=1_024_000),
        Dialect("snowflake", "snowflake", star_except=True, nan=True, limit=1_000_000),
        Dialect("spark", "spark", nan=True),
        Dialect("databricks", "databricks", star_except=True, nan=True),
        Dialect("tsql", "tsql", folds_text=True),
        Dialect("athena", "athena", nan_function=True, limit=262_144),
    )
}


def find_dialect(name: str) -> Dialect:
    """Return the dialect of a name.

    >>> find_dialect("postgres").limit is None
    True
    """
    aliases = {"postgresql": "postgres", "sqlserver": "tsql", "t-sql": "tsql", "mariadb": "mysql"}
    dialect = DIALECTS.get(aliases.get(name.lower(), name.lower()))
    if dialect is None:
        message = f"dialect must be one of {', '.join(DIALECTS)}, got {name!r}"
        raise ExportError(message)
    return dialect
