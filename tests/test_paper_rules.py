"""Which of a network's rules stay: as few as the error, and what is explained, bear."""

import numpy as np

from dln._paper_rules import TRIED_SIZES, RuleChoice, RuleValues
from dln.circuit._circuit import Above, Circuit, Column, Rule
from dln.data._target import Target
from dln.learning._losses import Loss

N, N_RULES = 4000, 30


def rules_and_target(noise):
    """Return rules of falling weight, of which each explains a little, and a target that is their sum and noise."""
    rng = np.random.default_rng(0)
    fires = rng.random((N_RULES, N)) < 0.5
    signal = 0.85 ** np.arange(N_RULES) @ fires
    target = (signal - signal.mean()) / signal.std() + noise * rng.standard_normal(N)
    return fires, target


def chosen(noise, tolerance):
    """Return how many rules are kept, and the squared errors of all and of these on the rows set aside."""
    fires, target = rules_and_target(noise)
    training = RuleValues(fires, target, np.ones(N))
    held_out = training.at(np.arange(0, N, 4))
    literals = tuple(Above(0, float(i)) for i in range(N_RULES))
    circuit = Circuit((Column("x"),), literals, (), tuple(Rule(i, 1.0) for i in range(N_RULES)), 0.0, 6)
    choice = RuleChoice(Loss("squared_error", 0.5), None, tolerance)
    refitted = choice.refit(circuit, training, held_out, Target(0.0, 1.0, 6))
    kept = [rule.node for rule in refitted.rules]
    errors = [
        held_out.of_rules(some, held_out.target).error(intercept, np.array(weights))
        for some, intercept, weights in (
            (list(range(N_RULES)), *choice._solved(training)),
            (kept, refitted.intercept, [rule.weight for rule in refitted.rules]),
        )
    ]
    return len(kept), *errors, held_out.variance


def test_the_error_rises_by_no_more_than_is_tolerated():
    """Where nearly all is explained, the error is what counts."""
    n_kept, whole, few, _ = chosen(noise=0.1, tolerance=0.2)
    assert n_kept < N_RULES
    assert few <= 1.2 * whole


def test_where_most_is_noise_what_is_explained_counts():
    """No rules at all would raise the error by less than a fifth, and explain nothing."""
    n_kept, whole, few, variance = chosen(noise=3.0, tolerance=0.2)
    assert variance < 1.2 * whole
    assert TRIED_SIZES[0] < n_kept < N_RULES
    assert variance - few > 0.8 * (variance - whole)


def test_without_anything_explained_a_few_rules_do():
    """Rules that say nothing of the target are as good few as many."""
    n_kept, *_ = chosen(noise=1000.0, tolerance=0.2)
    assert n_kept < N_RULES
