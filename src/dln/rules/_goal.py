"""What students learn: y itself, or what teachers make of it, with synthetic rows or without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dln.rules._inputs import Inputs
from dln.rules._task import Task
from dln.rules._teachers import CrossFitPredictions
from dln.solve._products import Floats


class Sample(NamedTuple):
    """Distinct rows: inputs, standardised target and weights ``(n,)``."""

    inputs: Inputs
    y: Floats
    weight: Floats
    counts: npt.NDArray[np.int64]
    """(n,): the rows of the table that each row counts as."""
    row_weight: float
    """The weight of one row of the table."""

    def at(self, rows: npt.NDArray[np.intp]) -> Sample:
        """Return the rows of some indices."""
        return Sample(self.inputs.at(rows), self.y[rows], self.weight[rows], self.counts[rows], self.row_weight)

    def weighted(self, weight: Floats) -> Sample:
        """Return the rows of positive weight, with these weights."""
        return self.at(np.flatnonzero(weight))._replace(weight=weight[weight > 0])


class Goal(NamedTuple):
    """The share of y in the target of real rows, the rest being the teachers', and whether synthetic rows help."""

    share_of_y: float
    synthetic: bool


#: y alone is best where a page is too small to follow the teachers (parkinsons, by 0.01 to 0.03 of R²), and all there
#: is without them. Synthetic rows steady small and noisy tables (mpg, infrared, insurance: 0.01 to 0.03), with mostly
#: the teachers' labels where y is noisy (abalone) and y itself where it is not (airfoil, bike). The teachers' labels
#: without synthetic rows look good in trials, whose labels are all of rows that the teachers have seen, and are then
#: worse by 0.005 to 0.02 (airfoil, mpg, concrete, housing): not to be tried.
Y_ALONE: Final = Goal(1.0, synthetic=False)
GOALS: Final = (Y_ALONE, Goal(1.0, synthetic=True), Goal(0.3, synthetic=True))


@dataclass(frozen=True, slots=True)
class Distillation:
    """A sample in folds, and what teachers say about it and about synthetic rows, if there are teachers."""

    sample: Sample
    parts: Floats
    """(n_folds, n): the part of each row's weight that a fold holds out."""
    synthetic: Inputs
    lessons: CrossFitPredictions | None

    def task(self, goal: Goal) -> Task:
        """Return the task of learning from all rows."""
        lessons = self.lessons
        if lessons is None:
            return _plain_task(self.sample)
        labels = (lessons.out_of_fold + lessons.in_fold) / 2
        return self._task(self.sample, labels, lessons.synthetic, goal)

    def trial_task(self, goal: Goal, fold: int) -> Task:
        """Return the task of learning without what a fold holds out, which its teachers have not seen either."""
        lessons = self.lessons
        left = self.sample.weight - self.parts[fold]
        sample = self.sample.weighted(left)
        if lessons is None:
            return _plain_task(sample)
        return self._task(sample, lessons.by_fold[fold][left > 0], lessons.synthetic_by_fold[fold], goal)

    def aside(self, fold: int) -> Sample:
        """Return the rows of a fold, weighted by what it holds out of them."""
        return self.sample.weighted(self.parts[fold])

    def _task(self, sample: Sample, labels: Floats, synthetic_labels: Floats, goal: Goal) -> Task:
        inputs, y, weight, *_ = sample
        target = goal.share_of_y * y + (1.0 - goal.share_of_y) * labels
        if goal.synthetic:
            # All synthetic rows together count as much as all real ones.
            share = np.full(len(synthetic_labels), weight.sum() / max(len(synthetic_labels), 1))
            inputs = inputs.followed_by(self.synthetic)
            target, weight = np.concatenate([target, synthetic_labels]), np.concatenate([weight, share])
        return Task(inputs, target, weight, sample.row_weight)


def _plain_task(sample: Sample) -> Task:
    return Task(sample.inputs, sample.y, sample.weight, sample.row_weight)
