"""Teachers: boosted trees and a smooth one, who say what rules should be grown for, and where to cut.

A hundred rules are too few to find out by themselves what in a target is noise. So, before any is grown:

- *teachers* are trained, whose blend is a steadier target than y. How much of the target should be theirs is decided
  by students, small sets of rules, on rows that neither they nor their teachers have seen;
- *imagined rows* are put together from the table's own, each column's value from one of two rows that are not far
  apart, and the teachers say what they would predict there: students that learn from those too stay closer to their
  teachers between the rows;
- the teachers' splits tell which *cut-offs* are worth keeping;
- students also find out how few *leaves* a rule's tree needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from dln.training._binned import Inputs, Rows, set_aside
from dln.training._boosted import Boosted, boost
from dln.training._grow import fire_matrix, grow_rules
from dln.training._select import solve_weights
from dln.training._smooth import Shape, Smooth, find_shape, fit_smooth
from dln.training._trees import Floats

#: Leaves of the boosted trees: the better of these. Of every second teacher, each tree may use a share of the columns.
TEACHER_LEAVES: Final = (12, 32)
COLUMN_SHARES: Final = (1.0, 0.5)
#: A smooth teacher whose share would be less is left out.
LEAST_SMOOTH: Final = 0.15

#: Shares of y in the target that are tried, the teachers' own first.
SHARES: Final = (0.0, 0.5, 1.0)
#: Leaves that are tried, and of how many a student has while shares are tried.
LEAVES: Final = (64, 32, 16, 8, 4)
TRIAL_LEAVES: Final = 32
TRIAL_RULES: Final = 60
TRIAL_RATE: Final = 0.1
#: Share of the rows on which students are judged that have teachers of their own.
TRIAL_ASIDE: Final = 0.25

#: Imagined rows: how many, how likely a column's value is the other row's, and among how many rows that one is nearest.
N_IMAGINED: Final = 10_000
MIXED: Final = 0.3
DRAWN: Final = 5


@dataclass(frozen=True, slots=True)
class Trials:
    """How teachers and students are tried."""

    n: int
    own_teachers: int
    """Boosted teachers of a trial's own, trained on rows that it shows; 0: one of the teachers, and the rows it saw."""
    trust: float
    """Teachers are given up for a gain of this share only."""
    enough: float
    """Fewer leaves are enough where the error is at most this share larger: a shorter rule is easier to read."""
    n_imagined: int


#: Up to so many rows what is found out in one trial is uncertain and a trial is cheap: there are more trials then, each
#: with several teachers of its own, and teachers and short rules are given up for larger gains only.
FEW_ROWS: Final = 3000
TRIALS_OF_FEW: Final = Trials(n=4, own_teachers=3, trust=0.1, enough=0.02, n_imagined=2500)
TRIALS_OF_MANY: Final = Trials(n=3, own_teachers=0, trust=0.03, enough=0.01, n_imagined=N_IMAGINED)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the teachers have to say, and how far to trust them."""

    boosted: tuple[Boosted, ...]
    smooth: Smooth | None
    smooth_share: float
    """Share of the smooth teacher in what the teachers say; the rest is the mean of the boosted ones."""
    share: float
    """Share of y in the best target; the rest is the teachers'."""
    leaves: int
    """Leaves of a rule's tree that are enough."""

    @property
    def gains(self) -> Floats:
        """Summed gains of all boosted trees' splits, ``(n_inputs, n_bins)``."""
        return _gains(self.boosted)

    def goal(self, inputs: Inputs, y: Floats) -> Floats:
        """Return the target for the rows that were taught on."""
        said = self._blend(np.mean([boosted.prediction for boosted in self.boosted], axis=0), inputs)
        return np.asarray(self.share * y + (1 - self.share) * said)

    def predict(self, inputs: Inputs) -> Floats:
        """Return what the teachers say together."""
        return self._blend(_mean_prediction(self.boosted, inputs), inputs)

    def _blend(self, said: Floats, inputs: Inputs) -> Floats:
        return said if self.smooth is None else _blended(said, self.smooth.predict(inputs), self.smooth_share)


