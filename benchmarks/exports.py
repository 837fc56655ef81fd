"""Exported models beside LightGBM exported by m2cgen: size, compile time, speed, rows that differ from `predict`.

    python benchmarks/exports.py

A model of 100 conditions (25 rules of four) and LightGBM with its defaults, over the same twenty columns, in one run,
on one thread. C is compiled by the machine's own compiler with -O2.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import m2cgen
import numpy as np
from lightgbm import LGBMRegressor
from measure import machine
from prediction_speed import N_COLUMNS, TRAINING_ROWS, table

from dln import RuleRegressor
from dln.circuit._circuit import Above, Circuit, Column
from dln.circuit._cost import circuit_cost
from dln.circuit._graph import Graph
from dln.export._engines import c_compiler, node

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from engines.chips import synthesise

N_RULES, N_CONDITIONS = 25, 4
N_TIMED = 20_000
REPEATS = 20
CORTEX_M0 = ("-std=c99", "-Os", "-mcpu=cortex-m0", "-mthumb", "-ffreestanding")

_TIMER = """
#include <stdio.h>
#include <time.h>
#include <stdlib.h>
int main(void) {
  static double rows[%(n_rows)d * %(n_columns)d];
  static double out[%(n_rows)d];
  struct timespec a, b;
  if (fread(rows, sizeof(double), %(n_rows)d * %(n_columns)d, stdin) == 0) { return 1; }
  double best = 1e9;
  for (int repeat = 0; repeat < %(repeats)d; repeat++) {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int i = 0; i < %(n_rows)d; i++) { const double *x = rows + i * %(n_columns)d; %(call)s }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    double took = (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec);
    if (took < best) { best = took; }
  }
  fprintf(stderr, "%%.9g", best / %(n_rows)d * 1e9);
  fwrite(out, sizeof(double), %(n_rows)d, stdout);
  return 0;
}
"""


def circuit_of_a_hundred_conditions(seed: int = 0) -> Circuit:
    """Return rules of four conditions each, over ten cut-offs of every column."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    cuts = np.linspace(0.05, 0.95, 10).round(2).tolist()
    literals = [graph.literal(Above(j, cut)) for j in range(N_COLUMNS) for cut in cuts]
    rules = []
    for _ in range(N_RULES):
        edge, *others = (literals[i] for i in rng.choice(len(literals), N_CONDITIONS, replace=False))
        for other in others:
            edge = graph.gate(int(rng.choice([1, 2, 4, 7, 11, 13])), edge, other)
        rules.append((edge, float(rng.normal())))
    return graph.circuit(tuple(Column(f"x{j}") for j in range(N_COLUMNS)), 14.4, rules, decimals=3)


def model_of(circuit: Circuit) -> RuleRegressor:
    """Return a model of a circuit, as if it had been fitted."""
    model = RuleRegressor()
    model.circuit_, model.target_name_ = circuit, "y"
    return model


