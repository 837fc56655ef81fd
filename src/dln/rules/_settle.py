"""Rules brought nearer to what they imitate: cut-offs, gates and links, one at a time, each to the best that there is.

With a node held at 0, and then at 1, the sum of the rules is known on every row for both. A cut-off gives 0 to the rows
that come first in its column's order and 1 to the others, so running sums of both squared distances tell the best of
all cut-offs at once. A gate tells four kinds of rows apart, and each kind is best with 0 or with 1; so the best gate of
its two inputs is known from four sums, and the best of all that read another literal instead of one of them from two
products of all literals at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Above, Circuit, Gate, Literal, Values
from dln.circuit._cutoffs import shortest_between
from dln.circuit._gates import FALSE, GATES, TRUE, gate_values
from dln.rules._imitate import MAX_ROWS
from dln.rules._task import PENALTY
from dln.solve._products import Bools, Floats
from dln.solve._weights import solve_weights

#: What the outputs of a gate for (a, b) = 00, 01, 10, 11 count in its index.
_DIGITS: Final = np.array((8, 4, 2, 1))
#: Rounds over all cut-offs and gates, at most, and the share of the distance that a round has to bring for another.
_ROUNDS: Final = 8
_WORTH: Final = 0.01
#: A cut-off that no other rule has must bring the sum nearer by this share of the distance: the fewer distinct numbers
#: a model has, the quicker it is read and the less it costs. At 0.01, 10 and 20 rules cost 4 % less than at 0 and have
#: the same R²; at 0.04 they lose 0.004 to 0.005 (twelve tables, one to four splits).
_OWN_CUTOFF: Final = 0.01
#: A gate that reads another literal must bring the sum nearer by this share of the distance, and by more if no rule has
#: that literal: what hardly matters stays as the network learned it.
_NEW_LINK: Final = 0.001
_NEW_LITERAL: Final = 0.002
#: Distances that differ by less, in shares of the target's variance, are equal but for rounding.
_ROUNDING: Final = 1e-12
#: And of sums in single precision, in shares of what is summed.
_SINGLE_ROUNDING: Final = 1e-6


class _Order(NamedTuple):
    """The rows of a column by size, those without a value first."""

    rows: npt.NDArray[np.intp]
    sizes: Floats
    """(n,) the column's values in that order."""
    is_cut: Bools
    """(n + 1,) whether a cut-off can come after so many rows: between two different numbers."""

    @classmethod
    def of(cls, values: Values) -> _Order:
        numbers = np.where(np.isnan(values), -np.inf, values).astype(np.float64)
        rows = np.argsort(numbers, kind="stable")
        sizes = numbers[rows]
        is_cut = np.zeros(len(rows) + 1, dtype=np.bool_)
        is_cut[1:-1] = (sizes[1:] > sizes[:-1]) & np.isfinite(sizes[:-1])
        return cls(rows, sizes, is_cut)

    def cutoff(self, n_below: int) -> float:
        """Return the shortest number with so many rows at or below it."""
        return shortest_between(float(self.sizes[n_below - 1]) + 0.0, float(self.sizes[n_below]) + 0.0)


def settle(
    circuit: Circuit, values: Sequence[Values], predictions: Floats, weight: Floats, literals: Sequence[Literal] = ()
) -> Circuit:
    """Return the circuit with cut-offs, gates and links that bring the best sum of its rules nearer to the predictions.

    `values` are the columns of the rows to imitate on, `predictions` and `weight` are ``(n,)``. A gate may come to read
    one of the `literals`, which the circuit then has beside its own, instead of what it reads; the gates themselves
    stay as many as they are. The rules' weights are to be solved for afterwards.

    >>> from dln.circuit._circuit import Column, Rule
    >>> x = np.arange(10.0)
    >>> circuit = Circuit((Column("x"),), (Above(0, 2.0),), (), (Rule(0, 1.0),), 0.0, 0)
    >>> settle(circuit, [x], np.where(x > 6, 5.0, 1.0), np.ones(10)).literals
    (Above(column=0, cutoff=6.0),)
    """
    some = [column[:MAX_ROWS] for column in values]
    return _Settling(with_literals(circuit, literals), some, predictions[:MAX_ROWS], weight[:MAX_ROWS]).run()


