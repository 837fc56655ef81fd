"""The frontier: sizes, their held-out R², and the models that keep them."""

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
    """Three sizes with models, the second smaller than it might be, and one larger size of which R² is known."""
    sizes = ((2, 2), (5, 3), (10, 9))
    points = [Point(most, n, n, 0.5 + most / 100, circuit_of(n), (0.5,) * n) for most, n in sizes]
    return Frontier((*points, Point(200, None, None, 0.9)), ceiling=0.95)


@pytest.mark.parametrize(("allowed", "expected"), [(2, 2), (3, 3), (8, 3), (9, 9), (10, 9), (1000, 9)])
def test_the_largest_size_that_fits_is_kept(frontier, allowed, expected):
    """The pruned model has at most so many conditions, and no larger size would."""
    assert frontier.pruned(allowed).own.conditions == expected


@pytest.mark.parametrize("allowed", [0, 1])
def test_below_the_smallest_model_there_is_the_intercept(frontier, allowed):
    """Too few conditions for any rule leave the mean prediction alone; the held-out R² of all sizes stays."""
    own, *larger = frontier.pruned(allowed)
    assert own == Point(0, 0, 0, None, Circuit((Column("x"),), (), (), (), 1.0, 0))
    assert [point.r2 for point in larger] == [point.r2 for point in frontier]
    assert frontier.pruned(allowed).own is not None


@pytest.mark.parametrize("size", [-1, 2.5, "ten", None])
def test_what_is_no_size_is_refused(frontier, size):
    """A number of conditions below zero, or what is no whole number, gets one sentence."""
    with pytest.raises(ValueError, match=f"max_conditions must be a whole number, at least 0, got {size!r}"):
        frontier.pruned(size)


def test_the_frontier_of_a_smaller_model_has_no_larger_ones(frontier):
    """Of larger sizes only the held-out R² stays; smaller models stay whole."""
    smaller = frontier.pruned(3)
    assert smaller.rows[:2] == frontier.rows[:2]
    assert smaller[2] == replace(frontier[2], circuit=None, support=())
    assert smaller.pruned(100) == smaller
    assert [point.r2 for point in smaller] == [point.r2 for point in frontier]


def test_frames_hold_one_row_per_size(frontier):
    """to_pandas and to_polars have the sizes, their held-out R², and which of them `prune` can return."""
    assert list(frontier.to_pandas()["max_conditions"]) == [2, 5, 10, 200]
    assert frontier.to_polars()["r2"].to_list() == [point.r2 for point in frontier]
    assert frontier.to_polars()["conditions"].to_list() == [2, 3, 9, None]
    assert frontier.to_polars()["can_be_pruned_to"].to_list() == [True, True, True, False]


def test_print_shows_sizes_and_the_ceiling(frontier):
    """One line per size and one for the best model of any size."""
    lines = repr(frontier).splitlines()
    assert len(lines) == 1 + len(frontier) + 1
    assert [line.endswith("this model") for line in lines] == [False, False, False, True, False, False]
    assert lines[-1].split() == ["no", "limit", "0.950", "best", "model", "found"]
    assert "no limit" not in repr(replace(frontier, ceiling=None))


def test_a_larger_size_is_named_if_it_is_better(frontier):
    """A model stands at its largest size with a circuit; beyond, the smallest size that is nearly the best counts."""
    assert frontier.own is frontier[2]
    assert frontier.worthwhile() is frontier[3]
    larger = (*frontier.rows, Point(400, None, None, 0.902), Point(800, None, None, 0.95))
    assert Frontier(larger).worthwhile() == larger[-1]
    assert Frontier(larger[:-1]).worthwhile() == larger[3]
    assert Frontier((*frontier.rows[:3], Point(200, None, None, 0.602))).worthwhile() is None
    assert Frontier(()).worthwhile() is None
