"""A few rules that imitate many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.rules._imitate import Imitation


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
def test_no_exchange_of_one_rule_brings_the_sum_nearer(seed: int, max_rules: int) -> None:
    """As many rules as asked for, each once, and none of the others would be better in the place of any of them."""
    rules, predictions, weight = some_rules(seed)
    kept = Imitation(rules, predictions, weight).rules(max_rules)
    assert len(set(kept)) == len(kept) == max_rules
    total = error(rules, [], predictions, weight)
    others = [j for j in range(len(rules)) if j not in kept]
    exchanged = [[*kept[:i], j, *kept[i + 1 :]] for i in range(max_rules) for j in others]
    best = min(error(rules, some, predictions, weight) for some in exchanged)
    assert error(rules, kept, predictions, weight) <= best + 1e-3 * total


@given(seed=st.integers(0, 2**32 - 1))
def test_a_size_does_not_hang_on_what_was_asked_before(seed: int) -> None:
    """The same rules for a size, whatever sizes were asked for in between."""
    imitation = Imitation(*some_rules(seed))
    asked = [imitation.rules(size) for size in (2, 7, 2, 20, 7)]
    assert asked[0] == asked[2]
    assert asked[1] == asked[4] == Imitation(*some_rules(seed)).rules(7)
    assert len(asked[3]) <= 12


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
