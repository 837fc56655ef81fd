"""The rule learner, top to bottom: teach, choose the target, search, shrink, validate, choose the size, assemble.

`RuleLearner.learn` is the algorithm. The table comes in bins (`_bins`), teachers make the targets (`_teachers`), and
`_search` finds the rules of one target. The result is rules with weights for every size, which `assemble` turns into
circuits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from dln._interrupt import Deadline, worker_threads
from dln.circuit._circuit import Circuit, Column
from dln.circuit._graph import Graph
from dln.data._rows import Floats
from dln.data._target import Target
from dln.rules import _constants as constants
from dln.rules._bins import Input, Inputs, NumberInput, synthetic_rows
from dln.rules._expression import Expression, Signals, Test
from dln.rules._rule_set import RuleSet
from dln.rules._search import find_rules, grow, polish, select, select_sizes, shrinking_path, sweep
from dln.rules._task import Sample, Stream, Task, generator, most_telling_inputs
from dln.rules._teachers import TARGET_MIXES, Y_ONLY, Distillation, TargetMix, cross_fit, n_teachers
from dln.solve._select import Budget
from dln.solve._weights import PENALTY, Loss, solve_weights


class ShowsProgress(Protocol):
    """Shows the progress of a fit."""

    def stage(self, name: str, total: int) -> Callable[[], None]:
        """Show a bar for a stage; return the function that advances it by one."""


@dataclass(frozen=True, slots=True)
class FitConfig:
    """Fit settings other than the data."""

    budget: Budget
    n_grown_rules: int
    n_generations: int
    loss: Loss
    n_teachers: int
    n_synthetic_rows: int
    seed: int
    n_threads: int


class TargetChoice(NamedTuple):
    """The best mix of y and teachers, and the best ridge penalty of the final weights, in penalties of the search."""

    mix: TargetMix
    penalty: float


@dataclass(frozen=True, slots=True)
class SizedRules:
    """The best rules found for a budget of conditions, with weights for the standardised target."""

    budget: int
    expressions: tuple[Expression, ...]
    intercept: float
    weights: Floats

    def predict(self, inputs: Inputs) -> Floats:
        """Return for every row the intercept plus the weights of the rules that fire."""
        signals = Signals(inputs)
        predicted = np.full(inputs.bins.shape[1], self.intercept)
        for expression, weight in zip(self.expressions, self.weights, strict=True):
            predicted += weight * signals(expression)
        return predicted

    @classmethod
    def mean(cls, members: Sequence[SizedRules]) -> SizedRules:
        """Return the model that predicts the mean of some: their rules together, each once."""
        weights: dict[Expression, float] = {}
        for one in members:
            for expression, weight in zip(one.expressions, one.weights.tolist(), strict=True):
                weights[expression] = weights.get(expression, 0.0) + weight / len(members)
        intercept = sum(one.intercept for one in members) / len(members)
        return cls(sum(one.budget for one in members), tuple(weights), intercept, np.array(list(weights.values())))


@dataclass(frozen=True, slots=True)
class Validation:
    """Losses and predictions of each size on held-out rows, for the standardised target ``(n,)``."""

    losses: dict[int, Floats]
    explained: dict[int, float]
    """R²: 1 less the loss as a share of that of the best constant."""
    predicted: dict[int, Floats]
    y: Floats
    weight: Floats

    def is_nearly(self, size: int, best: int) -> bool:
        """Return True if a size is as good as the best: within one standard error of their paired difference.

        The difference d of the losses has the weighted mean m over held-out rows, with the standard error
        √(Σ w² (d - m)²) / Σ w. Few or noisy rows leave large differences open, so it must be small besides.
        """
        difference, weight = self.losses[size] - self.losses[best], self.weight
        mean = float(weight @ difference) / float(weight.sum())
        error = float(np.linalg.norm(weight * (difference - mean))) / float(weight.sum())
        return mean <= error and self.explained[size] >= self.explained[best] - constants.SIZE_TOLERANCE


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


def shares(budget: Budget) -> tuple[Budget, Budget, int]:
    """Return what is searched with care, what one model has of the budget, and how many models are averaged.

    A large set is slow to polish. One model has all where rules are limited, for each of several would have few.
    """
    n_models = 1 if budget.rules < budget.conditions else max(1, budget.conditions // constants.MEMBER)
    one = budget.resized(budget.conditions // n_models)
    return (one if one.conditions <= constants.MAX_SEARCHED else one.resized(constants.PAGE)), one, n_models


class RuleLearner:
    """Learns rules within a budget of conditions; its methods are the steps of the algorithm."""

    def __init__(self, config: FitConfig, deadline: Deadline, progress: ShowsProgress) -> None:
        self.config, self.deadline, self.progress = config, deadline, progress
        self.page, self.one_model, self.n_models = shares(config.budget)
        # Of a quick search, which takes a fraction of the time and finds slightly worse rules.
        self.few_generations = int(constants.QUICK * config.n_generations)

    def learn(self, rows: Sample, validation_rows: Sample | None = None) -> Learned:
        """Learn from some rows, and validate on folds of them, or on others where there are any."""
        with (
            threadpool_limits(limits=1),  # matrices are small: more threads than one only wait for each other
            # OpenMP counts threads per thread: each worker has to be limited itself.
            worker_threads(max(1, self.config.n_threads), initializer=threadpool_limits, initargs=(1,)) as pool,
        ):
            kept = most_telling_inputs(rows)
            rows = rows._replace(inputs=rows.inputs.keep(kept))
            sample = rows.at(np.arange(min(len(rows.y), constants.MAX_ROWS)))

            distillation = self.teach(sample, pool)
            choice = self.choose_target(distillation, pool)

            # The longest job first, and all of them in the pool: a thread beside it would fight for the cores.
            n_folds = _n_folds(distillation, constants.N_SIZE_FOLDS) if validation_rows is None else 0
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
        config = self.config
        folds = sample.division.folds(sample.weight, _by_rows(sample, constants.N_FOLDS), sample.counts)
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
        """Choose the mix and the penalty with the least squared error of quick students on what folds hold out."""
        stop = self.deadline.stage("the choice of the target", 0.3)
        mixes = TARGET_MIXES if distillation.teachers is not None else (Y_ONLY,)
        n_folds = _n_folds(distillation, constants.N_TARGET_FOLDS)
        jobs = [(mix, fold) for fold in range(n_folds) for mix in mixes]
        trials = list(pool.map(lambda job: self.trial_errors(distillation, job[0], job[1], stop), jobs))
        errors = np.array(trials).reshape(n_folds, len(mixes), len(constants.WEIGHT_PENALTIES))
        complete = ~np.isnan(errors).any(axis=(1, 2))  # only a fold on which all mixes were tried compares them
        if not complete.any():
            return TargetChoice(Y_ONLY, constants.WEIGHT_PENALTIES[0])
        total = errors[complete].sum(axis=0)
        mix, penalty = np.unravel_index(int(np.argmin(total)), total.shape)
        return TargetChoice(mixes[int(mix)], constants.WEIGHT_PENALTIES[int(penalty)])

    def trial_errors(
        self, distillation: Distillation, mix: TargetMix, fold: int, stop: Callable[[], bool]
    ) -> list[float]:
        """Return the squared error of a quick student for each penalty, NaN if time is over."""
        if stop():
            return [np.nan] * len(constants.WEIGHT_PENALTIES)
        task, held_out = distillation.training_task(mix, fold, stop), distillation.held_out(fold)
        rng = generator(self.config.seed, Stream.TARGET_TRIAL, fold)
        candidates = grow(
            task,
            constants.TRIAL_RULES,
            min(constants.TRIAL_LENGTH, self.page.rule_length),
            rng,
            rate=constants.TRIAL_RATE,
        )
        rules = polish(RuleSet(task, select(task, candidates, self.page)), self.page, rng, sweeps=constants.SWEEPS)
        errors = []
        for penalty in constants.WEIGHT_PENALTIES:
            student = SizedRules(0, tuple(rules.expressions), *rules.weights(task.penalty * penalty))
            errors.append(float(held_out.weight @ (held_out.y - student.predict(held_out.inputs)) ** 2))
        return errors

    # --- the search

    def find_all_sizes(self, distillation: Distillation, choice: TargetChoice, rows: Sample) -> list[SizedRules]:
        """Return the best rules found for every size up to the budget, the smallest first."""
        n_generations = self.config.n_generations
        task = distillation.task(choice.mix, self.deadline.stage("the search for rules", 0.85))
        advance = self.progress.stage("rules", len(constants.GROWTH) + 1 + n_generations)
        path, _ = self.search_sizes(task, n_generations, generator(self.config.seed, Stream.SEARCH), advance)
        points = [self.with_weights(size, rules, choice, rows) for size, rules in sorted(path.items())]
        task.stop = self.deadline.stage("more models", 0.85)
        return [*points, *self.more_models(task, points[-1], choice, rows, Stream.MEMBER)]

    def search_sizes(
        self, task: Task, n_generations: int, rng: np.random.Generator, advance: Callable[[], None] = lambda: None
    ) -> tuple[dict[int, RuleSet], list[Expression]]:
        """Return sets of rules for all sizes up to that of one model, and the candidates they were selected from.

        One page is searched, and then shrunk, and extended where the budget is larger.
        """
        page, whole = self.page, self.one_model
        rules, candidates = find_rules(task, page, self.config.n_grown_rules, n_generations, rng, advance)
        task.stop = self.deadline.over  # the share of the time that the search may take has ended
        path = shrinking_path(rules, page, rng)
        if page != whole:
            sizes = [*(size for size in constants.SIZES if page.conditions < size < whole.conditions), whole.conditions]
            for size, larger in select_sizes(task, candidates, whole, sizes).items():
                sweep(larger, whole.resized(size), rng)
                path[size] = larger
        return path, candidates

    def more_models(
        self, task: Task, first: SizedRules, choice: TargetChoice, rows: Sample | None, stream: Stream, *keys: int
    ) -> list[SizedRules]:
        """Return means of more and more models, the first and others found by quick searches, up to the budget."""
        models, size = [first], self.one_model.conditions
        for k in range(1, self.n_models):
            rng = generator(self.config.seed, stream, *keys, k)
            _, candidates = find_rules(task, self.page, self.config.n_grown_rules, self.few_generations, rng)
            larger = select_sizes(task, candidates, self.one_model, [size])[size]
            sweep(larger, self.one_model, rng)
            if task.stop():
                break
            models.append(self.with_weights(size, larger, choice, rows))
        return [SizedRules.mean(models[:k]) for k in range(2, len(models) + 1)]

    def with_weights(self, size: int, rules: RuleSet, choice: TargetChoice, rows: Sample | None = None) -> SizedRules:
        """Return rules with weights solved for under the user's loss: on all rows where only some were searched on."""
        task, loss = rules.task, self.config.loss
        rules.keep(np.flatnonzero(~task.rests_on_few(rules.fires)).tolist())  # the others fire on synthetic rows
        expressions, signs = tuple(rules.expressions), rules.signs
        if rows is not None and len(rows.y) > constants.MAX_ROWS:
            signals = Signals(rows.inputs)
            fires = np.array([signals(one) for one in expressions], dtype=np.bool_).reshape(-1, len(rows.y))
            solved = solve_weights(fires, rows.y, rows.weight, PENALTY, loss, signs=signs)
        elif loss.name == "squared_error":
            solved = rules.weights(task.penalty * choice.penalty)
        else:
            penalty = PENALTY * choice.penalty
            solved = solve_weights(rules.fires, task.target, task.weight, penalty, loss, signs=signs)
        return SizedRules(size, expressions, *solved)

    # --- validation

    def validate(
        self, distillation: Distillation, choice: TargetChoice, fold: int
    ) -> tuple[dict[int, Floats], Sample] | None:
        """Learn without what a fold holds out, by a quick search; return what each size predicts for it."""
        stop = self.deadline.stage("validation", 0.85)
        if stop():
            return None
        held_out = distillation.held_out(fold)
        task = distillation.training_task(choice.mix, fold, stop)
        rng = generator(self.config.seed, Stream.VALIDATION, fold)
        path, candidates = self.search_sizes(task, self.few_generations, rng)
        if stop():
            return None
        larger = [size for size in constants.LARGER_SIZES if size > max(path)]
        path |= select_sizes(task, candidates, self.config.budget, larger)
        models = [self.with_weights(size, rules, choice) for size, rules in path.items()]
        first = next(model for model in models if model.budget == self.one_model.conditions)
        task.stop = stop
        models += self.more_models(task, first, choice, None, Stream.VALIDATION, fold)
        return {model.budget: model.predict(held_out.inputs) for model in models}, held_out

    def join_folds(self, folds: Sequence[tuple[dict[int, Floats], Sample]], sizes: set[int]) -> Validation | None:
        """Put the folds together. Where a fold has no rules of a size, it has those of the next larger one."""
        if not folds:
            return None
        sizes = sizes.union(*(predicted for predicted, _ in folds))
        y, weight = (np.concatenate([getattr(held_out, name) for _, held_out in folds]) for name in ("y", "weight"))
        predictions = {}
        for size in sorted(sizes):
            nearest = [min((one for one in predicted if one >= size), default=max(predicted)) for predicted, _ in folds]
            predictions[size] = np.concatenate([one[near] for near, (one, _) in zip(nearest, folds, strict=True)])
        loss = self.config.loss
        losses = {size: loss.each(y - one) for size, one in predictions.items()}
        explained = {size: loss.explained(y, one, weight) for size, one in predictions.items()}
        return Validation(losses, explained, predictions, y, weight)


