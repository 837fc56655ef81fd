"""Time to load a model of 100 rules, and to refuse files that are made to hurt.

python benchmarks/loading.py
"""

from __future__ import annotations

import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import dln
from circuits import layered_circuit
from dln.readers.model_file import MAX_BYTES, SavedModel, sealed, write_model

FACTS = {"rows": 1, "distinct_rows": 1, "target_min": 0.0, "target_max": 1.0, "versions": {}}
START = b'{"decimals":0,"intercept":0.0,"rules":[],"gates":'
N_EPOCHS = 1200
REPEATS = 50


def hundred_rules(path: Path) -> None:
    """Write a model of 100 rules and 500 gates, with the history of six networks."""
    losses = [1.0 / (3.7 + epoch) for epoch in range(N_EPOCHS)]
    names = ("training_loss", "validation_loss", "learning_rate", "temperature")
    history = dict.fromkeys(names, losses) | {"epoch": list(range(N_EPOCHS))}
    parameters = {"max_conditions": 100, "random_state": 0}
    circuit = layered_circuit(0, n_rules=100, layers=(200, 200, 100))
    write_model(path, SavedModel(circuit, True, parameters, 200, history, FACTS, [0.5] * 100))  # noqa: FBT003


def refusal(path: Path) -> tuple[float, int]:
    """Return the seconds and the most bytes that refusing a file took."""
    start = time.process_time()
    try:
        dln.load_predictor(path)
    except dln.ModelFileError:
        seconds = time.process_time() - start
    tracemalloc.start()
    try:
        dln.load_predictor(path)
    except dln.ModelFileError:
        peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak


def main() -> None:
    """Print one line per file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dln"
        hundred_rules(path)
        times = []
        for _ in range(REPEATS):
            start = time.process_time()  # of this process alone: machines are shared
            dln.load_predictor(path)
            times.append(time.process_time() - start)
        middle = 1e3 * sorted(times)[REPEATS // 2]
        print(f"100 rules, 500 gates, {N_EPOCHS} epochs, {path.stat().st_size} bytes: loaded in {middle:.2f} ms")
        hostile = {
            "1 GB": None,
            "a claim of 10^12 gates": sealed(START + b"1000000000000}"),
            "16 MiB of gates, right checksum": sealed(
                START + b"[[1,0,0]" + b",[1,0,0]" * (MAX_BYTES // 8 - 50) + b"]}"
            ),
            "16 MiB of brackets, right checksum": sealed(b"[" * (MAX_BYTES - 200)),
        }
        for what, data in hostile.items():
            with path.open("wb") as file:
                file.write(b"dln-model 1\n" if data is None else data)
                file.truncate(10**9 if data is None else len(data))
            seconds, peak = refusal(path)
            print(f"{what}: refused in {1e3 * seconds:.2f} ms, {peak / 2**20:.1f} MiB at most")


if __name__ == "__main__":
    main()
