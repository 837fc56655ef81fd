"""A fit, from rows to a page of rules: teach, choose the target, search, validate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from dln._interrupt import Deadline
from dln.data._folds import fold_weights
from dln.rules._expression import Signals, renumbered
from dln.rules._goal import Y_ALONE, Distillation, Sample
from dln.rules._rule_set import RuleSet
from dln.rules._screen import screened
from dln.rules._sizes import LARGER, SizedRules, member_rules, sized_path, smallest_good
from dln.rules._student import Recipe, n_steps, train_student
from dln.rules._synthetic import synthetic_rows
from dln.rules._task import Task, member, n_members, page
from dln.rules._teachers import n_teachers, teach
from dln.rules._validate import Choice, choose_goal
from dln.solve._losses import Loss
from dln.solve._products import Floats
from dln.solve._weights import PENALTY, solve_weights

T = TypeVar("T")
R = TypeVar("R")

#: Rows that rules are searched on, a sample by content. With 20 000 instead of 10 000 housing and bike gained 0.001 to
#: 0.006 of R² (two splits each) and took a fifth more time.
MAX_ROWS: Final = 15_000
#: Fewer rows than this are neither taught nor validated on: a fold of them would tell nothing.
MIN_ROWS: Final = 40
N_FOLDS: Final = 5
#: Up to so many rows, trials and validations are made on so many folds: of few rows one fold tells little.
N_TRIALS: Final = ((1500, 4), (6000, 3), (MAX_ROWS, 2))
N_VALIDATIONS: Final = ((1500, 3), (MAX_ROWS, 1))


class Shown(Protocol):
    """Where progress is shown."""

    def stage(self, name: str, total: int) -> Callable[[], None]:
        """Show a bar for a stage; return what moves it on by one."""


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a fit is told besides the rows."""

    recipe: Recipe
    loss: Loss
    n_teachers: int
    n_synthetic_rows: int
    seed: int
    n_threads: int


@dataclass(frozen=True, slots=True)
class Validation:
    """What each size explains of rows not learned from, and what it predicts for them, standardised as y is."""

    explained: dict[int, float]
    predicted: dict[int, Floats]
    y: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class Learned:
    """What a fit has learned: points from the smallest to the largest, and which of them is the model."""

    points: tuple[SizedRules, ...]
    chosen: int
    validation: Validation | None
    ceiling: float | None
    """What the teachers explain of rows that they have not seen: the best model found."""


