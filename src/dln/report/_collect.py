"""A model and, if they are given, rows → all that a page tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Circuit, Column, Values
from dln.circuit._words import name_text
from dln.circuit.bits import predict, prepare
from dln.data._target import check_target
from dln.export._form import lower
from dln.export._javascript import to_javascript
from dln.readers._frontier import Frontier
from dln.readers._widths import USUAL
from dln.report._caveats import caveats
from dln.report._data import Known, ReportData
from dln.report._facts import facts
from dln.report._inputs import MAX_AVERAGED, Effects, column_cutoffs, input_columns, typical_values
from dln.report._picture import picture_svg
from dln.report._rows import data_rows, evenly_spread
from dln.report._scorecard import scorecard
from dln.report._scores import score_rows
from dln.report._sizes import sizes

if TYPE_CHECKING:
    from dln.report._methods import ReportableModel

Floats = npt.NDArray[np.float64]


def collect(
    model: ReportableModel,
    X: Any = None,
    y: Any = None,
    *,
    include_rows: bool | int = False,
    title: str | None = None,
    source: str | None = None,
    row_numbers: npt.NDArray[np.intp] | None = None,
    model_file: str | None = None,
) -> ReportData:
    """Return what the page of a fitted model tells.

    `source` says where the rows are from, `row_numbers` their numbers there, `model_file` where the model is from.
    """
    circuit, rules = model.circuit_, model.rules_
    data, true = _rows(model, X, y)
    ranges = model.training_facts_.get("ranges", {})
    form = lower(circuit, rules.target)
    typical = typical_values(circuit.columns, column_cutoffs(circuit.literals), data, ranges)
    effects = Effects(prepare(circuit), _averaged_over(circuit, data, typical))
    read = [] if data is None else [(circuit.columns[j], data[j]) for j in form.used]
    card = scorecard(circuit, rules)
    known = _known(model)
    picture, note = picture_svg(model.plot()) if rules.rows else (None, "The model has no rules: it is one number.")
    numbers = row_numbers
    if numbers is None:
        numbers = np.arange(1, 1 + (0 if data is None else len(data[0])))
    scores = None
    if data is not None and true is not None:
        scores = score_rows(read, true, predict(effects.prepared, data, 1), known.half_width)
    return ReportData(
        title=title or name_text(rules.target),
        target=name_text(rules.target),
        decimals=circuit.decimals,
        source=None if data is None else source or "the data",
        known=known,
        scores=scores,
        card=card,
        columns=input_columns(effects, form.used, model.feature_importances_, typical, data, ranges),
        n_averaged=None if data is None else len(effects.values[0]),
        sizes=sizes(_frontier(model), rules.n_conditions),
        picture=picture,
        picture_note=note,
        warnings=caveats(card, known.n_rows, ranges, read),
        facts=tuple(facts(model, model_file)),
        rows=None if data is None else data_rows(read, true, include_rows, numbers),
        script=to_javascript(form),
        category_constants=tuple(None if column.categories is None else f"CODES_{j}" for j, column in form.columns),
    )


def _rows(model: ReportableModel, X: Any, y: Any) -> tuple[list[Values] | None, Floats | None]:
    if X is None:
        if y is not None:
            message = "y was given without X: a report of how well the model predicts needs both"
            raise ValueError(message)
        return None, None
    data = list(model._values(X))  # noqa: SLF001 (it is one of us)
    return data, None if y is None else check_target(y, len(data[0]), "y")


def _averaged_over(circuit: Circuit, data: list[Values] | None, typical: list[float]) -> list[Values]:
    """Return the rows that effects are averages over: some of the data, or the typical row alone."""
    if data is None:
        return [_one(column, value) for column, value in zip(circuit.columns, typical, strict=True)]
    rows = evenly_spread(len(data[0]), MAX_AVERAGED)
    return [values[rows] for values in data]


def _one(column: Column, value: float) -> Values:
    return np.array([value], dtype=np.float64 if column.categories is None else np.int32)


def _known(model: ReportableModel) -> Known:
    frontier, training = _frontier(model), model.training_facts_
    own = None if frontier is None else frontier.own
    intervals = getattr(model, "intervals_", None)
    widths = [None if intervals is None else intervals.half_width(coverage) for coverage in (USUAL, 0.5)]
    half_width, middle = (None if width is None or width == float("inf") else float(width) for width in widths)
    ends = float(training["target_min"]), float(training["target_max"])
    return Known(training["rows"], ends, None if own is None else own.r2, half_width, middle)


def _frontier(model: ReportableModel) -> Frontier | None:
    return getattr(model, "_frontier", None)
