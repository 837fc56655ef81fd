"""The C file under compilers, linkers, sanitizers and on small machines."""

import shutil
import subprocess

import numpy as np
import pytest

from circuits import layered_circuit
from dln.circuit._circuit import Above, Circuit, Column, IsMissing, Rule
from dln.export._c import to_c
from dln.export._engines import c_compiler, run_c
from dln.export._form import lower
from dln.export._verification import EngineMissing, cases
from exported import CIRCUIT, hostile_circuit, write


@pytest.fixture
def compiler():
    """A C compiler."""
    try:
        return c_compiler()
    except EngineMissing as missing:
        pytest.skip(f"C was not compiled: {missing}")


def run(*command):
    """Run a command and return what it writes."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("integers", [False, True])
def test_every_warning_is_an_error_and_none_comes(compiler, integers, tmp_path):
    """The strictest warnings find nothing, with names that would break C either, in double and in float."""
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror", "-std=c99", "-O2"]
    for circuit in (CIRCUIT, hostile_circuit(), layered_circuit(0, n_rules=20, layers=(20, 20), all_gates=True)):
        file = write(tmp_path, "c", lower(circuit, "42 ?? */"), integers=integers)
        run(*compiler, *strict, "-c", file, "-o", tmp_path / "model.o")
        run(*compiler, *strict, "-DDLN_FLOAT", "-c", file, "-o", tmp_path / "model.o")


def test_it_is_header_and_source_in_one(compiler, tmp_path):
    """Two files include it as a header, one compiles it, and they link; nothing but our own functions is needed."""
    (tmp_path / "charges.c").write_text(to_c(lower(CIRCUIT, "charges")))
    header = '#define DLN_HEADER\n#include "charges.c"\n'
    (tmp_path / "other.c").write_text(f"{header}double f(const charges_row *r) {{ return charges_predict(r); }}\n")
    (tmp_path / "main.c").write_text(
        f'{header}#include "charges.c"\n#include <stdio.h>\ndouble f(const charges_row *);\nint main(void) {{\n'
        'charges_row row = {35.0, charges_smoker_from_text("yes"), charges_rooms_from_number(2.0),\n'
        "  CHARGES_GARAGE_TRUE_};\n"
        'printf("%.1f", f(&row)); return 0; }\n'
    )
    files = [tmp_path / name for name in ("charges.c", "other.c", "main.c")]
    run(*compiler, "-std=c99", "-Werror", *files, "-o", tmp_path / "program")
    assert run(tmp_path / "program") == "35430.5"


def test_it_needs_no_library(compiler, tmp_path):
    """The object needs nothing from elsewhere: no libc, no floating-point helpers, no memory."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("the object was not looked into: that needs nm")
    (tmp_path / "charges.c").write_text(to_c(lower(CIRCUIT, "charges")))
    run(*compiler, "-std=c99", "-O2", "-c", tmp_path / "charges.c", "-o", tmp_path / "charges.o")
    symbols = run(nm, tmp_path / "charges.o").split()
    assert "U" not in symbols
    assert not {"D", "B", "C"} & set(symbols)  # nothing global that could change


def test_float_rows_are_compared_exactly(compiler, tmp_path):
    """With DLN_FLOAT, numbers are float32 and still on the right side of every cut-off, to the last bit."""
    assert compiler
    cutoffs = (0.1, 30.01, -1e-3, 1e9 + 0.3, 1e300, -1e300, 3.4028235e38, 1e-45)
    literals = (*(Above(0, cutoff) for cutoff in cutoffs), IsMissing(0))
    circuit = Circuit((Column("x"),), literals, (), tuple(Rule(i, 2.0**i) for i in range(len(literals))), 0.0, 0)
    form = lower(circuit, "y")
    path = write(tmp_path, "c", form)
    with np.errstate(over="ignore", under="ignore"):
        near = np.array([*cutoffs, 0.0, -0.0, np.nan, np.inf, -np.inf], dtype=np.float32)
        values = np.unique(
            np.concatenate([near, np.nextafter(near, np.float32(9)), np.nextafter(near, np.float32(-9))])
        )
    found = run_c(path, form, [values], flags=["-DDLN_FLOAT"])
    assert found.tolist() == circuit.evaluate([values]).tolist()


def test_memory_and_arithmetic_are_sound(compiler, tmp_path):
    """Under the sanitizers for addresses and undefined behaviour, every case gives the bits of the model."""
    form = lower(hostile_circuit(), "y")
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
    command = [*compiler, *flags, str(tmp_path / "empty.c"), "-o", str(tmp_path / "empty")]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("the sanitizers were not run: this compiler lacks them")
    table = cases(form)
    for integers in (False, True):
        path = write(tmp_path, "c", form, integers=integers)
        assert run_c(path, form, table, flags=flags).tobytes() == form.circuit.evaluate(table).tobytes()


def test_a_microcontroller_without_floating_point_holds_it(tmp_path):
    """A hundred conditions in whole numbers take less than 8 KB on a Cortex-M0, and no helper but those for int64."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("nothing was compiled for Cortex-M0: that needs arm-none-eabi-gcc")
    form = lower(layered_circuit(0, n_rules=40, layers=(60, 40), thresholds=6))
    assert len(form.literals()) > 40
    path = write(tmp_path, "c", form, integers=True)
    flags = ["-std=c99", "-Os", "-mcpu=cortex-m0", "-mthumb", "-ffreestanding", "-Wall", "-Wextra", "-Werror"]
    run("arm-none-eabi-gcc", *flags, "-c", path, "-o", tmp_path / "model.o")
    text, data, bss, *_ = map(int, run("arm-none-eabi-size", tmp_path / "model.o").splitlines()[1].split()[:3])
    assert text < 8192
    assert data == bss == 0
    undefined = [line.split()[-1] for line in run("arm-none-eabi-nm", "-u", tmp_path / "model.o").splitlines()]
    assert not [
        name for name in undefined if "d" in name.removeprefix("__aeabi_")[:1] or "f" in name.split("_")[-1][:1]
    ]
