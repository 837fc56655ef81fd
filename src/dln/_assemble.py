"""From trained networks and grown rules to the model's circuit: pool, choose, polish, weigh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from dln._builder import CircuitBuilder, Signal, add_circuit
from dln._circuit import Circuit, Values
from dln._discretize import Cutter, Target, discretize, tree_cuts, tree_signal
from dln._encoding import Encoder
from dln._frontier import find_frontier
from dln._rows import CanonicalRows
from dln.training._binned import FINE_CUTOFFS, Inputs, Rows, bin_inputs, keep_cutoffs
from dln.training._grow import GrownRule, fire_matrix, grow_rules, polish, polish_helps
from dln.training._loop import Trained
from dln.training._progress import Progress
from dln.training._select import distinct, pool, solve_weights
from dln.training._teach import LEAVES, imagine, imagined_weight, teach

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Rules are grown, chosen and weighed on at most so many rows, a sample by content: more would tell no more.
MAX_ROWS: Final = 200_000
#: Fewer rows than this are not split among teachers.
MIN_ROWS_TO_TEACH: Final = 40
#: Numbers of rules that are tried, as shares of the most.
_SIZES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class Growth:
    """How rules are grown from trees."""

    n_rules: int
    max_leaves: int | None
    """None: as many as the teachers find enough."""
    max_cutoffs: int
    n_teachers: int
    sweeps: int
    seed: int
    n_threads: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the circuit is put together."""

    sum_link_threshold: float
    refit: str | None
    loss: str
    quantile: float
    max_rules: int | None
    tolerance: float
    """Share of the target's variance that may be given up for fewer rules."""
    mixes: bool
    """Whether rules of networks, which learned y, may stand beside rules that were grown for the teachers' target."""
    growth: Growth


@dataclass(frozen=True, slots=True)
class Training:
    """The training rows: the table's columns, which of its rows count and how much, and the target's units."""

    values: Sequence[Values]
    y: Floats
    rows: CanonicalRows
    encoder: Encoder
    target: Target


def assemble(networks: Sequence[Trained], training: Training, recipe: Recipe, progress: Progress) -> Circuit:
    """Return the circuit of the model."""
    # The matrices here are small: more threads than one only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        return _assemble(networks, training, recipe, progress)


def _assemble(networks: Sequence[Trained], training: Training, recipe: Recipe, progress: Progress) -> Circuit:
    encoder, target = training.encoder, training.target
    circuits = [
        discretize(
            trained.network,
            temperature=trained.temperature,
            sum_threshold=recipe.sum_link_threshold,
            encoder=encoder,
            values=training.values,
            rows=training.rows.index,
            target=target,
        )
        for trained in networks
    ]
    builder, signals = pool(encoder.columns, circuits)
    if recipe.refit is None:
        return _mean_of(circuits, builder, target)
    rows = training.rows.sample(MAX_ROWS)
    standard = target.standardise(training.y[rows.index])
    school = _go_to_school(training, recipe, standard, rows, progress)
    goal, weight, inputs = school.goal, school.weight, school.inputs
    grown = _grow(school, recipe.growth, progress)
    if school.is_taught and grown and not recipe.mixes:
        signals = []
    fires = _fires(builder, signals, training.values, rows.index, school.imagined, target)
    both = np.concatenate([fires, fire_matrix(grown, inputs)])
    kept = distinct(list(both))
    chosen = [kept[k] for k in _choose(both[kept], goal, weight, recipe)]
    own = [k for k in chosen if k < len(signals)]
    rules = [grown[k - len(signals)] for k in chosen if k >= len(signals)]
    growth = recipe.growth
    if growth.sweeps and rules:
        leaves = max(_n_leaves(rule) for rule in rules)
        how = {"sweeps": growth.sweeps, "max_leaves": leaves, "seed": growth.seed}
        if school.is_taught or polish_helps(len(rules), inputs, goal, weight, fires[own], **how):
            after_each = progress.stage("polish", growth.sweeps * len(rules))
            rules = polish(rules, inputs, goal, weight, fires[own], **how, after_each=after_each)
    final = np.concatenate([fires[own], fire_matrix(rules, inputs)])
    intercept, weights = solve_weights(final, goal, weight, loss=recipe.loss, quantile=recipe.quantile)
    cutter = Cutter(builder, encoder, training.values, training.rows.index)
    bits = [builder.literal(literal) for literal in encoder.bits]
    cutter.look_up(cut for rule in rules for cut in tree_cuts(rule, inputs.cutoffs))
    all_signals = [signals[k] for k in own] + [tree_signal(rule, inputs.cutoffs, bits, cutter) for rule in rules]
    return builder.circuit(
        target.mean + target.spread * intercept,
        [(signal, float(w) * target.spread) for signal, w in zip(all_signals, weights, strict=True)],
        decimals=target.decimals,
    )


def _n_leaves(rule: GrownRule) -> int:
    return int((rule.tree.feature < 0).sum())


