"""The rows of each fold as a trial's model sees them, made once for all trials of a process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

Rows: TypeAlias = npt.NDArray[np.intp]
Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows to learn from and rows to be tested on."""

    X_train: Any
    y_train: Floats
    X_test: Any
    y_test: Floats


class Folds:
    """A table in folds. Where an estimator is a pipeline, its first steps are the same for all trials that leave them.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaled = Pipeline([("scale", StandardScaler()), ("model", Ridge())])
    >>> folds = Folds(np.array([[1.0], [3.0], [9.0]]), np.zeros(3), ((np.array([0, 1]), np.array([2])),))
    >>> model, part = folds.last_step(scaled, {"model__alpha": 2.0}, 0)
    >>> model, part.X_train.ravel().tolist()
    (Ridge(alpha=2.0), [-1.0, 1.0])
    """

    def __init__(self, X: Any, y: Floats, rows: tuple[tuple[Rows, Rows], ...]) -> None:
        self.X, self.y, self.rows = X, y, rows
        self._plain: dict[int, Part] = {}
        self._prepared: dict[int, Part] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def last_step(self, estimator: Any, params: dict[str, Any], k: int) -> tuple[Any, Part]:
        """Return what is to be fitted for these parameters in a fold, and the rows as it sees them."""
        model = clone(estimator).set_params(**params)
        if not _shares_its_head(estimator, params):
            return model, self._part(k)
        if k not in self._prepared:
            plain, head = self._part(k), clone(Pipeline(estimator.steps[:-1]))
            X_train = head.fit_transform(plain.X_train, plain.y_train)
            self._prepared[k] = Part(X_train, plain.y_train, head.transform(plain.X_test), plain.y_test)
        return model.steps[-1][1], self._prepared[k]

    def _part(self, k: int) -> Part:
        if k not in self._plain:
            train, test = self.rows[k]
            self._plain[k] = Part(
                _safe_indexing(self.X, train), self.y[train], _safe_indexing(self.X, test), self.y[test]
            )
        return self._plain[k]


def _shares_its_head(estimator: Any, names: Iterable[str]) -> bool:
    """Whether an estimator is a pipeline of which these parameters change the last step only."""
    if type(estimator) is not Pipeline or len(estimator.steps) == 1:
        return False
    name, last = estimator.steps[-1]
    return hasattr(last, "fit") and all(each.startswith(f"{name}__") for each in names)
