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
from dln.training._grow import (
    FINE_CUTOFFS,
    LEAVES,
    GrownRule,
    Inputs,
    bin_inputs,
    fire_matrix,
    grow_rules,
    keep_cutoffs,
    polish,
    polish_helps,
    teach,
)
from dln.training._loop import Trained
from dln.training._progress import Progress
from dln.training._select import distinct, pool, solve_weights

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
    sample, weight = rows.index, rows.weight
    standard = target.standardise(training.y[sample])
    fires = _fires(builder, signals, training.values, sample, target)
    grown, inputs, goal = _grow(training, recipe, standard, sample, weight, progress)
    both = np.concatenate([fires, fire_matrix(grown, inputs)])
    kept = distinct(list(both))
    chosen = [kept[k] for k in _choose(both[kept], goal, weight, recipe)]
    own = [k for k in chosen if k < len(signals)]
    rules = [grown[k - len(signals)] for k in chosen if k >= len(signals)]
    growth = recipe.growth
    if growth.sweeps and rules:
        leaves = max(_n_leaves(rule) for rule in rules)
        how = {"sweeps": growth.sweeps, "max_leaves": leaves, "seed": growth.seed}
        if polish_helps(len(rules), inputs, goal, standard, weight, fires[own], **how):
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
    builder: CircuitBuilder, signals: list[Signal], values: Sequence[Values], rows: npt.NDArray[np.intp], target: Target
) -> Bools:
    """Return where the networks' rules fire, ``(n_rules, n_rows)``."""
    step = 10.0**-target.decimals
    pooled = builder.circuit(0.0, [(signal, step) for signal in signals], decimals=target.decimals)
    found = pooled.rule_values([column[rows] for column in values])
    return np.array(found, dtype=np.bool_).reshape(len(signals), len(rows))


def _grow(
    training: Training,
    recipe: Recipe,
    y: Floats,
    sample: npt.NDArray[np.intp],
    weight: Floats,
    progress: Progress,
) -> tuple[list[GrownRule], Inputs, Floats]:
    """Return grown rules, the inputs they were grown on, and the target that they were grown for."""
    growth = recipe.growth
    encoded = training.encoder.encode(training.values, sample)
    n_columns = max(1, encoded.numbers.shape[1])
    teaches = growth.n_rules > 0 and growth.n_teachers > 0 and len(sample) >= MIN_ROWS_TO_TEACH
    inputs = bin_inputs(
        encoded.numbers, encoded.bits, FINE_CUTOFFS if teaches else max(1, growth.max_cutoffs // n_columns)
    )
    if not growth.n_rules or not len(inputs.n_bins):
        return [], inputs, y
    goal, leaves = y, growth.max_leaves or LEAVES[-1]
    if teaches:
        after_each = progress.stage("teachers", growth.n_teachers)
        lesson = teach(
            inputs, y, weight, growth.n_teachers, growth.max_leaves, growth.seed, growth.n_threads, after_each
        )
        leaves = lesson.leaves
        inputs = keep_cutoffs(inputs, lesson.gains, growth.max_cutoffs)
        # Teachers estimate a mean: for other losses they only say where to cut.
        if recipe.loss == "squared_error":
            goal = lesson.share * y + (1 - lesson.share) * lesson.prediction
    grown = grow_rules(
        inputs,
        goal,
        weight,
        growth.n_rules,
        max_leaves=leaves,
        seed=growth.seed,
        after_each=progress.stage("grown rules", growth.n_rules),
    )
    return grown, inputs, goal


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