class Fit:
    """One fit: what it is told, and what its stages share."""

    def __init__(self, setting: Setting, deadline: Deadline, progress: Shown) -> None:
        self.setting, self.deadline, self.progress = setting, deadline, progress

    def learn(self, rows: Sample, unseen: Sample | None = None) -> Learned:
        """Return the rules for some rows, validated on rows of the user's or on folds."""
        with (
            threadpool_limits(limits=1),  # matrices here are small: more threads than one only wait for each other
            # OpenMP counts threads per thread: a worker that does not say so itself would start a team of its own.
            ThreadPoolExecutor(max(1, self.setting.n_threads), initializer=threadpool_limits, initargs=(1,)) as pool,
        ):
            kept = screened(rows)
            if len(kept) < rows.inputs.n_inputs:
                rows = rows._replace(inputs=rows.inputs.keep(kept))
                unseen = None if unseen is None else unseen._replace(inputs=unseen.inputs.keep(kept))
            learned = self._learn(rows, unseen, pool)
        renumber = [
            replace(point, expressions=tuple(renumbered(one, kept) for one in point.expressions))
            for point in learned.points
        ]
        return replace(learned, points=tuple(renumber))

    def _learn(self, rows: Sample, unseen: Sample | None, pool: ThreadPoolExecutor) -> Learned:
        recipe = self.setting.recipe
        sample = rows.at(np.arange(min(len(rows.y), MAX_ROWS)))
        distillation = self._distil(sample, pool)
        choice = self._choose(distillation, pool)
        task = distillation.task(choice.goal)
        n_folds = 0 if unseen is not None or not _is_enough(sample) else _count(len(sample.y), N_VALIDATIONS)
        # The longest job first, and all of them in the pool: a thread beside it would only fight for the cores.
        first = pool.submit(self._points, task, choice, rows)
        after_each = self.progress.stage("more models", n_members(recipe.budget) - 1)
        further = [
            pool.submit(self._member, task, choice, rows, k, after_each) for k in range(1, n_members(recipe.budget))
        ]
        validations = [pool.submit(self._validate, distillation, choice, k) for k in range(n_folds)]
        points = first.result()
        members = [*points[-1:], *(point for future in further for point in future.result())]
        points += tuple(SizedRules.mean(members[:k]) for k in range(2, len(members) + 1))
        folds = [result for future in validations if (result := future.result()) is not None]
        if unseen is not None:
            folds = [({point.budget: point.predict(unseen.inputs) for point in points}, unseen)]
        validation = self._joined(folds, {point.budget for point in points})
        ceiling = None if distillation.lessons is None else distillation.lessons.explained
        explained = None if validation is None else validation.explained
        return Learned(points, smallest_good(points, explained, int(rows.counts.sum())), validation, ceiling)

    def _distil(self, sample: Sample, pool: ThreadPoolExecutor) -> Distillation:
        """Return the sample with what teachers make of it."""
        setting, n = self.setting, len(sample.y)
        parts = fold_weights(sample.weight, N_FOLDS, sample.counts)
        nothing = sample.inputs.at(np.empty(0, dtype=np.intp))
        # Teachers estimate a mean: for other losses they have nothing to say.
        if setting.n_teachers == 0 or setting.loss.name != "squared_error" or not _is_enough(sample):
            return Distillation(sample, parts, nothing, None)
        synthetic = synthetic_rows(sample.inputs, sample.weight, setting.n_synthetic_rows, [setting.seed, 10])
        after_each = self.progress.stage("teachers", N_FOLDS * n_teachers(n, setting.n_teachers))
        stop = self.deadline.stage("teachers", 0.4)

        lessons = teach(
            sample.inputs,
            synthetic,
            sample.y,
            sample.weight,
            parts,
            setting.n_teachers,
            setting.seed,
            pool.map,
            stop=stop,
            after_each=after_each,
        )
        return Distillation(sample, parts, nothing if lessons is None else synthetic, lessons)

    def _choose(self, distillation: Distillation, pool: ThreadPoolExecutor) -> Choice:
        """Return what to learn, and how much to shrink the weights."""
        sample, recipe = distillation.sample, self.setting.recipe
        if not _is_enough(sample):
            return Choice(Y_ALONE, 1.0)
        n_trials, stop = _count(len(sample.y), N_TRIALS), self.deadline.stage("the choice of the target", 0.3)

        def run(work: Callable[[T], R], jobs: Sequence[T]) -> list[R]:
            return list(pool.map(work, jobs))

        return choose_goal(distillation, n_trials, page(recipe.budget), self.setting.seed, run, stop=stop)

    def _points(self, task: Task, choice: Choice, rows: Sample) -> tuple[SizedRules, ...]:
        """Return the best rules found for every size, weights solved for on all rows."""
        recipe, seed = self.setting.recipe, self.setting.seed
        after_each = self.progress.stage("rules", n_steps(recipe))
        stop = self.deadline.stage("the search for rules", 0.85)
        student = train_student(task, recipe, [seed, 31], stop=stop, after_each=after_each)
        return self._weighted(sized_path(student, member(recipe.budget), [seed, 32], self.deadline), choice, rows)

    def _member(
        self, task: Task, choice: Choice, rows: Sample, k: int, after: Callable[[], None]
    ) -> tuple[SizedRules, ...]:
        """Return another model of the size that several are averaged of, searched for in short; none without time."""
        recipe, seed = _quicker(self.setting.recipe), [self.setting.seed, 33, k]
        stop = self.deadline.stage("more models", 0.85)
        if stop():
            return ()
        rules = member_rules(task, recipe, seed, stop=stop)
        after()
        return () if stop() else self._weighted({member(recipe.budget).conditions: rules}, choice, rows)

    def _weighted(self, path: dict[int, RuleSet], choice: Choice, rows: Sample) -> tuple[SizedRules, ...]:
        """Return the rules of each size with weights solved for on all rows, the smallest first."""
        whole = rows if len(rows.y) > MAX_ROWS else None
        points = []
        for size, rules in sorted(path.items()):
            if whole is None:
                points.append(self._point(size, rules, choice))
            else:
                signals = Signals(whole.inputs)
                fires = np.array([signals(one) for one in rules.expressions], dtype=np.bool_).reshape(-1, len(whole.y))
                loss = self.setting.loss
                solved = solve_weights(fires, whole.y, whole.weight, PENALTY, loss=loss.name, quantile=loss.quantile)
                points.append(SizedRules(size, tuple(rules.expressions), *solved))
        return tuple(points)

    def _point(self, size: int, rules: RuleSet, choice: Choice) -> SizedRules:
        loss, task = self.setting.loss, rules.task
        if loss.name == "squared_error":
            solved = rules.weights(task.penalty * choice.penalty)
        else:
            penalty = PENALTY * choice.penalty
            solved = solve_weights(
                rules.fires, task.target, task.weight, penalty, loss=loss.name, quantile=loss.quantile
            )
        return SizedRules(size, tuple(rules.expressions), *solved)

    def _validate(
        self, distillation: Distillation, choice: Choice, fold: int
    ) -> tuple[dict[int, Floats], Sample] | None:
        """Learn without a fold, all stages in short, and return what each size predicts for it; None without time."""
        recipe, seed, deadline = _quicker(self.setting.recipe), [self.setting.seed, 40, fold], self.deadline
        aside, task = distillation.aside(fold), distillation.trial_task(choice.goal, fold)
        stop = deadline.stage("validation", 0.85)
        if stop():
            return None
        budget = recipe.budget
        student = train_student(task, recipe, seed, stop=stop)
        path = sized_path(student, member(budget), seed, deadline)
        if stop():
            return None
        path |= student.larger([size for size in LARGER if size > max(path)], budget)
        points = [self._point(size, rules, choice) for size, rules in path.items()]
        predicted = {point.budget: point.predict(aside.inputs) for point in points}
        size = member(budget).conditions
        for k in range(1, n_members(budget)):
            rules = member_rules(task, recipe, [*seed, k], stop=stop)
            if stop():
                break
            other = self._point(size, rules, choice).predict(aside.inputs)
            predicted[(k + 1) * size] = (k * predicted[k * size] + other) / (k + 1)
        return predicted, aside

    def _joined(self, folds: Sequence[tuple[dict[int, Floats], Sample]], sizes: set[int]) -> Validation | None:
        """Put the folds together. Where a fold has no rules of a size, those of the next larger one are its best."""
        if not folds:
            return None
        sizes = sizes.union(*(predicted for predicted, _ in folds))
        y, weight = (np.concatenate([getattr(aside, name) for _, aside in folds]) for name in ("y", "weight"))
        predictions = {
            size: np.concatenate([_at_least(size, predicted) for predicted, _ in folds]) for size in sorted(sizes)
        }
        explained = {size: self.setting.loss.explained(y, one, weight) for size, one in predictions.items()}
        return Validation(explained, predictions, y, weight)


def _is_enough(sample: Sample) -> bool:
    """Whether there are rows enough for folds, and anything to learn from."""
    return int(sample.counts.sum()) >= MIN_ROWS and sample.inputs.n_inputs > 0


def _count(n_rows: int, table: tuple[tuple[int, int], ...]) -> int:
    return next(count for most, count in table if n_rows <= most)


def _quicker(recipe: Recipe) -> Recipe:
    """Return the recipe of a validation: a quarter of the generations, so slightly worse rules than the model's."""
    return replace(recipe, n_generations=recipe.n_generations // 4)


def _at_least(size: int, predicted: dict[int, Floats]) -> Floats:
    """Return what the model of a size predicts, or of the next larger one that there is, or the largest."""
    return predicted[min((other for other in predicted if other >= size), default=max(predicted))]