def _is_enough(sample: Sample) -> bool:
    """Return True if there are rows enough for folds, and anything to learn from."""
    return int(sample.counts.sum()) >= constants.MIN_ROWS and len(sample.inputs.inputs) > 0


def _n_folds(distillation: Distillation, table: Sequence[tuple[int, int]]) -> int:
    """Return how many folds to try: all that the user divides the rows into, or as many as a table has for them."""
    if not _is_enough(distillation.sample):
        return 0
    is_given = distillation.sample.division.is_given
    return len(distillation.folds.training) if is_given else _by_rows(distillation.sample, table)


def _by_rows(sample: Sample, table: Sequence[tuple[int, int]]) -> int:
    """Return the entry of a table for the number of rows."""
    return next(value for most, value in table if len(sample.y) <= most)


def smallest_good(points: Sequence[SizedRules], validation: Validation | None, n_rows: int) -> int:
    """Return the index of the smallest size that is as good as the best on held-out rows; only such sizes are taken.

    Without validation each condition needs some rows.
    """
    if validation is None:
        few = max(1, n_rows // constants.ROWS_PER_CONDITION)
        return max((i for i, point in enumerate(points) if point.budget <= few), default=0)
    explained = {i: validation.explained[p.budget] for i, p in enumerate(points) if p.budget in validation.explained}
    best = points[max(explained, key=lambda i: explained[i])].budget
    return next(i for i in explained if validation.is_nearly(points[i].budget, best))


def assemble(
    models: Sequence[SizedRules], inputs: Sequence[Input], columns: tuple[Column, ...], target: Target
) -> list[Circuit]:
    """Return the circuits of models, in the user's units; the models' weights are for the standardised target."""
    graph = Graph()

    def edge(expression: Expression) -> int:
        if isinstance(expression, Test):
            one = inputs[expression.input]
            return graph.literal(one.literal(expression.cutoff) if isinstance(one, NumberInput) else one) ^ (
                expression.negated
            )
        return graph.gate(expression.gate, edge(expression.a), edge(expression.b))

    return [
        graph.circuit(
            columns,
            target.mean + target.spread * model.intercept,
            [(edge(one), float(w) * target.spread) for one, w in zip(model.expressions, model.weights, strict=True)],
            decimals=target.decimals,
        )
        for model in models
    ]
