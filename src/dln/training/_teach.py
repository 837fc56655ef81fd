"""Teachers: bagged boosted trees that say what rules should be grown for, and where to cut.

A hundred rules are too few to find out by themselves what in a target is noise. So, before any is grown:

- *teachers* are trained, whose mean is a steadier target than y. How much of the target should be theirs is decided by
  students, small sets of rules, on rows that neither they nor their teachers have seen;
- *imagined rows* are put together from the table's own, each column's value from one of two rows, and the teachers say
  what they would predict there: students that learn from those too stay closer to their teachers between the rows;
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

from dln.training._binned import Inputs, Rows
from dln.training._grow import MIN_LEAF, fire_matrix, grow_rules
from dln.training._select import solve_weights
from dln.training._trees import Floats, Tree, grow, leaf_of

#: A teacher: its trees' leaves, the better of these; shrinkage, most trees, trees without a gain before it stops, ridge
#: penalty of a leaf, the share of rows that it sets aside, and the share of the others that a tree sees.
TEACHER_LEAVES: Final = (12, 32)
TEACHER_RATE: Final = 0.1
TEACHER_TREES: Final = 600
TEACHER_PATIENCE: Final = 20
TEACHER_PENALTY: Final = 1.0
TEACHER_ASIDE: Final = 0.25
TEACHER_ROWS: Final = 0.8

#: Shares of y in the target that are tried, the teachers' own first: they are given up for a gain of this share only.
SHARES: Final = (0.0, 0.5, 1.0)
TRUST: Final = 0.03
#: Leaves that are tried, and of how many a student has while shares are tried. Fewer are enough where the error is at
#: most this share larger: a shorter rule is easier to read.
LEAVES: Final = (64, 32, 16, 8, 4)
TRIAL_LEAVES: Final = 32
ENOUGH: Final = 0.01
#: Up to so many rows what is found out in one trial is uncertain and a trial is cheap: there are more trials then, each
#: with several teachers of its own.
FEW_ROWS: Final = 3000
TRIALS: Final = 3
TRIALS_OF_FEW: Final = 4
TEACHERS_OF_FEW: Final = 4
TRIAL_RULES: Final = 60
TRIAL_RATE: Final = 0.1

#: Imagined rows: how many for each row, at most how many in all, and how likely a column's value is the other row's.
IMAGINED_PER_ROW: Final = 4
MOST_IMAGINED: Final = 10_000
MIXED: Final = 0.2


@dataclass(frozen=True, slots=True)
class Teacher:
    """Boosted trees, what they predict for all rows, the gains of their cut-offs, and which rows they saw."""

    base: float
    trees: tuple[Tree, ...]
    prediction: Floats
    gains: Floats
    """(n_inputs, n_bins): summed gain of all splits above each bin."""
    rows: Rows
    aside: Rows
    error: float
    """Mean squared error on the rows that it did not see."""

    def predict(self, inputs: Inputs) -> Floats:
        """Return what the teacher predicts, ``(n_rows,)``."""
        leaves = np.empty(inputs.n_rows, dtype=np.int32)
        predicted = np.full(inputs.n_rows, self.base)
        for tree in self.trees:
            leaf_of(tree, inputs.bins, leaves)
            predicted += TEACHER_RATE * tree.value[leaves]
        return predicted


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the teachers have to say, and how far to trust them."""

    teachers: tuple[Teacher, ...]
    share: float
    """Share of y in the best target; the rest is the teachers'."""
    leaves: int
    """Leaves of a rule's tree that are enough."""

    @property
    def gains(self) -> Floats:
        """Summed gains of all teachers' splits, ``(n_inputs, n_bins)``."""
        return np.asarray(np.sum([teacher.gains for teacher in self.teachers], axis=0))

    def goal(self, y: Floats) -> Floats:
        """Return the target for the rows that were taught on."""
        prediction = np.mean([teacher.prediction for teacher in self.teachers], axis=0)
        return np.asarray(self.share * y + (1 - self.share) * prediction)

    def predict(self, inputs: Inputs) -> Floats:
        """Return the teachers' mean prediction."""
        return _mean_prediction(self.teachers, inputs)


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
    """Train the teachers, each on its own share of the rows, and let students find out what to grow.

    Students are judged on rows that none of their teachers saw: first how much of the target should be the teachers',
    then how few leaves do nearly as well, unless `max_leaves` says.
    """
    few = inputs.n_rows <= FEW_ROWS
    with ThreadPoolExecutor(max_workers=max(1, n_threads)) as pool:
        teachers: list[Teacher] = []
        for leaves in TEACHER_LEAVES:
            train = partial(_train_teacher, inputs, y, weight, leaves, (seed, 1))
            tried = list(pool.map(train, range(n_teachers if few else min(TRIALS, n_teachers))))
            if not teachers or _mean_error(tried) < _mean_error(teachers):
                teachers, best_leaves = tried, leaves
        for _ in teachers:
            after_each()
        train = partial(_train_teacher, inputs, y, weight, best_leaves, (seed, 1))
        for teacher in pool.map(train, range(len(teachers), n_teachers)):
            teachers.append(teacher)
            after_each()

        def course(trial: int) -> _Course:
            return _prepare(inputs, y, weight, teachers[trial], best_leaves, (seed, 5, trial), few=few)

        courses = list(pool.map(course, range(min(TRIALS_OF_FEW if few else TRIALS, n_teachers))))

        def error(share: float, leaves: int) -> float:
            """Return the students' summed squared error."""
            return float(sum(pool.map(lambda course: course.student_error(share, leaves, seed), courses)))

        trial_leaves = TRIAL_LEAVES if max_leaves is None else max_leaves
        errors = {share: error(share, trial_leaves) for share in SHARES}
        share = next(share for share in SHARES if errors[share] <= min(errors.values()) * (1.0 + TRUST))
        if max_leaves is not None:
            return Lesson(tuple(teachers), share, max_leaves)
        enough, best_error = LEAVES[0], np.inf
        for leaves in LEAVES:
            found = errors[share] if leaves == trial_leaves else error(share, leaves)
            best_error = min(best_error, found)
            if found > best_error * (1.0 + ENOUGH):
                break
            enough = leaves
    return Lesson(tuple(teachers), share, enough)


