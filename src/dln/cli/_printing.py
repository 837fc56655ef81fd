"""Results go to stdout, plain when not a TTY: facts, tables of rules, sizes and scores, JSON."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dln._text import clean
from dln.circuit._words import thousands, weight_text
from dln.readers._rules import FEW_NOTE, By, curve_title

if TYPE_CHECKING:
    from dln._regressor import CircuitRegressor

#: Columns of output that does not go to a terminal: no line is broken.
UNBROKEN: Final = 100_000
#: All rules of a model are printed up to so many; of more, the first few.
ONE_PAGE: Final = 40
FIRST_FEW: Final = 25
#: Differences of R² below this are not seen in three digits.
_UNSEEN: Final = 0.0005


def show(*pages: RenderableType) -> None:
    """Print text and tables on standard output, as wide as the terminal.

    Names, categories and values come from files and tables: markup in them is text, and nothing drives the terminal.
    """
    text = io.StringIO()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNBROKEN
    console = Console(file=text, width=width, color_system=None, markup=False, highlight=False, emoji=False)
    for page in pages:
        console.print(page)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in clean(text.getvalue()).splitlines()))


def facts(rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Return one line per name, with a text that wraps beside it."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in rows:
        grid.add_row(Text(f"  {name}"), Text(text))
    return grid


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, left: str | Sequence[str] = ()) -> Table:
    """Return a table without lines: columns of numbers, and of text that wraps, whose headings are `left`."""
    made = Table(box=None, pad_edge=True, show_edge=False, show_header=any(map(str.strip, headings)))
    for heading in headings:
        is_text = heading in ([left] if isinstance(left, str) else left)
        made.add_column(heading, justify="left" if is_text else "right", no_wrap=not is_text, overflow="fold")
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def print_json(value: Any) -> None:
    """Print one JSON document; NaN and infinity, which JSON lacks, are null."""
    plain = json.loads(json.dumps(value), parse_constant=lambda _: None)
    sys.stdout.write(clean(json.dumps(plain, ensure_ascii=False, indent=2)) + "\n")  # JSON's own escapes


def model_json(name: str, model: CircuitRegressor, max_rules: int | None = None) -> dict[str, Any]:
    """Return a model that was saved as `name`, for machines."""
    rules, frontier = model.rules_, model.frontier_
    return {
        "model": name,
        "target": rules.target,
        "intercept": rules.intercept,
        "conditions": rules.n_conditions,
        "n_rules": len(rules),
        "rules": rules.to_dicts()[:max_rules],
        "constraints": [*map(asdict, getattr(model, "constraints_", ()))],
        "frontier": {"points": frontier.to_dicts(), "best_found": frontier.ceiling},
    }


def size_sentences(model: CircuitRegressor) -> list[str]:
    """Return the held-out R² of a model's size, and that of a larger one worth having, as far as they are known."""
    frontier, size = model.frontier_, model.rules_.size_text
    own = frontier.own
    if own is None or own.r2 is None:
        return [f"{size}."]
    if hasattr(model, "network_circuit_"):
        return [f"{size} reach R² {own.r2:z.3f} on the held-out rows, which chose the epoch, too."]
    best = max([own.r2, frontier.ceiling or own.r2, *(point.r2 or own.r2 for point in frontier)])
    rest = (
        "as much as the best model found"
        if best < own.r2 + _UNSEEN
        else f"of {best:.3f} that the best model found reaches"
    )
    sentences = [f"{size} reach R² {own.r2:z.3f} on held-out rows, {rest}."]
    neighbours, more = frontier.neighbours(), frontier.worthwhile()
    advice = "" if more is None else f" (--max-conditions {more.max_conditions})"
    reach = [f"{thousands(one.max_conditions)} reach {one.r2:.3f}{advice * (one is more)}" for one in neighbours]
    if reach:
        sentences.append(f"Of the next sizes, {' and '.join(reach)}.")
    if more is not None and more not in neighbours:
        sentences.append(f"{thousands(more.max_conditions)} conditions would reach {more.r2:.3f}{advice}.")
    return sentences


def page_of_rules(model: CircuitRegressor, name: str, *, numbered: bool = False) -> Group:
    """Return the rules of a model that was saved as `name`: all of them, or the first where they are too many."""
    few = None if len(model.rules_) <= ONE_PAGE else FIRST_FEW
    return rules_table(model, few, f": dln show {name} has them all", numbered=numbered)


def rules_table(
    model: CircuitRegressor, n_rules: int | None, more: str = "", by: By | None = None, *, numbered: bool = False
) -> Group:
    """Return the rules that move the prediction most, as a table whose rules wrap, and columns as curves.

    With their numbers, which `edit` knows them by, all rules are in the table.
    """
    by = "rule" if numbered else by
    rules = model.rules_
    listed, curves = rules.split(by if n_rules is None else "rule")
    shown = listed[:n_rules]
    weights = signed([row.weight for row in shown], model.circuit_.decimals)
    columns = {"weight": weights, "fires": map(rules.support_text, shown), "rule": [row.rule for row in shown]}
    if numbered:
        columns = {"no.": [str(number) for number in range(len(shown))], **columns}
    lines: list[RenderableType] = [Text(rules.title)]
    if shown:
        lines.append(table(list(columns), zip(*columns.values(), strict=True), left="rule"))
    if any(row.rests_on_few for row in shown):
        lines.append(Text(FEW_NOTE))
    if len(shown) < len(listed):
        lines.append(Text(f"… and {thousands(len(listed) - len(shown))} more rules that move it less{more}"))
    for curve in curves:
        steps = signed([band.weight for band in curve.bands], model.circuit_.decimals)
        bands = zip(steps, [band.text for band in curve.bands], strict=True)
        title = curve_title(model.circuit_, curve)
        lines += ["", table(("weight", title), bands, left=title)]
    return Group(*lines)


def signed(weights: Sequence[float], decimals: int) -> list[str]:
    """Return weights with their signs apart, aligned.

    >>> signed([1.5, -120.0], 1)
    ['+   1.5', '- 120.0']
    """
    digits = [weight_text(abs(weight), decimals) for weight in weights]
    width = max(map(len, digits), default=0)
    return [f"{'-' if weight < 0 else '+'} {text:>{width}}" for weight, text in zip(weights, digits, strict=True)]
