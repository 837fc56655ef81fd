"""The rule learner, top to bottom: teach, choose the target, search, shrink, validate, choose the size.

`RuleLearner.learn` is the algorithm. The table comes in bins (`_bins`); the result is rules with weights for every size
(`_model_sizes`), which `_assemble` turns into circuits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from dln._interrupt import Deadline
from dln.data._folds import fold_weights
from dln.rules._bins import Input, synthetic_rows
from dln.rules._candidates import grow, select, select_sizes
from dln.rules._constants import (
    GROWTH,
    LARGER_SIZES,
    MAX_ROWS,
    MIN_ROWS,
    N_DRAWN,
    N_FOLDS,
    N_GROWN_ON_RESIDUAL,
    N_PARENTS,
    N_SIZE_FOLDS,
    N_TARGET_FOLDS,
    QUICK,
    RECOMBINED,
    RESIDUAL_RATE,
    SAME_LOSS,
    SIZES,
    SWEEPS,
)
from dln.rules._expression import Expression, Signals
from dln.rules._local_search import polish, sweep, widened
from dln.rules._model_sizes import SizedRules, member, n_members, searched, shrinking_path, smallest_good
from dln.rules._rule_set import RuleSet
from dln.rules._seeds import Stream, generator
from dln.rules._target_mix import Y_ONLY, Distillation, TargetChoice, choose_target
from dln.rules._task import Sample, Task, most_telling_inputs
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
class Validation:
    """Validated R² and predictions of each size on held-out rows, for the standardised target ``(n,)``."""

    explained: dict[int, float]
    predicted: dict[int, Floats]
    y: Floats
    weight: Floats


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
            ThreadPoolExecutor(max(1, self.config.n_threads), initializer=threadpool_limits, initargs=(1,)) as pool,
        ):
            kept = most_telling_inputs(rows)
            rows = rows._replace(inputs=rows.inputs.keep(kept))
            sample = rows.at(np.arange(min(len(rows.y), MAX_ROWS)))

            distillation = self.teach(sample, pool)
            choice = self.choose_target(distillation, pool)

            # The longest job first, and all of them in the pool: a thread beside it would fight for the cores.
            n_models = n_members(self.config.search.budget)
            n_folds = _by_rows(sample, N_SIZE_FOLDS) if validation_rows is None and _is_enough(sample) else 0
            path = pool.submit(self.find_all_sizes, distillation, choice, rows)
            advance = self.progress.stage("more models", n_models - 1)
            others = [pool.submit(self.find_member, distillation, choice, rows, k, advance) for k in range(1, n_models)]
            folds = [pool.submit(self.validate, distillation, choice, fold) for fold in range(n_folds)]

            points = path.result()
            members = [points[-1], *(point for future in others if (point := future.result()) is not None)]
            points += [SizedRules.mean(members[:k]) for k in range(2, len(members) + 1)]
            held_out = [result for future in folds if (result := future.result()) is not None]
            if validation_rows is not None:
                inputs = validation_rows.inputs.keep(kept)
                held_out = [({point.budget: point.predict(inputs) for point in points}, validation_rows)]
            validation = self.join_folds(held_out, {point.budget for point in points})

        explained = None if validation is None else validation.explained
        chosen = smallest_good(points, explained, int(rows.counts.sum()))
        ceiling = None if distillation.teachers is None else distillation.teachers.explained
        return Learned(tuple(points), chosen, rows.inputs.inputs, validation, ceiling)

    # --- what to learn

    def teach(self, sample: Sample, pool: ThreadPoolExecutor) -> Distillation:
        """Deal the rows into folds and cross-fit the teachers: strong models whose predictions have less noise than y.

        Teachers estimate a mean, so there are none for other losses than the squared error.
        """
        config, parts = self.config, fold_weights(sample.weight, N_FOLDS, sample.counts)
        nothing = Distillation(sample, parts, sample.inputs.at(np.empty(0, dtype=np.intp)), None)
        if config.n_teachers == 0 or config.loss.name != "squared_error" or not _is_enough(sample):
            return nothing
        rng = generator(config.seed, Stream.SYNTHETIC_ROWS)
        synthetic = synthetic_rows(sample.inputs, sample.weight, config.n_synthetic_rows, rng)
        teachers = cross_fit(
            sample,
            parts,
            synthetic,
            config.n_teachers,
            config.seed,
            pool.map,
            stop=self.deadline.stage("teachers", 0.4),
            advance=self.progress.stage("teachers", N_FOLDS * n_teachers(len(sample.y), config.n_teachers)),
        )
        return nothing if teachers is None else Distillation(sample, parts, synthetic, teachers)

    def choose_target(self, distillation: Distillation, pool: ThreadPoolExecutor) -> TargetChoice:
        """Choose how much of the target is the teachers', and how much to shrink the weights, on held-out folds."""
        sample, budget = distillation.sample, searched(self.config.search.budget)
        if not _is_enough(sample):
            return TargetChoice(Y_ONLY, 1.0)
        n_folds, stop = _by_rows(sample, N_TARGET_FOLDS), self.deadline.stage("the choice of the target", 0.3)
        return choose_target(distillation, n_folds, budget, self.config.seed, pool.map, stop=stop)

    # --- the search

    def find_all_sizes(self, distillation: Distillation, choice: TargetChoice, rows: Sample) -> list[SizedRules]:
        """Return the best rules found for every size up to the budget, the smallest first."""
        config = self.config.search
        task = distillation.task(choice.mix, self.deadline.stage("the search for rules", 0.85))
        advance = self.progress.stage("rules", 2 * len(GROWTH) + 1 + config.n_generations)
        path, _ = self.search_sizes(task, config, generator(self.config.seed, Stream.SEARCH), advance)
        return [self.with_weights(size, rules, choice, rows) for size, rules in sorted(path.items())]

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

    def find_member(
        self, distillation: Distillation, choice: TargetChoice, rows: Sample, k: int, advance: Callable[[], None]
    ) -> SizedRules | None:
        """Return another model to be averaged with the first, found by a quick search; None without time."""
        stop = self.deadline.stage("more models", 0.85)
        if stop():
            return None
        budget = member(self.config.search.budget)
        rules = self.search_member(distillation.task(choice.mix, stop), Stream.MEMBER, k)
        advance()
        return None if stop() else self.with_weights(budget.conditions, rules, choice, rows)

    def search_member(self, task: Task, stream: Stream, *keys: int) -> RuleSet:
        """Return rules of a member's size, found by a quick search of their own."""
        config, rng = self.config.search.quick(), generator(self.config.seed, stream, *keys)
        budget = member(config.budget)
        rules, candidates = find_rules(task, config, rng)
        larger = select_larger(task, [*rules.expressions, *candidates], [budget.conditions], budget)[budget.conditions]
        sweep(larger, budget, rng)
        return larger

    def with_weights(self, size: int, rules: RuleSet, choice: TargetChoice, rows: Sample | None = None) -> SizedRules:
        """Return rules with weights solved for under the user's loss: on all rows where only some were searched on."""
        loss, task, expressions, signs = self.config.loss, rules.task, tuple(rules.expressions), rules.signs
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
        predicted = {
            size: self.with_weights(size, rules, choice).predict(held_out.inputs) for size, rules in path.items()
        }
        size = member(config.budget).conditions
        for k in range(1, n_members(config.budget)):
            rules = self.search_member(task, Stream.VALIDATION, fold, k)
            if stop():
                break
            other = self.with_weights(size, rules, choice).predict(held_out.inputs)
            predicted[(k + 1) * size] = (k * predicted[k * size] + other) / (k + 1)
        return predicted, held_out

    def join_folds(self, folds: Sequence[tuple[dict[int, Floats], Sample]], sizes: set[int]) -> Validation | None:
        """Put the folds together. Where a fold has no rules of a size, it has those of the next larger one."""
        if not folds:
            return None
        sizes = sizes.union(*(predicted for predicted, _ in folds))
        y, weight = (np.concatenate([getattr(held_out, name) for _, held_out in folds]) for name in ("y", "weight"))
        predictions = {
            size: np.concatenate([_at_least(size, predicted) for predicted, _ in folds]) for size in sorted(sizes)
        }
        explained = {size: self.config.loss.explained(y, one, weight) for size, one in predictions.items()}
        return Validation(explained, predictions, y, weight)


