"""From the rules of one or several networks to the rules of the model: pooling and refitting.

The sum of networks is a network: their rules are pooled into one circuit. The last layer is linear in the rules, so
its weights are solved for, not searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dln._builder import CircuitBuilder, Signal, add_circuit
from dln._circuit import Bits, Circuit, Column
from dln._products import products

Floats = npt.NDArray[np.float64]

#: Ridge penalties that are tried, as shares of the mean square of a column.
_PENALTIES: Final = 10.0 ** np.arange(-6.0, 1.5, 0.5)
#: Rounds of reweighting for losses other than the square, and the share of the spread below which a residual is zero.
_ROUNDS: Final = 50
_ZERO_RESIDUAL: Final = 1e-4


def pool(columns: tuple[Column, ...], circuits: Sequence[Circuit]) -> tuple[CircuitBuilder, list[Signal]]:
    """Return a builder that holds all circuits' gates, shared where equal, and their rules' signals, once each."""
    builder = CircuitBuilder(columns)
    signals: dict[int, Signal] = {}
    for circuit in circuits:
        for signal in add_circuit(builder, circuit):
            if signal.node >= 0:
                signals.setdefault(signal.node, Signal(signal.node))
    return builder, list(signals.values())


def distinct(rules: Sequence[Bits]) -> list[int]:
    """Return the places of rules that differ on the data: no constants, no second of equal or opposite ones."""
    seen: set[bytes] = set()
    kept = []
    for place, fires in enumerate(rules):
        packed = np.packbits(fires ^ fires[:1])  # starts with 0: a rule and its opposite look the same
        key = packed.tobytes()
        if packed.any() and key not in seen:
            seen.add(key)
            kept.append(place)
    return kept


def solve_weights(
    rules: npt.NDArray[np.bool_], y: Floats, weight: Floats, *, loss: str = "squared_error", quantile: float = 0.5
) -> tuple[float, Floats]:
    """Return the intercept and the weights of rules ``(n_rules, n)`` that fit y best under the loss.

    Ridge regression, with the penalty chosen by generalised cross-validation; for other losses than the square, the
    same reweighted until it settles.
    """
    fires = rules.astype(np.float64)
    penalty, intercept, coefficients = LeastSquares(fires, y, weight).solve()
    if loss == "squared_error":
        return intercept, coefficients
    weight = weight / weight.mean()
    spread = float(np.sqrt(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))) or 1.0
    for _ in range(_ROUNDS):
        residual = y - intercept - coefficients @ fires
        pull = weight * _pull(residual, spread, loss, quantile)
        intercept, coefficients = LeastSquares(fires, y, pull).solve_with(penalty)
    return intercept, coefficients


def _pull(residual: Floats, spread: float, loss: str, quantile: float) -> Floats:
    """Return the weights under which least squares has the gradient of the loss."""
    size = np.maximum(np.abs(residual), _ZERO_RESIDUAL * spread)
    if loss == "huber":
        return np.minimum(1.0, spread / size)
    if loss == "quantile":
        return np.where(residual > 0, quantile, 1.0 - quantile) / size
    return np.asarray(1.0 / size)


class LeastSquares:
    """Rules and a target, ready to be solved for weights; products are kept, so that one rule is replaced quickly.

    `fires` ``(n_rules, n)``, 0 or 1, is not copied: `replace` writes to it.
    """

    def __init__(self, fires: Floats, y: Floats, weight: Floats) -> None:
        self._fires = fires
        self._weight = weight / weight.mean()
        self._share = self._weight / self._weight.sum()
        self._y = y
        self._y_mean = float(y @ self._share)
        self._pull = self._weight * (y - self._y_mean)
        self._products, _ = products(fires, self._weight)

    def replace(self, place: int, fires: Floats | npt.NDArray[np.bool_]) -> None:
        """Put another rule in the place of one."""
        self._fires[place] = fires
        self._products[place] = self._products[:, place] = self._fires @ (self._weight * fires)

    def solve(self) -> tuple[float, float, Floats]:
        """Return the ridge penalty with the least generalised cross-validation error, intercept and weights."""
        means, gram, right = self._centred()
        n = float(len(self._y))
        values, vectors = np.linalg.eigh(gram)
        values = np.maximum(values, 0.0)
        projected = vectors.T @ right
        total = float(self._pull @ (self._y - self._y_mean))
        scale = max(float(np.trace(gram)) / max(len(gram), 1), np.finfo(np.float64).tiny)
        best = (np.inf, 0.0)
        for penalty in _PENALTIES * scale:
            shrunk = projected / (values + penalty)
            residual = total - 2 * float(shrunk @ projected) + float(shrunk**2 @ values)
            freedom = n - 1.0 - float((values / (values + penalty)).sum())
            if freedom > 0:
                best = min(best, (max(residual, 0.0) / freedom**2, penalty))
        penalty = best[1] or float(_PENALTIES[-1] * scale)
        coefficients = vectors @ (projected / (values + penalty))
        return penalty, self._y_mean - float(coefficients @ means), coefficients

    def solve_with(self, penalty: float) -> tuple[float, Floats]:
        """Return intercept and weights for a given penalty."""
        means, gram, right = self._centred()
        coefficients = np.asarray(np.linalg.solve(gram + penalty * np.eye(len(gram)), right), dtype=np.float64)
        return self._y_mean - float(coefficients @ means), coefficients

    def _centred(self) -> tuple[Floats, Floats, Floats]:
        """Return the rules' means, and the weighted Gram matrix and right side of the centred problem."""
        means = self._fires @ self._share
        gram = self._products - np.outer(means, means) * self._weight.sum()
        return means, gram, self._fires @ self._pull - means * float(self._pull.sum())
