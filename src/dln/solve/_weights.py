"""Losses, and weights of given rules: ridge regression, for losses other than the square reweighted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Circuit, Rule, Values, on_grid
from dln.data._division import IN_TURN, Division
from dln.data._rows import Bools, Floats, weighted_quantile
from dln.data._target import Target

#: 1 where a weight must be at least zero, -1 where at most, 0 where it is free.
Signs = npt.NDArray[np.int64]

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
#: Exchanges of whole blocks without progress, before weights are exchanged one by one.
_PATIENCE: Final = 5
#: Rounds at most, besides one for each weight: rounding errors must not keep a fit from ending.
_MAX_ROUNDS: Final = 100
#: A gradient below this share of the right side is zero.
_ZERO: Final = 1e-12
#: Rows of a block: as numbers, those of a few hundred rules are some megabytes.
_PRODUCT_BLOCK: Final = 8192
#: Rows whose node values are computed at once: of a thousand nodes, 25 megabytes.
_NODE_BLOCK: Final = 25_000
#: Huber's loss turns from square to line at one standard deviation of the target, which is one here.
HUBER_DELTA: Final = 1.0


class Loss(NamedTuple):
    """A loss by name, and the quantile where that is to be predicted."""

    name: str = "squared_error"
    quantile: float = 0.5

    def each(self, residual: Floats) -> Floats:
        """Return the losses of residuals ``(n,)``: the target less the prediction."""
        size = np.abs(residual)
        if self.name == "squared_error":
            return np.asarray(residual**2)
        if self.name == "huber":
            return np.where(size <= HUBER_DELTA, 0.5 * residual**2, HUBER_DELTA * (size - 0.5 * HUBER_DELTA))
        if self.name == "quantile":
            return np.asarray(np.where(residual > 0, self.quantile, 1.0 - self.quantile) * size)
        return size

    def explained(self, y: Floats, predicted: Floats, weight: Floats) -> float:
        """Return 1 less the loss as a share of that of the best constant: R² where the loss is the square.

        >>> y = np.array([0.0, 1.0, 2.0])
        >>> Loss().explained(y, np.array([0.0, 1.0, 1.0]), np.ones(3))
        0.5
        """
        is_mean = self.name in {"squared_error", "huber"}
        constant = np.average(y, weights=weight) if is_mean else weighted_quantile(y, weight, self.quantile)
        whole, left = (float(weight @ self.each(y - one)) for one in (constant, predicted))
        return 1.0 - left / whole if whole > 0 else 0.0


#: The default.
SQUARED_ERROR: Final = Loss()


def solve_weights(
    rules: Bools,
    y: Floats,
    weight: Floats,
    penalty: float,
    loss: Loss = SQUARED_ERROR,
    *,
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
    if loss.name == "squared_error":
        return intercept, weights
    for _ in range(_ROUNDS):
        residual = y - intercept - weights @ rules
        reweighted = weight * _irls_weights(residual, spread, loss)
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
        loss,
        offset=offset,
        signs=None if signs is None else np.array(signs, dtype=np.int64)[free],
    )
    return intercept, weights


def _irls_weights(residual: Floats, spread: float, loss: Loss) -> Floats:
    """Return the weights under which least squares has the gradient of the loss."""
    size = np.maximum(np.abs(residual), _ZERO_RESIDUAL * spread)
    if loss.name == "huber":
        return np.minimum(1.0, spread / size)
    if loss.name == "quantile":
        return np.where(residual > 0, loss.quantile, 1.0 - loss.quantile) / size
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


def solve_with_signs(matrix: Floats, right: Floats, signs: Signs | None) -> Floats:
    """Return the weights that minimise ``w' matrix w / 2 - right' w`` among those with these signs, ``(n,)``.

    Block principal pivoting (Portugal, Judice and Vicente 1994): solve for the weights thought not to be zero, then
    exchange those of the wrong sign for those whose gradient would give them the right one. Single exchanges, once
    blocks do not help, end: the matrix is positive definite.
    """
    if signs is None:
        return np.asarray(np.linalg.solve(matrix, right), np.float64)
    weights = np.zeros(len(right))
    positive = np.ones(len(right), np.bool_)
    fewest, patience = len(right) + 1, _PATIENCE
    tolerance = _ZERO * float(np.abs(right).max(initial=0.0))
    for _ in range(_MAX_ROUNDS + len(right)):
        kept = np.flatnonzero(positive)
        weights[:] = 0.0
        weights[kept] = np.linalg.solve(matrix[np.ix_(kept, kept)], right[kept])
        gradient = right - matrix @ weights
        wrong = np.flatnonzero(np.where(positive, signs * weights < 0.0, signs * gradient > tolerance))
        if not len(wrong):
            return weights
        fewest, patience = (len(wrong), _PATIENCE) if len(wrong) < fewest else (fewest, patience - 1)
        exchanged = wrong if patience > 0 else wrong[-1:]
        positive[exchanged] = ~positive[exchanged]
    return np.where(signs * weights < 0.0, 0.0, weights)


def products(rules: Bools, weight: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return the weighted sums, over the rows, of rule times rule and of rule times others.

    `rules` are ``(n_rules, n)``, `others` ``(n, k)``; the sums are ``(n_rules, n_rules)`` and ``(n_rules, k)``.

    >>> rules = np.array([[True, True, False], [False, True, True]])
    >>> products(rules, np.array([1.0, 2.0, 3.0]), np.array([[10.0], [20.0], [30.0]]))
    (array([[3., 2.],
           [2., 5.]]), array([[ 50.],
           [130.]]))
    """
    n_rules, n = rules.shape
    among, across = np.zeros((n_rules, n_rules)), np.zeros((n_rules, others.shape[1]))
    for start in range(0, n, _PRODUCT_BLOCK):
        rows = slice(start, start + _PRODUCT_BLOCK)
        some = rules[:, rows].astype(np.float64)
        weighted = some * weight[rows]
        among += weighted @ some.T
        across += weighted @ others[rows]
    return among, across


