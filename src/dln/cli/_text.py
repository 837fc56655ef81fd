"""A model as a page of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dln.circuit._words import name_text, number_text, thousands, weight_text

if TYPE_CHECKING:
    from dln._regressor import CircuitRegressor
    from dln.cli._peers import Score


#: A page of rules is shown whole up to so many; of more, the first few.
ONE_PAGE: Final = 40
FIRST_FEW: Final = 25


def page_of_rules(model: CircuitRegressor, name: str) -> Group:
    """Return the rules of a model that was saved as `name`: all of them, or the first where they are too many."""
    n_rules = len(model.circuit_.rules)
    if n_rules <= ONE_PAGE:
        return rules_table(model, None)
    return rules_table(model, FIRST_FEW, f": dln show {quoted_name(name)} has them all")


def quoted_name(name: str) -> str:
    """Return the name of a file as a shell takes it."""
    return f"'{name}'" if " " in name else name


def rules_table(model: CircuitRegressor, n_rules: int | None, more: str = "") -> Group:
    """Return the rules that move the prediction most, as a table whose rules wrap to the width there is."""
    rules = model.rules_
    shown = list(rules)[:n_rules]
    fires = ["" if math.isnan(row.support) else f"{row.support:.0%}" for row in shown]
    table = weights_table([(row.weight, row.rule) for row in shown], model.circuit_.decimals, fires)
    lines: list[RenderableType] = [
        Text(f"{name_text(rules.target)} = {number_text(rules.intercept)} + the weights of the rules that fire"),
        table,
    ]
    if len(shown) < len(rules):
        lines.append(Text(f"… and {thousands(len(rules) - len(shown))} more rules that move it less{more}"))
    return Group(*lines)


def weights_table(rules: Sequence[tuple[float, str]], decimals: int, fires: Sequence[str] | None = None) -> Table:
    """Return weights and rules side by side, and how often each fires if that is told."""
    table = Table(box=None, pad_edge=True, show_edge=False, show_header=fires is not None)
    table.add_column("weight", justify="right", no_wrap=True)
    if fires is not None:
        table.add_column("fires", justify="right", no_wrap=True)
    table.add_column("rule", overflow="fold")
    digits = [weight_text(abs(weight), decimals) for weight, _ in rules]
    width = max(map(len, digits), default=0)
    for i, (weight, rule) in enumerate(rules):
        signed = f"{'-' if weight < 0 else '+'} {digits[i]:>{width}}"
        table.add_row(signed, *([] if fires is None else [fires[i]]), Text(rule))
    return table


def scores_table(scores: Sequence[Score]) -> Table:
    """Return how well each model predicts the test rows."""
    table = Table(box=None, pad_edge=True, show_edge=False)
    table.add_column("")
    for heading in ("test R²", "mean error"):
        table.add_column(heading, justify="right", no_wrap=True)
    for score in scores:
        table.add_row(score.model, f"{score.r2:.3f}", thousands(score.mean_error))
    return table
