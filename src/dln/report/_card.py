"""The model card: the content of the page, in Markdown and JSON, under the headings that auditors ask for."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dln._atomic import AnyPath, write_atomically
from dln.report._page_data import InputColumn, NumberColumn

if TYPE_CHECKING:
    from dln.report._reportable import ReportableModel


class ModelCard(dict[str, Any]):
    """A model card: a dictionary of plain values; ``print`` shows it as Markdown, `save` writes either."""

    def __str__(self) -> str:
        from dln.report._render import render_part  # Jinja2 takes a while

        return render_part("card.md", card=dict(self))

    _repr_markdown_ = __str__

    def save(self, path: AnyPath) -> Path:
        """Write the card, as JSON where the path ends in .json and otherwise as Markdown; return the path."""
        is_json = Path(path).suffix.lower() == ".json"
        text = json.dumps(self, ensure_ascii=False, indent=2, allow_nan=False) + "\n" if is_json else str(self)
        write_atomically(path, text.encode())
        return Path(path)


def model_card(model: ReportableModel, X: Any = None, y: Any = None, **options: Any) -> ModelCard:
    """Return the card of a fitted model; `options` are those of `collect`."""
    from dln.report._collect import collect

    data, rules = collect(model, X, y, **options), model.rules_
    scores = {} if data.scores is None else asdict(data.scores)
    return ModelCard(
        target=data.target,
        learner=type(model).__name__,
        size=rules.size_text,
        intended_use={"purpose": "", "users": "", "not_intended_for": ""},
        facts={fact.name: fact.text for fact in data.facts if fact.name in _FACTS},
        training={name: getattr(data.known, name) for name in _TRAINING},
        columns=list(map(_column, data.columns)),
        data=data.source,
        evaluation={name: scores[name] for name in _SCORES} if scores else None,
        calibration=scores.get("calibration"),
        subgroups=scores.get("by_column"),
        constraints=list(data.constraints),
        limits=list(data.warnings),
        decimals=rules.decimals,
        intercept=rules.intercept,
        rules=[{"rule": row.rule, "weight": row.weight} for row in rules],
    )


_FACTS = ("Learned from", "Learned with", "Seed", "Cost of a prediction", "SHA-256 of the model file")
_TRAINING = ("n_rows", "target_ends", "r2", "half_width", "middle_error")
_SCORES = ("n_rows", "r2", "mean_absolute_error", "bias", "covered")


def _column(column: InputColumn) -> dict[str, Any]:
    facts = {"name": column.name, "importance": column.importance, "missing": column.missing}
    if isinstance(column, NumberColumn):
        return {**facts, "learned": column.learned}
    return {**facts, "categories": [option.label for option in column.options if option.code >= 0]}
