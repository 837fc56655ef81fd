"""The scan against a plain loop over every test."""

import numpy as np
from hypothesis import given

from dln.rules._scan import Scanner
from learned import seeds, some_inputs


def plain_scan(inputs, weight, penalty, min_weight, base, change, residual):
    """Return the best gain and test of every input and sense, by trying every cut-off."""
    found = {}
    for k in range(len(inputs.n_bins)):
        for negated in (False, True):
            for b in range(inputs.n_bins[k] - 1):
                test = (inputs.bins[k] > b) != negated
                rule = base + change * test
                fires = float(weight @ rule)
                if not min_weight <= fires <= weight.sum() - min_weight:
                    continue
                gain = float(weight @ (rule * residual)) ** 2 / (fires * (1 - fires / weight.sum()) + penalty)
                if gain > found.get((k, negated), (0.0, -1))[0] * (1 + 1e-12):
                    found[k, negated] = gain, b
    return found


@given(seeds)
def test_the_scan_finds_what_trying_every_test_finds(seed):
    """For any part, the tests found are the best of each input and sense, best first, with their gains, of each kind.

    By "and" a test changes rows on which the part fires and matters, by "or" the others on which it matters.
    """
    rng = np.random.default_rng(seed)
    inputs = some_inputs(rng, int(rng.integers(10, 160)), int(rng.integers(1, 4)), int(rng.integers(0, 4)))
    n = inputs.bins.shape[1]
    weight = rng.integers(1, 4, n).astype(np.float64)
    residual = rng.normal(size=n)
    fires, never, always = rng.random((3, n)) < 0.5
    always |= never  # rules are monotone in their parts
    change = always.astype(np.int8) - never.astype(np.int8)
    scanner = Scanner(inputs, weight, 0.3, min(5.0, weight.sum() / 4))
    kinds = scanner(fires, never, always, residual, 2 * len(inputs.n_bins))
    joins = ((never, change * fires), (np.where(fires, always, never), change * ~fires), (never, change))
    for kind, (base, by) in enumerate(joins):
        expected = plain_scan(inputs, weight, 0.3, min(5.0, weight.sum() / 4), base.astype(int), by, residual)
        found = kinds[kind]
        assert {(test.input, test.negated) for _, test in found} == set(expected)
        gains = [gain for gain, _ in found]
        assert gains == sorted(gains, reverse=True)
        for gain, test in found:
            best, _ = expected[test.input, test.negated]
            np.testing.assert_allclose(gain, best, rtol=1e-9)
            rule = base + by * ((inputs.bins[test.input] > test.cutoff) != test.negated)
            own = float(weight @ (rule * residual)) ** 2 / (weight @ rule * (1 - weight @ rule / weight.sum()) + 0.3)
            np.testing.assert_allclose(own, gain, rtol=1e-9)
        few = scanner(fires, never, always, residual, 2, only=kind)
        np.testing.assert_allclose([gain for gain, _ in few[kind]], gains[:2], rtol=1e-12)
        assert [len(one) for one in few].count(0) >= 2


def test_only_the_inputs_named_are_scanned():
    """A test is on one of the inputs that were allowed."""
    rng = np.random.default_rng(0)
    inputs = some_inputs(rng, 80, 4, 4)
    scanner = Scanner(inputs, np.ones(80), 0.1, 5.0)
    allowed = np.array([1, 5])
    found = scanner.among(allowed).alone(np.ones(80, dtype=bool), rng.normal(size=80), 16)
    assert {test.input for _, test in found} == {1, 5}


def test_a_rule_that_hardly_ever_fires_is_not_proposed():
    """A test that leaves less than five rows on one side is no candidate, however well it explains them."""
    inputs = some_inputs(np.random.default_rng(0), 100, 0, 1)
    fires = np.zeros(100, dtype=bool)
    fires[:3] = True
    inputs.bins[0] = fires
    everywhere = np.ones(100, dtype=bool)
    assert Scanner(inputs, np.ones(100), 0.1, 5.0).alone(everywhere, 100.0 * fires - 3.0, 4) == []
    assert len(Scanner(inputs, np.full(100, 2.0), 0.1, 5.0).alone(everywhere, 100.0 * fires - 3.0, 4)) == 2
