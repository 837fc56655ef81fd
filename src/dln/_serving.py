"""`dln.load` for a process that only predicts a few rows: numpy is all that it waits for.

A loaded model is a `RuleRegressor`, and that needs scikit-learn and Numba, which take a second to import. So in a
process that has not imported them, `load` returns a `LoadedModel`: it predicts a few plain rows by itself, and becomes
the `RuleRegressor` that it stands for, in place, when anything else is asked of it.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from dln._atomic import AnyPath
from dln.circuit._circuit import MISSING, UNKNOWN, Column, Values
from dln.readers.model_file import MAX_BYTES, SavedModel, read_model

if TYPE_CHECKING:
    from dln._rule import RuleRegressor

#: Rows that are predicted in plain numpy: more are worth the import of what is faster.
FEW_ROWS: Final = 1000

#: Types whose values mean the same to us and to any table.
_PLAIN: Final = {int, float, bool, str, type(None)}
_PLAIN_DTYPES: Final = (np.float64, np.float32, np.int64, np.object_)


def load(path: AnyPath, *, max_bytes: int = MAX_BYTES) -> RuleRegressor:
    """Return the fitted model that `RuleRegressor.save` wrote: it predicts the same bits.

    Nothing in the file is ever run. A process that only loads a model and predicts a few rows, given as lists or as an
    array, imports nothing slow.

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
    if "dln._rule" in sys.modules:
        from dln._rule import load_estimator

        return load_estimator(path, max_bytes=max_bytes)
    return cast("RuleRegressor", LoadedModel(read_model(path, max_bytes), path))


class LoadedModel:
    """A model from a file that is a `RuleRegressor` as soon as more than a few predictions are asked of it."""

    def __init__(self, saved: SavedModel, path: AnyPath) -> None:
        self._saved, self._path = saved, path

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return predictions, as `RuleRegressor.predict` does."""
        values = plain_values(X, self._saved.circuit.columns)
        if values is None:
            return self._whole().predict(X)
        if self._saved.named:
            message = "X does not have valid feature names, but RuleRegressor was fitted with feature names"
            warnings.warn(message, UserWarning, stacklevel=2)  # scikit-learn's words
        return self._saved.circuit.evaluate(values)

    @property
    def circuit_(self) -> Any:
        """The model: rules in the user's names and units."""
        return self._saved.circuit

    def _whole(self) -> RuleRegressor:
        """Become the estimator, and return it."""
        from dln._saving import from_saved

        kind = self.__class__
        self.__dict__ = from_saved(kind, self._saved, self._path).__dict__
        vars(object)["__class__"].__set__(self, kind)  # past the property below
        return cast("RuleRegressor", self)

    @property  # type: ignore[misc]
    def __class__(self) -> type[RuleRegressor]:  # type: ignore[override]
        """What `isinstance` asks for. It does not become the estimator here: `isinstance` would not notice."""
        from dln._rule import estimator_class

        return estimator_class(self._saved)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_saved", "_path", "__dict__"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._whole(), name, value)

    def __repr__(self) -> str:
        return repr(self._whole())

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self._whole().__reduce_ex__(protocol)

    def _repr_html_(self) -> Any:
        return self._whole()._repr_html_()


def plain_values(X: Any, columns: tuple[Column, ...]) -> list[Values] | None:
    """Return a few plain rows column by column, as `read_table` would; None for all that needs a second look."""
    rows = _plain_rows(X, len(columns))
    if rows is None:
        return None
    values: list[Values] = []
    for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
        if not {type(cell) for cell in cells} <= _PLAIN:
            return None
        converted = _numbers(cells) if column.categories is None else _codes(cells, column)
        if converted is None:
            return None
        values.append(converted)
    return values


def _plain_rows(X: Any, n_columns: int) -> Sequence[Sequence[Any]] | None:
    """Return a few rows as lists or tuples of so many cells; None if X is anything else."""
    if isinstance(X, np.ndarray):
        if type(X) is not np.ndarray or X.dtype not in _PLAIN_DTYPES or X.ndim != 2 or len(X) > FEW_ROWS:  # noqa: PLR2004 (rows and columns)
            return None
        X = X.tolist()
    if type(X) not in (list, tuple) or not 0 < len(X) <= FEW_ROWS:
        return None
    if any(type(row) not in (list, tuple) or len(row) != n_columns for row in X):
        return None
    rows: Sequence[Sequence[Any]] = X
    return rows


def _numbers(cells: Sequence[Any]) -> Values | None:
    try:
        numbers = np.array([math.nan if cell is None else cell for cell in cells], dtype=np.float64)
    except (ValueError, OverflowError):
        return None
    if any(type(cell) is str for cell in cells) or np.isinf(numbers).any():
        return None
    return numbers


def _codes(cells: Sequence[Any], column: Column) -> Values | None:
    if any(type(cell) is float and math.isinf(cell) for cell in cells):
        return None
    known = {_key(category): code for code, category in enumerate(column.categories or ())}
    is_boolean = set(known) == {(0, False), (0, True)}
    if is_boolean:
        known |= {(1, 0): known[0, False], (1, 1): known[0, True]}
    elif any(type(cell) is bool for cell in cells):
        return None  # a table of numbers would take it for 0 or 1
    return np.array(
        [
            MISSING if cell is None or cell != cell else known.get(_key(cell), UNKNOWN)  # noqa: PLR0124 (NaN)
            for cell in cells
        ],
        dtype=np.int32,
    )


def _key(value: Any) -> tuple[int, Any]:
    """Return what tells values apart: to Python, True equals 1."""
    return (0 if type(value) is bool else 2 if type(value) is str else 1), value
