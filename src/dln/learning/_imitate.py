"""Fewer rules that predict nearly the same: imitation of a sum of many rules by a sum of few of them.

Chosen to imitate the predictions of all rules together, not the target: what many rules average out, a few chosen by
the target would learn by heart.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dln.learning._inputs import Bools, Floats
from dln.learning._products import products
from dln.learning._subsets import left_out

Places: TypeAlias = npt.NDArray[np.intp]

#: Equal rules are told apart by this share of a rule's mean variance.
_JITTER: Final = 1e-4
#: Exchanges of one rule for another, at most, how many that might enter are tried at a time, and the share of what is
#: explained below which an exchange is not worth it.
_EXCHANGES: Final = 200
_ENTRANTS: Final = 8
_WORTH: Final = 1e-6


class Imitation:
    """What is known of rules ``(n_rules, n)`` and of predictions ``(n,)`` that a few of them are to come near to.

    >>> rng = np.random.default_rng(0)
    >>> rules = rng.random((3, 200)) < 0.5
    >>> Imitation(rules, 5.0 * rules[2] - 2.0 * rules[0], np.ones(200)).rules(2)
    [0, 2]
    """

    def __init__(self, rules: Bools, predictions: Floats, weight: Floats) -> None:
        weight = weight / weight.sum()
        centred = predictions - float(weight @ predictions)
        gram, across = products(rules, weight, np.column_stack([np.ones(len(centred)), centred]))
        gram -= np.outer(across[:, 0], across[:, 0])
        scale = float(np.trace(gram)) / max(len(gram), 1)
        gram[np.diag_indices_from(gram)] += _JITTER * max(scale, np.finfo(np.float64).tiny)
        self._gram, self._right = gram, across[:, 1]
        self._left_out = left_out(gram, self._right)

    def rules(self, n_rules: int) -> list[int]:
        """Return the places of at most so many rules whose best sum is near the predictions, ascending.

        The rule that is missed least is left out, one by one; then rules are exchanged, one for another, as long as
        that brings the sum nearer.
        """
        kept = self._left_out[max(0, len(self._left_out) - n_rules) :]
        return sorted(_exchange(self._gram, self._right, kept).tolist())


def _exchange(gram: Floats, right: Floats, kept: Places) -> Places:
    """Return as many rules that explain no less: one of a few entrants takes the place of the rule missed least."""
    kept = kept.copy()
    for _ in range(_EXCHANGES if 0 < len(kept) < len(right) else 0):
        inverse = np.linalg.inv(gram[np.ix_(kept, kept)])
        weights = inverse @ right[kept]
        among = gram[:, kept]
        left = gram.diagonal() - ((among @ inverse) * among).sum(axis=1)
        gain = (right - among @ weights) ** 2 / np.maximum(left, _JITTER * gram.diagonal())
        gain[kept] = 0.0
        best, entrant, leaver = _WORTH * float(weights @ right[kept]), -1, -1
        for one in np.argsort(-gain, kind="stable")[:_ENTRANTS]:
            if gain[one] <= best:
                break
            more = np.append(kept, one)
            inverse = np.linalg.inv(gram[np.ix_(more, more)])
            missed = (inverse @ right[more]) ** 2 / inverse.diagonal()
            least = int(np.argmin(missed[:-1]))
            if gain[one] - missed[least] > best:
                best, entrant, leaver = float(gain[one] - missed[least]), int(one), least
        if entrant < 0:
            break
        kept[leaver] = entrant
    return kept
