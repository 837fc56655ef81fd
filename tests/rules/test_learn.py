"""The learner: members keep their budget, and its stages share the cores."""

import numpy as np
from threadpoolctl import threadpool_info

from dln._interrupt import Deadline
from dln.rules._expression import length
from dln.rules._learn import FitConfig, RuleLearner, SizedRules, TargetChoice, shares
from dln.rules._search import find_rules
from dln.rules._task import Sample, Stream
from dln.rules._teachers import Y_ONLY
from dln.solve._select import Budget
from dln.solve._weights import Loss
from learned import some_inputs, some_task


class Silent:
    """Shows no progress."""

    def stage(self, _name, _total):
        """Return a function that does nothing."""
        return lambda: None


def learner(budget, n_grown_rules):
    """Return a learner without teachers and generations."""
    return RuleLearner(FitConfig(budget, n_grown_rules, 0, Loss(), 0, 0, 0, 2), Deadline(), Silent())


def test_a_job_keeps_to_one_thread(monkeypatch):
    """In the pool every library computes with one thread: teams of them would wait for each other on busy cores."""
    seen = []
    find = RuleLearner.find_all_sizes

    def look(*arguments):
        import sklearn.ensemble  # noqa: F401 (its boosting counts OpenMP threads)

        seen.extend(library["num_threads"] for library in threadpool_info())
        return find(*arguments)

    monkeypatch.setattr(RuleLearner, "find_all_sizes", look)
    inputs = some_inputs(np.random.default_rng(0), 30, 2, 0)
    sample = Sample(inputs, np.arange(30.0), np.ones(30), np.ones(30, np.int64), 5.0)
    learner(Budget(5, 2, 5), 4).learn(sample)
    assert seen
    assert set(seen) == {1}


def test_a_member_keeps_its_budget():
    """One of several models keeps its share of the conditions, and the length of rules."""
    budget = Budget(1600, 3, 1600)
    first = SizedRules(800, (), 0.0, np.empty(0))
    choice = TargetChoice(Y_ONLY, 1.0)
    (mean,) = learner(budget, 60).more_models(some_task(1, n_rows=300), first, choice, None, Stream.MEMBER)
    lengths = [length(expression) for expression in mean.expressions]
    assert 0 < sum(lengths) <= shares(budget)[1].conditions
    assert max(lengths) <= 3


def test_progress_advances_as_often_as_announced():
    """A search advances once for each pool, for the start and for each generation."""
    steps = []
    rng = np.random.default_rng(0)
    rules, candidates = find_rules(some_task(1), Budget(12, 3, 6), 20, 2, rng, lambda: steps.append(1))
    assert len(steps) == 2 + 1 + 2
    assert rules.n_conditions <= 12
    assert candidates[: len(rules)] == rules.expressions
    assert len(set(candidates[len(rules) :])) == len(candidates[len(rules) :])
