"""How fast circuits are simplified, how much smaller they get, and what SymPy's simplify_logic does on the same rules.

    python benchmarks/simplify_speed.py            # two trained networks and two random ones, one thread
    python benchmarks/simplify_speed.py --quick    # the small ones only

Sizes are those of a whole circuit: gates that compute something, distinct literals, basic logic operations (both
readings). SymPy gets the rules one by one, in a process of its own that is ended after the timeout; of the rules that
both finish, the literals written are compared.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from circuits import layered_circuit
from dln import DLNRegressor
from dln.circuit._circuit import Circuit
from dln.circuit._operations import circuit_cost
from dln.circuit._words import node_sizes
from dln.circuit.simplify import simplify

SMALL = {"n_rules": 150, "layers": [300] * 3}
LARGE = {"n_rules": 1000, "layers": [1000] * 5}


def trained(n_rules: int, layers: list[int]) -> Circuit:
    """Return a network as it comes out of training, before it is simplified."""
    X, y = make_friedman1(n_samples=2000, n_features=10, noise=1.0, random_state=0)
    caught: list[Circuit] = []
    sizes = (*layers[:-1], n_rules)
    import dln._dln as paper

    model = DLNRegressor(hidden_layer_sizes=sizes, max_epochs=15, n_jobs=1, random_state=0)
    original = paper.discretize  # the circuit before simplification has no public name
    paper.discretize = lambda *args, **more: caught.append(original(*args, **more)) or caught[-1]
    try:
        model.fit(X, y)
    finally:
        paper.discretize = original
    return caught[0]


def sympy_rules(circuit: Circuit) -> list[Any]:
    """Return the rules as SymPy expressions over one symbol per literal, which is all that SymPy can know of them."""
    import sympy

    literals = [sympy.Symbol(f"l{i}") for i in range(len(circuit.literals))]
    nodes: list[Any] = list(literals)
    for gate in circuit.gates:
        a, b = nodes[gate.a], nodes[gate.b]
        parts = (sympy.And(~a, ~b), sympy.And(~a, b), sympy.And(a, ~b), sympy.And(a, b))
        named = {1: sympy.And(a, b), 6: sympy.Xor(a, b), 7: sympy.Or(a, b), 8: sympy.Nor(a, b), 9: ~sympy.Xor(a, b)}
        named |= {14: sympy.Nand(a, b), 3: a, 5: b, 12: ~a, 10: ~b}
        others = sympy.Or(*(part for bit, part in enumerate(parts) if gate.kind >> (3 - bit) & 1))
        nodes.append(named.get(gate.kind, others))
    return [nodes[rule.node] for rule in circuit.rules]


def _work(connection: Any) -> None:
    from sympy.logic.boolalg import simplify_logic

    while True:
        rule = connection.recv()
        simple = simplify_logic(rule, force=True)
        connection.send(sum(1 for node in _tree(simple) if node.is_Symbol))


def _tree(expression: Any) -> Iterator[Any]:
    yield expression
    for argument in expression.args:
        yield from _tree(argument)


def time_sympy(rules: list[Any], timeout: float) -> tuple[list[int | None], float]:
    """Return the literals written by SymPy for each rule, None where it did not finish, and the seconds in all."""
    sizes: list[int | None] = []
    started = time.perf_counter()
    worker = None
    for rule in rules:
        if worker is None:
            ours, theirs = multiprocessing.Pipe()
            worker = multiprocessing.get_context("fork").Process(target=_work, args=(theirs,), daemon=True)
            worker.start()
        ours.send(rule)
        if ours.poll(timeout):
            sizes.append(ours.recv())
        else:
            sizes.append(None)
            worker.kill()
            worker.join()
            worker = None
    if worker is not None:
        worker.kill()
    return sizes, time.perf_counter() - started


def written(circuit: Circuit) -> list[int]:
    """Return how many literals each rule names."""
    sizes = node_sizes(circuit)
    return [sizes[rule.node] for rule in circuit.rules]


def report(name: str, circuit: Circuit, n_sympy: int, timeout: float) -> None:
    """Print what simplification does to a circuit, and what SymPy does to its first rules."""
    started = time.perf_counter()
    simple = simplify(circuit)
    seconds = time.perf_counter() - started
    before, after = circuit_cost(circuit), circuit_cost(simple)
    print(f"\n{name}: {len(circuit.rules)} rules, {len(circuit.gates)} gates; simplified and proved in {seconds:.2f} s")
    rows = [
        ("rules", before.n_rules, after.n_rules),
        ("gates", before.n_gates, after.n_gates),
        ("literals", len(circuit.literals), len(simple.literals)),
        ("literals written out", sum(written(circuit)), sum(written(simple))),
        ("OPs of gates", before.gates, after.gates),
        ("OPs (paper)", before.total, after.total),
        ("OPs (select)", before.read("select").total, after.read("select").total),
    ]
    for what, old, new in rows:
        print(f"  {what:<21}{old:>10} -> {new:<10} ({new / max(old, 1):.2f})")
    chosen = np.linspace(0, len(circuit.rules) - 1, min(n_sympy, len(circuit.rules))).astype(int).tolist()
    sub = [
        Circuit(circuit.columns, circuit.literals, circuit.gates, (circuit.rules[i],), 0.0, circuit.decimals)
        for i in chosen
    ]
    started = time.perf_counter()
    ours = [sum(written(simplify(one))) for one in sub]
    our_seconds = time.perf_counter() - started
    rules = sympy_rules(circuit)
    theirs, their_seconds = time_sympy([rules[i] for i in chosen], timeout)
    finished = [(a, b) for a, b in zip(ours, theirs, strict=True) if b is not None]
    print(
        f"  {len(chosen)} of the rules, one by one: dln all in {our_seconds:.2f} s; SymPy {len(finished)} in "
        f"{their_seconds:.1f} s (timeout {timeout:g} s a rule), {their_seconds / our_seconds:.0f} times as long"
    )
    if finished:
        a, b = (sum(side) for side in zip(*finished, strict=True))
        print(f"  literals written for the rules that both finish: dln {a}, SymPy {b} ({a / max(b, 1):.2f})")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the small circuits only")
    parser.add_argument("--rules", type=int, default=30, help="rules given to SymPy, per circuit")
    parser.add_argument("--timeout", type=float, default=5.0, help="seconds that SymPy gets per rule")
    options = parser.parse_args()
    simplify(layered_circuit(0, n_rules=3, layers=[5]))
    report("random, 3 layers of 300", layered_circuit(0, **SMALL), options.rules, options.timeout)
    report("trained, 300, 300, 150", trained(**SMALL), options.rules, options.timeout)
    if not options.quick:
        report("random, 5 layers of 1000", layered_circuit(0, **LARGE), options.rules, options.timeout)
        report("trained, 1000 × 5", trained(**LARGE), options.rules, options.timeout)


if __name__ == "__main__":
    main()
