"""Teachers: strong models from scikit-learn whose blend is a steadier target than y, and the targets that it gives.

A hundred conditions are too few to tell noise from signal. Extra trees, boosted trees and two support vector machines
are cross-fitted, fold by fold, and blended by non-negative least squares on their out-of-fold predictions. Rules learn
y itself, or a mix of y and these predictions, with synthetic rows or without.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import nnls

from dln.data._division import Folds
from dln.data._rows import Floats
from dln.rules import _constants as constants
from dln.rules._bins import Inputs
from dln.rules._task import Sample, Stream, Task, generator, never

#: A job is a fold and a kind of teacher; it gives predictions for the table's rows and for others, None without time.
Job: TypeAlias = tuple[int, int]
Predictions: TypeAlias = list[Floats] | None

#: scikit-learn replaces the filters of warnings for every tree, and before Python 3.14 they are shared by all threads.
_ONE_FOREST_AT_A_TIME: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class CrossFitPredictions:
    """Predictions of the blended teachers, for the table's rows and for synthetic ones.

    >>> predictions = CrossFitPredictions(np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 7.0]]), np.array([[5.0], [7.0]]), 0.9)
    >>> predictions.mean(np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 1.0]]))
    array([ 1., 20.,  4.])
    """

    by_fold: Floats
    """(n_folds, n): predictions of the teachers that were trained without what a fold holds out, for all rows."""
    synthetic_by_fold: Floats
    """(n_folds, n_synthetic)"""
    explained: float
    """Share of the target's variance that out-of-fold predictions explain."""

    def mean(self, weight: Floats) -> Floats:
        """Return for each row the mean over the folds, weighted ``(n_folds, n)``, NaN where all weights are zero.

        The weights that folds hold out give out-of-fold predictions, those that they train on in-fold predictions.
        """
        total = weight.sum(axis=0)
        summed = (weight * self.by_fold).sum(axis=0)
        mean: Floats = np.divide(summed, total, out=np.full(len(total), np.nan), where=total > 0)
        return mean


def cross_fit(
    sample: Sample,
    folds: Folds,
    synthetic: Inputs,
    n_kinds: int,
    seed: int,
    run: Callable[[Callable[[Job], Predictions], Sequence[Job]], Iterable[Predictions]],
    *,
    stop: Callable[[], bool],
    advance: Callable[[], None],
) -> CrossFitPredictions | None:
    """Cross-fit the teachers, each on the weights that a fold trains on.

    `run` maps jobs, in parallel or not. Returns None if time is over before all teachers are fitted.
    """
    y, n_folds = sample.y, len(folds.training)
    tables = [_Table(*inputs.scaled()) for inputs in (sample.inputs, synthetic)]
    kinds = _KINDS[: n_teachers(len(y), n_kinds)]

    def fit_one(job: Job) -> Predictions:
        if stop():
            return None
        fold, kind = job
        left = folds.training[fold]
        kept = np.flatnonzero(left)
        rows = _Table(*(columns[kept] for columns in tables[0]))
        random_state = int(generator(seed, Stream.TEACHERS, fold, kind).integers(2**31))
        predictions = kinds[kind](random_state, rows, y[kept], left[kept], tables)
        advance()
        return predictions

    jobs = [(fold, kind) for fold in range(n_folds) for kind in range(len(kinds))]
    results = [result for result in run(fit_one, jobs) if result is not None]
    if len(results) < len(jobs):
        return None
    on_rows, on_synthetic = (np.array(one).reshape(n_folds, len(kinds), -1) for one in zip(*results, strict=True))
    # A row that several folds hold out in part has an out-of-fold prediction of each, weighted by that part.
    row, fold = np.nonzero(folds.held_out.T)
    predicted, held_out = on_rows[fold, :, row], folds.held_out[fold, row]
    root = np.sqrt(held_out)
    blend, _ = nnls(predicted * root[:, np.newaxis], y[row] * root)
    error = float(held_out @ (y[row] - predicted @ blend) ** 2)
    weight = folds.held_out.sum(axis=0)
    variation = float(weight @ (y - np.average(y, weights=weight)) ** 2)
    by_fold, synthetic_by_fold = (np.einsum("kmn,m->kn", one, blend) for one in (on_rows, on_synthetic))
    return CrossFitPredictions(by_fold, synthetic_by_fold, 1.0 - error / (variation or 1.0))


def n_teachers(n_rows: int, n_kinds: int) -> int:
    """Return how many kinds of teachers a table gets, of at most `n_kinds`."""
    return min(n_kinds, 4 if n_rows <= constants.MAX_ROWS_FOR_KERNELS else 2)


