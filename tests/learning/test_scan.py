"""The scan against a plain loop over every test."""

import numpy as np
from hypothesis import given

from dln.learning._scan import Scanner
from learned import seeds, some_inputs


def plain_scan(inputs, weight, penalty, least, base, change, residual):
    """Return the best gain and test of every input and sense, by trying every cut-off."""
    found = {}
    for k in range(inputs.n_inputs):
        for negated in (False, True):
            for b in range(inputs.n_bins[k] - 1):
                test = (inputs.bins[k] > b) != negated
                rule = base + change * test
                fires = float(weight @ rule)
                if not least <= fires <= weight.sum() - least:
                    continue
                gain = float(weight @ (rule * residual)) ** 2 / (fires * (1 - fires / weight.sum()) + penalty)
                if gain > found.get((k, negated), (0.0, -1))[0] * (1 + 1e-12):
                    found[k, negated] = gain, b
    return found


@given(seeds)
def test_the_scan_finds_what_trying_every_test_finds(seed):
    """For any base and change, the tests found are the best of each input and sense, best first, with their gains."""
    rng = np.random.default_rng(seed)
    inputs = some_inputs(rng, int(rng.integers(10, 60)), int(rng.integers(1, 4)), int(rng.integers(0, 4)))
    n = inputs.n_rows
    weight = rng.integers(1, 4, n).astype(np.float64)
    residual = rng.normal(size=n)
    base = rng.random(n) < 0.4
    # Where the rule fires without the test it can only lose by it, elsewhere only gain.
    change = (np.where(base, -1, 1) * (rng.random(n) < 0.7)).astype(np.int8)
    scanner = Scanner(inputs, weight, penalty=0.3)
    expected = plain_scan(inputs, weight, 0.3, min(5.0, weight.sum() / 4), base.astype(int), change, residual)
    found = scanner(base, change, residual, 2 * inputs.n_inputs)
    assert {(test.input, test.negated) for _, test in found} == set(expected)
    gains = [gain for gain, _ in found]
    assert gains == sorted(gains, reverse=True)
    for gain, test in found:
        best, _ = expected[test.input, test.negated]
        np.testing.assert_allclose(gain, best, rtol=1e-9)
        fires = base + change * (inputs.fires(test.input, test.cutoff) != test.negated)
        own = float(weight @ (fires * residual)) ** 2 / (weight @ fires * (1 - weight @ fires / weight.sum()) + 0.3)
        np.testing.assert_allclose(own, gain, rtol=1e-9)
    few = scanner(base, change, residual, 2)
    np.testing.assert_allclose([gain for gain, _ in few], gains[:2], rtol=1e-12)


def test_only_the_inputs_named_are_scanned():
    """A test is on one of the inputs that were allowed."""
    rng = np.random.default_rng(0)
    inputs = some_inputs(rng, 80, 4, 4)
    scanner = Scanner(inputs, np.ones(80), 0.1)
    everywhere = np.ones(80, dtype=bool)
    allowed = np.array([1, 5], dtype=np.int32)
    found = scanner(~everywhere, everywhere, rng.normal(size=80), 16, allowed)
    assert {test.input for _, test in found} == {1, 5}


def test_a_rule_that_hardly_ever_fires_is_not_proposed():
    """A test that leaves less than five rows on one side is no candidate, however well it explains them."""
    inputs = some_inputs(np.random.default_rng(0), 100, 0, 1)
    fires = np.zeros(100, dtype=bool)
    fires[:3] = True
    inputs.bits[0], inputs.bins[0] = fires, fires
    everywhere = np.ones(100, dtype=bool)
    assert Scanner(inputs, np.ones(100), 0.1)(~everywhere, everywhere, 100.0 * fires - 3.0, 4) == []
    assert len(Scanner(inputs, np.full(100, 2.0), 0.1)(~everywhere, everywhere, 100.0 * fires - 3.0, 4)) == 2
