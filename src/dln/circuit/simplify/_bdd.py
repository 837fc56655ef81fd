"""Reduced ordered binary decision diagrams: two functions are equal exactly if their diagrams are one node."""

from __future__ import annotations

from typing import Final

#: Nodes after which a diagram is given up: a second or two of work.
MAX_NODES: Final = 300_000


class DiagramTooLargeError(Exception):
    """The diagram outgrew its limit; nothing is known."""


class Diagrams:
    """Diagrams over numbered variables; 0 and 1 are the constants, every other int is a node."""

    def __init__(self) -> None:
        self._variable = [1 << 62, 1 << 62]
        self._low = [0, 1]
        self._high = [0, 1]
        self._unique: dict[tuple[int, int, int], int] = {}
        self._known: dict[tuple[int, int, int], int] = {}

    def node(self, variable: int, low: int, high: int) -> int:
        """Return the diagram that is `high` where the variable is 1 and `low` elsewhere."""
        if low == high:
            return low
        key = (variable, low, high)
        found = self._unique.get(key)
        if found is None:
            if len(self._low) >= MAX_NODES:
                raise DiagramTooLargeError
            found = self._unique[key] = len(self._low)
            self._variable.append(variable)
            self._low.append(low)
            self._high.append(high)
        return found

    def gate(self, truth: tuple[int, int, int, int], a: int, b: int) -> int:
        """Return a two-input gate of two diagrams, by its truth table for 00, 01, 10, 11.

        >>> diagrams = Diagrams()
        >>> x, y = diagrams.node(0, 0, 1), diagrams.node(1, 0, 1)
        >>> x_and_y = diagrams.gate((0, 0, 0, 1), x, y)
        >>> x_and_y == diagrams.gate((0, 1, 0, 0), diagrams.gate((1, 1, 0, 0), x, 0), y)
        True
        """
        t00, t01, t10, t11 = truth
        high = self.choose(b, t11, t10)
        return self.choose(a, high, self.choose(b, t01, t00))

    def choose(self, test: int, high: int, low: int) -> int:
        """Return ``if test then high else low``."""
        if test <= 1:
            return high if test else low
        if high == low:
            return high
        if high == 1 and low == 0:
            return test
        key = (test, high, low)
        found = self._known.get(key)
        if found is None:
            variable = min(self._variable[test], self._variable[high], self._variable[low])
            parts = [self._split(node, variable) for node in key]
            found = self._known[key] = self.node(
                variable,
                self.choose(parts[0][0], parts[1][0], parts[2][0]),
                self.choose(parts[0][1], parts[1][1], parts[2][1]),
            )
        return found

    def _split(self, node: int, variable: int) -> tuple[int, int]:
        return (self._low[node], self._high[node]) if self._variable[node] == variable else (node, node)
