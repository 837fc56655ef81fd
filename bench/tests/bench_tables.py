"""Three small made tables in a folder of their own, and the place of the real ones."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np

#: The folder of the real datasets: the one that DLN_DATA_HOME names, or one beside the project.
SHARED = Path(os.environ.get("DLN_DATA_HOME", Path(__file__).parents[3] / "shared" / "datasets"))


def write_tables(folder: Path, *names: str, n_rows: int = 60) -> Path:
    """Write made tables under the given names (default: those of a quick run) with an index, and return the folder."""
    folder.mkdir(exist_ok=True)
    index = {}
    for number, name in enumerate(names or ("yacht", "estate", "mpg")):
        rng = np.random.default_rng(number)
        lines = ["id,size,age,kind,price"]
        for i in range(n_rows + number):
            size, age, kind = rng.uniform(0, 10), rng.integers(0, 50), "abc"[i % 3]
            price = 3 * size - (age > 20) * 5 + (kind == "b") * 4 + rng.normal(0, 0.1)
            lines.append(f"{i},{size:.3f},{age},{kind},{price:.4f}")
        lines.append(lines[-1])  # a repeated row
        text = "\n".join(lines).encode() + b"\n"
        (folder / f"{name}.csv").write_bytes(text)
        index[name] = {
            "title": f"Made table {number}",
            "origin": "made",
            "licence": "none",
            "file": f"{name}.csv",
            "bytes": len(text),
            "sha256": hashlib.sha256(text).hexdigest(),
            "target": "price",
            "drop_columns": ["id"],
            "drop_missing": True,
            "drop_duplicates": True,
            "continuous": ["size", "age"],
            "categorical": ["kind"],
            "value_maps": {},
            "encoding": {"kind": {"scheme": "one_hot_drop_first", "levels": ["a", "b", "c"]}},
            "expected_rows": n_rows + number,
            "n_categorical_columns": 2,
        }
    (folder / "index.json").write_text(json.dumps(index))
    return folder
