"""Teachers: strong models from scikit-learn whose blend is a steadier target than y.

A hundred conditions are too few to tell noise from signal. Extra trees, boosted trees and two support vector machines
are cross-fitted, fold by fold, and blended by non-negative least squares on their out-of-fold predictions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from dln.data._division import Folds
from dln.rules._bins import Inputs
from dln.rules._constants import (
    KERNEL_BLOCK,
    MANY_INPUTS,
    MANY_ROWS,
    MAX_KERNEL_ROWS,
    MAX_ROWS_FOR_KERNELS,
)
from dln.rules._seeds import Stream, generator
from dln.rules._task import Sample
from dln.solve._products import Floats

#: A teacher's job is a fold and a kind of teacher; its result is None if time is over.
Job: TypeAlias = tuple[int, int]
Predictions: TypeAlias = tuple[Floats, Floats] | None


@dataclass(frozen=True, slots=True)
class CrossFitPredictions:
    """In-fold and out-of-fold predictions of the blended teachers, for the table's rows and for synthetic ones.

    >>> folds = Folds(np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 1.0]]), np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 3.0]]))
    >>> by_fold = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 7.0]])
    >>> predictions = CrossFitPredictions(folds, by_fold, np.array([[5.0], [7.0]]), 0.9)
    >>> predictions.out_of_fold, predictions.in_fold, predictions.synthetic
    (array([ 1., 20.,  4.]), array([10.,  2.,  6.]), array([6.]))
    """

    folds: Folds
    by_fold: Floats
    """(n_folds, n): predictions of the teachers that were trained without what a fold holds out, for all rows."""
    synthetic_by_fold: Floats
    explained: float
    """Share of the target's variance that out-of-fold predictions explain."""

    @property
    def out_of_fold(self) -> Floats:
        """For each row the mean prediction of the teachers that it was held out of, NaN if it never was."""
        return _weighted_mean(self.by_fold, self.folds.held_out)

    @property
    def in_fold(self) -> Floats:
        """For each row the mean prediction of the teachers that have seen it, NaN if none has."""
        return _weighted_mean(self.by_fold, self.folds.training)

    @property
    def synthetic(self) -> Floats:
        """The mean prediction for each synthetic row."""
        return np.asarray(self.synthetic_by_fold.mean(axis=0))


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
    rows, others = _Table.of(sample.inputs), _Table.of(synthetic)
    kinds = _teacher_kinds(len(y), sample.inputs.n_inputs)[:n_kinds]

    def fit_one(job: Job) -> Predictions:
        if stop():
            return None
        fold, kind = job
        left = folds.training[fold]
        kept = np.flatnonzero(left)
        model = kinds[kind](int(generator(seed, Stream.TEACHERS, fold, kind).integers(2**31)))
        model.fit(rows.at(kept), y[kept], left[kept])
        advance()
        return model.predict(rows), model.predict(others)

    jobs = [(fold, kind) for fold in range(n_folds) for kind in range(len(kinds))]
    results = [result for result in run(fit_one, jobs) if result is not None]
    if len(results) < len(jobs):
        return None
    on_rows = np.array([one for one, _ in results]).reshape(n_folds, len(kinds), len(y))
    on_synthetic = np.array([one for _, one in results]).reshape(n_folds, len(kinds), synthetic.n_rows)
    # A row that several folds hold out in part has an out-of-fold prediction of each, weighted by that part.
    row, fold = np.nonzero(folds.held_out.T)
    predicted, held_out = on_rows[fold, :, row], folds.held_out[fold, row]
    root = np.sqrt(held_out)
    blend, _ = nnls(predicted * root[:, np.newaxis], y[row] * root)
    error = float(held_out @ (y[row] - predicted @ blend) ** 2)
    weight = folds.held_out.sum(axis=0)
    variation = float(weight @ (y - np.average(y, weights=weight)) ** 2)
    by_fold, synthetic_by_fold = (np.einsum("kmn,m->kn", one, blend) for one in (on_rows, on_synthetic))
    return CrossFitPredictions(folds, by_fold, synthetic_by_fold, 1.0 - error / (variation or 1.0))


def _weighted_mean(by_fold: Floats, weight: Floats) -> Floats:
    total = weight.sum(axis=0)
    mean: Floats = np.divide((weight * by_fold).sum(axis=0), total, out=np.full(len(total), np.nan), where=total > 0)
    return mean


def n_teachers(n_rows: int, n_kinds: int) -> int:
    """Return how many kinds of teachers a table gets, of at most `n_kinds`."""
    return min(n_kinds, 4 if n_rows <= MAX_ROWS_FOR_KERNELS else 2)


