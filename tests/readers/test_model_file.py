from __future__ import annotations

import json
import math
import os
import pickle
import threading
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dln
from circuits import circuits, layered_circuit, tables
from dln import ModelFileError
from dln.circuit._circuit import Circuit, Column
from dln.readers.model_file import (
    FORMAT,
    SavedModel,
    from_bytes,
    read_model,
    sealed,
    to_bytes,
    write_model,
)
from dln.readers.model_file._schema import json_schema
from models import models

FACTS = {"rows": 9, "distinct_rows": 8, "target_min": -0.5, "target_max": 1e300, "versions": {"dln": "0", "a": "ü"}}
SCHEMA = Path(__file__).parents[2] / "docs" / "model-file.schema.json"

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_CATEGORIES = st.lists(
    st.text(max_size=5) | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    max_size=4,
    unique_by=lambda value: (isinstance(value, bool), value),
)


def saved(circuit: Circuit, **changes: object) -> SavedModel:
    """Return a model of a circuit, with little around it."""
    model = SavedModel(
        circuit, named=True, parameters={"random_state": 0}, n_iter=0, history={"epoch": []}, training=FACTS
    )
    return replace(model, **changes)


@st.composite
def named_circuits(draw):
    """Draw a circuit whose columns have different names, as the columns of a table have."""
    circuit = draw(circuits())
    n = len(circuit.columns)
    names = draw(st.lists(st.text(st.characters(codec="utf-8"), max_size=8), min_size=n, max_size=n, unique=True))
    columns = tuple(replace(column, name=name) for column, name in zip(circuit.columns, names, strict=True))
    return replace(circuit, columns=columns)


@st.composite
def saved_models(draw):
    """Draw a model with any parameters, history and columns that no rule reads."""
    circuit = draw(named_circuits())
    spare = draw(st.none() | _CATEGORIES)
    name = "spare" + "e" * max(len(column.name) for column in circuit.columns)
    circuit = replace(circuit, columns=(*circuit.columns, Column(name, None if spare is None else tuple(spare))))
    n_epochs = draw(st.integers(0, 5))
    losses = draw(st.lists(st.none() | st.floats() | st.integers(), min_size=n_epochs, max_size=n_epochs))
    return saved(
        circuit,
        named=draw(st.booleans()),
        parameters=draw(st.dictionaries(st.text(max_size=5), _SCALARS | st.lists(_SCALARS, max_size=3).map(tuple))),
        n_iter=n_epochs,
        history={"loss": losses, "epoch": list(range(n_epochs))},
        support=draw(st.none() | st.just([0.25] * len(circuit.rules))),
        target=draw(st.none() | st.text(max_size=5)),
    )


@given(st.data())
def test_a_model_comes_back_as_it_was(data):
    """Reading what was written gives the same circuit, the same predictions, and the same bytes again."""
    circuit = data.draw(named_circuits())
    table = data.draw(tables(circuit))
    read = from_bytes(to_bytes(saved(circuit)))
    assert read.circuit == circuit
    assert read.circuit.evaluate(table).tobytes() == circuit.evaluate(table).tobytes()
    assert to_bytes(read) == to_bytes(saved(circuit))


