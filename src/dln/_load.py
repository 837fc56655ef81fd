"""Model files → fitted estimators, and predictors that start fast."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from dln._atomic import AnyPath
from dln.circuit._circuit import Category, Circuit
from dln.data._categories import warn_of_unknown
from dln.data._reader import read_batches
from dln.data._source import Table
from dln.readers.model_file import MAX_BYTES, SavedModel, read_model

if TYPE_CHECKING:
    from dln._dln import DLNRegressor
    from dln._rule import RuleRegressor

#: Rows after which the compiled kernel has saved the half second that Numba takes to import.
MANY: Final = 50_000


def load(path: AnyPath, *, max_bytes: int = MAX_BYTES) -> RuleRegressor | DLNRegressor:
    """Return the fitted estimator that `save` wrote: it predicts the same bits. Nothing in the file is ever run.

    Parameters
    ----------
    path : path
        The file.
    max_bytes : int, default=16_777_216
        A larger file is refused.

    Returns
    -------
    RuleRegressor or DLNRegressor
        The fitted model, of the class that was saved.

    Raises
    ------
    ModelFileError
        If the file is damaged, hostile, of a later format or too large.

    See Also
    --------
    load_predictor : For a process that only predicts; it starts in a tenth of the time.

    Examples
    --------
    >>> import tempfile, dln
    >>> model = dln.RuleRegressor(random_state=0).fit([[1.0], [2.0], [3.0]], [1.0, 1.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.dln")
    ...     loaded = load(f"{folder}/model.dln")
    >>> bool((loaded.predict([[1.0], [3.0]]) == model.predict([[1.0], [3.0]])).all())
    True

    """
    saved = read_model(path, max_bytes)
    from dln._dln import DLNRegressor
    from dln._rule import RuleRegressor
    from dln._saving import from_saved

    return from_saved(DLNRegressor if saved.kind == "network" else RuleRegressor, saved, path)


def load_predictor(path: AnyPath, *, max_bytes: int = MAX_BYTES) -> Predictor:
    """Return what predicts as the saved model does, to the bit, without importing scikit-learn.

    Parameters
    ----------
    path : path
        The file, written by `save` or ``dln fit``.
    max_bytes : int, default=16_777_216
        A larger file is refused.

    Returns
    -------
    Predictor
        Its ``predict`` takes what an estimator's takes; ``circuit_`` holds the rules.

    Raises
    ------
    ModelFileError
        If the file is damaged, hostile, of a later format or too large.

    """
    return Predictor(read_model(path, max_bytes))


class Predictor:
    """A model that predicts, and nothing else: made by `load_predictor`.

    Attributes
    ----------
    circuit_ : Circuit
        The rules, in the names and units of the training table.

    """

    def __init__(self, saved: SavedModel) -> None:
        self.circuit_: Circuit = saved.circuit
        self._used = frozenset(literal.column for literal in saved.circuit.literals)
        self._n_predicted = 0

    def __repr__(self) -> str:
        return f"Predictor({len(self.circuit_.columns)} columns, {len(self.circuit_.rules)} rules)"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a predictor only predicts, it has no {name!r}: dln.load returns the whole model")

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the predictions of the saved model.

        Numba is imported when more than 50 000 rows have been predicted.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, list of rows, or array of shape (n_samples, n_features)
            Frames are matched by name, in any order; lists and arrays by position.

        Returns
        -------
        ndarray of shape (n_samples,)

        """
        unknown = Counter[tuple[str, Category]]()
        predicted = self._predict_and_count(X, unknown)
        warn_of_unknown(unknown)
        return predicted

    def _predict_and_count(self, X: Any, unknown: Counter[tuple[str, Category]]) -> npt.NDArray[np.float64]:
        """Return predictions; rows of categories that the training table did not have are counted, not warned of."""
        batches = [self._predict(batch) for batch in read_batches(X, self.circuit_.columns, self._used, unknown)]
        return np.concatenate(batches) if len(batches) > 1 else batches[0]

    def _predict(self, batch: Table) -> npt.NDArray[np.float64]:
        self._n_predicted += batch.n_rows
        if self._n_predicted <= MANY:
            return self.circuit_.evaluate(batch.values)
        from dln.circuit.bits import PreparedCircuit, predict

        if not hasattr(self, "_prepared"):
            self._prepared = PreparedCircuit(self.circuit_)
        return predict(self._prepared, batch.values, os.cpu_count() or 1)
