import re
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings

from circuits import HOSTILE_NAMES, circuits, layered_circuit
from dln._errors import MissingExtraError
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, Rule
from dln.circuit._gates import AND, NAND, NOR, OR
from dln.circuit._words import column_text
from dln.readers._charts import frontier_chart, history_chart, importance_chart
from dln.readers._draw import MAX_RULES_TOGETHER, draw
from dln.readers._frontier import Frontier, Point
from dln.readers._rules import Importance, Importances

pytest.importorskip("pygraphviz")
pytest.importorskip("matplotlib").use("Agg")


def texts(svg):
    """Return the texts of an SVG picture."""
    root = ET.fromstring(svg)  # noqa: S314 (our own picture)
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


@settings(max_examples=25)
@given(circuits())
def test_every_circuit_has_a_picture_with_its_weights(circuit):
    """The picture is well-formed SVG and shows the intercept and every weight."""
    picture = draw(circuit, max_rules=None)
    found = " ".join(texts(picture.svg))
    for rule in circuit.rules:
        assert f"{abs(rule.weight):.{max(circuit.decimals, 0)}f}" in found
    assert picture.dot.count("-> sum") == len(circuit.rules)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_are_shown_and_harmless(name):
    """Quotes, line breaks, tags, Greek and emoji come out as text, on lines of their own where they are long."""
    columns = (Column(name), Column("c", (name, "b")))
    circuit = Circuit(columns, (Above(0, 1.0), IsIn(1, (0,))), (Gate(AND, 0, 1),), (Rule(2, 1.0),), 0.0, 0)
    picture = draw(circuit, target=name)
    root = ET.fromstring(picture.svg)  # noqa: S314 (our own picture)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        "svg", "g", "title", "polygon", "path", "text", "ellipse", "polyline"
    }  # fmt: skip
    shown = re.sub(r"\s", "", "".join(texts(picture.svg)))
    assert re.sub(r"\s", "", f"{column_text(name)} > 1") in shown
    assert picture.png.startswith(b"\x89PNG")


def test_names_that_look_like_markup_stay_names():
    """A target in angle brackets is no HTML label, an entity is no character."""
    circuit = Circuit((Column("&lt;"),), (Above(0, 1.0),), (), (Rule(0, 1.0),), 0.0, 0)
    found = texts(draw(circuit, target="<b>").svg)
    assert "<b>" in found
    assert "&lt; > 1" in found


def test_shared_parts_are_drawn_once():
    """A gate that two rules use, plain and negated, is one diamond; its inputs are one box each."""
    literals = tuple(Above(i, 0.0) for i in range(3))
    gates = (Gate(AND, 0, 1), Gate(OR, 3, 2), Gate(NAND, 0, 1), Gate(AND, 5, 2))
    columns = tuple(Column(name) for name in "abc")
    dot = draw(Circuit(columns, literals, gates, (Rule(4, 1.0), Rule(6, 2.0)), 0.0, 0)).dot
    assert dot.count("shape=diamond") == 3
    assert dot.count("#ffe680") == 3
    assert dot.count("arrowhead=odot") == 1


def test_conditions_on_one_column_are_one_box():
    """An interval is one box, not two thresholds and a gate."""
    circuit = Circuit((Column("age"),), (Above(0, 18.0), Above(0, 47.5)), (Gate(2, 0, 1),), (Rule(2, 1.0),), 0.0, 0)
    picture = draw(circuit)
    assert "18 < age ≤ 47.5" in texts(picture.svg)
    assert "diamond" not in picture.dot


def test_the_first_rules_are_drawn_and_the_rest_is_told():
    """By default the strongest twenty; `order` and `max_rules` choose others; the picture says how many it shows."""
    circuit = layered_circuit(0, n_rules=50, layers=[80, 80])
    picture = draw(circuit)
    assert picture.dot.count("-> sum") == 20
    assert any("20 of 50 rules shown" in text for text in texts(picture.svg))
    weakest = min(range(50), key=lambda i: abs(circuit.rules[i].weight))
    one = draw(circuit, max_rules=1, order=[weakest])
    assert f"{abs(circuit.rules[weakest].weight):.3f}" in " ".join(texts(one.svg))
    with pytest.raises(ValueError, match="max_rules must be at least 1 or None, got 0"):
        draw(circuit, max_rules=0)


