"""What a search works on: rows, the target it is to explain, and the limits it must keep."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.rules._bits import Words, pack, planes_of
from dln.rules._expression import Signals
from dln.rules._inputs import Inputs
from dln.rules._scan import Scanner
from dln.solve._products import Floats
from dln.solve._select import Budget
from dln.solve._weights import PENALTY, TYPICAL_VARIANCE

#: Models of more conditions are selected and swept once beyond a page of so many.
LARGE: Final = 250
PAGE: Final = 100
#: Models of twice as many conditions or more are averages of several of so many, each found for itself. Four in place
#: of one brought 0.017 of R² on wine, 0.014 on housing, 0.010 on parkinsons, 0.009 on electrical, 0 to 0.006 elsewhere
#: (one split). Weights refitted for the rules of all were better on airfoil and bike (0.001 to 0.004), and worse on
#: insurance and wine by 0.01; eight of 100 conditions were behind on large tables.
MEMBER: Final = 800


def page(budget: Budget) -> Budget:
    """Return the part of a budget that is searched with care: a larger set is slow to polish, and nobody reads it."""
    return budget if budget.conditions <= LARGE else budget.resized(PAGE)


def n_members(budget: Budget) -> int:
    """Return how many models share a budget, to be averaged: one where rules are limited, for each would have few."""
    return 1 if budget.rules < budget.conditions else max(1, budget.conditions // MEMBER)


def member(budget: Budget) -> Budget:
    """Return the part of the budget that each of them has."""
    return budget.resized(budget.conditions // n_members(budget))


class Task:
    """Rows and a target ``(n,)``, ready to be searched on: weights of mean one, the target centred.

    `row_weight` is the weight of one row of the table, by which the rows that a rule must fire on are counted: the mean
    weight unless given. It differs from that where rows stand for several, or where there are synthetic ones.
    """

    def __init__(self, inputs: Inputs, target: Floats, weight: Floats, row_weight: float | None = None) -> None:
        self.inputs = inputs
        self.row_weight = 1.0 if row_weight is None else row_weight / float(weight.mean())
        self.planes, self.weight = planes_of(weight / weight.mean())
        self.total_weight = float(self.weight.sum())
        self.root_weight = np.sqrt(self.weight).astype(np.float32)
        self.mean = float(self.weight @ target) / self.total_weight
        self.target = target
        self.centred = target - self.mean
        self.variation = float(self.weight @ self.centred**2)
        """The squared error of the mean."""
        self.penalty = PENALTY * TYPICAL_VARIANCE * self.total_weight
        self.signals = Signals(inputs)
        self.scanner = Scanner(inputs, self.weight, self.penalty, row_weight=self.row_weight)

    @property
    def n_rows(self) -> int:
        return len(self.target)

    @cached_property
    def valid(self) -> Words:
        """All rows, as bits."""
        words: Words = pack(np.ones((1, self.n_rows), np.bool_))[0]
        return words

    @cached_property
    def first_test(self) -> npt.NDArray[np.int64]:
        """Where the tests of each input begin in the bank."""
        sizes = self.inputs.n_bins.astype(np.int64) - 1
        return np.cumsum(sizes) - sizes

    @cached_property
    def bank(self) -> Words:
        """(n_tests, n_words): where each input is above each of its cut-offs."""
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
