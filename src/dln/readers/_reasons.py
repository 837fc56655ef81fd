"""Principal reasons: the rules that move a prediction most against a reference, as sentences that hold for the row.

Each rule belongs to the most important of the columns that it reads: the rules of a column are one reason, so that no
two reasons have the same subject. Contributions are whole steps of the weights' grid, and are summed without rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Circuit, Values, from_grid
from dln.circuit._cost import formula_conditions
from dln.circuit._formula import AllOf, AnyOf, Formula, all_of, formula, negate
from dln.circuit._graph import Graph, node_columns
from dln.circuit._truth_tables import axes_of, combinations, truth_table
from dln.circuit._words import (
    MAX_LITERALS_IN_TEXT,
    aligned,
    formula_text,
    name_text,
    node_sizes,
    node_text,
    weight_text,
)
from dln.readers._explain import feature_importances
from dln.readers._rules import Records, rule_table

Bits: TypeAlias = npt.NDArray[np.bool_]
Direction: TypeAlias = Literal["higher", "lower"]
#: One row as reference is given as the values of its columns.
Reference: TypeAlias = Literal["best", "mean"] | Sequence[Values]

#: Combinations of values up to which the rules of a reason are compared with their best together, not rule by rule.
MAX_COMBINATIONS: Final = 2**16
#: Conditions of a sentence, at most, unless its heaviest rule has more.
MAX_CONDITIONS: Final = 6


@dataclass(frozen=True, slots=True)
class Reason:
    """Rules that move a prediction away from the reference, in words, and by how much."""

    text: str
    contribution: float


@dataclass(frozen=True, slots=True)
class RowReasons:
    """The reasons of one row, the strongest first; reference, contributions and rest add up to the prediction."""

    prediction: float
    reference: float
    reasons: tuple[Reason, ...]
    rest: float
    """The contributions of all other rules."""
    decimals: int
    target: str = "prediction"

    def __repr__(self) -> str:
        terms = [("reference", self.reference), *((one.text, one.contribution) for one in self.reasons)]
        terms += [("all other rules", self.rest)] * (self.rest != 0)
        lines = aligned([(weight_text(weight, self.decimals), text) for text, weight in terms])
        return "\n".join([f"{name_text(self.target)} = {weight_text(self.prediction, self.decimals)}", *lines])


@dataclass(frozen=True, slots=True)
class Reasons(Records[RowReasons]):
    """The reasons of several rows; frames have one line per row, and None where a row has fewer reasons."""

    rows: tuple[RowReasons, ...]
    columns: Mapping[str, list[Any]]

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.rows))

    def _columns(self) -> dict[str, list[Any]]:
        return dict(self.columns)


class ReasonFinder:
    """Finds the reasons of rows, some rows at a time; parameters are those of `ReadableModel.reasons`."""

    def __init__(
        self,
        circuit: Circuit,
        support: Sequence[float] | None,
        n: Any = 4,
        direction: Direction = "higher",
        reference: Reference = "best",
        reason_texts: Any = None,
    ) -> None:
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n, the number of reasons, must be a whole number above 0, got {n!r}")
        if direction not in ("higher", "lower"):
            raise ValueError(f'direction must be "higher" or "lower", got {direction!r}')
        if not isinstance(reason_texts, Mapping | None):
            raise ValueError(f"reason_texts must be a dictionary, {{name: text}}, got {type(reason_texts).__name__}")
        self.circuit, self.n, self.sign = circuit, int(n), 1 if direction == "higher" else -1
        pairs = [f"{what}_{k + 1}" for k in range(self.n) for what in ("reason", "contribution")]
        self.columns = ["prediction", "reference", *pairs, "rest"]
        self._weights = np.array([circuit.grid(rule.weight) for rule in circuit.rules], dtype=np.float64)
        self._reference_bits: Bits | None = None
        self._groups = list(self._grouped(support, reason_texts or {}))
        if isinstance(reference, str) and reference == "best":
            self._steps = [self._best(rules) for rules, _ in self._groups]
        else:
            steps = self._reference_steps(reference, support)
            self._steps = [float(steps[rules].sum()) for rules, _ in self._groups]
        self._text = cache(self._sentence)  # many rows have the same one

    def find(self, values: Sequence[Values]) -> dict[str, npt.NDArray[Any]]:
        """Return the reasons of rows as columns: texts, None where there is no reason, and numbers, NaN there."""
        circuit, n_rows = self.circuit, len(values[0])
        fires = np.array(circuit.rule_values(values), dtype=bool).reshape(len(self._weights), n_rows)
        moved = np.zeros((n_rows, max(len(self._groups), self.n)))
        for g, (rules, _) in enumerate(self._groups):
            moved[:, g] = self._weights[rules] @ fires[rules] - self._steps[g]
        order = np.argsort(-self.sign * moved, axis=1, kind="stable")[:, : self.n]
        top = np.take_along_axis(moved, order, axis=1)
        is_reason = self.sign * top > 0
        texts = np.full(order.shape, None, dtype=object)
        for g, (rules, _) in enumerate(self._groups):
            rows, ranks = np.nonzero(is_reason & (order == g))
            patterns, which = np.unique(fires[rules][:, rows].T, axis=0, return_inverse=True)
            found_texts = [self._text(g, tuple(pattern)) for pattern in patterns.tolist()]
            texts[rows, ranks] = np.array(found_texts, dtype=object)[which.ravel()]
        start = float(circuit.grid(circuit.intercept) + sum(self._steps))
        numbers = {"prediction": start + moved.sum(axis=1), "reference": np.full(n_rows, start)}
        numbers |= {f"contribution_{k + 1}": np.where(is_reason[:, k], top[:, k], np.nan) for k in range(self.n)}
        numbers["rest"] = moved.sum(axis=1) - np.where(is_reason, top, 0.0).sum(axis=1)
        found = {name: from_grid(steps, circuit.decimals) for name, steps in numbers.items()}
        found |= {f"reason_{k + 1}": texts[:, k] for k in range(self.n)}
        return {name: found[name] for name in self.columns}

    def _reference_steps(self, reference: Reference, support: Sequence[float] | None) -> npt.NDArray[np.float64]:
        """Return what each rule adds to the mean reference, or to that of one row."""
        if isinstance(reference, str) and reference == "mean":
            if support is None:
                raise ValueError(
                    "the model does not hold how often its rules fire: use another reference than the mean"
                )
            return np.asarray(np.round(self._weights * np.array(support)))
        if isinstance(reference, str) or len(reference[0]) != 1:
            got = repr(reference) if isinstance(reference, str) else f"{len(reference[0])} rows"
            raise ValueError(f'reference must be "best", "mean" or one row, got {got}')
        self._reference_bits = np.array(self.circuit.rule_values(reference), dtype=bool).reshape(-1)
        return self._weights * self._reference_bits

    def _grouped(
        self, support: Sequence[float] | None, texts: Mapping[str, str]
    ) -> Iterator[tuple[list[int], str | None]]:
        """Yield the rules of each reason, and the user's text for it; a rule with a text of its own is a reason."""
        importance = feature_importances(rule_table(self.circuit, support))
        names = [column.name for column in self.circuit.columns]
        words = [node_text(self.circuit, rule.node) for rule in self.circuit.rules]
        if unknown := [key for key in texts if key not in (*names, *words)]:
            raise ValueError(f"reason_texts must name columns or rules of the model, got {unknown[0]!r}")
        by_column: dict[int, list[int]] = {}
        for i, (rule, own) in enumerate(zip(self.circuit.rules, words, strict=True)):
            if own in texts and own not in names:
                yield [i], texts[own]
            elif read := node_columns(self.circuit, rule.node):
                by_column.setdefault(max(read, key=lambda j: importance[j]), []).append(i)
            else:
                by_column.setdefault(-1, []).append(i)
        for j, rules in by_column.items():
            yield rules, texts.get(names[j]) if j >= 0 else None

    def _best(self, rules: list[int]) -> float:
        """Return the lowest sum that rules reach together on any input, the highest where reasons are for lower."""
        weights, graph = self._weights[rules], Graph()
        edges = graph.add(self.circuit, [self.circuit.rules[i].node for i in rules])
        axes = axes_of(graph.literals[i] for i in graph.cone([edge >> 1 for edge in edges]) if not graph.is_gate(i))
        if combinations(axes) > MAX_COMBINATIONS:
            return float(self.sign * np.minimum(self.sign * weights, 0).sum())
        sums = sum(weight * truth_table(graph, edge, axes) for weight, edge in zip(weights, edges, strict=True))
        return float(self.sign * np.min(self.sign * sums))

    def _sentence(self, g: int, fires: tuple[bool, ...]) -> str:
        """Return the user's text for a reason, or a condition that holds for rows in which these of its rules fire.

        It joins the rules that move the rows away from the reference.
        """
        rules, text = self._groups[g]
        if text is not None:
            return text
        circuit, sizes, away = self.circuit, node_sizes(self.circuit), self._reference_bits
        moving = [
            (i, own)
            for i, own in zip(rules, fires, strict=True)
            if self.sign * self._weights[i] * (1 if own else -1) > 0 and (away is None or own != away[i])
        ]
        moving.sort(key=lambda one: -abs(self._weights[one[0]]))
        joined: Formula = True
        more = 0
        for i, own in moving:
            node = circuit.rules[i].node
            longer = joined
            if sizes[node] <= MAX_LITERALS_IN_TEXT:
                longer = _both(joined, formula(circuit, node) if own else negate(formula(circuit, node)))
            if longer is not joined and (joined is True or formula_conditions(longer) <= MAX_CONDITIONS):
                joined = longer
            else:
                more += 1
        if joined is True:  # all are too long to be written out
            node, own = circuit.rules[moving[0][0]].node, moving[0][1]
            return "not " * (not own) + node_text(circuit, node) + f" and {more - 1} more" * (more > 1)
        return formula_text(joined, circuit.columns) + f" and {more} more" * (more > 0)


def _both(first: Formula, second: Formula) -> Formula:
    """Return what holds where both do; (a or b) says nothing beside a."""
    joined = all_of([first, second])
    if not isinstance(joined, AllOf):
        return joined
    known = set(joined.parts)
    return all_of(part for part in joined.parts if not (isinstance(part, AnyOf) and known & set(part.parts)))


def reasons_of(finder: ReasonFinder, values: Sequence[Values], target: str) -> Reasons:
    """Return the reasons of rows, one by one."""
    columns = {
        name: [None if one is None or one != one else one for one in column.tolist()]  # noqa: PLR0124 (NaN)
        for name, column in finder.find(values).items()
    }
    rows = []
    for prediction, reference, *pairs, rest in zip(*columns.values(), strict=True):
        reasons = [Reason(*pair) for pair in zip(pairs[::2], pairs[1::2], strict=True) if pair[0] is not None]
        rows.append(RowReasons(prediction, reference, tuple(reasons), rest, finder.circuit.decimals, target))
    return Reasons(tuple(rows), columns)