def teach(
    inputs: Inputs,
    y: Floats,
    weight: Floats,
    n_teachers: int,
    max_leaves: int | None,
    seed: int,
    n_threads: int,
    after_each: Callable[[], None] = lambda: None,
) -> Lesson:
    """Train the teachers, the boosted ones each on its own share of the rows, and let students find out what to grow.

    Teachers and students are judged on rows that they did not see: first what share of the teaching should be the
    smooth teacher's, then how much of the target should be the teachers', then how few leaves do nearly as well, unless
    `max_leaves` says.
    """
    how = TRIALS_OF_FEW if inputs.n_rows <= FEW_ROWS else TRIALS_OF_MANY
    with ThreadPoolExecutor(max_workers=max(1, n_threads)) as pool:
        teachers: list[Boosted] = []
        for leaves in TEACHER_LEAVES:
            train = partial(_train, inputs, y, weight, leaves, (seed, 1))
            tried = list(pool.map(train, range(min(how.n, n_teachers))))
            if not teachers or _mean_error(tried) < _mean_error(teachers):
                teachers, best_leaves = tried, leaves
        for _ in teachers:
            after_each()
        train = partial(_train, inputs, y, weight, best_leaves, (seed, 1))
        for teacher in pool.map(train, range(len(teachers), n_teachers)):
            teachers.append(teacher)
            after_each()

        trials = teachers[: how.n]
        shape = find_shape(inputs, y, weight, _gains(teachers).sum(axis=1), (seed, 7), pool)

        def course(k: int) -> _Course:
            return _prepare(inputs, y, weight, trials[k], best_leaves, shape, how, (seed, 5, k))

        courses = list(pool.map(course, range(len(trials))))
        smooth_share = _smooth_share(courses)
        smooth = fit_smooth(inputs, y, weight, shape, (seed, 7)) if smooth_share else None

        def error(share: float, leaves: int) -> float:
            """Return the students' summed squared error."""
            errors = pool.map(lambda course: course.student_error(smooth_share, share, leaves, seed), courses)
            return float(sum(errors))

        trial_leaves = TRIAL_LEAVES if max_leaves is None else max_leaves
        errors = {share: error(share, trial_leaves) for share in SHARES}
        share = next(share for share in SHARES if errors[share] <= min(errors.values()) * (1.0 + how.trust))
        if max_leaves is not None:
            return Lesson(tuple(teachers), smooth, smooth_share, share, max_leaves)
        enough, best_error = LEAVES[0], np.inf
        for leaves in LEAVES:
            found = errors[share] if leaves == trial_leaves else error(share, leaves)
            best_error = min(best_error, found)
            if found > best_error * (1.0 + how.enough):
                break
            enough = leaves
    return Lesson(tuple(teachers), smooth, smooth_share, share, enough)


def imagine(inputs: Inputs, n_columns: int, weight: Floats, seed: Sequence[int], n: int = N_IMAGINED) -> Rows:
    """Return which rows give each of a table's columns its value in imagined rows, ``(n_columns, n)``.

    Two rows are drawn by weight for each, the second as the nearest to the first of several; most columns are the
    first's, some the other's.
    """
    rng = np.random.default_rng(seed)
    share = weight / weight.sum()
    width = np.maximum(inputs.n_bins - 1, 1)[:, np.newaxis].astype(np.float32)
    one, other = rng.choice(len(weight), size=(2, n), p=share)
    place = inputs.bins[:, one] / width
    nearest = np.full(n, np.inf)
    for drawn in rng.choice(len(weight), size=(DRAWN, n), p=share):
        distance = np.abs(place - inputs.bins[:, drawn] / width).sum(axis=0)
        is_nearer = (distance < nearest) & (drawn != one)
        nearest[is_nearer], other[is_nearer] = distance[is_nearer], drawn[is_nearer]
    return np.asarray(np.where(rng.random((n_columns, n)) < MIXED, other, one))


def imagined_weight(weight: Floats, n: int) -> Floats:
    """Return the weight of imagined rows: all together count as much as all rows."""
    return np.full(n, weight.sum() / max(n, 1))


def _train(inputs: Inputs, y: Floats, weight: Floats, leaves: int, seed: tuple[int, ...], k: int) -> Boosted:
    return boost(inputs, y, weight, leaves, COLUMN_SHARES[k % len(COLUMN_SHARES)], (*seed, k))