def with_literals(circuit: Circuit, literals: Sequence[Literal]) -> Circuit:
    """Return a circuit that has these literals too, though nothing reads them.

    >>> from dln.circuit._circuit import Column, Rule
    >>> circuit = Circuit((Column("x"),), (Above(0, 2.0),), (Gate(12, 0, 0),), (Rule(1, 1.0),), 0.0, 0)
    >>> more = with_literals(circuit, [Above(0, 2.0), Above(0, 5.0)])
    >>> more.literals, more.rules
    ((Above(column=0, cutoff=2.0), Above(column=0, cutoff=5.0)), (Rule(node=2, weight=1.0),))
    """
    together = tuple(dict.fromkeys((*circuit.literals, *literals)))
    n_before, n_more = len(circuit.literals), len(together) - len(circuit.literals)

    def moved(node: int) -> int:
        return node if node < n_before else node + n_more

    gates = tuple(Gate(gate.kind, moved(gate.a), moved(gate.b)) for gate in circuit.gates)
    rules = tuple(replace(rule, node=moved(rule.node)) for rule in circuit.rules)
    return replace(circuit, literals=together, gates=gates, rules=rules)


class _Settling:
    """A circuit whose literals and gates change one at a time, and what follows from each change."""

    def __init__(self, circuit: Circuit, values: Sequence[Values], predictions: Floats, weight: Floats) -> None:
        self._circuit, self._values, self._predictions = circuit, values, predictions
        self._weight, self._share = weight, weight / weight.sum()
        self._n_literals = len(circuit.literals)
        self._literals, self._gates = list(circuit.literals), list(circuit.gates)
        self._rules = [rule.node for rule in circuit.rules]
        self._fires = np.array(circuit.node_values(values), dtype=np.bool_).reshape(-1, len(predictions))
        self._literal_fires = self._fires[: self._n_literals].astype(np.float32)
        self._orders: dict[int, _Order] = {}
        self._solve()

    def run(self) -> Circuit:
        """Settle one node after the other, then the weights, until a round brings little."""
        for _ in range(_ROUNDS):
            before = self._distance
            for node in self._nodes:
                if node not in self._readers:  # a link that changed has left it behind
                    continue
                if node >= self._n_literals:
                    self._settle_gate(node)
                elif isinstance(literal := self._literals[node], Above):
                    self._settle_cutoff(node, literal)
            self._solve()
            if before - self._distance <= _WORTH * before:
                break
        return replace(self._circuit, literals=tuple(self._literals), gates=tuple(self._gates))

    def _solve(self) -> None:
        rules = self._fires[self._rules]
        intercept, self._weights = solve_weights(rules, self._predictions, self._weight, PENALTY)
        self._sum = intercept + self._weights @ rules
        self._distance = float(self._share @ (self._predictions - self._sum) ** 2)

    def _settle_cutoff(self, node: int, literal: Above) -> None:
        if literal.column not in self._orders:
            self._orders[literal.column] = _Order.of(self._values[literal.column])
        order = self._orders[literal.column]
        if not order.is_cut.any():
            return
        zero, one = (distances[order.rows] for distances in self._distances(node))
        # After k rows: those have 0, the others 1.
        cost = np.append(0.0, np.cumsum(zero)) + np.append(np.cumsum(one[::-1])[::-1], 0.0)
        others = {
            other.cutoff
            for i in self._nodes
            if i != node
            and i < self._n_literals
            and isinstance(other := self._literals[i], Above)
            and other.column == literal.column
        }
        shared = {int(np.searchsorted(order.sizes, cutoff, "right")): cutoff for cutoff in sorted(others)}
        cost[list(shared)] -= _OWN_CUTOFF * self._distance
        best = int(np.argmin(np.where(order.is_cut, cost, np.inf)))
        n_below = int(np.count_nonzero(~self._fires[node]))
        if cost[best] >= cost[n_below] - _ROUNDING:
            return
        self._literals[node] = replace(literal, cutoff=shared[best] if best in shared else order.cutoff(best))
        fires = np.zeros(len(self._sum), dtype=np.bool_)
        fires[order.rows[best:]] = True
        self._change(node, fires)

    def _settle_gate(self, node: int) -> None:
        gate = self._gates[node - self._n_literals]
        zero, one = self._distances(node)
        gains = zero - one
        kind_of_row = 2 * self._fires[gate.a] + self._fires[gate.b]
        of_kinds = np.bincount(kind_of_row, gains, minlength=4)
        # Kinds of rows for which it makes no difference stay as they are.
        truth = np.where(np.abs(of_kinds) > _ROUNDING, of_kinds > 0.0, GATES[gate.kind].truth)
        best = Gate(int(truth @ _DIGITS), gate.a, gate.b)
        linked = self._best_link(gate, gains, float(np.maximum(of_kinds, 0.0).sum()))
        for candidate in (linked, best):
            if candidate is not None and candidate != gate and candidate.kind not in (FALSE, TRUE):
                self._gates[node - self._n_literals] = candidate
                if candidate is linked:
                    del self._nodes, self._readers
                self._change(node, gate_values(candidate.kind, self._fires[candidate.a], self._fires[candidate.b]))
                return

    def _best_link(self, gate: Gate, gains: Floats, least: float) -> Gate | None:
        """Return the best gate that reads a literal instead of one of its inputs, if it brings more than `least`.

        `gains` are what each row brings when the gate is 1 there: the best gate is 1 on the kinds of rows that gain.
        """
        found, least = None, least + max(_NEW_LINK * self._distance, _SINGLE_ROUNDING * float(np.abs(gains).sum()))
        price = np.full(self._n_literals, _NEW_LITERAL * self._distance)
        price[[node for node in self._nodes if node < self._n_literals]] = 0.0
        for stays in sorted({gate.a, gate.b}):
            on = gains * self._fires[stays]
            both = (self._literal_fires @ on.astype(np.float32)).astype(np.float64)
            alone = (self._literal_fires @ (gains - on).astype(np.float32)).astype(np.float64)
            # For (literal, what stays) = 00, 01, 10, 11.
            of_kinds = np.array([gains.sum() - on.sum() - alone, on.sum() - both, alone, both])
            brings = np.maximum(of_kinds, 0.0).sum(axis=0) - price
            brings[[node for node in (gate.a, gate.b) if node < self._n_literals]] = -np.inf
            literal = int(np.argmax(brings))
            if brings[literal] > least:
                least = float(brings[literal])
                found = Gate(int((of_kinds[:, literal] > 0.0) @ _DIGITS), literal, stays)
        return found

    def _distances(self, node: int) -> list[Floats]:
        """Return what each row adds to the squared distance with a node held at 0, and with it held at 1."""
        distances = []
        for held in (False, True):
            moved = self._sum + self._difference(self._above(node, np.full(len(self._sum), held)))
            distances.append(self._share * (self._predictions - moved) ** 2)
        return distances

    def _change(self, node: int, fires: Bools) -> None:
        above = self._above(node, fires)
        self._sum = self._sum + self._difference(above)
        for i, new in above.items():
            self._fires[i] = new
        if node < self._n_literals:
            self._literal_fires[node] = fires

    def _above(self, node: int, fires: Bools) -> dict[int, Bools]:
        """Return the values that a node and all that reads it have if the node has these."""
        above = {node: fires}
        for i in self._readers[node]:
            gate = self._gates[i - self._n_literals]
            a, b = above.get(gate.a), above.get(gate.b)
            above[i] = gate_values(
                gate.kind, self._fires[gate.a] if a is None else a, self._fires[gate.b] if b is None else b
            )
        return above

    def _difference(self, above: dict[int, Bools]) -> Floats:
        """Return what changed values change about the sum, ``(n,)``."""
        changed = [(node, weight) for node, weight in zip(self._rules, self._weights, strict=True) if node in above]
        if not changed:
            return np.zeros(len(self._sum))
        nodes, weights = zip(*changed, strict=True)
        new = np.array([above[node] for node in nodes], dtype=np.float32)
        return np.asarray(weights) @ (new - self._fires[list(nodes)])

    @cached_property
    def _nodes(self) -> list[int]:
        """What the rules rest on, ascending; what a gate ignores too, for it may come to read it again."""
        needed = set(self._rules)
        for node in range(max(needed, default=-1), self._n_literals - 1, -1):
            if node in needed:
                gate = self._gates[node - self._n_literals]
                needed |= {gate.a, gate.b}
        return sorted(needed)

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        """The gates that read each node, directly or through others, ascending."""
        direct: dict[int, set[int]] = {node: set() for node in self._nodes}
        for node in self._nodes:
            if node >= self._n_literals:
                gate = self._gates[node - self._n_literals]
                for read in {gate.a, gate.b} & direct.keys():
                    direct[read].add(node)
        readers: dict[int, list[int]] = {}
        for node in reversed(self._nodes):
            readers[node] = sorted(direct[node].union(*(readers[i] for i in direct[node])))
        return readers
