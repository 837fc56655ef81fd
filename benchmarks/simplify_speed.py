"""Size of circuits after simplification, and its time beside SymPy's simplify_logic.

    python benchmarks/simplify_speed.py            # two trained networks and two random ones, one thread
    python benchmarks/simplify_speed.py --quick    # the small ones only

SymPy simplifies those rules that have few enough literals for it, one by one, and so does dln; of these the literals
written out are compared.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import sympy
from sklearn.datasets import make_friedman1
from sympy.logic.boolalg import simplify_logic

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from circuits import layered_circuit
from dln import DLNRegressor
from dln.circuit._circuit import Circuit
from dln.circuit._cost import circuit_cost, count_conditions
from dln.circuit._gates import GATES
from dln.circuit._graph import cone
from dln.circuit._simplify import simplify
from dln.circuit._words import node_sizes

SMALL, LARGE = [300] * 3, [1000] * 5
#: Literals up to which SymPy minimises a rule within a second or so.
SYMPY_LITERALS = 6


def trained(layers: list[int]) -> Circuit:
    """Return the circuit of a network as it is before simplification."""
    X, y = make_friedman1(n_samples=2000, n_features=10, noise=1.0, random_state=0)
    found: list[Circuit] = []
    with mock.patch("dln._dln.simplify", side_effect=lambda circuit: found.append(circuit) or simplify(circuit)):
        DLNRegressor(hidden_layer_sizes=layers, refit=False, max_epochs=50, n_jobs=1, random_state=0).fit(X, y)
    return found[0]


def sympy_rule(circuit: Circuit, node: int) -> Any:
    """Return a rule as a SymPy expression over one symbol per literal."""
    values: dict[int, Any] = {}
    for i in cone(circuit, [node]):
        if i < len(circuit.literals):
            values[i] = sympy.Symbol(f"l{i}")
        else:
            gate = circuit.gates[i - len(circuit.literals)]
            a, b = values.get(gate.a, sympy.false), values.get(gate.b, sympy.false)
            parts = (~a & ~b, ~a & b, a & ~b, a & b)
            values[i] = sympy.Or(*(part for part, on in zip(parts, GATES[gate.kind].truth, strict=True) if on))
    return values[node]


def n_symbols(expression: Any) -> int:
    """Return how many literals an expression names."""
    return 1 if expression.is_Symbol else sum(map(n_symbols, expression.args))


def compare(circuit: Circuit, n_rules: int) -> None:
    """Print the time of both and the literals written out, for some of the rules that are short enough for SymPy."""
    sizes = node_sizes(circuit)
    short = [rule for rule in circuit.rules if 1 < sizes[rule.node] <= SYMPY_LITERALS][:n_rules]
    alone = [replace(circuit, rules=(rule,)) for rule in short]
    started = time.perf_counter()
    ours = sum(node_sizes(one)[rule.node] for one in map(simplify, alone) for rule in one.rules)
    middle = time.perf_counter()
    theirs = sum(n_symbols(simplify_logic(sympy_rule(circuit, rule.node), force=True)) for rule in short)
    ended = time.perf_counter()
    print(f"  {len(short)} rules by themselves: SymPy takes {(ended - middle) / (middle - started):.1f} times as long;")
    print(f"  literals written out: dln {ours}, SymPy {theirs}")


def report(name: str, circuit: Circuit, n_rules: int) -> None:
    """Print the effect of simplification on a circuit."""
    started = time.perf_counter()
    simple = simplify(circuit)
    print(f"\n{name}: simplified and proved in {time.perf_counter() - started:.2f} s")
    before, after = circuit_cost(circuit), circuit_cost(simple)
    rows = [
        ("rules", len(circuit.rules), len(simple.rules)),
        ("conditions", sum(count_conditions(circuit)), sum(count_conditions(simple))),
        ("literals", len(circuit.literals), len(simple.literals)),
        ("gates", len(circuit.gates), len(simple.gates)),
        ("OPs (multiply)", before.total, after.total),
        ("OPs (select)", circuit_cost(circuit, "select").total, circuit_cost(simple, "select").total),
    ]
    for what, old, new in rows:
        print(f"  {what:<15}{old:>10} -> {new:<10} ({new / max(old, 1):.3f})")
    compare(circuit, n_rules)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the small circuits only")
    parser.add_argument("--rules", type=int, default=30, help="rules for SymPy, per circuit")
    options = parser.parse_args()
    for layers in [SMALL] if options.quick else [SMALL, LARGE]:
        shape = f"{len(layers)} layers of {layers[0]}"
        report(f"random, {shape}", layered_circuit(0, n_rules=layers[-1], layers=layers), options.rules)
        report(f"trained, {shape}", trained(layers), options.rules)


if __name__ == "__main__":
    main()
