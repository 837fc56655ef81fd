"""Runs an exported SELECT in Spark, on this machine alone."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Values
from dln.export._form import Form
from dln.export.runners._engines import EngineMissing, package
from dln.export.runners._rows import decoded
from dln.export.runners._sql import column_type, row_column, statement_of, table_name


def run_spark(path: Path, form: Form, values: Sequence[Values]) -> npt.NDArray[np.float64]:
    """Return the predictions of a statement in Spark."""
    from pyspark.sql import types

    kinds = {"double": types.DoubleType(), "text": types.StringType(), "boolean": types.BooleanType()}
    fields = [types.StructField(row_column(form), types.LongType())]
    for _, column in form.columns:
        kind = column_type(column, double="double", text="text", boolean="boolean")
        fields.append(types.StructField(column.name, kinds[kind]))
    columns = [list(range(len(values[0]))), *(_as_double(column) for column in decoded(form, values))]
    spark = session()
    spark.createDataFrame(list(zip(*columns, strict=True)), types.StructType(fields)).createOrReplaceTempView(
        table_name(path)
    )
    rows = spark.sql(statement_of(path)).collect()
    rows.sort(key=lambda row: row[0])
    return np.array([row[len(fields)] for row in rows], dtype=np.float64)


@cache
def session() -> Any:
    """Return a session on one core, the same one for the whole process."""
    if shutil.which("java") is None:
        message = "Java, which Spark runs on"
        raise EngineMissing(message)
    package("pyspark", "PySpark (pip install pyspark)")
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


def _as_double(values: list[Any]) -> list[Any]:
    """Return whole numbers as floats: Spark does not convert them itself."""
    return [float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in values]
