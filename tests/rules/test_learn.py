"""The whole way of a fit: how its stages share the cores."""

import numpy as np
from threadpoolctl import threadpool_info

from dln._interrupt import Deadline
from dln.rules._goal import Sample
from dln.rules._learn import Fit, Setting
from dln.rules._student import Recipe
from dln.solve._losses import Loss
from dln.solve._select import Budget
from learned import some_inputs


class Silent:
    """Shows no progress."""

    def stage(self, _name, _total):
        """Return what moves a bar on that nobody sees."""
        return lambda: None


def test_a_job_keeps_to_one_thread(monkeypatch):
    """In the pool every library computes with one thread: teams of them would wait for each other on busy cores."""
    seen = []

    def look(_self, _task, _choice, _rows):
        import sklearn.ensemble  # noqa: F401 (its boosting counts OpenMP threads)

        seen.extend(library["num_threads"] for library in threadpool_info())
        return ()

    monkeypatch.setattr(Fit, "_points", look)
    inputs = some_inputs(np.random.default_rng(0), 30, 2, 0)
    recipe = Recipe(Budget(5, 2, 5), 4, 0)
    setting = Setting(recipe, Loss("squared_error", 0.5), 0, 0, 0, 2)
    Fit(setting, Deadline(), Silent()).learn(Sample(inputs, np.arange(30.0), np.ones(30), np.ones(30, np.int64), 1.0))
    assert seen
    assert set(seen) == {1}
