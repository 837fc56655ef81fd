"""Rows to learn from, and a target on them that rules are searched for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dln.rules._bins import Inputs
from dln.rules._bits import Words, pack, planes_of
from dln.rules._constants import MAX_INPUTS, MAX_SCREENING_ROWS
from dln.rules._expression import Signals
from dln.rules._scan import Scanner
from dln.solve._products import Floats
from dln.solve._weights import PENALTY, TYPICAL_VARIANCE


class Sample(NamedTuple):
    """Distinct rows: inputs, standardised target and weights ``(n,)``."""

    inputs: Inputs
    y: Floats
    weight: Floats
    counts: npt.NDArray[np.int64]
    """(n,): the rows of the table that each row counts as when folds are dealt."""
    row_weight: float
    """The weight of one row of the table."""

    def at(self, rows: npt.NDArray[np.intp]) -> Sample:
        """Return some of the rows."""
        return Sample(self.inputs.at(rows), self.y[rows], self.weight[rows], self.counts[rows], self.row_weight)

    def weighted(self, weight: Floats) -> Sample:
        """Return the rows of positive weight, with these weights."""
        return self.at(np.flatnonzero(weight))._replace(weight=weight[weight > 0])


def never() -> bool:
    """Return False: there is no time limit."""
    return False


class Task:
    """Rows and a target ``(n,)`` to search rules for: weights of mean one, the target centred.

    `row_weight` is the weight of one row of the table, in which `MIN_RULE_ROWS` is counted: less than the mean where
    rows stand for several, more where synthetic rows join them. A search ends early once `stop` returns True.
    """

    def __init__(
        self, inputs: Inputs, target: Floats, weight: Floats, row_weight: float, stop: Callable[[], bool] = never
    ) -> None:
        self.inputs, self.target, self.stop = inputs, target, stop
        self.row_weight = row_weight / float(weight.mean())
        self.planes, self.weight = planes_of(weight / weight.mean())
        self.total_weight = float(self.weight.sum())
        self.mean = float(self.weight @ target) / self.total_weight
        self.centred = target - self.mean
        self.variation = float(self.weight @ self.centred**2)
        """The squared error of the mean."""
        self.penalty = PENALTY * TYPICAL_VARIANCE * self.total_weight
        self.signals = Signals(inputs)
        self.scanner = Scanner(inputs, self.weight, self.penalty, self.row_weight)
        self.limits = self.scanner.limits

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.target)

    @cached_property
    def valid(self) -> Words:
        """All rows, as bits."""
        words: Words = pack(np.ones((1, self.n_rows), np.bool_))[0]
        return words

    @cached_property
    def first_test(self) -> npt.NDArray[np.int64]:
        """(n_inputs,): where the tests of each input begin in the bank."""
        sizes = self.inputs.n_bins.astype(np.int64) - 1
        return np.cumsum(sizes) - sizes

    @cached_property
    def bank(self) -> Words:
        """(n_tests, n_words): the rows on which each input is above each of its cut-offs."""
        inputs = self.inputs
        of_inputs = [
            pack(bins > np.arange(n_bins - 1, dtype=np.uint8)[:, np.newaxis])
            for bins, n_bins in zip(inputs.bins, inputs.n_bins.tolist(), strict=True)
        ]
        return np.concatenate([np.empty((0, len(self.valid)), np.uint64), *of_inputs])

    def first_rows(self, n: int) -> Task:
        """Return the task on n of the rows, evenly taken."""
        if n >= self.n_rows:
            return self
        rows = np.arange(n) * self.n_rows // n
        return Task(self.inputs.at(rows), self.target[rows], self.weight[rows], self.row_weight)


def most_telling_inputs(sample: Sample) -> npt.NDArray[np.intp]:
    """Return the inputs to search, ascending: all, or of a wide table those whose best test explains most of y."""
    n_inputs = sample.inputs.n_inputs
    if n_inputs <= MAX_INPUTS:
        return np.arange(n_inputs)
    some = sample.at(np.arange(min(MAX_SCREENING_ROWS, len(sample.y))))
    task = Task(some.inputs, some.y, some.weight, some.row_weight)
    tests = task.scanner.alone(np.ones(task.n_rows, dtype=np.bool_), task.centred, 2 * n_inputs)
    ranked = list(dict.fromkeys(test.input for _, test in tests))  # both senses of a test are there: the first counts
    return np.sort(np.array(ranked[:MAX_INPUTS], dtype=np.intp))