@given(saved_models())
def test_all_that_surrounds_the_circuit_comes_back(model):
    """Columns, parameters, history and facts come back equal, NaN and infinity included."""
    read = from_bytes(to_bytes(model))
    assert to_bytes(read) == to_bytes(model)
    assert repr(read.circuit.columns) == repr(model.circuit.columns)
    assert dict(read.parameters) == dict(model.parameters)
    assert str(read.history["loss"]) == str(model.history["loss"])
    assert dict(read.training) == FACTS
    assert (read.named, read.n_iter, read.support, read.target) == (
        model.named,
        model.n_iter,
        model.support,
        model.target,
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_written_as_the_specification_says(number):
    """A float is its shortest exact decimal: positional from 1e-4 to below 1e16, with a signed exponent elsewhere."""
    text = to_bytes(saved(layered_circuit(0, n_rules=1, layers=(2,)), parameters={"x": number}))
    written = text.split(b'"parameters":{"x":')[1].split(b"}")[0].decode()
    assert float(written) == number
    assert math.copysign(1, float(written)) == math.copysign(1, number)
    assert ("e" in written) == (number != 0 and not 1e-4 <= abs(number) < 1e16)
    assert "e" in written or "." in written
    digits = written.partition("e")[0].replace(".", "").replace("-", "").strip("0")
    assert len(digits) <= 17
    assert not digits[:-1] or float(f"{number:.{max(len(digits) - 2, 0)}e}") != number  # no shorter one would do


def test_a_file_is_three_lines():
    """A file is the magic and the format, one line of JSON, and the checksum of all before it."""
    first, text, seal, end = to_bytes(saved(layered_circuit(0, n_rules=3, layers=(4,)))).split(b"\n")
    assert first == b"dln-model 1"
    assert json.loads(text)["decimals"] == 3
    assert seal.startswith(b"sha256:")
    assert end == b""


def test_the_schema_is_up_to_date():
    """The schema in docs/ is the one that files are read by."""
    assert json.loads(SCHEMA.read_text()) == json.loads(json.dumps(json_schema()))


def test_the_first_format_loads_for_ever():
    """A file of every format that was released loads, predicts what it predicted then, and keeps its bytes."""
    folder = Path(__file__).parents[1] / "model_files"
    paths = sorted(folder.glob("*.dln"))
    assert paths
    for path in paths:
        written = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        table = pd.DataFrame(written["rows"], columns=written["columns"])
        assert dln.load(path).predict(table).tolist() == written["predictions"], path.name
        if path.stem == f"format-{FORMAT}":
            assert to_bytes(read_model(path)) == path.read_bytes()


@pytest.mark.parametrize(
    ("place", "old", "new"),
    [
        ("line 1", b"dln-model 1", b"dln-model 2"),
        ("line 1", b"dln-model 1", b"dln-model 01"),
        ("line 1", b"dln-model 1", b"PK\x03\x04"),
        ("the last line", b"sha256:", b"sha255:"),
        ("the last line", b'"decimals":3', b'"decimals":4'),
    ],
)
def test_a_damaged_file_is_told_with_its_place(place, old, new):
    """Magic, format and checksum are checked in this order, and the error says where it stopped."""
    data = to_bytes(saved(layered_circuit(0, n_rules=3, layers=(4,))))
    with pytest.raises(ModelFileError) as error:
        from_bytes(data.replace(old, new))
    assert error.value.place == place


@pytest.mark.parametrize(
    ("place", "old", "new"),
    [
        ("gates[0]", b'"gates":[[', b'"gates":[[1,999,0],['),
        ("gates[0][0]", b'"gates":[[', b'"gates":[[16,0,0],['),
        ("rules[0]", b'"rules":[', b'"rules":[{"node":1000000000000,"weight":1.0},'),
        ("rules[0]", b'"rules":[', b'"rules":[{"node":1,"weight":0.0001},'),
        ("rules[0].weight", b'"rules":[', b'"rules":[{"node":1,"weight":null},'),
        ("literals[0]", b'"literals":[', b'"literals":[{"test":"above","column":3,"cutoff":1.0},'),
        ("literals[0].test", b'"literals":[', b'"literals":[{"test":"exec","column":3},'),
        ("columns[1].name", b'"name":"x1"', b'"name":"x0"'),
        ("columns[3].categories[1]", b'["v0","v1"', b'["v0","v0","v1"'),
        ("columns[3].categories[1]", b'["v0","v1"', b'["v0",null,"v1"'),
        ("byte 13 of line 2", b'"decimals":3,', b'"decimals":3 ,'),
        ("byte 15 of line 2", b'"decimals":3,', b'"decimals":3,"decimals":3,'),
        ("the outermost object", b'"decimals":3,', b'"decimals":3,"__class__":"os",'),
        ("history", b'"epoch":[]', b'"epoch":[],"loss":[1.0]'),
        ("history.epoch[0]", b'"epoch":[]', b'"epoch":["many"]'),
    ],
)
def test_a_wrong_meaning_is_told_with_its_place(place, old, new):
    """With the right checksum, the schema and the meaning are checked, and the error names the place in the JSON."""
    text = to_bytes(saved(layered_circuit(0, n_rules=3, layers=(4,)))).split(b"\n")[1]
    assert old in text
    with pytest.raises(ModelFileError) as error:
        from_bytes(sealed(text.replace(old, new, 1)))
    assert error.value.place == place
    assert error.value.reason


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[" * 1_000_000,
        b'{"":' * 1_000_000,
        b'{"intercept":NaN}',
        b'{"intercept":1e999}',
        b'{"intercept":' + b"9" * 100_000,
        b'{"columns":[{"name":"\\ud800"}]}',
        b'{"columns":[{"name":"\xed\xa0\x80"}]}',
        b'{"decimals":"\xff"}',
    ],
)
def test_hostile_json_is_refused(text):
    """Deep nesting, numbers that are none, endless numbers and broken text raise ModelFileError and nothing else."""
    with pytest.raises(ModelFileError):
        from_bytes(sealed(text))


