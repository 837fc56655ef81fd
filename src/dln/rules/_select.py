"""Selection among candidate expressions: which rules a search begins with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dln.rules._expression import Expression, length
from dln.rules._task import Task
from dln.solve._select import MAX_ROWS, Budget, Candidates


def select(task: Task, candidates: Sequence[Expression], budget: Budget) -> list[Expression]:
    """Return the candidates to begin with: the best set found within the budget."""
    return [candidates[i] for i in _prepared(task, candidates).select(budget)]


def select_sizes(task: Task, candidates: Sequence[Expression], budgets: Sequence[Budget]) -> list[list[Expression]]:
    """Return quick choices for several budgets, the largest last: forward selection only, all from one product."""
    return [[candidates[i] for i in chosen] for chosen in _prepared(task, candidates).select_sizes(budgets)]


def _prepared(task: Task, candidates: Sequence[Expression]) -> Candidates:
    sample = task.first_rows(MAX_ROWS)
    fires = np.array([sample.signals(candidate) for candidate in candidates], dtype=np.bool_)
    return Candidates.of(
        fires.reshape(len(candidates), sample.n_rows),
        np.array([length(candidate) for candidate in candidates], dtype=np.int64),
        sample.centred,
        sample.weight,
        penalty=sample.penalty,
        min_share=task.scanner.least / task.total_weight,
    )
