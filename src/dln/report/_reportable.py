"""The page of a model and its card, which has the same content for auditors, and HTML for notebooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from dln._atomic import AnyPath, write_atomically
from dln.circuit._words import name_text
from dln.data._categories import are_booleans
from dln.data._dates import WEEKDAYS, split_part_name
from dln.readers._explain import Explanation
from dln.readers._readable import ReadableModel
from dln.readers._rules import MAX_ROWS, RuleTable
from dln.report._diff import ModelDiff, diff_models
from dln.report._page_data import CardGroup, InputColumn, NumberColumn, Piece, Scorecard
from dln.report._scorecard import card_rule, scorecard


class ModelCard(dict[str, Any]):
    """A model card: a dictionary of plain values; ``print`` shows it as Markdown, `save` writes either."""

    def __str__(self) -> str:
        return _rendered("card.md", card=dict(self))

    _repr_markdown_ = __str__

    def save(self, path: AnyPath) -> Path:
        """Write the card, as JSON where the path ends in .json and otherwise as Markdown; return the path."""
        is_json = Path(path).suffix.lower() == ".json"
        text = json.dumps(self, ensure_ascii=False, indent=2, allow_nan=False) + "\n" if is_json else str(self)
        write_atomically(path, text.encode())
        return Path(path)


class ReportableModel(ReadableModel):
    """The page of a fitted model as a method, and its scorecard in notebooks."""

    training_facts_: Mapping[str, Any]

    def report(
        self, path: AnyPath, X: Any = None, y: Any = None, *, include_rows: bool | int = False, title: str | None = None
    ) -> Path:
        """Write one interactive HTML page: rules, what-if, effects of columns, errors, and facts.

        The page is one file that loads nothing and can be printed; its predictions are those of `predict`, bit for bit.

        Parameters
        ----------
        path : path
            The file, like "house.html".
        X : table of shape (n_samples, n_features), optional
            Held-out rows: effects are averages over them, histograms are theirs. Without them the page shows the scores
            of the fit.
        y : array-like of shape (n_samples,), optional
            Their targets, for scores and errors.
        include_rows : bool or int, default=False
            Put rows of X into the page, to pick and compare: at most 1000, or the given number. By default no row is in
            the page, only counts, averages and ranges, and the row near the median that "What if" opens on, its
            numbers replaced by medians of those that rules cannot tell from them.
        title : str, optional
            The page's title; by default the target's name.

        Returns
        -------
        Path
            The file.

        """
        return write_report(self, path, X, y, include_rows=include_rows, title=title)

    def card(self, X: Any = None, y: Any = None) -> ModelCard:
        """Return the model card: data, intended use (blank), accuracy, subgroups, constraints, limits, versions.

        Its sections are those of the EU AI Act's technical documentation (Annex IV) and of common model cards.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), optional
            Held-out rows.
        y : array-like of shape (n_samples,), optional
            Their targets, for errors of all rows and of subgroups.

        Returns
        -------
        ModelCard
            A dictionary; ``print`` shows it as Markdown, ``save(path)`` writes .md or .json.

        """
        check_is_fitted(self, "circuit_")
        return model_card(self, X, y)

    def diff(self, other: ReportableModel, X: Any = None) -> ModelDiff:
        """Return what changed from this model to another of the same columns: rules, and predictions of data.

        Parameters
        ----------
        other : RuleRegressor or DLNRegressor
            The later model.
        X : table of shape (n_samples, n_features), optional
            Rows to compare the predictions of both on.

        Returns
        -------
        ModelDiff
            One `RuleChange` per pair of similar rules, and per rule that was added or removed; ``data`` has the change
            of predictions. Its ``report("diff.html")`` writes a page.

        """
        check_is_fitted(self, "circuit_")
        if not isinstance(other, ReportableModel):
            raise TypeError(f"a model can be compared with a RuleRegressor or DLNRegressor, got {type(other).__name__}")
        check_is_fitted(other, "circuit_")
        return diff_models(self, other, *([] if X is None else [self._values(X), other._values(X)]))

    def _html_repr(self) -> str:
        """Return the scorecard of a fitted model, otherwise scikit-learn's diagram."""
        if hasattr(self, "circuit_"):
            return _rendered("model.html", card=scorecard(self.circuit_, self.rules_), name=type(self).__name__)
        diagram: str = super()._html_repr()  # type: ignore[misc]
        return diagram


def write_report(model: ReportableModel, path: AnyPath, X: Any = None, y: Any = None, **options: Any) -> Path:
    """Write the page of a model; `options` are those of `collect`."""
    check_is_fitted(model, "circuit_")
    from dln.report._collect import collect
    from dln.report._render import render

    write_atomically(path, render(collect(model, X, y, **options)).encode())
    return Path(path)


def model_card(model: ReportableModel, X: Any = None, y: Any = None, **options: Any) -> ModelCard:
    """Return the card of a fitted model; `options` are those of `collect`."""
    from dln.report._collect import collect

    data, rules = collect(model, X, y, **options), model.rules_
    scores = {} if data.scores is None else asdict(data.scores)
    return ModelCard(
        target=data.card.target,
        learner=type(model).__name__,
        size=rules.size_text,
        intended_use={"purpose": "", "users": "", "not_intended_for": ""},
        facts={name: text for name, text in (data.facts | data.commands).items() if name in _FACTS},
        training={name: getattr(data.known, name) for name in _TRAINING},
        columns=[_column(column, model) for column in data.columns],
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


def _column(column: InputColumn, model: ReportableModel) -> dict[str, Any]:
    """Return facts of a column in training; of its categories, the model knows how many, and those in rules."""
    own = next(one for one in model.circuit_.columns if name_text(one.name) == column.name)
    profile = model.training_facts_.get("profile", {}).get(own.name)
    missing = column.missing if profile is None else profile.shares[-1]
    facts = {"name": column.name, "importance": column.importance, "missing": missing}
    if isinstance(column, NumberColumn):
        return {**facts, "learned": column.learned}
    labels = [option.label for option in column.options if option.code >= 0]
    *shares, others, _ = (None,) * (len(labels) + 2) if profile is None else profile.shares
    named = sorted(zip(labels, shares, strict=True), key=lambda one: -(one[1] or 0.0))
    n_categories = None
    if own.seen is not None:
        n_categories = len(own.seen)
    elif are_booleans(own.categories or ()):
        n_categories = len(labels)
    elif split_part_name(own.name) is not None:
        n_categories = len(WEEKDAYS)
    categories = [{"category": label, "share": share} for label, share in named]
    return {**facts, "n_categories": n_categories, "categories": categories, "share_of_others": others}


# --- notebooks --------------------------------------------------------------------------------------------------------


def rules_html(rules: RuleTable) -> str:
    shown = tuple(card_rule(row, (Piece("text", row.rule),)) for row in rules.rows[:MAX_ROWS])
    facts = name_text(rules.target), rules.intercept, rules.decimals
    card = Scorecard(*facts, (CardGroup((), shown, 1.0),), len(rules), rules.n_conditions, 0)
    return _rendered("rules.html", card=card, n_hidden=max(0, len(rules) - MAX_ROWS))


def explanation_html(explanation: Explanation) -> str:
    return _rendered("explanation.html", explanation=explanation, target=name_text(explanation.target))


def _rendered(template: str, **values: object) -> str:
    from dln.report._render import render_part  # Jinja2 takes a while

    return render_part(template, **values)
