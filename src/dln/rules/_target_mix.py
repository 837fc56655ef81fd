"""The target of rules: y itself, or a mix of y and the teachers' predictions, with synthetic rows or without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from dln.data._division import Folds
from dln.rules._bins import Inputs
from dln.rules._candidates import grow, select
from dln.rules._constants import SWEEPS, TRIAL_LENGTH, TRIAL_RATE, TRIAL_RULES, WEIGHT_PENALTIES
from dln.rules._local_search import polish
from dln.rules._model_sizes import weighted_sum
from dln.rules._rule_set import RuleSet
from dln.rules._task import Sample, Stream, Task, generator, never
from dln.rules._teachers import CrossFitPredictions
from dln.solve._products import Floats
from dln.solve._select import Budget


class TargetMix(NamedTuple):
    """The share of y in the target of the table's rows, the rest being the teachers', and whether to add others."""

    y_weight: float
    use_synthetic: bool


Y_ONLY: Final = TargetMix(1.0, use_synthetic=False)
#: The mixes that are tried. y alone is best where few rules cannot follow the teachers, synthetic rows steady small and
#: noisy tables. The teachers' labels without synthetic rows are not tried: in a trial they are all in-fold, which looks
#: better than it is.
TARGET_MIXES: Final = (Y_ONLY, TargetMix(1.0, use_synthetic=True), TargetMix(0.3, use_synthetic=True))


class TargetChoice(NamedTuple):
    """The best mix, and the best ridge penalty of the final weights, in penalties of the search."""

    mix: TargetMix
    penalty: float


@dataclass(frozen=True, slots=True)
class Distillation:
    """A sample in folds, and the teachers' predictions for it and for synthetic rows, if there are teachers."""

    sample: Sample
    folds: Folds
    synthetic: Inputs
    teachers: CrossFitPredictions | None

    def task(self, mix: TargetMix, stop: Callable[[], bool] = never) -> Task:
        """Return the task of learning from all rows. Their labels are half in-fold and half out-of-fold.

        Rows that are never held out have in-fold labels only, those never trained on the others only.
        """
        teachers, y = self.teachers, self.sample.y
        if teachers is None:
            return self._task(self.sample, y, np.empty(0), mix, stop)
        out_of_fold, in_fold = teachers.out_of_fold, teachers.in_fold
        labels = np.where(np.isnan(out_of_fold), in_fold, out_of_fold) + np.where(
            np.isnan(in_fold), out_of_fold, in_fold
        )
        return self._task(self.sample, np.where(np.isnan(labels), y, labels / 2), teachers.synthetic, mix, stop)

    def training_task(self, mix: TargetMix, fold: int, stop: Callable[[], bool] = never) -> Task:
        """Return the task of learning without what a fold holds out, which its teachers have not seen either."""
        left = self.folds.training[fold]
        sample = self.sample.weighted(left)
        if self.teachers is None:
            return self._task(sample, sample.y, np.empty(0), mix, stop)
        labels, synthetic = self.teachers.by_fold[fold][left > 0], self.teachers.synthetic_by_fold[fold]
        return self._task(sample, labels, synthetic, mix, stop)

    def held_out(self, fold: int) -> Sample:
        """Return the rows of a fold, weighted by what it holds out of them."""
        return self.sample.weighted(self.folds.held_out[fold])

    def _task(
        self, sample: Sample, labels: Floats, synthetic_labels: Floats, mix: TargetMix, stop: Callable[[], bool]
    ) -> Task:
        target, weight, inputs = mix.y_weight * sample.y + (1.0 - mix.y_weight) * labels, sample.weight, sample.inputs
        if mix.use_synthetic:
            # All synthetic rows together weigh as much as all rows of the table.
            share = np.full(len(synthetic_labels), weight.sum() / max(len(synthetic_labels), 1))
            inputs = inputs.followed_by(self.synthetic)
            target, weight = np.concatenate([target, synthetic_labels]), np.concatenate([weight, share])
        return Task(inputs, target, weight, sample.min_weight, stop, len(sample.y))


def choose_target(
    distillation: Distillation,
    n_folds: int,
    budget: Budget,
    seed: int,
    run: Callable[[Callable[[tuple[TargetMix, int]], Floats], Sequence[tuple[TargetMix, int]]], Iterable[Floats]],
    *,
    stop: Callable[[], bool],
) -> TargetChoice:
    """Return the mix and the penalty with the least squared error of quick students on what folds hold out."""
    mixes = TARGET_MIXES if distillation.teachers is not None else (Y_ONLY,)

    def squared_errors(job: tuple[TargetMix, int]) -> Floats:
        """Return the squared error for each penalty, NaN if time is over."""
        if stop():
            return np.full(len(WEIGHT_PENALTIES), np.nan)
        mix, fold = job
        task, held_out = distillation.training_task(mix, fold, stop), distillation.held_out(fold)
        rng = generator(seed, Stream.TARGET_TRIAL, fold)
        candidates = grow(task, TRIAL_RULES, min(TRIAL_LENGTH, budget.rule_length), rng, rate=TRIAL_RATE)
        rules = polish(RuleSet(task, select(task, candidates, budget)), budget, rng, sweeps=SWEEPS)
        errors = []
        for penalty in WEIGHT_PENALTIES:
            intercept, weights = rules.weights(task.penalty * penalty)
            predicted = weighted_sum(rules.expressions, intercept, weights, held_out.inputs)
            errors.append(float(held_out.weight @ (held_out.y - predicted) ** 2))
        return np.array(errors)

    jobs = [(mix, fold) for fold in range(n_folds) for mix in mixes]
    errors = np.array(list(run(squared_errors, jobs))).reshape(n_folds, len(mixes), len(WEIGHT_PENALTIES))
    complete = ~np.isnan(errors).any(axis=(1, 2))  # only a fold on which all mixes were tried compares them
    if not complete.any():
        return TargetChoice(Y_ONLY, WEIGHT_PENALTIES[0])
    total = errors[complete].sum(axis=0)
    mix, penalty = np.unravel_index(int(np.argmin(total)), total.shape)
    return TargetChoice(mixes[int(mix)], WEIGHT_PENALTIES[int(penalty)])
