"""Teachers: strong models from scikit-learn whose blend is a steadier target than y.

A hundred conditions are too few to find out by themselves what in a target is noise. Extra trees, boosted trees and two
support vector machines are cross-fitted, fold by fold, and blended by non-negative least squares on the rows that they
have not seen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from scipy.optimize import nnls

from dln.rules._inputs import Inputs, even_cutoffs
from dln.solve._products import Floats

#: Rows that a teacher learns from at the most: more would take longer than the rest of the fit.
MAX_ROWS: Final = 15_000
#: Support vector machines take time that grows with the square of the rows: they get at most so many.
MAX_KERNEL_ROWS: Final = 1500
#: From so many rows on trees may be larger, and kernel machines are left out: boosting is ahead of them there.
MANY_ROWS: Final = 2000
MAX_ROWS_FOR_KERNELS: Final = 6000

#: Rows whose distances from all support vectors are in memory at a time.
KERNEL_BLOCK: Final = 1000
#: Bins of a column that boosted trees split at the most, as many as scikit-learn allows.
MAX_BINS: Final = 255

#: A teacher's job is a fold and a kind of teacher; None comes back where there is no time.
Predictions: TypeAlias = tuple[Floats, Floats] | None
Run: TypeAlias = Callable[[Callable[[tuple[int, int]], Predictions], Sequence[tuple[int, int]]], Iterable[Predictions]]


@dataclass(frozen=True, slots=True)
class CrossFitPredictions:
    """In-fold and out-of-fold predictions of the blended teachers, for the table's rows and for synthetic ones.

    >>> parts = np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 1.0]])
    >>> by_fold = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 7.0]])
    >>> predictions = CrossFitPredictions(parts, by_fold, np.array([[5.0], [7.0]]), 0.9)
    >>> predictions.out_of_fold, predictions.in_fold, predictions.synthetic
    (array([ 1., 20.,  4.]), array([10.,  2.,  6.]), array([6.]))
    """

    parts: Floats
    """(n_folds, n): the part of each row's weight that a fold holds out."""
    by_fold: Floats
    """(n_folds, n): predictions of the teachers that were trained without what a fold holds out, for all rows."""
    synthetic_by_fold: Floats
    explained: float
    """Share of the target's variance that out-of-fold predictions explain."""

    @property
    def out_of_fold(self) -> Floats:
        """For each row the mean prediction over its weight, each part by the teachers that have not seen it."""
        return np.asarray((self.parts * self.by_fold).sum(axis=0) / self.parts.sum(axis=0))

    @property
    def in_fold(self) -> Floats:
        """For each row the mean prediction over its weight by the teachers that have seen it."""
        seen = self.parts.sum(axis=0) - self.parts
        return np.asarray((seen * self.by_fold).sum(axis=0) / seen.sum(axis=0))

    @property
    def synthetic(self) -> Floats:
        """The mean prediction for each synthetic row."""
        return np.asarray(self.synthetic_by_fold.mean(axis=0))


def teach(
    inputs: Inputs,
    synthetic: Inputs,
    y: Floats,
    weight: Floats,
    parts: Floats,
    n_kinds: int,
    seed: int,
    run: Run,
    *,
    stop: Callable[[], bool],
    after_each: Callable[[], None] = lambda: None,
) -> CrossFitPredictions | None:
    """Cross-fit the teachers, each without the `parts` ``(n_folds, n)`` of the weights that a fold holds out.

    Returns None where there was no time for all of them.

    `run` does the jobs, side by side or one after the other.
    """
    table, others = inputs.as_table(), synthetic.as_table()
    n_folds = len(parts)
    makers = _makers(len(y), inputs.n_inputs)[:n_kinds]

    def predictions(job: tuple[int, int]) -> Predictions:
        if stop():
            return None
        k, member = job
        left = weight - parts[k]
        rows = np.flatnonzero(left)[:MAX_ROWS]
        model = makers[member]((seed + 7919 * k + member) % 2**31)
        model.fit(table[rows], y[rows], left[rows])
        after_each()
        return model.predict(table), model.predict(others)

    jobs = [(k, member) for k in range(n_folds) for member in range(len(makers))]
    results = [result for result in run(predictions, jobs) if result is not None]
    if len(results) < len(jobs):
        return None
    on_rows = np.array([rows for rows, _ in results]).reshape(n_folds, len(makers), len(y))
    on_others = np.array([others for _, others in results]).reshape(n_folds, len(makers), -1)
    # A row that several folds hold out in part has an out-of-fold prediction of each, weighted by that part.
    row, fold = np.nonzero(parts.T)
    unseen, held_out = on_rows[fold, :, row], parts[fold, row]
    root = np.sqrt(held_out)
    blend, _ = nnls(unseen * root[:, np.newaxis], y[row] * root)
    error = float(held_out @ (y[row] - unseen @ blend) ** 2)
    variation = float(weight @ (y - np.average(y, weights=weight)) ** 2)
    by_fold = np.einsum("kmn,m->kn", on_rows, blend)
    return CrossFitPredictions(
        parts, by_fold, np.einsum("kmn,m->kn", on_others, blend), 1.0 - error / (variation or 1.0)
    )


