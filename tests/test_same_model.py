"""The same data and seed give the same model: with any order of rows, weights, threads or process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from sklearn.datasets import make_friedman1

from dln import load
from models import SMALL, bytes_of, small


def test_rows_in_any_order_give_the_same_model(houses):
    """The order of rows does not matter."""
    X, y = houses
    shuffled = np.random.default_rng(1).permutation(len(X))
    assert small().fit(X, y).circuit_ == small().fit(X.iloc[shuffled], y.iloc[shuffled]).circuit_


def test_integer_weights_equal_repeated_rows(houses):
    """A row of weight two is two rows; a row of weight zero is none."""
    X, y = houses
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    weighted = small().fit(X, y, sample_weight=weight)
    assert weighted.circuit_ == small().fit(X.iloc[repeated], y.iloc[repeated]).circuit_


def test_few_distinct_inputs_in_any_order_weighted_or_repeated_give_the_same_model(tmp_path):
    """On a table whose rows of equal inputs have several targets, order and repetition leave the same bytes."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (200, 3)).astype(float)
    y = np.round(X.sum(axis=1) + rng.normal(size=200))
    table = np.column_stack([X, y])
    rows, counts = np.unique(table, axis=0, return_counts=True)
    model, again = (small(n_teachers=2).fit(t[:, :3], t[:, 3]) for t in (table, table[rng.permutation(200)]))
    assert bytes_of(model, tmp_path) == bytes_of(again, tmp_path)
    weighted = small(n_teachers=2).fit(rows[:, :3], rows[:, 3], sample_weight=counts)
    weighted.training_facts_ = model.training_facts_  # which hold the number of rows of the table
    assert len(rows) < 150
    assert bytes_of(model, tmp_path) == bytes_of(weighted, tmp_path)


def test_threads_do_not_change_the_model(houses, tmp_path):
    """Whatever n_jobs, the file of the model has the same bytes: teachers, trials and folds included."""
    X, y = houses
    files = [bytes_of(small(n_teachers=2, n_jobs=n_jobs).fit(X, y), tmp_path) for n_jobs in (1, 2, 3, -1)]
    assert len(set(files)) == 1


def test_another_process_gives_the_same_predictions():
    """The same seed gives the same bits in another process."""
    code = (
        "import numpy as np; from sklearn.datasets import make_friedman1; from dln import RuleRegressor;"
        "X, y = make_friedman1(100, random_state=0);"
        f"model = RuleRegressor(**{SMALL!r}).fit(X, y);"
        "print(model.predict(X).tobytes().hex())"
    )
    X, y = make_friedman1(100, random_state=0)
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert small().fit(X, y).predict(X).tobytes().hex() == there


def test_other_seeds_give_other_models():
    """The seed matters."""
    X, y = make_friedman1(100, random_state=0)
    assert small(random_state=0).fit(X, y).circuit_ != small(random_state=1).fit(X, y).circuit_


def test_several_models_are_one_for_any_threads_and_can_be_saved(tmp_path):
    """A model that is the average of several is the same for any threads, predicts the same after `load`, is pruned."""
    X, y = make_friedman1(300, random_state=0)
    options = {"max_conditions": None, "n_generations": 0, "n_grown_rules": 150}
    model, other = (small(**options, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert model.circuit_ == other.circuit_
    assert [point.max_conditions for point in model.frontier_][-4:] == [800, 1600, 2400, 3200]
    model.save(tmp_path / "large.dln")
    np.testing.assert_array_equal(load(tmp_path / "large.dln").predict(X), model.predict(X))
    assert load(tmp_path / "large.dln").prune(max_conditions=50).rules_.n_conditions <= 50
