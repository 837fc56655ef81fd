"""A model and optional rows → `ReportData`, the content of a page."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from dln._errors import MissingExtraError
from dln._saving import to_saved
from dln._version import __version__
from dln.circuit._circuit import MISSING, Circuit, Column, Values
from dln.circuit._words import thousands
from dln.circuit.bits import PreparedCircuit, predict
from dln.data._target import check_target
from dln.export._form import lower
from dln.export._scripts import to_javascript
from dln.readers._draw import Picture
from dln.readers._explain import feature_importances
from dln.readers._frontier import Frontier, Point
from dln.readers._intervals import USUAL
from dln.readers._summary import edit_texts, rows_text
from dln.readers.model_file import to_bytes
from dln.report._effects import MAX_AVERAGED, Effects, input_columns, start_row, typical_values
from dln.report._geometry import sizes_chart
from dln.report._page_data import Known, ReportData
from dln.report._scorecard import caveats, scorecard
from dln.report._scores import score_rows

if TYPE_CHECKING:
    from dln.report._reportable import ReportableModel


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
    if X is None and y is not None:
        raise ValueError("y was given without X: a report of how well the model predicts needs both")
    circuit, rules = model.circuit_, model.rules_
    data = None if X is None else list(model._values(X))  # noqa: SLF001 (a model of this package)
    true = None if data is None or y is None else check_target(y, len(data[0]), "y")
    ranges = model.training_facts_.get("ranges", {})
    form = lower(circuit, rules.target)
    typical = typical_values(circuit, data, ranges)
    effects = Effects(PreparedCircuit(circuit), _averaged_over(circuit, data, typical))
    card = scorecard(circuit, rules)
    frontier: Frontier | None = getattr(model, "_frontier", None)
    known = _known(model, None if frontier is None else frontier.own)
    picture, note = picture_svg(model.plot()) if rules.rows else (None, "The model has no rules: it is one number.")
    read, start, scores, rows = [], typical, None, None
    n_rows = 0 if data is None else len(data[0])
    if data is not None:
        read = [(circuit.columns[j], data[j]) for j in form.used]
        predicted, shown = predict(effects.prepared, data, 1), _shown(include_rows, n_rows)
        start = start_row(circuit, data, predicted, typical, shown)
        if true is not None:
            scores = score_rows(list(zip(circuit.columns, data, strict=True)), true, predicted, known.intervals)
        if shown is not None and read:
            numbers = np.arange(1, n_rows + 1) if row_numbers is None else row_numbers
            rows = {
                "numbers": numbers[shown].tolist(),
                "columns": [_plain(column, values[shown]) for column, values in read],
                "true": None if true is None else true[shown].tolist(),
            }
    return ReportData(
        title=title or card.target,
        source=None if data is None else source or "the data",
        known=known,
        scores=scores,
        card=card,
        columns=input_columns(effects, form.used, feature_importances(rules), start, data, ranges),
        n_averaged=None if data is None else len(effects.values[0]),
        sizes=None if frontier is None else sizes_chart(frontier),
        picture=picture,
        picture_note=note,
        warnings=caveats(card, known.n_rows, ranges, read),
        constraints=tuple(getattr(getattr(model, "constraints_", None), "sentences", ())),
        facts=facts(model),
        commands=commands(model, model_file or "model.dln"),
        rows=rows,
        n_rows=n_rows,
        script=to_javascript(form),
        category_constants=tuple(None if column.categories is None else f"CODES_{j}" for j, column in form.columns),
    )


def _averaged_over(circuit: Circuit, data: list[Values] | None, typical: list[float]) -> list[Values]:
    """Return the rows that effects are averages over: a sample of the data, or the typical row alone."""
    if data is not None:
        rows = evenly_spread(len(data[0]), MAX_AVERAGED)
        return [values[rows] for values in data]
    kinds = [np.float64 if column.categories is None else np.int32 for column in circuit.columns]
    return [np.array([value], dtype=kind) for value, kind in zip(typical, kinds, strict=True)]


def _known(model: ReportableModel, own: Point | None) -> Known:
    training, intervals = model.training_facts_, getattr(model, "intervals_", None)
    ends = float(training["target_min"]), float(training["target_max"])
    r2 = None if own is None else own.r2
    if intervals is None or intervals.half_width(USUAL) == float("inf"):
        return Known(training["rows"], ends, r2, None, None, None)
    widths = (float(intervals.half_width(coverage)) for coverage in (USUAL, 0.5))
    return Known(training["rows"], ends, r2, intervals, *widths)


# --- rows, facts, picture --------------------------------------------------------------------------------------

#: Largest number of rows for ``include_rows=True``: a page should open at once.
DEFAULT_ROWS: Final = 1000


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


def facts(model: Any) -> dict[str, str]:
    training = model.training_facts_
    seed, edits = model.get_params(deep=False).get("random_state"), edit_texts(model)
    return {
        "Learned from": rows_text(training, " rows"),
        "Learned with": ", ".join(f"{name} {version}" for name, version in training["versions"].items()),
        **({"Edited by hand": "\n".join(edits)} if edits else {}),
        "Seed": "not fixed" if seed is None else str(seed),
        "Cost of a prediction": f"{thousands(int(model.cost('select')))} logic operations",
        "This page made": f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, by dln {__version__}",
    }


def commands(model: Any, name: str) -> dict[str, str]:
    quoted = f"'{name}'" if " " in name else name
    endings = ("c", "sql", "xlsx", "mjs", "py", "onnx", "v")
    return {
        "SHA-256 of the model file": hashlib.sha256(to_bytes(to_saved(model))).hexdigest(),
        "Load it in Python": f"import dln\nmodel = dln.load({name!r})\nmodel.predict(table)",
        "Predict in a terminal": f"dln predict {quoted} table.csv -o predictions.csv",
        "Take it elsewhere": "\n".join(f"dln export {quoted} -o model.{ending}" for ending in endings),
    }


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
    for element in list(root.iter()):
        element.tag = element.tag.removeprefix(_SVG)
        element.attrib = {key: value for key, value in element.attrib.items() if key in _ATTRIBUTES}
        element.text, element.tail = element.text if element.tag == "text" else None, None
        for inner in list(element):
            if inner.tag.removeprefix(_SVG) not in _ELEMENTS:
                element.remove(inner)
    root.set("width", f"{_SHOWN * float(root.get('viewBox', '0 0 100 100').split()[2]):.0f}")
    root.set("aria-hidden", "true")
    return ET.tostring(root, encoding="unicode")
