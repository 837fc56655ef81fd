"""What the model is and how to use it: versions, seed, date, checksum, and the commands that go on from here."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator
from typing import Any

from dln._saving import to_saved
from dln._version import __version__
from dln.circuit._words import thousands
from dln.readers.model_file import to_bytes
from dln.report._data import Fact


def facts(model: Any, model_file: str | None) -> Iterator[Fact]:
    """Yield the facts of a fitted model; `model_file` is the name of its file, if it came from one."""
    training = model.training_facts_
    rows = f"{thousands(training['rows'])} rows"
    if training["distinct_rows"] < training["rows"]:
        rows += f", {thousands(training['distinct_rows'])} of them distinct"
    yield Fact("Learned from", rows)
    yield Fact("Learned with", ", ".join(f"{name} {version}" for name, version in training["versions"].items()))
    seed = model.get_params(deep=False).get("random_state")
    yield Fact("Seed", "not fixed" if seed is None else str(seed))
    yield Fact("Cost of a prediction", f"{thousands(int(model.cost('select')))} logic operations")
    yield Fact("This page made", f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, by dln {__version__}")
    name = model_file or "model.dln"
    yield Fact("SHA-256 of the model file", hashlib.sha256(to_bytes(to_saved(model))).hexdigest(), is_code=True)
    yield Fact("Load it in Python", f"import dln\nmodel = dln.load({name!r})\nmodel.predict(table)", is_code=True)
    quoted = f"'{name}'" if " " in name else name
    yield Fact("Predict in a terminal", f"dln predict {quoted} table.csv -o predictions.csv", is_code=True)
    endings = ("c", "sql", "xlsx", "mjs", "py", "onnx", "v")
    yield Fact(
        "Take it elsewhere", "\n".join(f"dln export {quoted} -o model.{ending}" for ending in endings), is_code=True
    )
