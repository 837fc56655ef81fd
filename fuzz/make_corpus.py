"""Write the inputs that fuzzing starts from: small files of every kind that a reader has a branch for.

python fuzz/make_corpus.py
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from models import models

HERE = Path(__file__).resolve().parent


def write(target: str, name: str, data: bytes) -> None:
    """Write one input of a target's corpus."""
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def main() -> None:
    """Write all corpora."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model.dln"
        for which, (model, _) in enumerate(models()[:9]):
            model.save(path)
            file = path.read_bytes()
            write("model_file", f"file-{which}", file)
            write("model_file", f"json-{which}", file.split(b"\n")[1])
    rng = np.random.default_rng(0)
    for i in range(20):
        write("table", f"recipe-{i}", rng.bytes(40 * (1 + i % 5)))
    frame = pl.DataFrame({"age": [1.5, None, 3.0], "sold at": ["2020-01-31", "2020-02-01", ""], "y": [1, 2, 3]})
    text = frame.write_csv().encode()
    write("command_line", "plain", b"\0" + text)
    write("command_line", "tabs", b"\1" + text.replace(b",", b"\t"))
    write("command_line", "zipped", b"\3" + gzip.compress(text, mtime=0))
    write("command_line", "semicolons", b"\4a;b;y\n1,5;ja;2\n2,5;nein;3,1\n")
    write("command_line", "quotes", b'\0"a ""b""",c\n"1\n2",3\n')
    write("command_line", "dates", b"\0t,id,y\n31.12.2020 10:00,a1,1e3\n01.01.2021 11:00,a2,-2\nNA,a3,3\n")
    write("command_line", "latin", b"\0n\xe4me,y\n\xfc,1\n")


if __name__ == "__main__":
    main()
