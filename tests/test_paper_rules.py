"""Which of a network's rules stay: as few as the error, and what is explained, bear."""

import numpy as np

from dln._paper_rules import FEW, TRIED_SIZES, Labelled, NodeValues, RuleChoice
from dln.circuit._circuit import Above, Circuit, Column, Gate, Rule
from dln.circuit._gates import AND
from dln.data._target import Target
from dln.rules._task import PENALTY
from dln.solve._losses import Loss

N, N_RULES = 4000, 30


def rules_and_target(noise):
    """Return rules of falling weight, of which each explains a little, and a target that is their sum and noise."""
    rng = np.random.default_rng(0)
    fires = rng.random((N_RULES, N)) < 0.5
    signal = 0.85 ** np.arange(N_RULES) @ fires
    target = (signal - signal.mean()) / signal.std() + noise * rng.standard_normal(N)
    return fires, target


def circuit_of_literals():
    """Return a circuit whose rules are its literals, one for each column of zeros and ones."""
    columns = tuple(Column(f"x{i}") for i in range(N_RULES))
    literals = tuple(Above(i, 0.0) for i in range(N_RULES))
    return Circuit(columns, literals, (), tuple(Rule(i, 1.0) for i in range(N_RULES)), 0.0, 6)


def labelled(fires, target):
    """Return the rows whose columns are the rules."""
    return Labelled(list(fires.astype(float)), target, np.ones(N))


def chosen(noise, tolerance):
    """Return how many rules are kept, and the squared errors of all and of these on the rows set aside."""
    fires, target = rules_and_target(noise)
    training = NodeValues(fires, target, np.ones(N))
    held_out = training.at(np.arange(N) % 4 == 0)
    circuit, choice = circuit_of_literals(), RuleChoice(Loss("squared_error", 0.5), None, tolerance)
    refitted = choice.refit([circuit], labelled(fires, target), np.arange(0, N, 4), Target(0.0, 1.0, 6))
    kept = [refitted.literals[rule.node].column for rule in refitted.rules]
    errors = [
        held_out.of_nodes(some, held_out.target).error(intercept, np.array(weights))
        for some, intercept, weights in (
            (list(range(N_RULES)), *choice._solved(training, PENALTY)),
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


def test_a_neuron_of_an_earlier_layer_may_take_the_place_of_several():
    """Eight rules that all say the same in part are imitated best by what they have in common."""
    rng = np.random.default_rng(1)
    columns = [rng.random(N) for _ in range(9)]
    literals = tuple(Above(k, 0.5) for k in range(9))
    gates = tuple(Gate(AND, 0, k) for k in range(1, 9))
    circuit = Circuit(
        tuple(Column(f"x{k}") for k in range(9)), literals, gates, tuple(Rule(9 + k, 1.0) for k in range(8)), 0.0, 6
    )
    target = circuit.evaluate(columns)
    training = Labelled(columns, target, np.ones(N))
    refitted = RuleChoice(Loss("squared_error", 0.5), 1, 0.0).refit([circuit], training, None, Target(0.0, 1.0, 6))
    assert [refitted.literals[rule.node] for rule in refitted.rules] == [literals[0]]


def test_few_rows_set_aside_do_not_make_three_rules_of_thirty():
    """Where few rows can tell by luck that few rules do, these must come near to what all predict, too."""
    fires, target = rules_and_target(noise=0.3)
    training = NodeValues(fires, target, np.ones(N))
    circuit, choice = circuit_of_literals(), RuleChoice(Loss("squared_error", 0.5), None, 0.25)
    whole = choice._solved(training, PENALTY)
    # Rows on which the rules beyond the third happen to say little: by them alone, three would be enough.
    few = np.abs((whole[1][3:] @ fires[3:]) - (whole[1][3:] @ fires[3:]).mean())
    refitted = choice.refit([circuit], labelled(fires, target), np.argsort(few)[:20], Target(0.0, 1.0, 6))
    assert len(refitted.rules) >= FEW


def test_a_table_that_needs_no_more_has_three_rules():
    """Where three rules are all that there is to learn, and the others say nothing, three are kept."""
    rng = np.random.default_rng(0)
    fires = rng.random((N_RULES, N)) < 0.5
    target = np.array([1.0, -0.8, 0.6]) @ fires[:3] + 0.1 * rng.standard_normal(N)
    choice = RuleChoice(Loss("squared_error", 0.5), None, 0.25)
    refitted = choice.refit([circuit_of_literals()], labelled(fires, target), np.arange(0, N, 4), Target(0.0, 1.0, 6))
    assert {refitted.literals[rule.node].column for rule in refitted.rules} == {0, 1, 2}


def test_rules_are_chosen_on_a_part_of_a_long_table_and_weighed_on_all_of_it(monkeypatch):
    """With more rows than rules are chosen on, the same rules come out here, with the weights of all rows."""
    fires, target = rules_and_target(noise=0.3)
    refitted = []
    for rows in (N, N // 2):
        monkeypatch.setattr("dln._paper_rules.IMITATED_ROWS", rows)
        monkeypatch.setattr("dln._paper_rules.ROWS_AT_ONCE", rows // 3)
        choice = RuleChoice(Loss("squared_error", 0.5), 5, 0.25)
        args = labelled(fires, target), np.arange(0, N, 4), Target(0.0, 1.0, 6)
        refitted.append(choice.refit([circuit_of_literals()], *args))
    whole, part = refitted
    assert [whole.literals[rule.node] for rule in whole.rules] == [part.literals[rule.node] for rule in part.rules]
    assert [rule.weight for rule in whole.rules] == [rule.weight for rule in part.rules]
