"""Runs an exported SELECT in a PostgreSQL server of its own, which is there only for it."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dln._errors import VerificationError
from dln.circuit._circuit import Values
from dln.circuit._words import category_text
from dln.export._form import Form
from dln.export.runners._engines import LONGEST, EngineMissing
from dln.export.runners._rows import Value, decoded
from dln.export.runners._sql import column_type, identifier, row_column, statement_of, table_name


def run_postgres(path: Path, form: Form, values: Sequence[Values]) -> npt.NDArray[np.float64]:
    """Return the predictions of a statement in PostgreSQL."""
    with Server() as server:
        return server.run(path, form, values)


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
        self.server = subprocess.Popen(  # noqa: S603 (our own command)
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

    def run(self, path: Path, form: Form, values: Sequence[Values]) -> npt.NDArray[np.float64]:
        """Return the predictions of a statement."""
        table, row = table_name(path), row_column(form)
        types = [column_type(c, double="double precision", text="text", boolean="boolean") for _, c in form.columns]
        names = [row, *(column.name for _, column in form.columns)]
        columns = ", ".join(f"{identifier(n)} {kind}" for n, kind in zip(names, ["bigint", *types], strict=True))
        cells = [list(range(len(values[0]))), *decoded(form, values)]
        lines = "\n".join(",".join(map(_cell, line)) for line in zip(*cells, strict=True))
        statement = statement_of(path)
        script = (
            f"DROP TABLE IF EXISTS {table};\nCREATE TABLE {table} ({columns});\n"  # noqa: S608 (it is what is tested)
            f"COPY {table} FROM STDIN (FORMAT csv);\n{lines}\n\\.\n"
            f"COPY (SELECT prediction FROM ({statement}) AS answers ORDER BY {identifier(row)}) TO STDOUT;\n"
        )
        done = self._psql(script)
        return np.array([float(line) for line in done.stdout.split()], dtype=np.float64)

    def _psql(self, script: str, *, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        command = [self.programs["psql"], "-X", "-q", "-h", self.folder.name, "-U", "dln", "-d", "postgres"]
        done = subprocess.run(  # noqa: S603 (our own command)
            [*command, "-v", "ON_ERROR_STOP=1"], input=script.encode(), capture_output=True, check=False,
            timeout=LONGEST,
        )  # fmt: skip
        if check and done.returncode != 0:
            message = f"PostgreSQL failed: {done.stderr.decode(errors='replace').strip()[:600]}"
            raise VerificationError(message)
        return done

    def _call(self, program: str, *arguments: str) -> None:
        done = subprocess.run(  # noqa: S603 (our own command)
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
        message = "PostgreSQL (initdb, postgres and psql)"
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
