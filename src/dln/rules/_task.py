"""Rows to learn from, a target on them that rules are searched for, and the random streams of a fit."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dln.data._division import IN_TURN, Division
from dln.data._rows import Bools, Floats
from dln.rules._bins import Inputs
from dln.rules._bits import pack, planes_of
from dln.rules._change_kernel import RowArrays
from dln.rules._constants import MAX_INPUTS, MAX_SCREENING_ROWS
from dln.rules._expression import Signals
from dln.rules._scan import Scanner
from dln.solve._weights import PENALTY, TYPICAL_VARIANCE

#: Relative tolerance of sums of weights.
ROUNDING: Final = 1e-9


class Stream(IntEnum):
    """Purposes of random numbers; further keys, like the fold, make streams of their own, so threads do not matter."""

    SYNTHETIC_ROWS = 0
    TEACHERS = 1
    TARGET_TRIAL = 2
    SEARCH = 3
    MEMBER = 4
    VALIDATION = 5


def generator(seed: int, stream: Stream, *keys: int) -> np.random.Generator:
    """Return the generator of a stream of the fit with this seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream, *keys)))


class Sample(NamedTuple):
    """Distinct rows: inputs, standardised target and weights ``(n,)``."""

    inputs: Inputs
    y: Floats
    weight: Floats
    counts: npt.NDArray[np.int64]
    """(n,): the rows of the table that each row counts as when folds are dealt."""
    min_weight: float
    """The weight of the rows of the table that a rule must fire on, and must not fire on."""
    division: Division = IN_TURN
    """How the user divides the rows into folds."""

    def at(self, rows: npt.NDArray[np.intp]) -> Sample:
        """Return some of the rows."""
        counts, division = self.counts[rows], self.division.at(rows)
        return Sample(self.inputs.at(rows), self.y[rows], self.weight[rows], counts, self.min_weight, division)

    def weighted(self, weight: Floats) -> Sample:
        """Return the rows of positive weight, with these weights."""
        return self.at(np.flatnonzero(weight))._replace(weight=weight[weight > 0])


def never() -> bool:
    """Return False: there is no time limit."""
    return False


class Task:
    """Rows and a target ``(n,)`` to search rules for: weights of mean one, the target centred.

    The first `n_table_rows` are the table's, all if None; synthetic ones follow. A rule must fire, and must not fire,
    on rows of weight `min_weight`. A search ends early once `stop` returns True.
    """

    def __init__(
        self,
        inputs: Inputs,
        target: Floats,
        weight: Floats,
        min_weight: float,
        stop: Callable[[], bool] = never,
        n_table_rows: int | None = None,
    ) -> None:
        self.inputs, self.target, self.stop, self.n_rows = inputs, target, stop, len(target)
        self._table_weight = weight[:n_table_rows] / weight.mean()
        table_weight = float(self._table_weight.sum())
        # Tables of few rows have rules, too, and sums of weights are rounded.
        self._min_table_weight = min(min_weight / float(weight.mean()), table_weight / 4) * (1.0 - ROUNDING)
        # A rule of this weight fires on rows enough of the table if synthetic ones fall alike.
        self.min_weight = self._min_table_weight * len(weight) / table_weight
        self.planes, self.weight = planes_of(weight / weight.mean())
        self.total_weight = float(self.weight.sum())
        self.mean = float(self.weight @ target) / self.total_weight
        self.centred = target - self.mean
        self.variation = float(self.weight @ self.centred**2)
        """The squared error of the mean."""
        self.penalty = PENALTY * TYPICAL_VARIANCE * self.total_weight
        self.signals = Signals(inputs)
        self.scanner = Scanner(inputs, self.weight, self.penalty, self.min_weight)
        self.limits = self.scanner.limits

    def rests_on_few(self, fires: Bools) -> Bools:
        """Return which rules ``(n_rules, n)`` fire, or do not fire, on too few of the table's rows."""
        weight = self._table_weight
        fired = fires[:, : len(weight)] @ weight
        return np.asarray((fired < self._min_table_weight) | (fired > weight.sum() - self._min_table_weight))

    @cached_property
    def arrays(self) -> RowArrays:
        """The rows as the change kernel reads them."""
        inputs, valid = self.inputs, pack(np.ones((1, self.n_rows), np.bool_))
        sizes = inputs.n_bins.astype(np.int64) - 1
        of_inputs = [
            pack(bins > np.arange(size, dtype=np.uint8)[:, np.newaxis])
            for bins, size in zip(inputs.bins, sizes.tolist(), strict=True)
        ]
        return RowArrays(
            bank=np.concatenate([np.empty((0, valid.shape[1]), np.uint64), *of_inputs]),
            first_test=np.cumsum(sizes) - sizes,
            valid=valid[0],
            planes=self.planes,
            bins=self.scanner.bins,
            n_bins=inputs.n_bins,
            weight=self.weight,
            centred=self.centred,
            total_weight=self.total_weight,
            penalty=self.penalty,
            min_weight=self.min_weight,
            directions=self.limits.directions,
            groups=self.limits.groups,
            is_free=self.limits.is_free,
        )

    def first_rows(self, n: int) -> Task:
        """Return the task on n of the rows, evenly taken."""
        if n >= self.n_rows:
            return self
        rows = np.arange(n) * self.n_rows // n
        return Task(self.inputs.at(rows), self.target[rows], self.weight[rows], self.min_weight)


def most_telling_inputs(sample: Sample) -> npt.NDArray[np.intp]:
    """Return the inputs to search, ascending: all, or of a wide table those whose best test explains most of y."""
    n_inputs = len(sample.inputs.n_bins)
    if n_inputs <= MAX_INPUTS:
        return np.arange(n_inputs)
    some = sample.at(np.arange(min(MAX_SCREENING_ROWS, len(sample.y))))
    task = Task(some.inputs, some.y, some.weight, some.min_weight)
    tests = task.scanner.alone(np.ones(task.n_rows, dtype=np.bool_), task.centred, 2 * n_inputs)
    ranked = list(dict.fromkeys(test.input for _, test in tests))  # both senses of a test are there: the first counts
    return np.sort(np.array(ranked[:MAX_INPUTS], dtype=np.intp))
