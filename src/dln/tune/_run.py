"""The trials of a search one after the other, or side by side: ask, run, keep, until there are enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final, TypeAlias

from dln._interrupt import sigterm_after_cleanup
from dln.tune._context import Context, Space
from dln.tune._facts import plain_values
from dln.tune._optuna import Evaluation, Suggestion, ask
from dln.tune._pool import Lost, Pool
from dln.tune._progress import Progress
from dln.tune._prune import Thresholds
from dln.tune._storage import Storage
from dln.tune._study import TrialRecord
from dln.tune._trial import Outcome, OutOfTimeError, Trial

#: Trials are asked for in rounds of this many, with the knowledge of all rounds before. So up to this many trials can
#: run side by side and the study is the same as one by one, for a few trials' delay in learning.
ROUND: Final = 4

#: What trials run on: tasks in, outcomes out.
Workers: TypeAlias = Pool[Trial, Outcome]


class Run:
    """The trials of a search as they come."""

    def __init__(
        self,
        space: Space,
        context: Context,
        storage: Storage,
        evaluations: list[Evaluation],
        *,
        seed: int,
        prune: bool,
        progress: Progress,
        callbacks: Sequence[Callable[[TrialRecord], object]] | None,
    ) -> None:
        self._space, self._context, self._storage, self._seed, self._prune = space, context, storage, seed, prune
        self._progress, self._callbacks = progress, callbacks or ()
        self.evaluations = evaluations
        self._stop = False

    def up_to(self, n_trials: int, timeout: float | None, open_pool: Callable[[Callable[[], float]], Workers]) -> bool:
        """Run trials until there are so many; return whether they were interrupted.

        The pool is opened with a function that tells the seconds that are left.
        """
        for evaluation in self.evaluations:
            self._progress.add(TrialRecord.of(evaluation))
        done = {evaluation.suggestion.number for evaluation in self.evaluations}
        missing = [number for number in range(n_trials) if number not in done]
        if not missing:
            return False
        end = math.inf if timeout is None else time.monotonic() + timeout

        def seconds_left() -> float:
            # The first trial is waited for, however long it takes: a search without a result is of no use.
            return end - time.monotonic() if self.evaluations else math.inf

        pool: Workers | None = None
        with sigterm_after_cleanup():
            try:
                pool = open_pool(seconds_left)
                self._progress.begin()
                size = max(ROUND, pool.n_jobs)
                for first in range(0, n_trials, size):
                    self._round(pool, [n for n in missing if first <= n < first + size], first, seconds_left)
                    if self._stop or seconds_left() <= 0:
                        break
            except KeyboardInterrupt:
                return True
            except OutOfTimeError:
                return False
            finally:
                if pool is not None:
                    pool.close()
        return False

    def _round(self, pool: Workers, numbers: list[int], first: int, seconds_left: Callable[[], float]) -> None:
        """Run trials that learn from all before the first of their round."""
        known = sorted(
            (evaluation for evaluation in self.evaluations if evaluation.suggestion.number < first),
            key=lambda evaluation: evaluation.suggestion.number,
        )
        thresholds = Thresholds()
        if self._prune:
            outcomes = [evaluation.outcome for evaluation in known if evaluation.outcome.state != "failed"]
            thresholds = Thresholds.of(
                [outcome.curve for outcome in outcomes], [outcome.losses for outcome in outcomes]
            )
        tasks, suggestions = [], {}
        for number in numbers:
            suggestion = suggestions[number] = ask(self._space, self._context, known, number=number, seed=self._seed)
            if (twin := _twin(suggestion, known)) is None:
                tasks.append(Trial(number, suggestion.params, thresholds))
            else:
                self._end(Evaluation(suggestion, twin))
        with closing(pool.run(tasks, seconds_left)) as ended:
            for task, outcome in ended:
                ended_as = Outcome("failed", error=outcome.reason) if isinstance(outcome, Lost) else outcome
                self._end(Evaluation(suggestions[task.number], ended_as))
                if self._stop or seconds_left() <= 0:
                    return

    def _end(self, evaluation: Evaluation) -> None:
        self._storage.keep(evaluation)
        self.evaluations.append(evaluation)
        record = TrialRecord.of(evaluation)
        self._progress.add(record)
        if any([callback(record) is True for callback in self._callbacks]):  # noqa: C419 (all are called)
            self._stop = True


def _twin(suggestion: Suggestion, known: Sequence[Evaluation]) -> Outcome | None:
    """Return the outcome of an earlier trial with the same parameters: it would be the same again."""
    asked = plain_values(suggestion.params)
    for evaluation in known:
        if evaluation.outcome.state != "failed" and plain_values(evaluation.suggestion.params) == asked:
            outcome = evaluation.outcome
            return Outcome(outcome.state, outcome.losses, outcome.curve, 0.0, outcome.fit_seconds, outcome.error)
    return None
