"""When a trial is not worth going on with: judged by those before it, after every epoch and after every fold.

A trial gets its thresholds when it is asked for, made of the trials before it. So what a trial comes to depends on its
parameters and its thresholds alone, not on where it runs or what runs beside it. Optuna's own pruners read the storage
while the trial runs, and the most fitting of them, Wilcoxon's test over the folds, can tell nothing from four folds.

After a fold, a trial is compared with the best so far on the same folds. Differences of two trials vary from fold to
fold, less than the losses themselves, and that variation is measured on the trials that ran to their end. A trial is
given up where the folds that are left would have to differ from those seen by more than MARGIN times what they do.

Chosen on nine studies of 24 to 64 trials that were run without it (the paper's model on estate, mpg, insurance,
concrete and wine; LightGBM, a tree and a perceptron), each in sixty orders: a margin of 2.5 saves 27 % of the time and
lost the best trial in none of the 540, nor did 2 (31 %); 1.5 lost it in 4 %, 1 in 14 %, 0.5 in 38 %.

After an epoch there is no such measure, and a trial is given up only if it is far behind most others: with the median,
a factor of 1.1 and 15 % of the epochs, half of the time was saved, but the best was lost in most orders of two noisy
tables; with the numbers below it was at most 0.1 % worse on average.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

#: Fewer trials than this say nothing about others.
ENOUGH_TRIALS: Final = 5
#: Standard deviations that a trial may be behind the best after a fold.
MARGIN: Final = 2.5
#: After an epoch: no trial is given up whose loss is within this factor of the best.
CLOSE_TO_BEST: Final = 1.3
#: After an epoch: share of the earlier trials that all have to be better.
SHARE_BETTER: Final = 2 / 3
#: Share of the epochs that every trial may have: small learning rates begin slowly and often end best.
PATIENT_SHARE: Final = 0.3


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a trial has to stay below; nothing where it is not to be pruned."""

    curves: tuple[tuple[tuple[int, float], ...], ...] = ()
    """Of each earlier trial, for its first fold: the epochs that improved the validation loss, and that loss."""
    best: tuple[float, ...] = ()
    """The loss of the best trial in each fold."""
    spread: float = 0.0
    """How much the difference of a trial to the best varies from fold to fold: a standard deviation."""

    @classmethod
    def of(cls, curves: Sequence[Mapping[int, float]], fold_losses: Sequence[Sequence[float]]) -> Thresholds:
        """Return the thresholds that earlier trials set by their curves and by their losses in each fold."""
        known = [tuple(sorted(curve.items())) for curve in curves if curve]
        n_folds = max(map(len, fold_losses), default=0)
        whole = [tuple(losses) for losses in fold_losses if len(losses) == n_folds]
        best: tuple[float, ...] = ()
        spread = 0.0
        if n_folds > 1 and len(whole) >= ENOUGH_TRIALS:
            best = min(whole, key=sum)
            spread = statistics.median(
                statistics.stdev(loss - least for loss, least in zip(losses, best, strict=True))
                for losses in whole
                if losses is not best
            )
        return cls(tuple(known) if len(known) >= ENOUGH_TRIALS else (), best, spread)

    def rules_out_fold(self, losses: Sequence[float]) -> bool:
        """Whether a trial with these losses in its first folds is to end.

        The difference over all n folds, foretold from k of them, has the deviation spread · √((n − k) / (n · k)).
        """
        n, k = len(self.best), len(losses)
        if k >= n:
            return False
        behind = (sum(losses) - sum(self.best[:k])) / k
        return behind > MARGIN * self.spread * math.sqrt((n - k) / (n * k))


@dataclass(slots=True)
class EpochThreshold:
    """The bar of each epoch in turn; epochs are asked for in their order."""

    thresholds: Thresholds
    _next: list[int] = field(default_factory=list)
    _best: list[float] = field(default_factory=list)

    def rules_out(self, epoch: int, max_epochs: int, loss: float) -> bool:
        """Whether a trial whose lowest validation loss up to this epoch is `loss` is to end."""
        if not self.thresholds.curves:
            return False
        if not self._next:
            self._next = [0] * len(self.thresholds.curves)
            self._best = [float("inf")] * len(self.thresholds.curves)
        for i, curve in enumerate(self.thresholds.curves):
            while self._next[i] < len(curve) and curve[self._next[i]][0] <= epoch:
                self._best[i] = curve[self._next[i]][1]
                self._next[i] += 1
        if epoch < PATIENT_SHARE * max_epochs:
            return False
        return loss > _threshold(self._best)


def _threshold(losses: Sequence[float]) -> float:
    """Return the highest loss to go on with, given those of the others at the same point.

    >>> _threshold([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), _threshold([1.0, 1.0, 1.0])
    (4.0, 1.3)
    """
    at_least = sorted(losses)[math.ceil(SHARE_BETTER * len(losses)) - 1]
    return max(at_least, CLOSE_TO_BEST * min(losses))
