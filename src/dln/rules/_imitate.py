"""Fewer rules that predict nearly the same: imitation of a sum of many rules by a sum of few of them.

Chosen to imitate the predictions of all rules together, not the target: what many rules average out, a few chosen by
the target would learn by heart.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dln.solve._products import Bools, Floats

#: Rows that candidates are compared on, the first ones: rows are in canonical order, as good as drawn by lot.
MAX_ROWS: Final = 15_000
#: Equal rules are told apart by this share of a rule's mean variance.
_JITTER: Final = 1e-4
#: Exchanges of one rule for another at one size, at most, how many that might enter are tried at a time, and the share
#: of what is explained below which an exchange is not worth it; and of how many the covariances are worked out at once.
_EXCHANGES: Final = 200
_ENTRANTS: Final = 40
_AT_ONCE: Final = 8
_WORTH: Final = 1e-6


class _State(NamedTuple):
    """A set of rules: what it explains, and what each rule would add to that."""

    among: Floats
    """(n_rules, n_kept): covariances of all rules with those of the set."""
    explained: float
    gains: Floats


class Imitation:
    """What is known of rules ``(n_rules, n)`` and of predictions ``(n,)`` that a few of them are to come near to.

    >>> rng = np.random.default_rng(0)
    >>> rules = rng.random((3, 200)) < 0.5
    >>> Imitation(rules, 5.0 * rules[2] - 2.0 * rules[0], np.ones(200)).rules(2)
    [0, 2]
    """

    def __init__(self, rules: Bools, predictions: Floats, weight: Floats) -> None:
        share = weight[:MAX_ROWS] / weight[:MAX_ROWS].sum()
        centred = predictions[:MAX_ROWS] - float(share @ predictions[:MAX_ROWS])
        # Single precision: the jitter is far above its rounding errors, and it takes half the memory and time.
        self._share = share.astype(np.float32)
        self._fires = rules[:, :MAX_ROWS].astype(np.float32)
        self._means = (self._fires @ self._share).astype(np.float64)
        variances = self._means * (1.0 - self._means)
        tiny = np.finfo(np.float64).tiny
        self._variances: Floats = variances + _JITTER * max(float(variances.mean()) if len(rules) else 0.0, tiny)
        self._right = (self._fires @ (share * centred).astype(np.float32)).astype(np.float64)
        self._covariances: dict[int, Floats] = {}
        self._sets: list[list[int]] = [[]]
        """The best set of each size, from none on."""

    def rules(self, n_rules: int) -> list[int]:
        """Return the indices of at most so many rules whose best sum is near the predictions, ascending.

        The rule that brings the sum nearest joins, one by one; each time rules are exchanged, one for another, as long
        as that brings it nearer still. Leaving out one by one from all, the exchanges in the end, was 0.002 to 0.004 of
        R² behind at 10 to 30 rules (eleven tables), and takes time that grows with the cube of the candidates.
        """
        while len(self._sets) <= n_rules:
            gains = self._state(self._sets[-1]).gains
            if not len(gains) or gains.max() <= 0.0:
                break
            self._sets.append(self._exchanged([*self._sets[-1], int(np.argmax(gains))]))
        return sorted(self._sets[min(n_rules, len(self._sets) - 1)])

    def _covariance(self, j: int, tried_next: list[int]) -> Floats:
        """Return the covariances of a rule with all, ``(n_rules,)``: only those of rules that are tried are needed.

        Those of the rules that are tried next are worked out with it: the products read all rules, once for all.
        """
        if j not in self._covariances:
            missing = [i for i in dict.fromkeys([j, *tried_next]) if i not in self._covariances]
            together = (self._fires @ (self._fires[missing] * self._share).T).T.astype(np.float64)
            for i, products in zip(missing, together, strict=True):
                self._covariances[i] = products - self._means * self._means[i]
                self._covariances[i][i] = self._variances[i]
        return self._covariances[j]

    def _state(self, kept: list[int]) -> _State:
        right, variances = self._right, self._variances
        among = np.array([self._covariance(j, kept) for j in kept]).reshape(len(kept), len(right)).T
        inverse = np.linalg.inv(among[kept])
        weights = inverse @ right[kept]
        given = variances - ((among @ inverse) * among).sum(axis=1)
        gains: Floats = (right - among @ weights) ** 2 / np.maximum(given, _JITTER * variances)
        gains[kept] = 0.0
        return _State(among, float(weights @ right[kept]), gains)

    def _exchanged(self, kept: list[int]) -> list[int]:
        """Return as many rules that explain no less: an entrant takes the place of the rule that is missed least."""
        for _ in range(_EXCHANGES):
            state = self._state(kept)
            best, change = _WORTH * state.explained, None
            entrants = np.argsort(-state.gains, kind="stable")[:_ENTRANTS].tolist()
            for i, entrant in enumerate(entrants):
                if state.gains[entrant] <= best:
                    break
                more = [*kept, entrant]
                covariance = self._covariance(entrant, entrants[i : i + _AT_ONCE])
                inverse = np.linalg.inv(np.column_stack([state.among[more], covariance[more]]))
                missed = (inverse @ self._right[more]) ** 2 / inverse.diagonal()
                leaver = int(np.argmin(missed[:-1]))
                if state.gains[entrant] - missed[leaver] > best:
                    best, change = float(state.gains[entrant] - missed[leaver]), (leaver, entrant)
            if change is None:
                break
            kept[change[0]] = change[1]
        return kept