class _Table(NamedTuple):
    """Rows for teachers, ``(n_rows, n_inputs)``, on the scale of the values and on that of the bins."""

    levels: Floats
    ranks: Floats


def _extra_trees(seed: int, rows: _Table, y: Floats, weight: Floats, tables: Sequence[_Table]) -> list[Floats]:
    from sklearn.ensemble import ExtraTreesRegressor

    share = 0.6 if rows.levels.shape[1] <= constants.MANY_INPUTS else 0.2
    with _ONE_FOREST_AT_A_TIME:
        trees = ExtraTreesRegressor(constants.N_TREES, min_samples_leaf=2, max_features=share, random_state=seed)
        trees.fit(rows.levels, y, weight)
        return [np.asarray(trees.predict(table.levels)) for table in tables]


def _boosted_trees(seed: int, rows: _Table, y: Floats, weight: Floats, tables: Sequence[_Table]) -> list[Floats]:
    """Boost trees on our bins: scikit-learn's own would take a quarter of a fit."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    many = len(tables[0].ranks) > constants.MANY_ROWS
    trees = HistGradientBoostingRegressor(
        learning_rate=0.12 if many else 0.1,
        max_iter=120 if many else 100,
        max_leaf_nodes=31 if many else 12,
        min_samples_leaf=10 if many else 5,
        max_features=0.6,
        early_stopping=False,
        random_state=seed,
    )
    trees.fit(rows.ranks, y, weight)
    return [np.asarray(trees.predict(table.ranks)) for table in tables]


def _kernel_machine(
    column_scale: str, seed: int, rows: _Table, y: Floats, weight: Floats, tables: Sequence[_Table]
) -> list[Floats]:
    """Fit a support vector machine on columns placed by value or by rank; missing numbers are in the middle."""
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    fitted, *others = (np.nan_to_num(getattr(table, column_scale), nan=0.5) for table in (rows, *tables))
    some = np.sort(np.random.default_rng(seed).permutation(len(y))[: constants.MAX_KERNEL_ROWS])
    scaler = StandardScaler().fit(fitted[some])
    scaled = scaler.transform(fitted[some])
    gamma = 1.0 / (max(float(scaled.var()), np.finfo(np.float64).tiny) * scaled.shape[1])
    machine = SVR(C=10.0, epsilon=0.05, gamma=gamma, cache_size=500)
    machine.fit(scaled, y[some], weight[some] / weight.mean())
    predictions = []
    for table in others:
        scaled = scaler.transform(table)
        predicted = np.full(len(scaled), float(machine.intercept_[0]))
        # There are no support vectors of one row, or of equal targets.
        for first in range(0, len(scaled) if len(machine.support_vectors_) else 0, constants.KERNEL_BLOCK):
            block = slice(first, first + constants.KERNEL_BLOCK)
            # By products of matrices: libsvm, number by number, takes ten times as long.
            near = rbf_kernel(scaled[block], machine.support_vectors_, gamma=gamma)
            predicted[block] += near @ machine.dual_coef_[0]
        predictions.append(predicted)
    return predictions


#: The kinds of teachers, in the order in which `n_teachers` takes them.
_KINDS: Final[tuple[Callable[..., list[Floats]], ...]] = (
    _extra_trees,
    _boosted_trees,
    partial(_kernel_machine, "ranks"),
    partial(_kernel_machine, "levels"),
)


class TargetMix(NamedTuple):
    """The share of y in the target of the table's rows, the rest being the teachers', and whether to add others."""

    y_weight: float
    use_synthetic: bool


Y_ONLY: Final = TargetMix(1.0, use_synthetic=False)
#: The mixes that are tried. y alone is best where few rules cannot follow the teachers, synthetic rows steady small and
#: noisy tables. The teachers' labels without synthetic rows are not tried: in a trial they are all in-fold, which looks
#: better than it is.
TARGET_MIXES: Final = (Y_ONLY, TargetMix(1.0, use_synthetic=True), TargetMix(0.3, use_synthetic=True))


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
        out_of_fold, in_fold = teachers.mean(self.folds.held_out), teachers.mean(self.folds.training)
        labels = np.where(np.isnan(out_of_fold), in_fold, out_of_fold) + np.where(
            np.isnan(in_fold), out_of_fold, in_fold
        )
        synthetic = teachers.synthetic_by_fold.mean(axis=0)
        return self._task(self.sample, np.where(np.isnan(labels), y, labels / 2), synthetic, mix, stop)

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
            inputs = replace(inputs, bins=np.concatenate([inputs.bins, self.synthetic.bins], axis=1))
            target, weight = np.concatenate([target, synthetic_labels]), np.concatenate([weight, share])
        return Task(inputs, target, weight, sample.min_weight, stop, len(sample.y))
