"""The rule learner, top to bottom: teach, choose the target, search, shrink, validate, choose the size.

`RuleLearner.learn` is the algorithm. The table comes in bins (`_bins`); the result is rules with weights for every size
(`_model_sizes`), which `assemble` turns into circuits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from dln._interrupt import Deadline, worker_threads
from dln.rules._bins import Input, synthetic_rows
from dln.rules._candidates import grow, select, select_sizes
from dln.rules._constants import (
    GROWTH,
    LARGER_SIZES,
    MAX_ROWS,
    MIN_ROWS,
    N_FOLDS,
    N_SIZE_FOLDS,
    N_TARGET_FOLDS,
    PATIENCE,
    PROGRESS,
    QUICK,
    SIZES,
    SWEEPS,
)
from dln.rules._expression import Expression, Signals
from dln.rules._local_search import polish, sweep, widened
from dln.rules._model_sizes import SizedRules, Validation, member, n_members, searched, shrinking_path, smallest_good
from dln.rules._rule_set import RuleSet
from dln.rules._target_mix import Y_ONLY, Distillation, TargetChoice, choose_target
from dln.rules._task import Sample, Stream, Task, generator, most_telling_inputs
from dln.rules._teachers import cross_fit, n_teachers
from dln.solve._losses import Loss
from dln.solve._products import Floats
from dln.solve._select import Budget
from dln.solve._weights import PENALTY, solve_weights


class ShowsProgress(Protocol):
    """Shows the progress of a fit."""

    def stage(self, name: str, total: int) -> Callable[[], None]:
        """Show a bar for a stage; return the function that advances it by one."""


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """Settings of one search for rules."""

    budget: Budget
    n_grown_rules: int
    n_generations: int

    def quick(self) -> SearchConfig:
        """Return the settings of a search that takes a fraction of the time and finds slightly worse rules."""
        return replace(self, n_generations=int(QUICK * self.n_generations))


@dataclass(frozen=True, slots=True)
class FitConfig:
    """Fit settings other than the data."""

    search: SearchConfig
    loss: Loss
    n_teachers: int
    n_synthetic_rows: int
    seed: int
    n_threads: int


@dataclass(frozen=True, slots=True)
class Learned:
    """The models of all sizes, ascending, and the index of the one to use."""

    points: tuple[SizedRules, ...]
    chosen: int
    inputs: tuple[Input, ...]
    """The inputs that tests of the rules refer to."""
    validation: Validation | None
    ceiling: float | None
    """The teachers' out-of-fold R²: what models of any size can reach."""


