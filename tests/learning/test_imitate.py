"""A few rules that imitate many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.learning._imitate import Imitation
from dln.learning._subsets import best_subsets


def some_rules(seed: int, n_rules: int = 12, n: int = 150) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rules that overlap, predictions that all of them have a part in, and uneven weights."""
    rng = np.random.default_rng(seed)
    hidden = rng.random((4, n)) < 0.5
    rules = np.array([hidden[i % 4] ^ (rng.random(n) < 0.2) for i in range(n_rules)])
    return rules, rng.normal(size=n_rules) @ rules, rng.uniform(0.1, 2.0, n)


def error(rules: np.ndarray, kept: list[int], predictions: np.ndarray, weight: np.ndarray) -> float:
    """The weighted squared error of the best sum of some rules."""
    root = np.sqrt(weight)
    table = np.column_stack([np.ones(len(predictions)), rules[kept].T]) * root[:, None]
    solution = np.linalg.lstsq(table, predictions * root, rcond=None)[0]
    return float(((table @ solution - predictions * root) ** 2).sum())


@given(seed=st.integers(0, 2**32 - 1), max_rules=st.integers(1, 11))
def test_no_worse_than_leaving_out_one_by_one(seed: int, max_rules: int) -> None:
    """As many rules as asked for, each once, that come no less near than those that leaving out alone would keep."""
    rules, predictions, weight = some_rules(seed)
    kept = Imitation(rules, predictions, weight).rules(max_rules)
    assert len(set(kept)) == len(kept) == max_rules
    alone = best_subsets(rules, predictions, weight, [max_rules])[max_rules]
    total = error(rules, [], predictions, weight)
    assert error(rules, kept, predictions, weight) <= error(rules, alone, predictions, weight) + 0.01 * total


def test_the_rules_that_made_the_predictions_are_found() -> None:
    """Of many rules, those whose sum the predictions are."""
    rng = np.random.default_rng(0)
    rules = rng.random((60, 400)) < 0.5
    made_by = [3, 17, 41]
    assert Imitation(rules, np.array([3.0, -1.0, 2.0]) @ rules[made_by], np.ones(400)).rules(3) == made_by


@pytest.mark.parametrize("constant", [False, True])
def test_equal_and_constant_rules_are_the_first_to_go(constant: bool) -> None:
    """What adds nothing to the sum is left out before what does."""
    rng = np.random.default_rng(1)
    rules = rng.random((3, 100)) < 0.5
    spare = np.full((2, 100), constant)
    kept = Imitation(np.vstack([rules, rules, spare]), np.array([1.0, 2.0, 3.0]) @ rules, np.ones(100)).rules(3)
    assert sorted(place % 3 for place in kept) == [0, 1, 2]
    assert max(kept) < 6