def _mean_of(circuits: Sequence[Circuit], builder: CircuitBuilder, target: Target) -> Circuit:
    """Return the mean of circuits with their own weights."""
    if len(circuits) == 1:
        return circuits[0]
    share = 1.0 / max(len(circuits), 1)
    rules = []
    for circuit in circuits:
        signals = add_circuit(builder, circuit)
        rules += [(signal, rule.weight * share) for signal, rule in zip(signals, circuit.rules, strict=True)]
    intercept = sum(circuit.intercept for circuit in circuits) * share if circuits else target.mean
    return builder.circuit(intercept, rules, decimals=target.decimals)


def _fires(
    builder: CircuitBuilder, signals: list[Signal], values: Sequence[Values], rows: Rows, imagined: Rows, target: Target
) -> Bools:
    """Return where the networks' rules fire, on the named rows and on imagined ones, ``(n_rules, n)``."""
    step = 10.0**-target.decimals
    pooled = builder.circuit(0.0, [(signal, step) for signal in signals], decimals=target.decimals)
    found = pooled.rule_values(
        [column[np.concatenate([rows, rows[mixed]])] for column, mixed in zip(values, imagined, strict=True)]
    )
    return np.array(found, dtype=np.bool_).reshape(len(signals), len(rows) + imagined.shape[1])


@dataclass(frozen=True, slots=True)
class _School:
    """What rules are grown on and for: the rows and then the imagined ones."""

    inputs: Inputs
    goal: Floats
    weight: Floats
    leaves: int
    imagined: Rows
    """(n_columns, n): which row gives each column of an imagined row its value."""

    @property
    def is_taught(self) -> bool:
        """Whether the goal is not y itself but what teachers make of it."""
        return bool(self.imagined.shape[1])


def _go_to_school(training: Training, recipe: Recipe, y: Floats, rows: CanonicalRows, progress: Progress) -> _School:
    """Return what to grow rules for: the target itself, or what teachers make of it."""
    growth, weight = recipe.growth, rows.weight
    encoder = training.encoder
    encoded = encoder.encode(training.values, rows.index)
    n_scaled = max(1, encoded.numbers.shape[1])
    teaches = growth.n_rules > 0 and growth.n_teachers > 0 and len(y) >= MIN_ROWS_TO_TEACH
    columns = [scaled.column for scaled in encoder.scaled] + [literal.column for literal in encoder.bits]
    most = FINE_CUTOFFS if teaches else max(1, growth.max_cutoffs // n_scaled)
    inputs = bin_inputs(encoded.numbers, encoded.bits, most, columns)
    imagined = np.empty((len(training.values), 0), dtype=np.intp)
    if not teaches or not len(inputs.n_bins):
        return _School(inputs, y, weight, growth.max_leaves or LEAVES[0], imagined)
    after_each = progress.stage("teachers", growth.n_teachers)
    lesson = teach(inputs, y, weight, growth.n_teachers, growth.max_leaves, growth.seed, growth.n_threads, after_each)
    # Teachers estimate a mean: for other losses they only say where to cut.
    if recipe.loss != "squared_error" or lesson.share == 1:
        return _School(keep_cutoffs(inputs, lesson.gains, growth.max_cutoffs), y, weight, lesson.leaves, imagined)
    imagined = imagine(inputs, len(training.values), weight, (growth.seed, 6))
    others = inputs.mixed(imagined)
    goal = np.concatenate([lesson.goal(inputs, y), lesson.predict(others)])
    weight = np.concatenate([weight, imagined_weight(weight, others.n_rows)])
    inputs = keep_cutoffs(inputs.followed_by(others), lesson.gains, growth.max_cutoffs)
    return _School(inputs, goal, weight, lesson.leaves, imagined)


def _grow(school: _School, growth: Growth, progress: Progress) -> list[GrownRule]:
    """Return grown rules."""
    if not growth.n_rules or not len(school.inputs.n_bins):
        return []
    return grow_rules(
        school.inputs,
        school.goal,
        school.weight,
        growth.n_rules,
        max_leaves=school.leaves,
        seed=growth.seed,
        after_each=progress.stage("grown rules", growth.n_rules),
    )


def _choose(fires: Bools, goal: Floats, weight: Floats, recipe: Recipe) -> tuple[int, ...] | range:
    """Return the rules to keep: as few as do nearly as well as the most that are allowed."""
    most = len(fires) if recipe.max_rules is None else min(recipe.max_rules, len(fires))
    if recipe.max_rules is None and not recipe.tolerance:
        return range(len(fires))
    sizes = sorted({max(1, round(share * most)) for share in _SIZES}) if recipe.tolerance else [most]
    if most == 0:
        return range(0)
    points = list(find_frontier(fires, goal, weight, sizes=sizes))
    enough = points[-1].training_error ** 2 + recipe.tolerance
    return next(point.rules for point in points if point.training_error**2 <= enough)