def imagine(n_columns: int, weight: Floats, seed: Sequence[int]) -> Rows:
    """Return which rows give each column of imagined rows its value, ``(n_columns, n)``.

    Two rows are drawn by weight for each; most columns are the first's, some the other's.
    """
    rng = np.random.default_rng(seed)
    n = min(IMAGINED_PER_ROW * len(weight), MOST_IMAGINED)
    one, other = rng.choice(len(weight), size=(2, n), p=weight / weight.sum())
    return np.asarray(np.where(rng.random((n_columns, n)) < MIXED, other, one))


def imagined_weight(weight: Floats, n: int) -> Floats:
    """Return the weight of imagined rows: all together count as much as all rows."""
    return np.full(n, weight.sum() / max(n, 1))


def _train_teacher(
    inputs: Inputs, y: Floats, weight: Floats, max_leaves: int, seed: tuple[int, ...], k: int
) -> Teacher:
    """Boost trees on a share of the rows until the rest is predicted no better."""
    rng = np.random.default_rng([*seed, k])
    order = rng.permutation(inputs.n_rows)
    n_aside = max(1, round(TEACHER_ASIDE * inputs.n_rows))
    aside, rows = np.sort(order[:n_aside]), np.sort(order[n_aside:])
    features = np.arange(len(inputs.n_bins), dtype=np.int32)
    leaves = np.empty(inputs.n_rows, dtype=np.int32)
    base = float(np.average(y[rows], weights=weight[rows]))
    prediction = np.full(inputs.n_rows, base)
    trees: list[Tree] = []
    best, best_error, n_best = prediction, np.inf, 0
    gains = np.zeros((len(inputs.n_bins), int(inputs.n_bins.max())))
    n_seen = max(1, round(TEACHER_ROWS * len(rows)))
    while len(trees) < TEACHER_TREES and len(trees) < n_best + TEACHER_PATIENCE:
        seen = np.sort(rng.permutation(rows)[:n_seen]).astype(np.int32)
        left = y - prediction
        tree = grow(inputs.bins, inputs.n_bins, seen, left, weight, features, max_leaves, MIN_LEAF, TEACHER_PENALTY)
        leaf_of(tree, inputs.bins, leaves)
        prediction = prediction + TEACHER_RATE * tree.value[leaves]
        trees.append(tree)
        _add_gains(tree, gains)
        error = float(np.average((y[aside] - prediction[aside]) ** 2, weights=weight[aside]))
        if error < best_error:
            best, best_error, n_best = prediction, error, len(trees)
    return Teacher(base, tuple(trees[:n_best]), best, gains, rows, aside, best_error)


