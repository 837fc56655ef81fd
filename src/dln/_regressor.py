"""The base of both regressors: they have a circuit, and predict, save and are read by it."""

from __future__ import annotations

import os
import platform
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from numbers import Integral, Real
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from dln._atomic import AnyPath
from dln._errors import ColumnWarning, TimeLimitWarning
from dln._interrupt import Deadline
from dln._saving import to_saved
from dln._version import __version__
from dln.circuit._circuit import Category, Circuit, Column, Values
from dln.circuit.bits import PreparedCircuit, predict_array
from dln.circuit.bits import predict as predict_values
from dln.data._categories import warn_of_unknown
from dln.data._column_kinds import LEAK_ROWS, leak_text, predicts_alone
from dln.data._division import IN_TURN, LabelledRows, read_division, repeats_inputs, row_counts
from dln.data._reader import learn_table, read_batches, read_table
from dln.data._rows import CanonicalRows, canonical_rows, check_weight, check_weight_size, describe
from dln.data._source import Table
from dln.data._target import Target, check_target
from dln.export import ExportableModel
from dln.readers._monitor import training_profile
from dln.readers.model_file import write_model
from dln.report import ReportableModel

#: Rows on which weights are solved for and rules are compared, a sample by content: more would change little.
MAX_ROWS = 200_000
#: What the parameters may be that both regressors have.
SHARED_CONSTRAINTS: Final[dict[str, list[Any]]] = {
    "cv": ["cv_object"],
    "loss": [StrOptions({"squared_error", "huber", "absolute_error", "quantile"})],
    "quantile": [Interval(Real, 0, 1, closed="neither")],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "max_categories": [Interval(Integral, 2, None, closed="left"), None],
    "min_frequency": [Interval(Integral, 1, None, closed="left")],
    "max_seconds": [Interval(Real, 0, None, closed="neither"), None],
    "random_state": ["random_state"],
    "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
    "verbose": ["verbose"],
}


class Rows:
    """The rows of a fit: the table, its target, its distinct rows in canonical order, and how they are divided."""

    def __init__(
        self,
        model: CircuitRegressor,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        columns: tuple[Column, ...] | None = None,
    ) -> None:
        table = learn_table(X, model.categorical_features) if columns is None else read_table(X, columns)
        name = getattr(y, "name", None)
        self.target_name = name if isinstance(name, str) and name else None
        n = table.n_rows
        self.y = check_target(y, n, "y")
        weight = None if sample_weight is None else check_weight_size(check_weight(sample_weight, n))
        # The user's splits are of the rows of a fit.
        division = IN_TURN if columns is not None else read_division(model.cv, X, self.y, groups, weight)
        self.distinct: CanonicalRows = canonical_rows(table.values, self.y, weight, division.labels)
        described = columns or describe(table.columns, table.values, self.distinct.index)
        self.table: Table = replace(table, columns=described)
        self.values: Sequence[Values] = table.values
        self.target = Target.of(self.y[self.distinct.index], self.distinct.weight)
        if columns is None:
            self._warn_of_leaks()
        self.counts = row_counts(self.distinct.weight, repeats_inputs(self.values, self.distinct))
        """Rows of the table that each distinct row stands for when folds are dealt, ``(n_distinct,)``."""
        self.division = division.at(self.distinct.index)
        """How the user divides the distinct rows into folds."""

    def _warn_of_leaks(self) -> None:
        """Warn of columns that predict the target by themselves; a column that is alone is there for that."""
        some = self.distinct.index[:LEAK_ROWS]
        for column, values in zip(self.table.columns, self.values, strict=True):
            if len(self.values) > 1 and column.categories is None and predicts_alone(values[some], self.y[some]):
                warnings.warn(leak_text(column.name), ColumnWarning, stacklevel=5)  # the caller of fit

    def sample(self, n: int) -> LabelledRows:
        """Return n of the distinct rows, or all if there are fewer: their order is as good as drawn by lot."""
        some = self.distinct.sample(n)
        values, y = [column[some.index] for column in self.values], self.target.standardise(self.y[some.index])
        return LabelledRows(values, y, some.weight, self.counts[:n], self.division.at(slice(n)))

    def facts(self, circuit: Circuit) -> dict[str, Any]:
        """Return facts of a training that ended in a circuit, without times and paths: the same in every fit."""
        index = self.distinct.index
        facts: dict[str, Any] = {
            "rows": self.table.n_rows,
            "distinct_rows": len(index),
            "target_min": float(self.y[index].min()),
            "target_max": float(self.y[index].max()),
            "versions": {
                "dln": __version__,
                "numba": numba.__version__,
                "numpy": np.__version__,
                "python": platform.python_version(),
                "scikit-learn": sklearn.__version__,
            },
        }
        return facts | training_profile(circuit, self.table.columns, self.values, self.distinct)

    def unseen(self, X_val: Any, y_val: Any) -> LabelledRows | None:
        """Return the user's rows to validate on, or None where none were given."""
        if (X_val is None) != (y_val is None):
            given, missing = ("X_val", "y_val") if y_val is None else ("y_val", "X_val")
            raise ValueError(f"{given} was given without {missing}: validation data needs both")
        if X_val is None:
            return None
        if self.division.splits is not None or self.division.n_folds is not None:
            raise ValueError("X_val was given with cv, but only one of them can say which rows validate: leave one out")
        table = read_table(X_val, self.table.columns)
        y = self.target.standardise(check_target(y_val, table.n_rows, "y_val"))
        return LabelledRows(table.values, y, np.ones(len(y)), np.ones(len(y), np.int64))


