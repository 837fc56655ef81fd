"""Wide tables: only the inputs that tell most by themselves are searched."""

from __future__ import annotations

from typing import Final

import numpy as np

from dln.rules._goal import Sample
from dln.rules._inputs import Rows
from dln.rules._task import Task

#: Inputs that are searched at the most, for every scan looks at all of them: with 256 instead of 100 a table of 200
#: columns took twice the time and was no better (one split).
MAX_INPUTS: Final = 100
#: Rows on which inputs are compared.
MAX_ROWS: Final = 5000


def screened(sample: Sample) -> Rows:
    """Return the inputs to search, ascending: all, or those whose best test explains most of y."""
    n_inputs = sample.inputs.n_inputs
    if n_inputs <= MAX_INPUTS:
        return np.arange(n_inputs)
    rows = np.arange(min(MAX_ROWS, len(sample.y)))
    some = sample.at(rows)
    task = Task(some.inputs, some.y, some.weight, some.row_weight)
    everywhere = np.ones(task.n_rows, dtype=np.bool_)
    tests = task.scanner.alone(everywhere, task.centred, 2 * n_inputs)
    # Both senses of a test come up: the first of each input counts.
    ranked = list(dict.fromkeys(test.input for _, test in tests))
    return np.sort(np.array(ranked[:MAX_INPUTS], dtype=np.intp))
