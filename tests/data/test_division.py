"""The user's division of rows: groups, numbers of folds, splitters, and what is wrong with them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

from dln.data._division import IN_TURN, ForwardChaining, group_codes, group_fold_weights, held_out_groups, read_division

X, Y = np.arange(12.0).reshape(-1, 1), np.arange(12.0)
GROUPS = np.repeat(["b", "a", "c"], 4)


def divided(cv=None, groups=None, weight=None):
    """Return the division of twelve rows."""
    return read_division(cv, X, Y, groups, weight)


@given(
    sizes=st.lists(st.integers(1, 9), min_size=2, max_size=12),
    n_folds=st.integers(2, 6),
    seed=st.integers(0, 99),
)
def test_folds_of_groups(sizes, n_folds, seed):
    """Every group is held out by one fold, whole; no fold is heavier than another by more than its heaviest group."""
    groups = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    parts = group_fold_weights(np.ones(len(groups)), n_folds, groups)
    assert (parts.sum(axis=0) == 1).all()
    folds = parts.argmax(axis=0)
    assert all(len(set(folds[groups == group].tolist())) == 1 for group in range(len(sizes)))
    loads = parts.sum(axis=1)
    assert loads.max() - loads.min() <= max(sizes)


@given(n_groups=st.integers(2, 30), share=st.floats(0.01, 0.99), seed=st.integers(0, 99))
def test_groups_set_aside(n_groups, share, seed):
    """Whole groups are set aside, one or more but not all, as near to the share as groups of equal size allow."""
    groups = np.repeat(np.arange(n_groups), 3)
    held = held_out_groups(np.ones(len(groups)), share, groups, seed) > 0
    n_held = len(np.unique(groups[held]))
    assert held.sum() == 3 * n_held
    assert n_held == np.clip(round(share * n_groups), 1, n_groups - 1) or abs(n_held / n_groups - share) <= 1 / n_groups


def test_labels_of_any_kind_mean_the_same():
    """Labels may be text, numbers, dates or a column of any frame: what counts is which are equal."""
    expected = group_codes(GROUPS, np.ones(12, dtype=np.bool_))
    numbers = np.repeat([20, 10, 30], 4)
    dates = np.datetime64("2024-01-01") + numbers
    for labels in (GROUPS.tolist(), numbers, pd.Series(GROUPS), pl.Series(numbers), pl.Series(dates), dates):
        np.testing.assert_array_equal(group_codes(labels, np.ones(12, dtype=np.bool_)), expected)


def test_rows_without_weight_do_not_count():
    """A group of rows without weight is no group: the others have the codes that they have without it."""
    weight = np.where(GROUPS == "b", 0.0, 1.0)
    assert set(group_codes(GROUPS, weight > 0)[4:].tolist()) == {0, 1}
    with pytest.raises(ValueError, match="split 0 of cv must have rows of weight above 0 to test on, got none"):
        divided([(np.arange(4, 12), np.arange(4))], weight=weight)


def test_by_default_rows_are_dealt_in_turn():
    """Without groups and cv nothing is divided, and a number of folds is the only change that an int makes."""
    counts = np.ones(12, dtype=np.int64)
    assert divided() is IN_TURN
    folds = divided(3).folds(np.ones(12), 5, counts)
    np.testing.assert_array_equal(folds.held_out, IN_TURN.folds(np.ones(12), 3, counts).held_out)
    assert divided(3).facts() == {"kind": "rows", "n_folds": 3, "n_groups": None}


def test_a_splitter_decides_which_rows_train_and_test():
    """Rows that a split leaves out have no part in its fold, and a fold without rows in a sample is left out."""
    division = divided(TimeSeriesSplit(3, gap=1))
    folds = division.folds(np.ones(12), 5, np.ones(12, dtype=np.int64))
    for k, (train, test) in enumerate(TimeSeriesSplit(3, gap=1).split(X)):
        np.testing.assert_array_equal(np.flatnonzero(folds.training[k]), train)
        np.testing.assert_array_equal(np.flatnonzero(folds.held_out[k]), test)
    held_out, training = division.set_aside(np.ones(12), 0.1, np.ones(12, dtype=np.int64), 0)
    assert held_out.tolist() == folds.held_out[-1].tolist()
    assert training.tolist() == folds.training[-1].tolist()
    assert len(division.at(np.arange(9)).folds(np.ones(9), 5, np.ones(9, dtype=np.int64)).training) == 2
    assert division.facts() == {"kind": "TimeSeriesSplit", "n_folds": 3, "n_groups": None}
    assert divided([(np.arange(6), Y >= 6)]).facts()["kind"] == "splits"


@given(
    times=st.lists(st.integers(0, 9), min_size=2, max_size=40).filter(lambda t: len(set(t)) > 1),
    n_splits=st.integers(1, 6),
)
def test_forward_chaining(times, n_splits):
    """Each fold trains on all that is earlier than what it tests; folds follow each other, in time whole."""
    times = np.array(times)
    tested = []
    for train, test in ForwardChaining(n_splits).split(None, None, times):
        assert times[train].max() < times[test].min()
        assert len(train) == (times < times[test].min()).sum()
        tested += test.tolist()
    assert len(tested) == len(set(tested))
    assert sorted(tested) == np.flatnonzero(times >= times[tested].min()).tolist()


@pytest.mark.parametrize(
    ("cv", "groups", "sentence"),
    [
        (None, GROUPS[:-1], "groups must hold one label per row, shape (12,), got shape (11,)"),
        (None, pd.DataFrame({"g": GROUPS}), "groups must hold one label per row, shape (12,), got shape (12, 1)"),
        (None, [*GROUPS[:-1], None], "groups must hold a label for every row, but that of row 11 is missing"),
        (None, np.where(Y == 7, np.nan, Y), "groups must hold a label for every row, but that of row 7 is missing"),
        (None, pd.Series([pd.NA, *GROUPS[1:]]), "groups must hold a label for every row, but that of row 0 is miss"),
        (None, pd.Series([1, *GROUPS[1:]]), "groups must hold labels of one kind, numbers or text, got int, str"),
        (None, np.zeros(12), "groups must hold at least 2 different labels, so that one can be held out, got 1"),
        (5, GROUPS, "cv=5 needs at least 5 groups, got 3"),
        (13, None, "cv=13 needs at least 13 rows, got 12"),
        ([], None, "cv must hold at least one split, got none"),
        ([1, 2], None, "split 0 of cv must be a pair, training rows and test rows, got 1"),
        ([(np.arange(6), [])], None, "split 0 of cv must have rows of weight above 0 to test on, got none"),
        ([(np.arange(6), [7]), ([], [1])], None, "split 1 of cv must have rows of weight above 0 to train on, got"),
        ([(np.arange(6), [12])], None, "split 0 of cv must hold row numbers from 0 to 11, got 12"),
        ([(np.arange(6), [-1])], None, "split 0 of cv must hold row numbers from 0 to 11, got -1"),
        ([(np.arange(6), [6.5])], None, "split 0 of cv must hold row numbers, got an array of float64, shape (1,)"),
        ([(np.arange(6), [5])], None, "split 0 of cv must not train on rows that it tests, but row 5 is in both"),
        ([(np.arange(6), np.arange(6, 12))], GROUPS, "split 0 of cv must keep groups whole, but 1 of them are both"),
    ],
)
def test_one_sentence_for_each_mistake(cv, groups, sentence):
    """The sentence says what was required and what was received."""
    with pytest.raises(ValueError, match=re.escape(sentence)):
        divided(cv, groups)


def test_splitters_for_groups_get_the_groups():
    """A splitter for groups works as it does in scikit-learn; one that does not know groups is refused for them."""
    assert len(divided(GroupKFold(3), GROUPS).splits) == 3
    with pytest.warns(UserWarning, match="ignored by KFold"), pytest.raises(ValueError, match="must keep groups whole"):
        divided(KFold(2), GROUPS)
