"""Ablations are held against the original of the same unit, and the paper's signs are looked for."""

import pytest

from bench_results import unit
from dln_bench._names import DATASETS
from dln_bench.report import _ablations


def test_ablations_are_paired_with_the_original_of_the_same_unit():
    """A variant is held against the original on the same dataset, seed and trials only."""
    original = [unit("yacht", "dln-paper", seed, 8, 0.5 + 0.1 * seed) for seed in range(3)]
    variants = [unit("yacht", "no-schedule", seed, 8, 0.45 + 0.1 * seed) for seed in range(4)]
    others = [unit("yacht", "dln-paper", seed, 16, 0.99) for seed in range(4)]
    (effect,) = _ablations.effects([*original, *variants, *others])
    assert effect.trials == 8
    assert effect.by_dataset["yacht"].n == 3
    assert effect.by_dataset["yacht"].mean == pytest.approx(-0.05)
    assert effect.by_dataset["yacht"].std == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("variant", "difference", "said"),
    [
        ("no-schedule", -0.03, "the paper's sign appears"),
        ("no-schedule", 0.03, "the paper's sign does not appear"),
        ("subspace-16", 0.005, "about equal here too"),
        ("subspace-16", -0.05, "here it is worse, by more than 0.01"),
        ("subspace-4", -0.004, "the paper's sign appears"),
        ("no-concatenation", -0.02, "the paper's sign appears"),
        ("no-refit", 0.02, "The paper does not have it"),
    ],
)
def test_signs_of_ablations_are_told(variant, difference, said):
    """For each variant of the paper a sentence says whether its sign appears."""
    results = []
    for dataset in DATASETS:
        results.append(unit(dataset, "dln-paper", 0, 8, 0.8))
        results.append(unit(dataset, variant, 0, 8, 0.8 + difference))
    (sentence,) = _ablations.signs(_ablations.effects(results))
    assert said in sentence
