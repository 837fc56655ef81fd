"""The scorecard: rules grouped by the columns that they use, those that move the prediction most first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from dln.circuit._circuit import Circuit
from dln.circuit._cone import node_columns
from dln.circuit._formula import NumberCondition, formula
from dln.circuit._words import MAX_LITERALS_IN_TEXT, name_text, node_sizes
from dln.readers._rules import RuleRow, RuleTable
from dln.report._data import CardGroup, CardRule, Scorecard
from dln.report._phrases import phrase

#: Characters of a rule that stand on one line where a sheet has two columns of them.
_LINE: Final = 44


def scorecard(circuit: Circuit, rules: RuleTable) -> Scorecard:
    """Return the scorecard of a circuit; `rules` is its table of rules."""
    sizes = node_sizes(circuit)
    by_columns: dict[tuple[int, ...], list[RuleRow]] = {}
    for row in rules:
        by_columns.setdefault(tuple(node_columns(circuit, circuit.rules[row.index].node)), []).append(row)
    # A heading for a single rule would say less than the rule itself.
    single = [key for key, rows in by_columns.items() if len(key) != 1 and len(rows) == 1]
    if len(single) > 1:
        alone = [row for key in single for row in by_columns.pop(key)]
        by_columns[()] = alone
    total = math.fsum(map(_moved, rules)) or 1.0

    def card_rule(row: RuleRow) -> CardRule:
        support = None if math.isnan(row.support) else row.support
        return CardRule(row.index, phrase(circuit, circuit.rules[row.index].node), row.weight, support)

    def staircase(row: RuleRow) -> tuple[float, float]:
        """Cut-offs of one column read best in the column's own order, other rules by what they move."""
        node = circuit.rules[row.index].node
        condition = formula(circuit, node) if sizes[node] <= MAX_LITERALS_IN_TEXT else True
        if isinstance(condition, NumberCondition) and condition.ends:
            return condition.ends[0], condition.ends[-1]
        return math.inf, -_moved(row)

    groups = [
        CardGroup(
            tuple(name_text(circuit.columns[j].name) for j in key),
            tuple(card_rule(row) for row in (sorted(rows, key=staircase) if len(key) == 1 else rows)),
            math.fsum(map(_moved, rows)) / total,
        )
        for key, rows in by_columns.items()
    ]
    groups.sort(key=lambda group: (not group.columns, -group.share))
    return Scorecard(
        name_text(rules.target),
        circuit.intercept,
        circuit.decimals,
        tuple(groups),
        len(rules),
        rules.n_conditions,
        _lines(groups),
    )


def _moved(row: RuleRow) -> float:
    """What a rule moves; its weight where nobody knows how often it fires."""
    return abs(row.weight) if math.isnan(row.contribution) else row.contribution


def _lines(groups: Sequence[CardGroup]) -> int:
    lines = 0
    for group in groups:
        lines += 1 + sum(-(-len("".join(piece.text for piece in rule.words)) // _LINE) for rule in group.rules)
    return lines
