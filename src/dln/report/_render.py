"""`ReportData` → HTML, by templates that escape all values.

The page has one style and one script, and a policy that forbids others.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import astuple
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from dln.circuit._words import counted, thousands, weight_text
from dln.readers._intervals import USUAL
from dln.report import _geometry
from dln.report._page_data import InputColumn, NumberColumn, ReportData

_STYLES: Final = ("parts.css", "page.css", "print.css")
#: Concatenated in this order to one function: each uses those before it.
_SCRIPTS: Final = (
    *("dom.js", "row.js", "waterfall.js", "changes.js", "effects.js", "controls.js"),
    *("scenarios.js", "search.js", "rows.js", "start.js"),
)


def render(data: ReportData) -> str:
    columns = sorted(enumerate(data.columns), key=lambda one: -one[1].importance)
    return render_page(
        "page.html",
        _script(data),
        data=data,
        columns=[(j, column, isinstance(column, NumberColumn)) for j, column in columns],
        charts={j: _geometry.effect_chart(column) for j, column in columns if isinstance(column, NumberColumn)},
        scatter=None if data.scores is None else _geometry.scatter_chart(data.scores, data.known.intervals),
        page_data=_json(_page_data(data)),
    )


def render_page(template: str, script: str = "", **values: object) -> str:
    """Return a page whose policy allows its own style and script alone."""
    style = "\n".join(map(_asset, _STYLES))
    allowed = f"script-src {_hash(script)}; " if script else ""
    policy = f"default-src 'none'; {allowed}style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    return _environment().get_template(template).render(style=style, script=script, policy=policy, **values)


def render_part(template: str, **values: object) -> str:
    return _environment().get_template(template).render(style=_asset("parts.css"), **values)


def _script(data: ReportData) -> str:
    """Return the exported model, and the page's own code in a scope of its own."""
    known = ", ".join(f"{code}: {name}" for code, name in enumerate(data.category_constants) if name is not None)
    code = "\n".join(map(_asset, _SCRIPTS))
    return f"{data.script}\n(() => {{\nconst CATEGORIES = {{ {known} }};\n{code}}})();\n"


def _page_data(data: ReportData) -> dict[str, Any]:
    intervals = data.known.intervals
    return {
        "decimals": data.card.decimals,
        "interval": None if intervals is None else [data.known.half_width, *astuple(intervals.scale), intervals.limits],
        "line": [*_geometry.SIDES, *_geometry.LINE],
        "columns": list(map(_column, data.columns)),
        "rows": data.rows,
    }


def _column(column: InputColumn) -> dict[str, Any]:
    if isinstance(column, NumberColumn):
        plain_values = {name: getattr(column, name) for name in ("typical", "learned", "ends", "cutoffs")}
        return {**plain_values, "averages": [float(f"{level:.7g}") for level in column.averages]}
    codes, labels = [option.code for option in column.options], [option.label for option in column.options]
    return {"typical": column.typical, "codes": codes, "labels": labels}


def _json(value: Any) -> str:
    """Return JSON without characters of markup."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    return (files("dln.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dln.report"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own = ("alike", "plain", "points", "signed", "percent", "bar", "step_chart", "unbroken")
    environment.filters |= {name: getattr(_geometry, name) for name in own}
    environment.filters |= {"thousands": thousands, "counted": counted, "weight_text": weight_text}
    environment.globals["usual"] = _geometry.percent(USUAL)
    return environment
