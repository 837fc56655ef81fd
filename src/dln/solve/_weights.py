"""Weights of given rules: ridge regression, for other losses reweighted until it settles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dln.data._division import IN_TURN, Division
from dln.solve._losses import Loss
from dln.solve._products import Bools, Floats, centred_products, products
from dln.solve._signs import Signs, solve_with_signs

#: Ridge penalty of a selection, as a share of the variance of a typical rule: enough to tell apart rules that nearly
#: repeat each other.
PENALTY: Final = 1e-3
#: The variance of a rule that holds for a fifth of the rows.
TYPICAL_VARIANCE: Final = 0.15
#: Ridge penalties that are tried, as shares of the mean variance of a rule.
_PENALTIES: Final = 10.0 ** np.arange(-4.0, 1.5, 0.5)
_FOLDS: Final = 5
#: Rounds of reweighting for losses other than the square, and the share of the spread below which a residual is zero.
_ROUNDS: Final = 50
_ZERO_RESIDUAL: Final = 1e-4


def solve_weights(
    rules: Bools,
    y: Floats,
    weight: Floats,
    penalty: float,
    *,
    loss: str = "squared_error",
    quantile: float = 0.5,
    offset: Floats | float = 0.0,
    signs: Signs | None = None,
) -> tuple[float, Floats]:
    """Return the intercept and the weights of rules ``(n_rules, n)`` that fit y best under the loss.

    `penalty` is a share of the mean variance of a rule, times the rows' weight; `offset` is added to predictions.
    Weights have these signs, if any.
    """
    weight = weight / weight.mean()
    spread = float(np.sqrt(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))) or 1.0
    y = y - offset
    moments = _Moments.of(rules, y, weight)
    ridge = penalty * moments.scale
    intercept, weights = moments.solve(ridge, signs)
    if loss == "squared_error":
        return intercept, weights
    for _ in range(_ROUNDS):
        residual = y - intercept - weights @ rules
        reweighted = weight * _irls_weights(residual, spread, loss, quantile)
        intercept, weights = _Moments.of(rules, y, reweighted).solve(ridge, signs)
    return intercept, weights


def cross_validated_penalty(
    rules: Bools,
    y: Floats,
    weight: Floats,
    counts: npt.NDArray[np.int64] | None = None,
    division: Division = IN_TURN,
) -> float:
    """Return the penalty whose weights, found without a fold, err least on it, summed over the folds.

    Rows are in canonical order, by a hash of their content: every fifth of them is as good as drawn by lot. `counts`
    ``(n,)`` are those of `fold_weights`, one each by default.
    """
    y = y - float(np.average(y, weights=weight))
    counts = np.ones(len(y), dtype=np.int64) if counts is None else counts
    held_out, training = division.folds(weight, _FOLDS, counts) if len(y) >= 2 * _FOLDS else ((), ())

    def sums(part: Floats) -> _Sums:
        rows = np.flatnonzero(part)
        return _Sums.of(rules[:, rows], y[rows], part[rows])

    # Once for each fold: the sums over all others are those of its training, unless the user's splits say otherwise.
    by_fold = [sums(part) for part in held_out]
    errors = np.zeros(len(_PENALTIES))
    for k, aside in enumerate(by_fold):
        others = (
            sums(training[k]) if division.splits is not None else reduce(_Sums.plus, by_fold[:k] + by_fold[k + 1 :])
        )
        moments = _Moments.of_sums(others)
        for i, penalty in enumerate(_PENALTIES):
            errors[i] += aside.error(*moments.solve(penalty * moments.scale))
    return float(_PENALTIES[int(np.argmin(errors))])


def refitted_weights(
    rules: Bools,
    y: Floats,
    weight: Floats,
    counts: npt.NDArray[np.int64] | None,
    loss: Loss,
    given: Floats | None = None,
    signs: Sequence[int] | None = None,
    division: Division = IN_TURN,
) -> tuple[float, Floats]:
    """Return intercept and weights of rules ``(n_rules, n)`` for a cross-validated penalty.

    Weights that are `given` ``(n_rules,)``, not NaN, stay as they are; the others have these signs, if any.
    """
    weights = np.full(len(rules), np.nan) if given is None else given.copy()
    free = np.isnan(weights)
    offset = weights[~free] @ rules[~free]
    penalty = cross_validated_penalty(rules[free], y - offset, weight, counts, division)
    intercept, weights[free] = solve_weights(
        rules[free],
        y,
        weight,
        penalty,
        loss=loss.name,
        quantile=loss.quantile,
        offset=offset,
        signs=None if signs is None else np.array(signs, dtype=np.int64)[free],
    )
    return intercept, weights


def _irls_weights(residual: Floats, spread: float, loss: str, quantile: float) -> Floats:
    """Return the weights under which least squares has the gradient of the loss."""
    size = np.maximum(np.abs(residual), _ZERO_RESIDUAL * spread)
    if loss == "huber":
        return np.minimum(1.0, spread / size)
    if loss == "quantile":
        return np.where(residual > 0, quantile, 1.0 - quantile) / size
    return np.asarray(1.0 / size)


class _Sums(NamedTuple):
    """Weighted sums over rows."""

    weight: float
    y: float
    y_squared: float
    rules: Floats
    among: Floats
    """(n_rules, n_rules): of rule times rule."""
    across: Floats
    """(n_rules,): of rule times y."""

    @classmethod
    def of(cls, rules: Bools, y: Floats, weight: Floats) -> _Sums:
        among, across = products(rules, weight, np.column_stack([np.ones(len(y)), y]))
        return cls(float(weight.sum()), float(weight @ y), float(weight @ y**2), across[:, 0], among, across[:, 1])

    def plus(self, other: _Sums) -> _Sums:
        """Return the sums over the rows of both."""
        pairs: Iterable[tuple[Any, Any]] = zip(self, other, strict=True)
        return _Sums(*(mine + theirs for mine, theirs in pairs))

    def error(self, intercept: float, weights: Floats) -> float:
        """Return the sum of the squared errors of a weighted sum of the rules."""
        predicted = intercept * self.weight + 2.0 * float(weights @ self.rules)
        squares = intercept * predicted + float(weights @ self.among @ weights)
        return self.y_squared - 2.0 * (intercept * self.y + float(weights @ self.across)) + squares


class _Moments:
    """Means, Gram matrix and right side of a weighted least-squares problem on centred rules."""

    def __init__(self, means: Floats, y_mean: float, gram: Floats, right: Floats) -> None:
        self._means, self._y_mean, self._gram, self._right = means, y_mean, gram, right
        self.scale = max(float(np.trace(gram)) / max(len(gram), 1), np.finfo(np.float64).tiny)
        """The mean variance of a rule, times the rows' weight."""

    @classmethod
    def of(cls, rules: Bools, y: Floats, weight: Floats) -> _Moments:
        return cls(*centred_products(rules, y, weight))

    @classmethod
    def of_sums(cls, sums: _Sums) -> _Moments:
        means, y_mean = sums.rules / sums.weight, sums.y / sums.weight
        gram = sums.among - np.outer(means, means) * sums.weight
        return cls(means, y_mean, gram, sums.across - means * sums.y)

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        """Return eigenvalues, eigenvectors and the right side in their terms: once for all penalties."""
        values, vectors = np.linalg.eigh(self._gram)
        return np.maximum(values, 0.0), vectors, vectors.T @ self._right

    def solve(self, penalty: float, signs: Signs | None = None) -> tuple[float, Floats]:
        """Return intercept and weights for a ridge penalty; with signs, it must be above zero."""
        if signs is not None:
            weights = solve_with_signs(self._gram + penalty * np.eye(len(self._gram)), self._right, signs)
            return self._y_mean - float(weights @ self._means), weights
        values, vectors, right = self._spectrum
        shrunk = values + penalty
        # Equal rules leave the matrix singular where the penalty vanishes: what it cannot tell apart gets no weight.
        separable = shrunk > len(shrunk) * np.finfo(np.float64).eps * shrunk.max(initial=0.0)
        weights = vectors @ np.divide(right, shrunk, out=np.zeros_like(right), where=separable)
        return self._y_mean - float(weights @ self._means), weights