@dataclass(frozen=True, slots=True)
class _Table:
    """Rows for teachers, ``(n_rows, n_inputs)``, on the scale of the values and on that of the bins."""

    levels: Floats
    ranks: Floats

    @classmethod
    def of(cls, inputs: Inputs) -> _Table:
        return cls(inputs.levels(), inputs.ranks())

    def at(self, rows: npt.NDArray[np.intp]) -> _Table:
        return _Table(self.levels[rows], self.ranks[rows])


def _teacher_kinds(n_rows: int, n_inputs: int) -> list[Callable[[int], Any]]:
    """Return what makes an untrained teacher of each kind from a seed."""
    many = n_rows > MANY_ROWS
    kinds: list[Callable[[int], Any]] = [
        lambda seed: _Forest(seed, n_inputs),
        lambda seed: _Boosting(seed, many=many),
    ]
    if n_rows <= MAX_ROWS_FOR_KERNELS:
        kinds += [lambda seed: _KernelMachine(seed, by_rank=True), lambda seed: _KernelMachine(seed, by_rank=False)]
    return kinds


class _Forest:
    """Extra trees, one forest at a time.

    scikit-learn replaces the filters of warnings for every tree, and before Python 3.14 they are shared by all threads.
    """

    _one_at_a_time: ClassVar = threading.Lock()

    def __init__(self, seed: int, n_inputs: int) -> None:
        from sklearn.ensemble import ExtraTreesRegressor

        share = 0.6 if n_inputs <= MANY_INPUTS else 0.2
        self._trees = ExtraTreesRegressor(60, min_samples_leaf=2, max_features=share, random_state=seed)

    def fit(self, table: _Table, y: Floats, weight: Floats) -> None:
        with self._one_at_a_time:
            self._trees.fit(table.levels, y, weight)

    def predict(self, table: _Table) -> Floats:
        with self._one_at_a_time:
            return np.asarray(self._trees.predict(table.levels))


class _Boosting:
    """Boosted trees, on bins: scikit-learn's own bins would take a quarter of a fit."""

    def __init__(self, seed: int, *, many: bool) -> None:
        from sklearn.ensemble import HistGradientBoostingRegressor

        self._trees = HistGradientBoostingRegressor(
            learning_rate=0.1 if many else 0.08,
            max_iter=200 if many else 150,
            max_leaf_nodes=31 if many else 12,
            min_samples_leaf=10 if many else 5,
            max_features=0.6,
            early_stopping=False,
            random_state=seed,
        )

    def fit(self, table: _Table, y: Floats, weight: Floats) -> None:
        self._trees.fit(table.ranks, y, weight)

    def predict(self, table: _Table) -> Floats:
        return np.asarray(self._trees.predict(table.ranks))


class _KernelMachine:
    """A support vector machine on columns placed by value or by rank; missing numbers are in the middle."""

    def __init__(self, seed: int, *, by_rank: bool) -> None:
        self._seed, self._by_rank = seed, by_rank

    def fit(self, table: _Table, y: Floats, weight: Floats) -> None:
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVR

        rows = np.sort(np.random.default_rng(self._seed).permutation(len(y))[:MAX_KERNEL_ROWS])
        prepared = self._prepared(table)[rows]
        self._scaler = StandardScaler().fit(prepared)
        scaled = self._scaler.transform(prepared)
        self._gamma = 1.0 / (max(float(scaled.var()), np.finfo(np.float64).tiny) * scaled.shape[1])
        self._machine = SVR(C=10.0, epsilon=0.05, gamma=self._gamma, cache_size=500)
        self._machine.fit(scaled, y[rows], weight[rows] / weight.mean())

    def predict(self, table: _Table) -> Floats:
        """Return predictions, by products of matrices: libsvm, number by number, takes ten times as long."""
        from sklearn.metrics.pairwise import rbf_kernel

        scaled, machine = self._scaler.transform(self._prepared(table)), self._machine
        predicted = np.full(len(scaled), float(machine.intercept_[0]))
        if not len(machine.support_vectors_):  # of one row, or of equal targets
            return predicted
        for first in range(0, len(scaled), KERNEL_BLOCK):
            rows = slice(first, first + KERNEL_BLOCK)
            near = rbf_kernel(scaled[rows], machine.support_vectors_, gamma=self._gamma)
            predicted[rows] += near @ machine.dual_coef_[0]
        return predicted

    def _prepared(self, table: _Table) -> Floats:
        columns = table.ranks if self._by_rank else table.levels
        return np.where(np.isnan(columns), 0.5, columns)