def run(*command: Any, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a command that must succeed."""
    return subprocess.run([str(word) for word in command], input=stdin, capture_output=True, check=True)  # noqa: S603


def compile_and_time(
    folder: Path, name: str, text: str, call: str, X: np.ndarray
) -> tuple[int, float, float, np.ndarray]:
    """Return the object's bytes, the seconds to compile it, nanoseconds for a row, and the predictions."""
    source = folder / f"{name}.c"
    source.write_text(text)
    start = time.perf_counter()
    run(*c_compiler(), "-std=gnu99", "-O2", "-c", source, "-o", folder / f"{name}.o")
    took = time.perf_counter() - start
    size = sum(map(int, run("size", folder / f"{name}.o").stdout.splitlines()[1].split()[:3]))
    main = _TIMER % {"n_rows": len(X), "n_columns": X.shape[1], "call": call, "repeats": REPEATS}
    header = f'#define DLN_HEADER\n#include "{name}.c"\n' if name == "dln" else "double score(double *input);\n"
    (folder / f"{name}_main.c").write_text(header + main)
    program = folder / name
    run(*c_compiler(), "-std=gnu99", "-O2", folder / f"{name}_main.c", folder / f"{name}.o", "-o", program, "-lm")
    done = run(program, stdin=X.astype(np.float64).tobytes())
    return size, took, float(done.stderr), np.frombuffer(done.stdout, dtype=np.float64)


def time_script(command: Sequence[Any], text: str, suffix: str, driver: str, X: np.ndarray, folder: Path) -> float:
    """Return the microseconds that a script's own clock measures for a row."""
    (folder / f"exported{suffix}").write_text(text)
    (folder / f"driver{suffix}").write_text(driver)
    np.savetxt(folder / "rows.csv", X[:2000], delimiter=",", fmt="%.17g")
    done = subprocess.run(  # noqa: S603
        [*map(str, command), str(folder / f"driver{suffix}")], cwd=folder, capture_output=True, check=True
    )
    return float(done.stdout)


JS_DRIVER = """
import { readFileSync } from "node:fs";
%(load)s
const lines = readFileSync("rows.csv", "utf8").trim().split("\\n");
const rows = lines.map((line) => line.split(",").map(Number)).map(%(row)s);
let best = 1e9;
for (let repeat = 0; repeat < 30; repeat++) {
  const start = process.hrtime.bigint();
  for (const row of rows) %(call)s;
  best = Math.min(best, Number(process.hrtime.bigint() - start) / 1e3 / rows.length);
}
console.log(best);
"""
PYTHON_DRIVER = """
import time
%(load)s
rows = [%(row)s for line in open("rows.csv") for row in [list(map(float, line.split(",")))]]
best = 1e9
for repeat in range(5):
    start = time.perf_counter()
    for row in rows:
        %(call)s
    best = min(best, (time.perf_counter() - start) / len(rows) * 1e6)
print(best)
"""


def compare_programs(model: RuleRegressor, other: LGBMRegressor, X: np.ndarray, folder: Path) -> None:
    """Print sizes and times of the exported programs, and how many rows differ."""
    circuit = model.circuit_
    names = [column.name for column in circuit.columns]
    used = {literal.column for literal in circuit.literals}
    filled = " ".join(f"row.{name} = x[{j}];" for j, name in enumerate(names) if j in used)
    call = f"dln_row row; {filled} out[i] = dln_predict(&row);"
    ours = compile_and_time(folder, "dln", model.to_c(name="dln"), call, X)
    theirs = compile_and_time(folder, "lightgbm", m2cgen.export_to_c(other), "out[i] = score((double *)x);", X)
    wrong = [int((ours[3] != circuit.evaluate(list(X.T))).sum()), int((theirs[3] != other.predict(X)).sum())]
    print(f"\n{'C, -O2':28}{'dln':>12}{'LightGBM, m2cgen':>20}{'ratio':>10}")
    sources = len(model.to_c(name="dln")), (folder / "lightgbm.c").stat().st_size
    print(f"{'source, bytes':28}{sources[0]:>12,}{sources[1]:>20,}{sources[1] / sources[0]:>10.1f}")
    print(f"{'object, bytes':28}{ours[0]:>12,}{theirs[0]:>20,}{theirs[0] / ours[0]:>10.1f}")
    print(f"{'compile, s':28}{ours[1]:>12.3f}{theirs[1]:>20.3f}{theirs[1] / ours[1]:>10.1f}")
    print(f"{'one row, ns':28}{ours[2]:>12.1f}{theirs[2]:>20.1f}{theirs[2] / ours[2]:>10.1f}")
    print(f"{'rows that differ':28}{wrong[0]:>12,}{wrong[1]:>20,}   of {len(X):,}")
    entries = ", ".join(f'"{name}": row[{j}]' for j, name in enumerate(names))
    python = [
        time_script([sys.executable, "-I"], model.to_python(), ".py", PYTHON_DRIVER % {
            "load": 'import runpy; predict = runpy.run_path("exported.py")["predict"]', "row": f"{{{entries}}}",
            "call": "predict(row)"}, X, folder),
        time_script([sys.executable, "-I"], m2cgen.export_to_python(other), ".py", PYTHON_DRIVER % {
            "load": 'import runpy; score = runpy.run_path("exported.py")["score"]', "row": "row", "call": "score(row)"},
            X, folder),
    ]  # fmt: skip
    script = [
        time_script([node()], model.to_javascript(), ".mjs", JS_DRIVER % {
            "load": 'import { predict } from "./exported.mjs";', "row": f"(row) => ({{{entries}}})",
            "call": "predict(row)"}, X, folder),
        time_script([node()], m2cgen.export_to_javascript(other) + "\nexport { score };\n", ".mjs", JS_DRIVER % {
            "load": 'import { score } from "./exported.mjs";', "row": "(row) => row", "call": "score(row)"}, X, folder),
    ]  # fmt: skip
    print(f"{'Python, one row, µs':28}{python[0]:>12.1f}{python[1]:>20.1f}{python[1] / python[0]:>10.1f}")
    print(f"{'JavaScript, one row, µs':28}{script[0]:>12.2f}{script[1]:>20.2f}{script[1] / script[0]:>10.1f}")
    targets = ("python", "javascript", "sql", "onnx", "excel", "verilog")
    sizes = {name: len(getattr(model, f"to_{name}")()) for name in targets}
    print("bytes: " + ", ".join(f"{name} {size:,}" for name, size in sizes.items()))


def measure_cortex_m0(model: RuleRegressor, folder: Path) -> None:
    """Print what the variant without floating point takes on a Cortex-M0."""
    if shutil.which("arm-none-eabi-gcc") is None:
        print("\nCortex-M0: not measured, that needs arm-none-eabi-gcc")
        return
    (folder / "whole.c").write_text(model.to_c(integers=True, name="whole"))
    run("arm-none-eabi-gcc", *CORTEX_M0, "-c", folder / "whole.c", "-o", folder / "whole.o")
    text, data, bss = run("arm-none-eabi-size", folder / "whole.o").stdout.splitlines()[1].split()[:3]
    took = f"{int(text):,} bytes of code, {int(data) + int(bss)} of data"
    print(f"\nCortex-M0, whole numbers, -Os: {took}")


def measure_verilog(model: RuleRegressor) -> None:
    """Print cells and depth after synthesis beside the operations that the cost model counts."""
    multiply, select = circuit_cost(model.circuit_, "multiply"), circuit_cost(model.circuit_, "select")
    print(f"\nthe circuit's operations: multiply {int(multiply)}, select {int(select)}")
    print(f"{'Verilog after Yosys':28}{'cells':>12}{'depth':>10}")
    for latency in (0, 2, 4, 8):
        found = synthesise(model.to_verilog(latency=latency))
        print(f"{f'latency {latency}':28}{found.cells:>12,}{found.depth:>10}")
    print(
        "The paper prices arithmetic on 16-bit floating-point numbers. Here cut-offs and weights are constants, weights"
    )
    print("are chosen and not multiplied, and sums are of whole numbers, which need no exponents to be aligned.")


def main() -> None:
    """Measure everything in one run."""
    print(machine())
    model = model_of(circuit_of_a_hundred_conditions())
    X, y = table(TRAINING_ROWS, seed=0)
    other = LGBMRegressor(n_jobs=1, verbose=-1).fit(X, y)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compare_programs(model, other, table(N_TIMED, seed=1)[0].astype(np.float64), folder)
        measure_cortex_m0(model, folder)
        measure_verilog(model)


if __name__ == "__main__":
    main()