class CircuitRegressor(ReportableModel, ExportableModel, RegressorMixin, BaseEstimator):
    """A regressor that is a circuit: base of those that learn one."""

    cv: Any
    categorical_features: Any
    max_categories: int | None
    min_frequency: int
    n_jobs: int | None
    loss: Any
    quantile: float

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return predictions for a table with the columns of `fit`: named ones in any order, others do no harm.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of shape (n_samples, n_features)
            The rows to predict; only columns that rules use are read.

        Returns
        -------
        ndarray of shape (n_samples,)

        """
        if not hasattr(self, "circuit_"):  # faster than check_is_fitted: one row takes microseconds
            check_is_fitted(self)
        prepared, threads = self._prepared_circuit(), n_threads(self.n_jobs)
        if self._is_plain_array(X) and (fast := predict_array(prepared, X, threads)) is not None:
            return fast
        unknown = Counter[tuple[str, Category]]()
        batches = read_batches(X, self.circuit_.columns, prepared.program.used, unknown)
        first = next(batches)
        predicted = [predict_values(prepared, first.values, threads)]
        if not (first.named and hasattr(self, "feature_names_in_")):
            validate_data(self, X, reset=False, skip_check_array=True)
        predicted += [predict_values(prepared, batch.values, threads) for batch in batches]
        warn_of_unknown(unknown)
        return np.concatenate(predicted) if len(predicted) > 1 else predicted[0]

    def save(self, path: AnyPath) -> None:
        """Write the fitted model to a file that `dln.load` reads: data only, the same bytes for the same model.

        The file is whole or is not there: a crash or a full disk leaves what was there before. Parameters that say how
        to run a fit (`n_jobs`, `verbose`, `callbacks`) are left out, and so are `random_state` and
        `cv` that are no numbers; of the folds, ``training_facts_["folds"]`` keeps the kind and the number.

        Parameters
        ----------
        path : path
            The file, like "house.dln".

        """
        check_is_fitted(self, "circuit_")
        write_model(path, to_saved(self))

    def _prepared_circuit(self) -> PreparedCircuit:
        """Return the circuit with its program, which is made once."""
        prepared: PreparedCircuit | None = self.__dict__.get("_prepared")
        if prepared is None or prepared.circuit is not self.circuit_:
            self._prepared = prepared = PreparedCircuit(self.circuit_)
        return prepared

    def _is_plain_array(self, X: Any) -> bool:
        """Return whether `read_table` would change nothing: an array of numbers, for a model of unnamed numbers."""
        return (
            type(X) in (np.ndarray, np.memmap)
            and X.dtype.char in "df"
            and X.dtype.isnative
            and X.ndim == 2  # noqa: PLR2004 (rows and columns)
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_ == len(self.circuit_.columns)  # none is a part of a date
            and not hasattr(self, "feature_names_in_")
            and not self._prepared.program.reads_categories
        )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_prepared"}

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.loss != "quantile" and self.quantile != 0.5:  # noqa: PLR2004 (the default)
            raise ValueError(
                f"quantile={self.quantile:g} needs loss='quantile', got loss={self.loss!r}: give both or neither"
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _learned(self, X: Any, rows: Rows, circuit: Circuit) -> None:
        """Become the fitted model. Only now: a fit that fails leaves the model as it was."""
        validate_data(self, X, skip_check_array=True)
        self.circuit_ = circuit
        self._prepared = PreparedCircuit(circuit)  # now, so that predict changes nothing
        for name in ("target_name_", "intervals_", "edits_", "frozen_"):  # those of an earlier fit
            self.__dict__.pop(name, None)
        if rows.target_name is not None:
            self.target_name_ = rows.target_name
        self.training_facts_ = rows.facts(circuit)
        if rows.division.is_given:
            self.training_facts_["folds"] = rows.division.facts()


def draw_seed(random_state: int | np.random.RandomState | None) -> int:
    """Return a seed drawn from what `random_state` means, as in scikit-learn."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def end_early(deadline: Deadline, max_seconds: float | None, kept: str) -> None:
    """Raise KeyboardInterrupt after Ctrl-C, or warn the caller of `fit` that its time limit cut stages short."""
    if deadline.was_cancelled:
        raise KeyboardInterrupt(kept)
    if deadline.cut:
        cut = ", ".join(deadline.cut)
        message = f"max_seconds={max_seconds:g} is over: {kept}; cut short: {cut}"
        warnings.warn(message, TimeLimitWarning, stacklevel=4)


@cache
def n_threads(n_jobs: int | None) -> int:
    """Return the threads that `n_jobs` means, as in scikit-learn; None means one per core."""
    cores = os.cpu_count() or 1
    if n_jobs is None:
        return cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else n_jobs