class RuleLearner:
    """Learns rules within a budget of conditions; its methods are the steps of the algorithm."""

    def __init__(self, config: FitConfig, deadline: Deadline, progress: ShowsProgress) -> None:
        self.config, self.deadline, self.progress = config, deadline, progress

    def learn(self, rows: Sample, validation_rows: Sample | None = None) -> Learned:
        """Learn from some rows, and validate on folds of them, or on others where there are any."""
        with (
            threadpool_limits(limits=1),  # matrices are small: more threads than one only wait for each other
            # OpenMP counts threads per thread: each worker has to be limited itself.
            worker_threads(max(1, self.config.n_threads), initializer=threadpool_limits, initargs=(1,)) as pool,
        ):
            kept = most_telling_inputs(rows)
            rows = rows._replace(inputs=rows.inputs.keep(kept))
            sample = rows.at(np.arange(min(len(rows.y), MAX_ROWS)))

            distillation = self.teach(sample, pool)
            choice = self.choose_target(distillation, pool)

            # The longest job first, and all of them in the pool: a thread beside it would fight for the cores.
            n_folds = _n_folds(distillation, N_SIZE_FOLDS) if validation_rows is None and _is_enough(sample) else 0
            path = pool.submit(self.find_all_sizes, distillation, choice, rows)
            folds = [pool.submit(self.validate, distillation, choice, fold) for fold in range(n_folds)]
            points = path.result()
            held_out = [result for future in folds if (result := future.result()) is not None]
            if validation_rows is not None:
                inputs = validation_rows.inputs.keep(kept)
                held_out = [({point.budget: point.predict(inputs) for point in points}, validation_rows)]
            validation = self.join_folds(held_out, {point.budget for point in points})

        chosen = smallest_good(points, validation, int(rows.counts.sum()))
        ceiling = None if distillation.teachers is None else distillation.teachers.explained
        return Learned(tuple(points), chosen, rows.inputs.inputs, validation, ceiling)

    # --- what to learn

    def teach(self, sample: Sample, pool: ThreadPoolExecutor) -> Distillation:
        """Deal the rows into folds and cross-fit the teachers: strong models whose predictions have less noise than y.

        Teachers estimate a mean, so there are none for other losses than the squared error.
        """
        config, n_folds = self.config, _by_rows(sample, N_FOLDS)
        folds = sample.division.folds(sample.weight, n_folds, sample.counts)
        nothing = Distillation(sample, folds, sample.inputs.at(np.empty(0, dtype=np.intp)), None)
        has_folds = _is_enough(sample) and len(folds.training) > 0
        if config.n_teachers == 0 or config.loss.name != "squared_error" or not has_folds:
            return nothing
        rng = generator(config.seed, Stream.SYNTHETIC_ROWS)
        synthetic = synthetic_rows(sample.inputs, sample.weight, config.n_synthetic_rows, rng)
        teachers = cross_fit(
            sample,
            folds,
            synthetic,
            config.n_teachers,
            config.seed,
            pool.map,
            stop=self.deadline.stage("teachers", 0.4),
            advance=self.progress.stage("teachers", len(folds.training) * n_teachers(len(sample.y), config.n_teachers)),
        )
        return nothing if teachers is None else Distillation(sample, folds, synthetic, teachers)

    def choose_target(self, distillation: Distillation, pool: ThreadPoolExecutor) -> TargetChoice:
        """Choose how much of the target is the teachers', and how much to shrink the weights, on held-out folds."""
        sample, budget = distillation.sample, searched(self.config.search.budget)
        if not _is_enough(sample):
            return TargetChoice(Y_ONLY, 1.0)
        n_folds, stop = _n_folds(distillation, N_TARGET_FOLDS), self.deadline.stage("the choice of the target", 0.3)
        return choose_target(distillation, n_folds, budget, self.config.seed, pool.map, stop=stop)

    # --- the search

    def find_all_sizes(self, distillation: Distillation, choice: TargetChoice, rows: Sample) -> list[SizedRules]:
        """Return the best rules found for every size up to the budget, the smallest first."""
        config = self.config.search
        task = distillation.task(choice.mix, self.deadline.stage("the search for rules", 0.85))
        advance = self.progress.stage("rules", len(GROWTH) + 1 + config.n_generations)
        path, _ = self.search_sizes(task, config, generator(self.config.seed, Stream.SEARCH), advance)
        points = [self.with_weights(size, rules, choice, rows) for size, rules in sorted(path.items())]
        task.stop = self.deadline.stage("more models", 0.85)
        return [*points, *self.more_models(task, points[-1], choice, rows, Stream.MEMBER)]

    def search_sizes(
        self, task: Task, config: SearchConfig, rng: np.random.Generator, advance: Callable[[], None] = lambda: None
    ) -> tuple[dict[int, RuleSet], list[Expression]]:
        """Return sets of rules for all sizes up to that of one model, and the candidates they were selected from.

        One page is searched, and then shrunk, and extended where the budget is larger.
        """
        rules, candidates = find_rules(task, config, rng, advance)
        task.stop = self.deadline.over  # the share of the time that the search may take has ended
        budget = member(config.budget)
        page = searched(budget)
        path = shrinking_path(rules, page, rng)
        if page != budget:
            sizes = [*(size for size in SIZES if page.conditions < size < budget.conditions), budget.conditions]
            for size, larger in select_larger(task, [*rules.expressions, *candidates], sizes, budget).items():
                sweep(larger, budget.resized(size), rng)
                path[size] = larger
        return path, [*rules.expressions, *candidates]

    def more_models(
        self, task: Task, first: SizedRules, choice: TargetChoice, rows: Sample | None, stream: Stream, *keys: int
    ) -> list[SizedRules]:
        """Return means of more and more models, the first and others found by quick searches, up to the budget."""
        config, budget = self.config.search.quick(), member(self.config.search.budget)
        models = [first]
        for k in range(1, n_members(config.budget)):
            rng = generator(self.config.seed, stream, *keys, k)
            rules, candidates = find_rules(task, config, rng)
            candidates = [*rules.expressions, *candidates]
            larger = select_larger(task, candidates, [budget.conditions], budget)[budget.conditions]
            sweep(larger, budget, rng)
            if task.stop():
                break
            models.append(self.with_weights(budget.conditions, larger, choice, rows))
        return [SizedRules.mean(models[:k]) for k in range(2, len(models) + 1)]

    def with_weights(self, size: int, rules: RuleSet, choice: TargetChoice, rows: Sample | None = None) -> SizedRules:
        """Return rules with weights solved for under the user's loss: on all rows where only some were searched on."""
        task, loss = rules.task, self.config.loss
        rules.keep(np.flatnonzero(~task.rests_on_few(rules.fires)).tolist())  # the others fire on synthetic rows
        expressions, signs = tuple(rules.expressions), rules.signs
        if rows is not None and len(rows.y) > MAX_ROWS:
            signals = Signals(rows.inputs)
            fires = np.array([signals(one) for one in expressions], dtype=np.bool_).reshape(-1, len(rows.y))
            solved = solve_weights(
                fires, rows.y, rows.weight, PENALTY, loss=loss.name, quantile=loss.quantile, signs=signs
            )
        elif loss.name == "squared_error":
            solved = rules.weights(task.penalty * choice.penalty)
        else:
            penalty = PENALTY * choice.penalty
            solved = solve_weights(
                rules.fires, task.target, task.weight, penalty, loss=loss.name, quantile=loss.quantile, signs=signs
            )
        return SizedRules(size, expressions, *solved)

    # --- validation

    def validate(
        self, distillation: Distillation, choice: TargetChoice, fold: int
    ) -> tuple[dict[int, Floats], Sample] | None:
        """Learn without what a fold holds out, by a quick search; return what each size predicts for it."""
        stop = self.deadline.stage("validation", 0.85)
        if stop():
            return None
        config, held_out = self.config.search.quick(), distillation.held_out(fold)
        task = distillation.training_task(choice.mix, fold, stop)
        path, candidates = self.search_sizes(task, config, generator(self.config.seed, Stream.VALIDATION, fold))
        if stop():
            return None
        path |= select_larger(task, candidates, [size for size in LARGER_SIZES if size > max(path)], config.budget)
        models = [self.with_weights(size, rules, choice) for size, rules in path.items()]
        first = next(model for model in models if model.budget == member(config.budget).conditions)
        task.stop = stop
        models += self.more_models(task, first, choice, None, Stream.VALIDATION, fold)
        return {model.budget: model.predict(held_out.inputs) for model in models}, held_out

    def join_folds(self, folds: Sequence[tuple[dict[int, Floats], Sample]], sizes: set[int]) -> Validation | None:
        """Put the folds together. Where a fold has no rules of a size, it has those of the next larger one."""
        if not folds:
            return None
        sizes = sizes.union(*(predicted for predicted, _ in folds))
        y, weight = (np.concatenate([getattr(held_out, name) for _, held_out in folds]) for name in ("y", "weight"))
        predictions = {
            size: np.concatenate([_at_least(size, predicted) for predicted, _ in folds]) for size in sorted(sizes)
        }
        loss = self.config.loss
        losses = {size: loss.each(y - one) for size, one in predictions.items()}
        explained = {size: loss.explained(y, one, weight) for size, one in predictions.items()}
        return Validation(losses, explained, predictions, y, weight)


