"""Databases that do not come with Python: exported SELECTs in PostgreSQL and in Spark."""

from __future__ import annotations

import atexit
import math
import os
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from dln._errors import VerificationError
from dln.circuit._circuit import Values
from dln.circuit._words import category_text
from dln.export._engines import MAX_SECONDS, TYPED, column_definitions, package, row_column, statement_of, table_name
from dln.export._form import Form
from dln.export._verification import Engine, EngineMissing, Floats, Value, decoded

# --- PostgreSQL -------------------------------------------------------------------------------------------------------


@cache
def postgres() -> Engine:
    """Return PostgreSQL: one server, which ends with this process."""
    server = Server()
    server.__enter__()
    atexit.register(server.__exit__)
    return Engine("PostgreSQL", server.run, TYPED)


class Server:
    """A server in a folder of its own, without a network; it ends with the block."""

    def __init__(self) -> None:
        self.programs = programs()
        # A server does not run as root; Debian has a user for it.
        self.user: dict[str, Any] = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}

    def __enter__(self) -> Self:
        self.folder = tempfile.TemporaryDirectory(prefix="dln-pg-", ignore_cleanup_errors=True)
        root = Path(self.folder.name)
        if self.user:
            shutil.chown(root, **self.user)
        data = root / "data"
        self._call("initdb", "-D", str(data), "-U", "dln", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={root}", "-c", "fsync=off"]
        self.server = subprocess.Popen(
            [self.programs["postgres"], "-D", str(data), *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=root, **self.user,
        )  # fmt: skip
        for _ in range(300):
            if (root / ".s.PGSQL.5432").exists() and self._psql("SELECT 1", check=False).returncode == 0:
                return self
            time.sleep(0.1)
        self.__exit__()
        message = "PostgreSQL did not start"
        raise VerificationError(message)

    def __exit__(self, *_: object) -> None:
        self.server.terminate()
        self.server.wait()
        self.folder.cleanup()

    def run(self, path: Path, form: Form, values: Sequence[Values]) -> Floats:
        """Return the predictions of a statement."""
        table = table_name(path)
        definitions = column_definitions(
            form, whole="bigint", double="double precision", text="text", boolean="boolean"
        )
        cells = [list(range(len(values[0]))), *decoded(form, values)]
        lines = "\n".join(",".join(map(_cell, line)) for line in zip(*cells, strict=True))
        selected = f"SELECT prediction FROM ({statement_of(path)}) AS answers ORDER BY {definitions[0][0]}"  # noqa: S608
        script = (
            f"DROP TABLE IF EXISTS {table};\n"
            f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in definitions)});\n"
            f"COPY {table} FROM STDIN (FORMAT csv);\n{lines}\n\\.\n"
            f"COPY ({selected}) TO STDOUT;\n"
        )
        return np.array([float(line) for line in self._psql(script).stdout.split()], dtype=np.float64)

    def _psql(self, script: str, *, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        command = [self.programs["psql"], "-X", "-q", "-h", self.folder.name, "-U", "dln", "-d", "postgres"]
        done = subprocess.run(
            [*command, "-v", "ON_ERROR_STOP=1"], input=script.encode(), capture_output=True, check=False,
            timeout=MAX_SECONDS,
        )  # fmt: skip
        if check and done.returncode != 0:
            message = f"PostgreSQL failed: {done.stderr.decode(errors='replace').strip()[:600]}"
            raise VerificationError(message)
        return done

    def _call(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.programs[program], *arguments], capture_output=True, check=False, cwd=self.folder.name, **self.user
        )
        if done.returncode != 0:
            message = f"{program} failed: {done.stderr.decode(errors='replace')[-600:]}"
            raise VerificationError(message)


def programs() -> dict[str, str]:
    """Return where PostgreSQL's programs are; Debian keeps them off the path."""
    folders = [os.environ.get("PATH", ""), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))]
    programs = {name: shutil.which(name, path=os.pathsep.join(folders)) for name in ("initdb", "postgres", "psql")}
    if None in programs.values():
        message = "PostgreSQL is not installed (initdb, postgres and psql)"
        raise EngineMissing(message)
    return {name: str(path) for name, path in programs.items()}


def _cell(value: Value) -> str:
    """Return a value as PostgreSQL reads CSV: nothing is NULL, quotes make a text of anything."""
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = category_text(value) if not isinstance(value, str) else value
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


# --- Spark ------------------------------------------------------------------------------------------------------------


def spark() -> Engine:
    """Return Spark, on this machine alone."""
    session()
    return Engine("Spark", run_spark, TYPED)


@cache
def session() -> Any:
    """Return a session on one core, the same one for the whole process."""
    if shutil.which("java") is None:
        message = "Java, which Spark runs on, is not installed"
        raise EngineMissing(message)
    package("pyspark", "PySpark")
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    settings = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": "/nowhere",  # no table is ever stored
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it speaks of pandas, which is not used here
        return builder.getOrCreate()


def run_spark(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a statement in Spark."""
    from pyspark.sql import types

    kinds = {"long": types.LongType(), "double": types.DoubleType(), "text": types.StringType(),
             "boolean": types.BooleanType()}  # fmt: skip
    definitions = column_definitions(form, whole="long", double="double", text="text", boolean="boolean")
    names = [row_column(form), *(column.name for _, column in form.columns)]
    schema = types.StructType(
        [types.StructField(name, kinds[kind]) for name, (_, kind) in zip(names, definitions, strict=True)]
    )
    columns = [list(range(len(values[0]))), *(_as_double(column) for column in decoded(form, values))]
    frame = session().createDataFrame(list(zip(*columns, strict=True)), schema)
    frame.createOrReplaceTempView(table_name(path))
    rows = sorted(session().sql(statement_of(path)).collect(), key=lambda row: row[0])
    return np.array([row[len(names)] for row in rows], dtype=np.float64)


def _as_double(values: list[Any]) -> list[Any]:
    """Return whole numbers as floats: Spark does not convert them itself."""
    return [float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in values]
