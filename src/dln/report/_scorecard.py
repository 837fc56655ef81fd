"""The scorecard: rules grouped by the columns that they use, with their words and warnings about them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from dln.circuit._circuit import MISSING, UNKNOWN, Circuit, Column, Values
from dln.circuit._formula import AllOf, CategoryCondition, Formula, NumberCondition, formula
from dln.circuit._graph import node_columns
from dln.circuit._words import (
    MAX_LITERALS_IN_TEXT,
    WORDS,
    category_text,
    column_text,
    counted,
    formula_text,
    name_text,
    node_sizes,
    node_text,
)
from dln.readers._curves import Curve
from dln.readers._rules import FEW_ROWS, RuleRow, RuleTable, rests_on_few
from dln.report._geometry import percent, plain
from dln.report._page_data import CardBand, CardGroup, CardRule, Piece, Scorecard, Words

#: Characters of a rule on one line, with two columns of rules on a sheet.
_LINE: Final = 44
#: Lines that a curve takes besides its bands.
_CHART_LINES: Final = 8
#: Rules that share a condition are read together from so many on.
MIN_SHARING: Final = 3
_AND: Final = f" {WORDS.all_of} "


def scorecard(circuit: Circuit, rules: RuleTable) -> Scorecard:
    sizes, nodes = node_sizes(circuit), [rule.node for rule in circuit.rules]
    # A rule too long to be printed has no formula.
    formulas = [formula(circuit, node) if sizes[node] <= MAX_LITERALS_IN_TEXT else False for node in nodes]
    by_columns: dict[tuple[int, ...], list[RuleRow]] = {}
    total = math.fsum(row.moved for row in rules) or 1.0
    groups = list(_sharing_groups(circuit, formulas, rules))
    grouped = {rule.index for group in groups for rule in group.rules}
    for row in (row for row in rules if row.index not in grouped):
        by_columns.setdefault(tuple(node_columns(circuit, circuit.rules[row.index].node)), []).append(row)
    # A heading for a single rule would repeat the rule.
    single = [key for key, rows in by_columns.items() if len(key) != 1 and len(rows) == 1]
    if len(single) > 1:
        by_columns[()] = [row for key in single for row in by_columns.pop(key)]

    def staircase(row: RuleRow) -> tuple[float, float]:
        """Order rules on one column by their cut-offs, others by their contributions."""
        condition = formulas[row.index]
        if isinstance(condition, NumberCondition) and condition.ends:
            return condition.ends[0], condition.ends[-1]
        return math.inf, -row.moved

    bands = {curve.column: _card_bands(circuit, curve) for curve in rules.split()[1]}
    for key, rows in by_columns.items():
        ordered = sorted(rows, key=staircase) if len(key) == 1 else rows
        made = tuple(card_rule(row, phrase(circuit, circuit.rules[row.index].node)) for row in ordered)
        names = tuple(name_text(circuit.columns[j].name) for j in key)
        curve = bands.get(key[0], ()) if len(key) == 1 else ()
        groups.append(CardGroup(names, made, math.fsum(row.moved for row in rows) / total, bands=curve))
    groups.sort(key=lambda group: (not group.columns and not group.shared, -group.share))
    facts = name_text(rules.target), circuit.intercept, circuit.decimals
    return Scorecard(*facts, tuple(groups), len(rules), rules.n_conditions, sum(map(_lines, groups)))


def card_rule(row: RuleRow, words: Words, shared: Words = ()) -> CardRule:
    return CardRule(row.index, words, row.weight, None if math.isnan(row.support) else row.support, shared)


def _lines(group: CardGroup) -> int:
    if group.bands:
        return _CHART_LINES + len(group.bands)
    return 1 + sum(-(-len("".join(piece.text for piece in rule.words)) // _LINE) for rule in group.rules)


def _card_bands(circuit: Circuit, curve: Curve) -> tuple[CardBand, ...]:
    made = []
    for band in curve.bands:
        ends, condition = None, band.condition
        if isinstance(condition, NumberCondition) and condition.ends:
            low, high = (-math.inf, *condition.ends, math.inf)[not condition.low :][:2]
            ends = low, high
        made.append(CardBand(_pieces(formula_text(condition, circuit.columns, _MARKED)), band.weight, ends))
    return tuple(made)


def _sharing_groups(circuit: Circuit, formulas: Sequence[Formula], rules: RuleTable) -> Iterator[CardGroup]:
    """Yield groups of rules that are "one condition and more": the condition whose rules move most first."""
    rest, total = list(rules), math.fsum(row.moved for row in rules) or 1.0
    while True:
        sharing: dict[Formula, list[RuleRow]] = {}
        for row in rest:
            whole = formulas[row.index]
            for part in whole.parts if isinstance(whole, AllOf) else ():
                if isinstance(part, NumberCondition | CategoryCondition):
                    sharing.setdefault(part, []).append(row)
        moved = {one: math.fsum(row.moved for row in rows) for one, rows in sharing.items() if len(rows) >= MIN_SHARING}
        if not moved:
            return
        condition = max(moved, key=lambda one: moved[one])
        twice = formula_text(AllOf((condition, condition)), circuit.columns, _MARKED)
        head = twice[: (len(twice) - len(_AND)) // 2]  # as it stands inside of an "and", perhaps in parentheses
        made = []
        for row in sharing[condition]:
            whole = formulas[row.index]
            others = [part for part in whole.parts if part != condition] if isinstance(whole, AllOf) else []
            text = formula_text(AllOf((condition, *others)), circuit.columns, _MARKED)
            made.append(card_rule(row, _pieces(text[len(head + _AND) :]), _pieces(head + _AND)))
        yield CardGroup((), tuple(made), moved[condition] / total, _pieces(head))
        taken = {rule.index for rule in made}
        rest = [row for row in rest if row.index not in taken]


# --- words of rules ---------------------------------------------------------------------------------------------------

#: Delimiter of names and categories: it is in no words, because characters that cannot be printed are spelled out.
_MARK: Final = "\0"
_MARKED: Final = replace(
    WORDS,
    name=lambda name: f"{_MARK}n{column_text(name)}{_MARK}",
    category=lambda value: f"{_MARK}v{category_text(value)}{_MARK}" if isinstance(value, str) else category_text(value),
)


def phrase(circuit: Circuit, node: int) -> Words:
    return _pieces(node_text(circuit, node, _MARKED))


def _pieces(marked: str) -> Words:
    pieces = []
    for i, part in enumerate(marked.split(_MARK)):
        if i % 2:
            pieces.append(Piece("name" if part[0] == "n" else "value", part[1:]))
        elif part:
            pieces.append(Piece("text", part))
    return tuple(pieces)


# --- warnings ---------------------------------------------------------------------------------------------------------

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
    if few := [rule for rule, support in known if rests_on_few(support, n_learned)]:
        texts = ["".join(piece.text for piece in (*rule.shared, *rule.words)) for rule in few[:_LISTED]]
        listed = "; ".join(texts) + f"; and {len(few) - _LISTED} more" * (len(few) > _LISTED)
        rest = "rests" if len(few) == 1 else "rest"
        yield f"{counted(len(few), 'rule')} {rest} on fewer than {FEW_ROWS} of the rows learned from: {listed}."


def _column(column: Column, values: Values, ranges: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    name = name_text(column.name)
    missing = float((np.isnan(values) if column.categories is None else values == MISSING).mean())
    if missing >= MANY_MISSING:
        yield f"{name} is missing in {percent(missing)} of the rows."
    if column.categories is None and column.name in ranges:
        low, high = ranges[column.name]
        if n_outside := int(((values < low) | (values > high)).sum()):
            lie = f"{counted(n_outside, 'value')} {'lies' if n_outside == 1 else 'lie'}"
            yield f"{name}: {lie} outside of {plain(low)} to {plain(high)}, which the model learned from."
    if column.categories and isinstance(column.categories[0], bool) and (n_unknown := int((values == UNKNOWN).sum())):
        yield f"{name} is neither true nor false in {counted(n_unknown, 'row')}."