def find_rules(
    task: Task, config: SearchConfig, rng: np.random.Generator, advance: Callable[[], None] = lambda: None
) -> tuple[RuleSet, list[Expression]]:
    """Return the best page of rules found, and all candidates that were grown for it.

    The best selection of candidates is polished, and then widened again and again: a polished set is a local optimum,
    which more conditions for a while lead out of.
    """
    budget = searched(config.budget)
    candidates: list[Expression] = []
    for rate, longest in GROWTH:
        n_rules = config.n_grown_rules // len(GROWTH)
        candidates += grow(task, n_rules, min(longest, budget.rule_length), rng, rate=rate)
        advance()
    candidates = list(dict.fromkeys(candidates))
    best = polish(RuleSet(task, select(task, candidates, budget)), budget, rng, sweeps=SWEEPS)
    advance()
    n_idle = 0
    for _ in range(config.n_generations):
        if task.stop() or n_idle == PATIENCE:
            break
        child = widened(best, budget, rng)
        n_idle = 0 if child.loss() < (1.0 - PROGRESS) * best.loss() else n_idle + 1
        best = min(best, child, key=lambda rules: rules.loss())
        advance()
    return best, candidates


def select_larger(
    task: Task, candidates: Sequence[Expression], sizes: Sequence[int], budget: Budget
) -> dict[int, RuleSet]:
    """Return sets for larger sizes, quickly selected from candidates."""
    if not sizes:
        return {}
    chosen = select_sizes(task, candidates, [budget.resized(size) for size in sizes])
    return {size: RuleSet(task, expressions) for size, expressions in zip(sizes, chosen, strict=True)}


def _is_enough(sample: Sample) -> bool:
    """Return True if there are rows enough for folds, and anything to learn from."""
    return int(sample.counts.sum()) >= MIN_ROWS and sample.inputs.n_inputs > 0


def _n_folds(distillation: Distillation, table: Sequence[tuple[int, int]]) -> int:
    """Return how many folds to try: all that the user divides the rows into, or as many as a table has for them."""
    if distillation.sample.division.is_given:
        return len(distillation.folds.training)
    return _by_rows(distillation.sample, table)


def _by_rows(sample: Sample, table: Sequence[tuple[int, int]]) -> int:
    """Return the entry of a table for the number of rows."""
    return next(value for most, value in table if len(sample.y) <= most)


def _at_least(size: int, predicted: dict[int, Floats]) -> Floats:
    """Return what the model of a size predicts, or of the next larger one that there is, or the largest."""
    return predicted[min((other for other in predicted if other >= size), default=max(predicted))]