@pytest.mark.parametrize("n_rules", [5, 20, 100])
def test_boxes_do_not_overlap(n_rules):
    """At 5, 20 and 100 rules no box, diamond or sum lies on another."""
    circuit = layered_circuit(1, n_rules=n_rules, layers=[2 * n_rules, 2 * n_rules], n_columns=8).simplify()
    root = ET.fromstring(draw(circuit, max_rules=None).svg)  # noqa: S314 (our own picture)
    boxes = []
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        if group.get("class") != "node":
            continue
        shape = group.find("{http://www.w3.org/2000/svg}polygon")
        if shape is not None:
            points = np.array([[float(c) for c in point.split(",")] for point in shape.get("points").split()])
            boxes.append([*points.min(axis=0), *points.max(axis=0)])
    boxes = np.array(boxes)
    assert len(boxes) > n_rules
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    apart = (low >= boxes[None, :, 2:]).any(axis=2) | (high <= boxes[None, :, :2]).any(axis=2)
    assert apart[~np.eye(len(boxes), dtype=bool)].all()


def test_many_rules_have_a_sum_sign_each():
    """Beyond two dozen rules nothing converges on one box."""
    circuit = layered_circuit(0, n_rules=MAX_RULES_TOGETHER + 1, layers=[60])
    assert draw(circuit, max_rules=None).dot.count("Σ") == MAX_RULES_TOGETHER + 2


def test_long_rules_are_one_grey_box():
    """A rule too long to read is drawn by its size."""
    gates = tuple(Gate(NOR, node, node) for node in range(7))
    circuit = Circuit((Column("x"),), (Above(0, 1.0),), gates, (Rule(7, 1.0),), 0.0, 0)
    assert "a rule of 128 literals" in texts(draw(circuit).svg)


def test_pictures_are_saved_by_their_ending(tmp_path):
    """SVG, PNG and PDF; anything else is refused."""
    picture = draw(layered_circuit(0, n_rules=3, layers=[5]))
    assert picture.save(tmp_path / "a.svg").read_text().startswith("<?xml")
    assert picture.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert picture.save(str(tmp_path / "a.pdf")).read_bytes().startswith(b"%PDF")
    assert picture._repr_svg_() == picture.svg
    with pytest.raises(ValueError, match=r"saved as \.svg, \.png or \.pdf, got 'a\.jpg'"):
        picture.save(tmp_path / "a.jpg")


def test_without_the_libraries_the_error_names_the_extra(monkeypatch):
    """If pygraphviz or matplotlib is missing, the error names the extra."""
    picture = draw(layered_circuit(0, n_rules=3, layers=[5]))
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[plot\]'"):
        _ = picture.svg
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[plot\]'"):
        importance_chart(Importances((Importance("a", "a", 1.0),)))


@pytest.mark.filterwarnings("ignore:Glyph")  # no emoji in matplotlib's own font
def test_charts_draw_what_they_are_given():
    """Importances from the largest down, losses by epoch, errors by the number of rules."""
    import matplotlib.pyplot as plt

    names = ["a", "$b$", *HOSTILE_NAMES]
    ax = importance_chart(Importances(tuple(Importance(name, name, 9.0 - i) for i, name in enumerate(names))))
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(widths, reverse=True)
    ax.figure.canvas.draw()
    history = {
        "network": [0, 0, 1],
        "epoch": [1, 2, 1],
        "training_loss": [3.0, 2.0, 1.0],
        "validation_loss": [4.0, 3.0, 2.0],
    }
    assert len(history_chart(history).lines) == 4
    assert len(history_chart({**history, "validation_loss": [None] * 3}).lines) == 2
    shown = Frontier((Point(10, 10, 4, 0.5), Point(100, None, None, 0.7)))
    assert len(frontier_chart(shown).lines) == 1
    assert len(frontier_chart(Frontier(shown.rows, ceiling=0.8)).lines) == 2
    plt.close("all")