def _mean_error(teachers: Sequence[Boosted]) -> float:
    return float(np.mean([teacher.error for teacher in teachers]))


def _mean_prediction(teachers: Sequence[Boosted], inputs: Inputs) -> Floats:
    return np.asarray(np.mean([teacher.predict(inputs) for teacher in teachers], axis=0))


def _gains(teachers: Sequence[Boosted]) -> Floats:
    return np.asarray(np.sum([teacher.gains for teacher in teachers], axis=0))


def _blended(boosted: Floats, smooth: Floats, smooth_share: float) -> Floats:
    return (1 - smooth_share) * boosted + smooth_share * smooth


@dataclass(frozen=True, slots=True)
class _Taught:
    """What the teachers of a trial say about some rows, each kind for itself."""

    boosted: Floats
    smooth: Floats

    def together(self, smooth_share: float) -> Floats:
        return _blended(self.boosted, self.smooth, smooth_share)


@dataclass(frozen=True, slots=True)
class _Course:
    """What students of a trial learn from, and what they and their teachers are judged on."""

    seen: Inputs
    y: Floats
    weight: Floats
    imagined: Inputs
    unseen: Inputs
    unseen_y: Floats
    unseen_weight: Floats
    on_seen: _Taught
    on_imagined: _Taught
    on_unseen: _Taught

    def student_error(self, smooth_share: float, share: float, leaves: int, seed: int) -> float:
        """Return the squared error, on the rows set aside, of rules grown on the others."""
        inputs, weight = self.seen, self.weight
        goal = share * self.y + (1 - share) * self.on_seen.together(smooth_share)
        if share < 1:
            inputs = inputs.followed_by(self.imagined)
            goal = np.concatenate([goal, self.on_imagined.together(smooth_share)])
            weight = np.concatenate([weight, imagined_weight(weight, self.imagined.n_rows)])
        rules = grow_rules(inputs, goal, weight, TRIAL_RULES, max_leaves=leaves, seed=seed, rate=TRIAL_RATE)
        intercept, weights = solve_weights(fire_matrix(rules, inputs), goal, weight)
        predicted = intercept + weights @ fire_matrix(rules, self.unseen)
        return float((self.unseen_y - predicted) ** 2 @ self.unseen_weight)


def _smooth_share(courses: Sequence[_Course]) -> float:
    """Return the share of the smooth teachers with the least squared error on rows that no teacher saw."""
    gained = wanted = 0.0
    for course in courses:
        apart = course.on_unseen.smooth - course.on_unseen.boosted
        gained += float((course.unseen_y - course.on_unseen.boosted) * apart @ course.unseen_weight)
        wanted += float(apart**2 @ course.unseen_weight)
    share = min(1.0, gained / wanted) if wanted else 0.0
    return share if share >= LEAST_SMOOTH else 0.0


def _prepare(
    inputs: Inputs,
    y: Floats,
    weight: Floats,
    teacher: Boosted,
    leaves: int,
    shape: Shape,
    how: Trials,
    seed: tuple[int, ...],
) -> _Course:
    """Return the course of a trial."""
    rows, aside = teacher.rows, teacher.aside
    if how.own_teachers:
        rows, aside = set_aside(inputs.n_rows, TRIAL_ASIDE, np.random.default_rng(seed))
    seen, part = inputs.at(rows), (y[rows], weight[rows])
    unseen = inputs.at(aside)
    imagined = seen.mixed(imagine(seen, int(inputs.columns.max()) + 1, part[1], seed, how.n_imagined))
    boosted, said = [teacher], teacher.prediction[rows]
    if how.own_teachers:
        boosted = [_train(seen, *part, leaves, seed, k) for k in range(how.own_teachers)]
        said = np.asarray(np.mean([own.prediction for own in boosted], axis=0))
    smooth = fit_smooth(seen, *part, shape, seed)
    return _Course(
        seen,
        *part,
        imagined,
        unseen,
        y[aside],
        weight[aside],
        on_seen=_Taught(said, smooth.predict(seen)),
        on_imagined=_Taught(_mean_prediction(boosted, imagined), smooth.predict(imagined)),
        on_unseen=_Taught(_mean_prediction(boosted, unseen), smooth.predict(unseen)),
    )