def test_a_large_file_is_not_read(tmp_path: Path):
    """A file of 1 GB is refused at once, for its size alone, and takes no memory."""
    path = tmp_path / "large.dln"
    with path.open("wb") as file:
        file.write(b"dln-model 1\n")
        file.truncate(10**9)
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(ModelFileError, match="1000000000 bytes, more than"):
        dln.load(path)
    assert time.process_time() - start < 0.1
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_a_small_file_cannot_ask_for_much(tmp_path: Path):
    """Numbers in a file are never sizes: one that claims 10^12 gates is refused at once, and takes no memory."""
    path = tmp_path / "small.dln"
    path.write_bytes(
        sealed(b'{"decimals":0,"intercept":0.0,"rules":[{"node":1000000000000,"weight":1.0}],"gates":1000000000000}')
    )
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(ModelFileError):
        dln.load(path)
    assert time.process_time() - start < 0.1
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_the_size_limit_can_be_raised(tmp_path: Path):
    """`max_bytes` is a parameter of `load`."""
    path = tmp_path / "model.dln"
    write_model(path, saved(layered_circuit(0, n_rules=3, layers=(4,))))
    assert len(dln.load(path, max_bytes=path.stat().st_size).circuit_.rules) == 3
    with pytest.raises(ModelFileError, match="max_bytes"):
        dln.load(path, max_bytes=path.stat().st_size - 1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only where there are named pipes")
def test_a_pipe_is_refused(tmp_path: Path):
    """A named pipe without a writer is refused, not waited for."""
    os.mkfifo(tmp_path / "pipe")
    done = threading.Event()

    def read() -> None:
        with pytest.raises(ModelFileError, match="regular file"):
            dln.load(tmp_path / "pipe")
        done.set()

    threading.Thread(target=read, daemon=True).start()
    assert done.wait(10)


def test_a_file_that_is_not_there_is_a_missing_file(tmp_path: Path):
    """A path that does not exist raises FileNotFoundError, as everywhere in Python."""
    with pytest.raises(FileNotFoundError):
        dln.load(tmp_path / "nothing.dln")


def test_the_error_survives_pickling():
    """ModelFileError keeps reason, place and path on its way between processes."""
    error = pickle.loads(pickle.dumps(ModelFileError("why", "where", "which")))  # noqa: S301 (our own)
    assert (error.reason, error.place, error.path) == ("why", "where", "which")


def test_a_model_that_could_not_be_read_is_not_written(tmp_path: Path):
    """Two columns of one name could not be distinguished by a reader: there is an error, and no file."""
    circuit = layered_circuit(0, n_rules=3, layers=(4,))
    twice = replace(circuit, columns=tuple(replace(column, name="x") for column in circuit.columns))
    with pytest.raises(ValueError, match=r"cannot be saved.*unique"):
        write_model(tmp_path / "model.dln", saved(twice))
    assert not list(tmp_path.iterdir())


def test_the_reader_in_the_specification_reads(tmp_path: Path):
    """The reader printed in docs/model-file.md, which knows nothing of dln, predicts the same bits."""
    page = (SCHEMA.parent / "model-file.md").read_text(encoding="utf-8")
    reader: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], reader)  # noqa: S102 (our own page)
    for model, table in models():
        model.save(tmp_path / "model.dln")
        rows = pd.DataFrame(table).astype(object)
        plain = rows.where(rows.notna(), None).to_numpy().tolist()
        contents = reader["read"](tmp_path / "model.dln")
        assert [reader["predict"](contents, row) for row in plain] == model.predict(table).tolist()


def test_half_a_character_is_told(tmp_path: Path):
    """Text that is not valid Unicode cannot be written; there is one sentence, and no file."""
    with pytest.raises(ValueError, match="half a character"):
        write_model(tmp_path / "model.dln", saved(layered_circuit(0, n_rules=3, layers=(4,)), target="pri\ud800ce"))
    assert not list(tmp_path.iterdir())
