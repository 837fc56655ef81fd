"""Figures are the same for the same results, and can be read."""

from dataclasses import replace
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from bench_results import as_in_the_paper, built, whole
from dln_bench._names import MODELS
from dln_bench.report import _figures, _sizes
from dln_bench.report import _report as reports


def test_models_stand_at_their_sizes():
    """R² against conditions has every model, those without conditions too, on the datasets that all of them have."""
    counts = {"dln": 90, "figs-100": 100, "cart-20": 20, "cart-50": 50, "svr": None}
    results = [
        replace(one, conditions=counts[one.model], trials=16 if one.model == "svr" else 0)
        for one in as_in_the_paper(tuple(counts))
        if (one.dataset, one.model) != ("wine", "dln")
    ]
    found = _sizes.sizes(results, 16)
    assert {one.model: one.conditions for one in found} == counts
    assert {one.datasets for one in found} == {14}
    assert ET.fromstring(_sizes.size_figure(found).svg).tag.endswith("svg")  # noqa: S314 (made here)
    table = _sizes.size_table(found)
    assert [row[1].text for row in table.rows] == ["20", "50", "90", "100", "–"]


def test_results_without_sizes_say_so():
    """Where no result tells its conditions, a sentence stands instead of the figure."""
    assert "There is no result that tells its conditions." in built(as_in_the_paper(("linear", "svr")))


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12))
def test_frontier_is_what_nothing_beats(points):
    """A point is on the frontier if no other is at least as cheap and as accurate, and better in one of both."""
    beaten = {
        (cost, accuracy)
        for cost, accuracy in points
        for other_cost, other in points
        if other_cost <= cost and other >= accuracy and (other_cost, other) != (cost, accuracy)
    }
    assert _figures.frontier(points) == sorted(set(points) - beaten)


def test_models_have_colours_of_their_own():
    """No two models share a colour or a marker, so that names, colours and shapes agree in every figure."""
    assert set(_figures.COLORS) == set(_figures.MARKERS) == set(MODELS)
    assert len(set(_figures.COLORS.values())) == len(set(_figures.MARKERS.values())) == len(MODELS)


def test_figures_are_the_same_for_the_same_results():
    """The same results give the same bytes of every figure, and every one is well-formed SVG."""
    again = reports.build(as_in_the_paper(), pictures=False)[0]
    assert list(again.figures()) == list(whole().figures())
    assert [figure.name for figure in again.figures()] == [
        "pareto",
        "boxes",
        "correlations",
        "critical-difference",
        "seconds",
    ]
    for figure in again.figures():
        assert ET.fromstring(figure.svg).tag.endswith("svg")  # noqa: S314 (made here)


def test_labels_of_the_pareto_plot_do_not_cover_each_other():
    """Labels stay apart, also where points lie close together."""
    points = {f"model {i}": (10.0 ** (3 + i % 3 * 0.01), 0.8 + i // 3 * 0.0005) for i in range(9)}
    with _figures.canvas(9, 5.6) as figure:
        ax = figure.subplots()
        ax.set_xscale("log")
        ax.set_xlim(1e2, 1e6)
        ax.set_ylim(0.5, 1.0)
        _figures.label(figure, ax, points)
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        # Of the text alone: an annotation counts its line too.
        boxes = [Text.get_window_extent(label, renderer) for label in ax.texts if label.get_text()]
    assert len(boxes) == 9
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
