"""The frontier: sizes, what they are worth, and the models that keep them."""

from dataclasses import replace

import pytest

from dln.circuit._circuit import Above, Circuit, Column, Rule
from dln.readers._frontier import Frontier, Point


def circuit_of(n: int) -> Circuit:
    """Return a circuit of n conditions."""
    literals = tuple(Above(0, float(k)) for k in range(n))
    return Circuit((Column("x"),), literals, (), tuple(Rule(k, 1.0) for k in range(n)), 0.0, 0)


@pytest.fixture
def frontier() -> Frontier:
    """Three sizes with models, the second smaller than it might be, and one larger size of which the worth is known."""
    sizes = ((2, 2), (5, 3), (10, 9))
    points = [Point(most, n, n, 0.5 + most / 100, circuit_of(n), (0.5,) * n) for most, n in sizes]
    return Frontier((*points, Point(200, None, None, 0.9)), ceiling=0.95)


@pytest.mark.parametrize(("allowed", "expected"), [(2, 2), (3, 3), (8, 3), (9, 9), (10, 9), (1000, 9)])
def test_the_largest_size_that_fits_is_picked(frontier, allowed, expected):
    """The pick has at most so many conditions, and no larger size would."""
    assert frontier.pick(allowed).conditions == expected


def test_too_few_conditions_are_told(frontier):
    """Below the smallest model, one sentence says how large that is."""
    with pytest.raises(ValueError, match="the smallest model that is known has 2 conditions, got 1"):
        frontier.pick(1)
    with pytest.raises(ValueError, match="max_conditions must be at least 0, got -1"):
        frontier.pick(-1)


def test_the_frontier_of_a_smaller_model_forgets_the_larger_ones(frontier):
    """Of sizes above a point only the worth stays; smaller models stay whole."""
    smaller = frontier.at_most(frontier[1])
    assert smaller.points[:2] == frontier.points[:2]
    assert smaller[2] == replace(frontier[2], circuit=None, support=())
    assert smaller.pick(100) == frontier[1]
    assert [point.r2 for point in smaller] == [point.r2 for point in frontier]


def test_frames_hold_one_row_per_size(frontier):
    """to_pandas and to_polars have the sizes and what they are worth."""
    assert list(frontier.to_pandas()["max_conditions"]) == [2, 5, 10, 200]
    assert frontier.to_polars()["r2"].to_list() == [point.r2 for point in frontier]
    assert frontier.to_polars()["conditions"].to_list() == [2, 3, 9, None]


def test_print_tells_sizes_and_the_ceiling(frontier):
    """One line per size and one for the best model of any size."""
    lines = repr(frontier).splitlines()
    assert len(lines) == 1 + len(frontier) + 1
    assert lines[-1].endswith("0.950")
    assert "any number" not in repr(replace(frontier, ceiling=None))


def test_more_conditions_are_told_where_they_are_worth_it(frontier):
    """A model stands at its largest size with a circuit; beyond, the smallest size that is nearly the best counts."""
    assert frontier.own is frontier[2]
    assert frontier.worthwhile() is frontier[3]
    larger = (*frontier.points, Point(400, None, None, 0.902), Point(800, None, None, 0.95))
    assert Frontier(larger).worthwhile() == larger[-1]
    assert Frontier(larger[:-1]).worthwhile() == larger[3]
    assert Frontier((*frontier.points[:3], Point(200, None, None, 0.602))).worthwhile() is None
    assert Frontier(()).worthwhile() is None
