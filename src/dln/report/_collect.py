"""A model and optional rows → `ReportData`, the content of a page."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from dln._errors import MissingExtraError
from dln._saving import to_saved
from dln._version import __version__
from dln.circuit._circuit import MISSING, Circuit, Column, Values
from dln.circuit._words import counted, name_text, thousands
from dln.circuit.bits import predict, prepare
from dln.data._target import check_target
from dln.export._form import lower
from dln.export._javascript import to_javascript
from dln.readers._draw import Picture
from dln.readers._explain import feature_importances
from dln.readers._frontier import Frontier
from dln.readers._intervals import USUAL
from dln.readers._summary import edit_texts
from dln.readers.model_file import to_bytes
from dln.report._effects import MAX_AVERAGED, Effects, column_cutoffs, input_columns, start_row, typical_values
from dln.report._page_data import DataRows, Fact, Known, ReportData, SizePoint, Sizes
from dln.report._scorecard import caveats, scorecard
from dln.report._scores import score_rows

if TYPE_CHECKING:
    from dln.report._reportable import ReportableModel

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
    """Return the content of the page of a fitted model.

    `source` is the name of the data, `row_numbers` are the rows' numbers there, `model_file` is the name of the file.
    """
    circuit, rules = model.circuit_, model.rules_
    data, true = _rows(model, X, y)
    ranges = model.training_facts_.get("ranges", {})
    form = lower(circuit, rules.target)
    typical = typical_values(circuit.columns, column_cutoffs(circuit.literals), data, ranges)
    effects = Effects(prepare(circuit), _averaged_over(circuit, data, typical))
    read = [] if data is None else [(circuit.columns[j], data[j]) for j in form.used]
    predicted = None if data is None else predict(effects.prepared, data, 1)
    card = scorecard(circuit, rules)
    known = _known(model)
    picture, note = picture_svg(model.plot()) if rules.rows else (None, "The model has no rules: it is one number.")
    numbers = row_numbers
    if numbers is None:
        numbers = np.arange(1, 1 + (0 if data is None else len(data[0])))
    scores = None
    if data is not None and true is not None and predicted is not None:
        every = list(zip(circuit.columns, data, strict=True))
        scores = score_rows(every, true, predicted, known.intervals)
    start = typical
    if data is not None and predicted is not None:
        start = start_row(circuit, data, predicted, typical, _shown(include_rows, len(predicted)))
    return ReportData(
        title=title or name_text(rules.target),
        target=name_text(rules.target),
        decimals=circuit.decimals,
        source=None if data is None else source or "the data",
        known=known,
        scores=scores,
        card=card,
        columns=input_columns(effects, form.used, feature_importances(circuit, rules), start, data, ranges),
        n_averaged=None if data is None else len(effects.values[0]),
        sizes=sizes(getattr(model, "_frontier", None), rules.n_conditions),
        picture=picture,
        picture_note=note,
        warnings=caveats(card, known.n_rows, ranges, read),
        constraints=tuple(getattr(getattr(model, "constraints_", None), "sentences", ())),
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
    data = list(model._values(X))  # noqa: SLF001 (a model of this package)
    return data, None if y is None else check_target(y, len(data[0]), "y")


def _averaged_over(circuit: Circuit, data: list[Values] | None, typical: list[float]) -> list[Values]:
    """Return the rows that effects are averages over: a sample of the data, or the typical row alone."""
    if data is not None:
        rows = evenly_spread(len(data[0]), MAX_AVERAGED)
        return [values[rows] for values in data]
    kinds = [np.float64 if column.categories is None else np.int32 for column in circuit.columns]
    return [np.array([value], dtype=kind) for value, kind in zip(typical, kinds, strict=True)]


def _known(model: ReportableModel) -> Known:
    frontier: Frontier | None = getattr(model, "_frontier", None)
    training = model.training_facts_
    own = None if frontier is None else frontier.own
    intervals = getattr(model, "intervals_", None)
    if intervals is not None and intervals.half_width(USUAL) == float("inf"):
        intervals = None
    ends = float(training["target_min"]), float(training["target_max"])
    return Known(training["rows"], ends, None if own is None else own.r2, intervals)


# --- rows, sizes, facts, picture --------------------------------------------------------------------------------------

#: Largest number of rows for ``include_rows=True``: a page should open at once.
DEFAULT_ROWS: Final = 1000


def data_rows(
    columns: Sequence[tuple[Column, Values]],
    y: npt.NDArray[np.float64] | None,
    include_rows: bool | int,  # noqa: FBT001 (as in `report`)
    row_numbers: npt.NDArray[np.intp],
) -> DataRows | None:
    n_all = len(row_numbers)
    rows = _shown(include_rows, n_all)
    if rows is None or not columns:
        return None
    return DataRows(
        tuple(row_numbers[rows].tolist()),
        tuple(_plain(column, values[rows]) for column, values in columns),
        None if y is None else tuple(y[rows].tolist()),
        n_all,
    )


def _shown(include_rows: bool | int, n_rows: int) -> npt.NDArray[np.intp] | None:  # noqa: FBT001 (as in `report`)
    """Return the indices of the rows that the page shows."""
    wanted = DEFAULT_ROWS if include_rows is True else int(include_rows)
    if wanted < 0:
        message = f"include_rows must be True, False or the number of rows to put into the page, got {include_rows!r}"
        raise ValueError(message)
    return evenly_spread(n_rows, wanted) if wanted else None


def evenly_spread(n_rows: int, wanted: int) -> npt.NDArray[np.intp]:
    """Return the indices of so many rows, or of all if there are fewer, spread evenly."""
    return np.unique(np.linspace(0, n_rows - 1, min(wanted, n_rows)).round().astype(np.intp))


def _plain(column: Column, values: Values) -> tuple[float | int | None, ...]:
    if column.categories is not None:
        return tuple(None if code == MISSING else int(code) for code in values.tolist())
    # Whole numbers without ".0": equal in JavaScript, and shorter.
    return tuple(
        None if math.isnan(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
        for value in map(float, values.tolist())
    )


def sizes(frontier: Frontier | None, n_conditions: int) -> Sizes | None:
    own = None if frontier is None else frontier.own
    if frontier is None or own is None or own.r2 is None:
        return None
    points = tuple(
        SizePoint(p.max_conditions if p.conditions is None else p.conditions, p.rules, p.r2, p is own)
        for p in frontier
        if p.r2 is not None
    )
    more = frontier.worthwhile()
    rest = "no larger model was clearly better"
    if more is not None:
        rest = f"{more.max_conditions} conditions would reach {more.r2:.3f}"
    size = counted(n_conditions, "condition")
    return Sizes(points, frontier.ceiling, f"This model's {size} reach R² {own.r2:.3f} on held-out rows; {rest}.")


def facts(model: Any, model_file: str | None) -> Iterator[Fact]:
    training = model.training_facts_
    rows = f"{thousands(training['rows'])} rows"
    if training["distinct_rows"] < training["rows"]:
        rows += f", {thousands(training['distinct_rows'])} of them distinct"
    yield Fact("Learned from", rows)
    yield Fact("Learned with", ", ".join(f"{name} {version}" for name, version in training["versions"].items()))
    if edits := edit_texts(model):
        yield Fact("Edited by hand", "\n".join(edits))
    seed = model.get_params(deep=False).get("random_state")
    yield Fact("Seed", "not fixed" if seed is None else str(seed))
    yield Fact("Cost of a prediction", f"{thousands(int(model.cost('select')))} logic operations")
    yield Fact("This page made", f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, by dln {__version__}")
    name = model_file or "model.dln"
    yield Fact("SHA-256 of the model file", hashlib.sha256(to_bytes(to_saved(model))).hexdigest(), is_code=True)
    yield Fact("Load it in Python", f"import dln\nmodel = dln.load({name!r})\nmodel.predict(table)", is_code=True)
    quoted = f"'{name}'" if " " in name else name
    yield Fact("Predict in a terminal", f"dln predict {quoted} table.csv -o predictions.csv", is_code=True)
    endings = ("c", "sql", "xlsx", "mjs", "py", "onnx", "v")
    yield Fact(
        "Take it elsewhere", "\n".join(f"dln export {quoted} -o model.{ending}" for ending in endings), is_code=True
    )


_SVG: Final = "{http://www.w3.org/2000/svg}"
#: Elements and attributes that Graphviz draws with. Others (titles with names of nodes, comments, links) stay out.
_ELEMENTS: Final = {"svg", "g", "path", "polygon", "polyline", "ellipse", "text"}
_ATTRIBUTES: Final = {
    "viewBox", "transform", "d", "points", "x", "y", "cx", "cy", "rx", "ry", "fill", "stroke", "stroke-width",
    "text-anchor", "font-size",
}  # fmt: skip

#: Pictures are drawn for paper, at 144 dots to the inch: on a screen letters are as large as the page's at this share.
_SHOWN: Final = 0.58


def picture_svg(picture: Picture) -> tuple[str | None, str]:
    try:
        return _cleaned(picture.svg), ""
    except MissingExtraError as error:
        return None, f"{error}."


def _cleaned(svg: str) -> str:
    root = ET.fromstring(svg)  # noqa: S314 (Graphviz wrote it; it has no entities of its own)
    width = float(root.get("viewBox", "0 0 100 100").split()[2])
    kept = _kept(root)
    kept.set("width", f"{_SHOWN * width:.0f}")
    kept.set("aria-hidden", "true")
    return ET.tostring(kept, encoding="unicode")


def _kept(element: ET.Element) -> ET.Element:
    attributes = {key: value for key, value in element.attrib.items() if key in _ATTRIBUTES}
    made = ET.Element(element.tag.removeprefix(_SVG), attributes)
    made.text = element.text if made.tag == "text" else None
    for inner in element:
        if inner.tag.removeprefix(_SVG) in _ELEMENTS:
            made.append(_kept(inner))
    return made
