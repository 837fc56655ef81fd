"""Which database runs which dialect of SQL here."""

from __future__ import annotations

from typing import Final

from dln.export._cases import Limits
from dln.export._dialects import find_dialect
from dln.export._verify import Runner
from dln.export.runners._engines import EngineMissing, package
from dln.export.runners._postgres import programs, run_postgres
from dln.export.runners._spark import run_spark, session
from dln.export.runners._sql import run_duckdb, run_sqlite

#: A column of truth values holds nothing else.
TYPED: Final = Limits(unknown_booleans=False)


def database(dialect: str) -> tuple[str, Runner, Limits]:
    """Return the engine for a dialect."""
    name = find_dialect(dialect).name
    if name == "sqlite":
        return "SQLite", run_sqlite, Limits()
    if name == "duckdb":
        package("duckdb", "DuckDB (pip install duckdb)")
        return "DuckDB", run_duckdb, TYPED
    if name == "postgres":
        programs()
        return "PostgreSQL", run_postgres, TYPED
    if name == "spark":
        session()
        return "Spark", run_spark, TYPED
    message = f"a database that speaks {name}, and none is run from here"
    raise EngineMissing(message)