def centred_products(rules: Bools, y: Floats, weight: Floats) -> tuple[Floats, float, Floats, Floats]:
    """Return the rules' means, that of y, and the products of the centred rules with themselves and with centred y."""
    total = float(weight.sum())
    y_mean = float(weight @ y) / total
    gram, across = products(rules, weight, np.column_stack([np.ones(len(y)), y - y_mean]))
    means = across[:, 0] / total
    return means, y_mean, gram - np.outer(means, means) * total, across[:, 1]


# --- rules of a circuit -----------------------------------------------------------------------------------------------


def with_weights(circuit: Circuit, nodes: Sequence[int], intercept: float, weights: Floats, target: Target) -> Circuit:
    """Return a circuit with some of its nodes as rules, their weights given for the standardised target."""
    decimals = circuit.decimals
    rules = tuple(
        Rule(node, on_grid(target.spread * weight, decimals))
        for node, weight in zip(nodes, weights.tolist(), strict=True)
    )
    return replace(circuit, rules=rules, intercept=on_grid(target.mean + target.spread * intercept, decimals))


def rule_values(circuit: Circuit, values: Sequence[Values]) -> Bools:
    """Return where each rule fires on some rows, ``(n_rules, n)``, computed block by block."""
    return node_values(circuit, [rule.node for rule in circuit.rules], values)


def node_values(circuit: Circuit, nodes: Sequence[int], values: Sequence[Values]) -> Bools:
    """Return the values of some nodes on some rows, ``(n_nodes, n)``, computed block by block."""
    n_rows = len(values[0])
    holds = np.empty((len(nodes), n_rows), dtype=np.bool_)
    for start in range(0, n_rows, _NODE_BLOCK):
        block = slice(start, start + _NODE_BLOCK)
        of_all = circuit.node_values([column[block] for column in values])
        for i, node in enumerate(nodes):
            holds[i, block] = of_all[node]
    return holds
