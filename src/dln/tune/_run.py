"""The trials of a search one after the other, or side by side: ask, run, keep, until there are enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Final

from dln.training._signals import sigterm_after_cleanup
from dln.tune._facts import told
from dln.tune._optuna import Answer, Question, ask
from dln.tune._places import Place
from dln.tune._progress import Progress
from dln.tune._prune import Bars
from dln.tune._space import Context, Space
from dln.tune._storage import Storage
from dln.tune._study import TrialRecord
from dln.tune._trial import Outcome, Task

#: A trial is asked for with the knowledge of all but the last few before it, also where those are finished. So up to
#: this many trials can run side by side and the study is the same as one by one, for a few trials' delay in learning.
LAG: Final = 4


class Run:
    """The trials of a search as they come."""

    def __init__(
        self,
        space: Space,
        context: Context,
        storage: Storage,
        answers: list[Answer],
        *,
        seed: int,
        prune: bool,
        progress: Progress,
        callbacks: Sequence[Callable[[TrialRecord], object]] | None,
    ) -> None:
        self._space, self._context, self._storage, self._seed, self._prune = space, context, storage, seed, prune
        self._progress, self._callbacks = progress, callbacks or ()
        self.answers = answers
        self._open: dict[int, Question] = {}
        self._stop = False

    def up_to(self, n_trials: int, timeout: float | None, open_place: Callable[[], Place]) -> bool:
        """Run trials until there are so many; return whether they were interrupted."""
        for answer in self.answers:
            self._progress.add(TrialRecord.of(answer))
        done = {answer.question.number for answer in self.answers}
        missing = [number for number in range(n_trials) if number not in done]
        if not missing:
            return False
        end = math.inf if timeout is None else time.monotonic() + timeout
        place: Place | None = None
        with sigterm_after_cleanup():
            try:
                place = open_place()
                self._progress.begin(place.n_jobs)
                self._loop(place, missing, end)
            except KeyboardInterrupt:
                return True
            finally:
                if place is not None:
                    place.close()
        return False

    def _loop(self, place: Place, missing: list[int], end: float) -> None:
        lag = max(LAG, place.n_jobs)
        while not self._stop:
            is_over = bool(self.answers) and time.monotonic() > end
            while missing and not is_over and len(self._open) < place.n_jobs and self._may_ask(missing[0], lag):
                self._begin(place, missing.pop(0), lag)
            if not self._open:
                return
            # The first trial is waited for, however long it takes: a search without a result is of no use.
            finished = place.finished(end - time.monotonic() if self.answers else math.inf)
            if finished is None:
                return
            number, outcome = finished
            self._end(Answer(self._open.pop(number), outcome))

    def _may_ask(self, number: int, lag: int) -> bool:
        """Whether all trials that this one is to learn from are finished."""
        return all(open_number > number - lag for open_number in self._open)

    def _begin(self, place: Place, number: int, lag: int) -> None:
        known = sorted(
            (answer for answer in self.answers if answer.question.number <= number - lag),
            key=lambda answer: answer.question.number,
        )
        question = ask(self._space, self._context, known, number=number, seed=self._seed)
        twin = _twin(question, known)
        self._open[number] = question
        if twin is not None:
            del self._open[number]
            self._end(Answer(question, twin))
            return
        bars = Bars()
        if self._prune:
            outcomes = [answer.outcome for answer in known if answer.outcome.state != "failed"]
            bars = Bars.of([outcome.curve for outcome in outcomes], [outcome.losses for outcome in outcomes])
        place.start(Task(number, question.params, bars))

    def _end(self, answer: Answer) -> None:
        self._storage.keep(answer)
        self.answers.append(answer)
        record = TrialRecord.of(answer)
        self._progress.add(record)
        if any([callback(record) is True for callback in self._callbacks]):  # noqa: C419 (all are called)
            self._stop = True


def _twin(question: Question, known: Sequence[Answer]) -> Outcome | None:
    """Return the outcome of an earlier trial with the same parameters: it would be the same again."""
    asked = told(question.params)
    for answer in known:
        if answer.outcome.state != "failed" and told(answer.question.params) == asked:
            outcome = answer.outcome
            return Outcome(outcome.state, outcome.losses, outcome.curve, 0.0, outcome.fit_seconds, outcome.error)
    return None
