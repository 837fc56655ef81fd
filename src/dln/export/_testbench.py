"""A test bench for the Verilog module: rows as vectors, and what comes out for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dln.circuit._circuit import MISSING, UNKNOWN, Values
from dln.export._form import Form
from dln.export._titles import exported_by
from dln.export._verilog import Port, module_name, module_ports, result_bits, signed_constant


def to_testbench(form: Form, values: Sequence[Values], *, latency: int = 0, name: str | None = None) -> str:
    """Return a test bench that feeds rows to the module, one each clock cycle, and compares what it gives.

    It ends with ``PASS`` or with the number of rows that differ.
    """
    bits, n_rows = result_bits(form), len(values[0])
    width, vectors = vector_width(form), vector_texts(form, values)
    expected = f"expected[row - {latency}]"
    display = f'$display("row %0d: %0d instead of %0d", row - {latency}, steps, {expected});'
    return _bench(
        form,
        n_rows,
        latency,
        name,
        declared=[f"  reg signed [{bits - 1}:0] expected [0:{n_rows - 1}];", "  integer errors;"],
        first=[
            "    errors = 0;",
            *(f"    vectors[{row}] = {width}'b{vector};" for row, vector in enumerate(vectors)),
            *(
                f"    expected[{row}] = {signed_constant(steps, bits)};"
                for row, steps in enumerate(_expected(form, values))
            ),
        ],
        each=f"if (steps !== {expected}) begin errors = errors + 1; {display} end",
        last=[
            '    if (errors == 0) $display("PASS"); else $display("FAIL: %0d rows differ", errors);',
            "    $finish;",
        ],
    )


def to_printing_bench(form: Form, n_rows: int, file: str, *, latency: int = 0, name: str | None = None) -> str:
    """Return a bench that reads vectors from a file, tells every result behind the module's name, and does not end."""
    each = f'$display("{module_name(form, name)} %0d", steps);'
    first = [f'    $readmemb("{file}", vectors);']
    return _bench(form, n_rows, latency, name, declared=[], first=first, each=each, last=[])


def _bench(
    form: Form,
    n_rows: int,
    latency: int,
    name: str | None,
    *,
    declared: list[str],
    first: list[str],
    each: str,
    last: list[str],
) -> str:
    module, width = module_name(form, name), vector_width(form)
    connections = [".clk(clk)"] if latency else []
    connections += [f".{port}(vector{slot})" for port, slot in _wires(form)] + [".steps(steps)"]
    lines = [
        f"// A test bench with {n_rows} rows. {exported_by('testbench', latency=latency, name=name)}",
        f"module {module}_tb;",
        *(["  reg clk = 1'b0;"] if latency else []),
        f"  reg [{width - 1}:0] vector;",
        f"  reg [{width - 1}:0] vectors [0:{n_rows - 1}];",
        f"  wire signed [{result_bits(form) - 1}:0] steps;",
        *declared,
        "  integer row;",
        f"  {module} dut ({', '.join(connections)});",
        "  initial begin",
        *first,
        f"    for (row = 0; row < {n_rows + latency}; row = row + 1) begin",
        f"      vector = vectors[row < {n_rows} ? row : 0];",
        "      #1;",
        f"      if (row >= {latency}) begin",
        f"        {each}",
        "      end",
        *(["      clk = 1'b1; #1; clk = 1'b0;"] if latency else []),
        "    end",
        *last,
        "  end",
        "endmodule",
        "",
    ]
    return "\n".join(lines)


def vector_width(form: Form) -> int:
    """Return the bits of all inputs of a row together."""
    return sum((port.bits if port.value else 0) + 1 for port in module_ports(form).values()) or 1


def vector_texts(form: Form, values: Sequence[Values]) -> list[str]:
    """Return for every row the bits of all inputs, in the order of the ports."""
    ports = module_ports(form)
    columns = [[_bits(port, value) for value in values[j]] for j, port in ports.items()]
    return ["".join(row) for row in zip(*columns, strict=True)] if columns else ["0"] * len(values[0])


def _wires(form: Form) -> Iterator[tuple[str, str]]:
    """Yield each port with its slice of the vector: the first port stands leftmost."""
    start = vector_width(form)
    for port in module_ports(form).values():
        if port.value is not None:
            yield port.value, f"[{start - 1}:{start - port.bits}]"
            start -= port.bits
        yield port.missing, f"[{start - 1}]"
        start -= 1


def _expected(form: Form, values: Sequence[Values]) -> list[int]:
    """Return the sums in steps of the grid."""
    total = np.full(len(values[0]), form.intercept, dtype=np.int64)
    for fires, rule in zip(form.circuit.rule_values(values), form.rules, strict=True):
        total += fires.astype(np.int64) * rule.steps
    return [int(steps) for steps in total]


def _bits(port: Port, value: float) -> str:
    if port.scaled is not None:
        missing = bool(np.isnan(value))
        number = 0 if missing else port.scaled.value(float(value))
    else:
        missing = value == MISSING
        number = len(port.column.categories or ()) if value == UNKNOWN else 0 if missing else int(value)
    stored = "" if port.value is None else format(number & ((1 << port.bits) - 1), f"0{port.bits}b")
    return stored + str(int(missing))
