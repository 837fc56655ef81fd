"""The scorecard: rules grouped by the columns that they use, with their words and warnings about them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from dln.circuit._circuit import MISSING, UNKNOWN, Circuit, Column, Values
from dln.circuit._cone import node_columns
from dln.circuit._formula import NumberCondition, formula
from dln.circuit._words import (
    MAX_LITERALS_IN_TEXT,
    WORDS,
    category_text,
    column_text,
    counted,
    name_text,
    node_sizes,
    node_text,
)
from dln.readers._rules import RuleRow, RuleTable
from dln.report._figures import percent, plain
from dln.report._page_data import CardGroup, CardRule, Piece, Scorecard, Words

#: Characters of a rule on one line, with two columns of rules on a sheet.
_LINE: Final = 44


def scorecard(circuit: Circuit, rules: RuleTable) -> Scorecard:
    sizes = node_sizes(circuit)
    by_columns: dict[tuple[int, ...], list[RuleRow]] = {}
    for row in rules:
        by_columns.setdefault(tuple(node_columns(circuit, circuit.rules[row.index].node)), []).append(row)
    # A heading for a single rule would repeat the rule.
    single = [key for key, rows in by_columns.items() if len(key) != 1 and len(rows) == 1]
    if len(single) > 1:
        alone = [row for key in single for row in by_columns.pop(key)]
        by_columns[()] = alone
    total = math.fsum(map(_moved, rules)) or 1.0

    def card_rule(row: RuleRow) -> CardRule:
        support = None if math.isnan(row.support) else row.support
        return CardRule(row.index, phrase(circuit, circuit.rules[row.index].node), row.weight, support)

    def staircase(row: RuleRow) -> tuple[float, float]:
        """Order rules on one column by their cut-offs, others by their contributions."""
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
    facts = name_text(rules.target), circuit.intercept, circuit.decimals
    lines = sum(1 + sum(-(-len(_text(rule)) // _LINE) for rule in group.rules) for group in groups)
    return Scorecard(*facts, tuple(groups), len(rules), rules.n_conditions, lines)


def _moved(row: RuleRow) -> float:
    """Return a rule's contribution, or its absolute weight if its support is unknown."""
    return abs(row.weight) if math.isnan(row.contribution) else row.contribution


# --- words of rules ---------------------------------------------------------------------------------------------------

#: Delimiter of names and categories: it is in no words, because characters that cannot be printed are spelled out.
_MARK: Final = "\0"
_MARKED: Final = replace(
    WORDS,
    name=lambda name: f"{_MARK}n{column_text(name)}{_MARK}",
    category=lambda value: f"{_MARK}v{category_text(value)}{_MARK}" if isinstance(value, str) else category_text(value),
)


def phrase(circuit: Circuit, node: int) -> Words:
    pieces = []
    for i, part in enumerate(node_text(circuit, node, _MARKED).split(_MARK)):
        if i % 2:
            pieces.append(Piece("name" if part[0] == "n" else "value", part[1:]))
        elif part:
            pieces.append(Piece("text", part))
    return tuple(pieces)


# --- warnings ---------------------------------------------------------------------------------------------------------

#: A rule rests on few rows if it fires on fewer than this, or fails to.
FEW_ROWS: Final = 10
#: Share of missing values from which on there is a warning.
MANY_MISSING: Final = 0.2
#: Rules that a warning lists before it counts the rest.
_LISTED: Final = 5


def caveats(
    card: Scorecard, n_learned: int, ranges: Mapping[str, tuple[float, float]], data: Sequence[tuple[Column, Values]]
) -> tuple[str, ...]:
    """Return a sentence for each warning; `data` are the columns that rules read."""
    return (*_few_rows(card, n_learned), *(text for column, values in data for text in _column(column, values, ranges)))


def _few_rows(card: Scorecard, n_learned: int) -> Iterator[str]:
    known = [(rule, rule.support) for group in card.groups for rule in group.rules if rule.support is not None]
    # The rows that fix a rule's weight are those on which it fires, or the others if fewer.
    few = [rule for rule, support in known if round(min(support, 1.0 - support) * n_learned) < FEW_ROWS]
    if few:
        listed = "; ".join(_text(rule) for rule in few[:_LISTED])
        more = f"; and {len(few) - _LISTED} more" if len(few) > _LISTED else ""
        rest = "rests" if len(few) == 1 else "rest"
        yield f"{counted(len(few), 'rule')} {rest} on fewer than {FEW_ROWS} of the rows learned from: {listed}{more}."


def _text(rule: CardRule) -> str:
    return "".join(piece.text for piece in rule.words)


def _column(column: Column, values: Values, ranges: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    name = name_text(column.name)
    missing = float((np.isnan(values) if column.categories is None else values == MISSING).mean())
    if missing >= MANY_MISSING:
        yield f"{name} is missing in {percent(missing)} of the rows."
    if column.categories is None and column.name in ranges:
        low, high = ranges[column.name]
        n_outside = int(((values < low) | (values > high)).sum())
        if n_outside:
            ends = f"{plain(low)} to {plain(high)}"
            verb = "lies" if n_outside == 1 else "lie"
            yield f"{name}: {counted(n_outside, 'value')} {verb} outside of {ends}, which the model learned from."
    if column.categories and isinstance(column.categories[0], bool) and (n_unknown := int((values == UNKNOWN).sum())):
        yield f"{name} is neither true nor false in {counted(n_unknown, 'row')}."
