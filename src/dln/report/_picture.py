"""The picture of the circuit, as SVG that a page may hold: known elements and attributes, nothing else."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Final

from dln._errors import MissingExtraError
from dln.readers._draw import Picture

_SVG: Final = "{http://www.w3.org/2000/svg}"
#: What Graphviz draws with. Whatever else it writes (titles that name its nodes, comments, links) stays out.
_ELEMENTS: Final = {"svg", "g", "path", "polygon", "polyline", "ellipse", "text"}
_ATTRIBUTES: Final = {
    "viewBox", "transform", "d", "points", "x", "y", "cx", "cy", "rx", "ry", "fill", "stroke", "stroke-width",
    "text-anchor", "font-size",
}  # fmt: skip

#: Pictures are drawn for paper, at 144 dots to the inch: on a screen letters are as large as the page's at this share.
_SHOWN: Final = 0.58


def picture_svg(picture: Picture) -> tuple[str | None, str]:
    """Return the SVG and nothing, or None and why there is none."""
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
    made = ET.Element(
        element.tag.removeprefix(_SVG), {key: value for key, value in element.attrib.items() if key in _ATTRIBUTES}
    )
    made.text = element.text if made.tag == "text" else None
    for inner in element:
        if inner.tag.removeprefix(_SVG) in _ELEMENTS:
            made.append(_kept(inner))
    return made