def n_teachers(n_rows: int, n_kinds: int) -> int:
    """Return how many kinds of teachers a table gets, of those asked for."""
    return min(n_kinds, 4 if n_rows <= MAX_ROWS_FOR_KERNELS else 2)


def _makers(n_rows: int, n_inputs: int) -> list[Callable[[int], Any]]:
    """Return what makes an untrained teacher of each kind from a seed."""
    many = n_rows > MANY_ROWS
    makers: list[Callable[[int], Any]] = [
        lambda seed: _Forest(seed, n_inputs),
        lambda seed: _Boosting(seed, many=many),
    ]
    if n_rows <= MAX_ROWS_FOR_KERNELS:
        makers += [lambda seed: _KernelMachine(seed, by_rank=True), lambda seed: _KernelMachine(seed, by_rank=False)]
    return makers


class _Forest:
    """Extra trees, one forest at a time.

    scikit-learn sets the filters of warnings aside for every tree, which two threads before Python 3.14 would do to
    each other's, and the process would be left without them.
    """

    _one_at_a_time: ClassVar = threading.Lock()

    def __init__(self, seed: int, n_inputs: int) -> None:
        from sklearn.ensemble import ExtraTreesRegressor

        share = 0.6 if n_inputs <= 100 else 0.2  # noqa: PLR2004 (with many inputs a fifth is as good, and quicker)
        self._trees = ExtraTreesRegressor(60, min_samples_leaf=2, max_features=share, random_state=seed)

    def fit(self, table: Floats, y: Floats, weight: Floats) -> None:
        with self._one_at_a_time:
            self._trees.fit(table, y, weight)

    def predict(self, table: Floats) -> Floats:
        with self._one_at_a_time:
            return np.asarray(self._trees.predict(table))


class _Boosting:
    """Boosted trees on columns in bins.

    scikit-learn would make bins of its own, and takes a quarter of a fit for the quantiles of weighted rows. Of columns
    with few values it takes the values.
    """

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

    def fit(self, table: Floats, y: Floats, weight: Floats) -> None:
        self._cutoffs = [even_cutoffs(column.astype(np.float32), MAX_BINS - 1) for column in table.T]
        self._trees.fit(self._binned(table), y, weight)

    def predict(self, table: Floats) -> Floats:
        return np.asarray(self._trees.predict(self._binned(table)))

    def _binned(self, table: Floats) -> Floats:
        return _by_column(table, self._cutoffs)


def _by_column(table: Floats, sorted_values: Sequence[Floats]) -> Floats:
    """Return how many of a column's sorted values are below each number; NaN stays."""
    return np.column_stack(
        [
            np.where(np.isnan(column), np.nan, np.searchsorted(values, column))
            for column, values in zip(table.T, sorted_values, strict=True)
        ]
    )


class _KernelMachine:
    """A support vector machine on columns placed by value or by rank; missing numbers are in the middle."""

    def __init__(self, seed: int, *, by_rank: bool) -> None:
        self._seed, self._by_rank = seed, by_rank

    def fit(self, table: Floats, y: Floats, weight: Floats) -> None:
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVR

        rows = np.sort(np.random.default_rng(self._seed).permutation(len(y))[:MAX_KERNEL_ROWS])
        self._ranks = [np.unique(column[~np.isnan(column)]) for column in table.T] if self._by_rank else None
        self._scaler = StandardScaler().fit(self._prepared(table[rows]))
        scaled = self._scaler.transform(self._prepared(table[rows]))
        self._gamma = 1.0 / (max(float(scaled.var()), np.finfo(np.float64).tiny) * scaled.shape[1])
        self._machine = SVR(C=10.0, epsilon=0.05, gamma=self._gamma, cache_size=500)
        self._machine.fit(scaled, y[rows], weight[rows] / weight.mean())

    def predict(self, table: Floats) -> Floats:
        """Return predictions, by products of matrices: libsvm, number by number, takes ten times as long."""
        from sklearn.metrics.pairwise import rbf_kernel

        scaled, machine = self._scaler.transform(self._prepared(table)), self._machine
        predicted = np.full(len(table), float(machine.intercept_[0]))
        for first in range(0, len(table), KERNEL_BLOCK):
            rows = slice(first, first + KERNEL_BLOCK)
            near = rbf_kernel(scaled[rows], machine.support_vectors_, gamma=self._gamma)
            predicted[rows] += near @ machine.dual_coef_[0]
        return predicted

    def _prepared(self, table: Floats) -> Floats:
        if self._ranks is not None:
            table = _by_column(table, self._ranks) / [max(len(ranks), 1) for ranks in self._ranks]
        return np.where(np.isnan(table), 0.5, table)