def _add_gains(tree: Tree, gains: Floats) -> None:
    squares = tree.weight * tree.value**2
    for node in np.flatnonzero(tree.feature >= 0):
        left, right = tree.left[node], tree.right[node]
        gains[tree.feature[node], tree.threshold[node]] += max(0.0, squares[left] + squares[right] - squares[node])


def _mean_error(teachers: Sequence[Teacher]) -> float:
    return float(np.mean([teacher.error for teacher in teachers]))


def _mean_prediction(teachers: Sequence[Teacher], inputs: Inputs) -> Floats:
    return np.asarray(np.mean([teacher.predict(inputs) for teacher in teachers], axis=0))


@dataclass(frozen=True, slots=True)
class _Course:
    """What students of a trial learn from, and what they are judged on."""

    seen: Inputs
    y: Floats
    weight: Floats
    prediction: Floats
    """The teachers', for the rows seen."""
    imagined: Inputs
    imagined_prediction: Floats
    unseen: Inputs
    unseen_y: Floats
    unseen_weight: Floats

    def student_error(self, share: float, leaves: int, seed: int) -> float:
        """Return the squared error, on the rows set aside, of rules grown on the others."""
        inputs, weight = self.seen, self.weight
        goal = share * self.y + (1 - share) * self.prediction
        if share < 1:
            inputs = inputs.followed_by(self.imagined)
            goal = np.concatenate([goal, self.imagined_prediction])
            weight = np.concatenate([weight, imagined_weight(weight, self.imagined.n_rows)])
        rules = grow_rules(inputs, goal, weight, TRIAL_RULES, max_leaves=leaves, seed=seed, rate=TRIAL_RATE)
        intercept, weights = solve_weights(fire_matrix(rules, inputs), goal, weight)
        predicted = intercept + weights @ fire_matrix(rules, self.unseen)
        return float((self.unseen_y - predicted) ** 2 @ self.unseen_weight)


def _prepare(
    inputs: Inputs,
    y: Floats,
    weight: Floats,
    teacher: Teacher,
    teacher_leaves: int,
    seed: tuple[int, ...],
    *,
    few: bool,
) -> _Course:
    """Return the course of a trial; where rows are few it has several teachers, as the model will have."""
    rows, aside = teacher.rows, teacher.aside
    seen, part = inputs.at(rows), (y[rows], weight[rows])
    teachers, predictions = [teacher], [teacher.prediction[rows]]
    if few:
        teachers = [_train_teacher(seen, *part, teacher_leaves, seed, k) for k in range(TEACHERS_OF_FEW)]
        predictions = [own.prediction for own in teachers]
    imagined = seen.mixed(imagine(int(inputs.columns.max()) + 1, part[1], seed))
    return _Course(
        seen,
        *part,
        np.asarray(np.mean(predictions, axis=0)),
        imagined,
        _mean_prediction(teachers, imagined),
        inputs.at(aside),
        y[aside],
        weight[aside],
    )
