"""Rules, explanations and models as a notebook shows them: the page's own parts, small, without scripts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dln._errors import MissingExtraError
from dln.circuit._words import name_text
from dln.readers._rules import MAX_ROWS
from dln.report._data import CardGroup, CardRule, Piece, Scorecard

if TYPE_CHECKING:
    from dln.readers._explain import Explanation
    from dln.readers._rules import RuleTable
    from dln.report._methods import ReportableModel


def model_html(model: ReportableModel) -> str | None:
    """Return the scorecard of a fitted model, or None where templates cannot be used."""
    from dln.report._scorecard import scorecard

    return _rendered("model.html", card=scorecard(model.circuit_, model.rules_), name=type(model).__name__)


def rules_html(rules: RuleTable) -> str | None:
    """Return a table of rules, in its own order, or None where templates cannot be used."""
    shown = tuple(
        CardRule(row.index, (Piece("text", row.rule),), row.weight, None if math.isnan(row.support) else row.support)
        for row in rules.rows[:MAX_ROWS]
    )
    group = CardGroup((), shown, 1.0)
    card = Scorecard(
        name_text(rules.target), rules.intercept, rules.decimals, (group,), len(rules), rules.n_conditions, 0
    )
    return _rendered("rules.html", card=card, n_hidden=max(0, len(rules) - MAX_ROWS))


def explanation_html(explanation: Explanation) -> str | None:
    """Return why a row gets its prediction, or None where templates cannot be used."""
    return _rendered("explanation.html", explanation=explanation, target=name_text(explanation.target))


def _rendered(template: str, **values: object) -> str | None:
    from dln.report._render import render_part

    try:
        return render_part(template, **values)
    except MissingExtraError:  # a notebook then shows text, which says the same
        return None