def find_rules(
    task: Task, config: SearchConfig, rng: np.random.Generator, advance: Callable[[], None] = lambda: None
) -> tuple[RuleSet, list[Expression]]:
    """Return the best page of rules found, and all candidates that were grown for it.

    A polished set is a local optimum, and different starts end in different ones. The first generations recombine two
    sets: they select anew from the rules of both, some of the other candidates, and rules grown on what one of them
    leaves of the target. The others widen the best set. A child that is new takes the place of the worst set if it is
    better.
    """
    budget = searched(config.budget)
    pools = []
    for rate, longest in GROWTH:
        n_rules = config.n_grown_rules // len(GROWTH)
        pools.append(grow(task, n_rules, min(longest, budget.rule_length), rng, rate=rate))
        advance()
    candidates = list(dict.fromkeys(expression for pool in pools for expression in pool))

    sets: list[RuleSet] = []
    for pool in (*pools, candidates):
        if sets and task.stop():
            break
        sets.append(polish(RuleSet(task, select(task, pool, budget)), budget, rng, sweeps=SWEEPS))
        advance()

    for generation in range(config.n_generations):
        if task.stop():
            break
        losses = [rules.loss() for rules in sets]
        if generation < RECOMBINED * config.n_generations:
            child = _recombined(task, sets, candidates, budget, rng)
        else:
            child = widened(sets[int(np.argmin(losses))], budget, rng)
        worst, loss = int(np.argmax(losses)), child.loss()
        is_new = all(abs(loss - other) > SAME_LOSS * task.variation for other in losses)
        if is_new and loss < losses[worst]:
            sets[worst] = child
        advance()
    return min(sets, key=lambda rules: rules.loss()), candidates


def _recombined(
    task: Task,
    sets: Sequence[RuleSet],
    candidates: Sequence[Expression],
    budget: Budget,
    rng: np.random.Generator,
) -> RuleSet:
    """Return a set selected anew from the rules of two others and from further candidates."""
    parents = [sets[i] for i in rng.choice(len(sets), min(N_PARENTS, len(sets)), replace=False).tolist()]
    drawn = rng.choice(len(candidates), min(N_DRAWN, len(candidates)), replace=False).tolist()
    residual = parents[0].residual()
    pool = [
        *(expression for rules in parents for expression in rules.expressions),
        *(candidates[i] for i in drawn),
        *grow(task, N_GROWN_ON_RESIDUAL, budget.rule_length, rng, rate=RESIDUAL_RATE, target=residual),
    ]
    return polish(RuleSet(task, select(task, pool, budget)), budget, rng, sweeps=SWEEPS)


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


def _by_rows(sample: Sample, table: Sequence[tuple[int, int]]) -> int:
    """Return the entry of a table for the number of rows."""
    return next(value for most, value in table if len(sample.y) <= most)


def _at_least(size: int, predicted: dict[int, Floats]) -> Floats:
    """Return what the model of a size predicts, or of the next larger one that there is, or the largest."""
    return predicted[min((other for other in predicted if other >= size), default=max(predicted))]
