"""What to be careful about: few rows behind a rule, values never learned from, values that are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from dln.circuit._circuit import MISSING, UNKNOWN, Column, Values
from dln.circuit._words import counted, name_text
from dln.report._data import CardRule, Scorecard
from dln.report._figures import percent, plain

#: A rule rests on few rows if it fires on fewer than this, or fails to.
FEW_ROWS: Final = 10
#: Missing values are worth a word from this share on.
MANY_MISSING: Final = 0.2
#: Names that are listed before it says how many more there are.
_LISTED: Final = 5


def caveats(
    card: Scorecard,
    n_learned: int,
    ranges: Mapping[str, tuple[float, float]],
    data: Sequence[tuple[Column, Values]],
) -> tuple[str, ...]:
    """Return a sentence for each thing to be careful about; `data` are the columns that rules read."""
    return (*_few_rows(card, n_learned), *(text for column, values in data for text in _column(column, values, ranges)))


def _few_rows(card: Scorecard, n_learned: int) -> Iterator[str]:
    rules = [rule for group in card.groups for rule in group.rules if rule.support is not None]
    few = [rule for rule in rules if _resting_on(rule, n_learned) < FEW_ROWS]
    if few:
        listed = "; ".join(_text(rule) for rule in few[:_LISTED])
        more = f"; and {len(few) - _LISTED} more" if len(few) > _LISTED else ""
        rest = "rests" if len(few) == 1 else "rest"
        yield f"{counted(len(few), 'rule')} {rest} on fewer than {FEW_ROWS} of the rows learned from: {listed}{more}."


def _resting_on(rule: CardRule, n_learned: int) -> int:
    """Rows that tell the rule's weight: those on which it fires, or those on which it does not if they are fewer."""
    support = rule.support or 0.0
    return round(min(support, 1.0 - support) * n_learned)


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
