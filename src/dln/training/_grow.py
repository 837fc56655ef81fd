"""Rules grown from trees: the quickest way to good Boolean functions.

A regression tree of 32 leaves, cut in two where its values differ most, is one rule: a Boolean function of thresholds.
Boosting such two-valued trees, a hundred of them come close to a hundred whole trees, because the weights of all are
solved for together at the end. Rules grow where gradient descent is slow to find them.

Three more ideas keep a hundred rules both accurate and cheap:

- *teachers*: bagged boosted trees, whose mean is a less noisy target than y. How much of the target should be theirs
  is decided by trying it on rows that they have not seen;
- *cut-offs*: of all places to cut, only those are kept that the teachers' splits gain most by;
- *polish*: each rule is grown anew against what the others leave, and replaced where that helps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.training._select import solve_weights
from dln.training._trees import MAX_CUTOFFS, Bins, Floats, Ints, Tree, grow, leaf_of, upper_leaves

Rows = npt.NDArray[np.intp]

#: Places to cut that are looked at, per column, before the best are kept.
FINE_CUTOFFS: Final = 64
#: Shrinkage and share of the rows of a boosting step, and the least weight of a leaf, in rows.
RATE: Final = 0.06
ROW_SHARE: Final = 0.7
MIN_LEAF: Final = 5.0

#: A teacher: its trees' leaves, shrinkage, most trees, trees without a gain before it stops, ridge penalty of a leaf,
#: the share of rows that it sets aside, and the share of the others that a tree sees.
TEACHER_LEAVES: Final = 12
TEACHER_RATE: Final = 0.1
TEACHER_TREES: Final = 400
TEACHER_PATIENCE: Final = 20
TEACHER_PENALTY: Final = 1.0
TEACHER_ASIDE: Final = 0.25
TEACHER_ROWS: Final = 0.8

#: Shares of y in the target and numbers of leaves that are tried, by how many teachers, with how many rules each.
SHARES: Final = (0.0, 0.5, 1.0)
LEAVES: Final = (4, 8, 16, 32)
#: Fewer leaves are enough where the error is at most this share larger: a shorter rule is easier to read.
ENOUGH: Final = 0.01
TRIALS: Final = 3
TRIAL_RULES: Final = 60
TRIAL_RATE: Final = 0.1

#: Share of the rows by which polished rules are judged, and the least number of them.
POLISH_ASIDE: Final = 0.25
#: Shrinkage where a few rules are to do the work.
FEW_RULES_RATE: Final = 0.3
MIN_ROWS_ASIDE: Final = 20


@dataclass(frozen=True, slots=True)
class Inputs:
    """Binned inputs: scaled columns first, then bits. Bin b of a scaled column lies above its cut-off b - 1."""

    bins: Bins
    """(n_inputs, n_rows)"""
    n_bins: Ints
    cutoffs: tuple[Floats, ...]
    """Per scaled column, ascending, in scaled units."""

    @property
    def n_rows(self) -> int:
        return int(self.bins.shape[1])

    def at(self, rows: Rows) -> Inputs:
        """Return the inputs of the named rows."""
        return Inputs(np.ascontiguousarray(self.bins[:, rows]), self.n_bins, self.cutoffs)


@dataclass(frozen=True, slots=True)
class GrownRule:
    """A rule: it fires where a row falls into one of the upper leaves of a tree."""

    tree: Tree
    upper: npt.NDArray[np.bool_]

    def fires(self, inputs: Inputs) -> npt.NDArray[np.bool_]:
        """Return where the rule fires, ``(n_rows,)``."""
        leaves = np.empty(inputs.n_rows, dtype=np.int32)
        leaf_of(self.tree, inputs.bins, leaves)
        return self.upper[leaves]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the teachers have to say: their mean prediction, the gain of each cut-off, and how far to trust them."""

    prediction: Floats
    gains: Floats
    """(n_inputs, n_bins): summed gain of all splits above each bin."""
    share: float
    """Share of y in the best target; the rest is the teachers'."""
    leaves: int
    """Leaves of a rule's tree that are enough."""


def bin_inputs(numbers: npt.NDArray[np.float32], bits: npt.NDArray[np.float32], max_cutoffs: int) -> Inputs:
    """Return the encoder's outputs in bins, with at most so many cut-offs per column, at even ranks of the rows."""
    most = min(max_cutoffs, MAX_CUTOFFS)
    cutoffs = tuple(_even_cutoffs(numbers[:, k], most) for k in range(numbers.shape[1]))
    bins = np.empty((len(cutoffs) + bits.shape[1], len(numbers)), dtype=np.uint8)
    for k, cuts in enumerate(cutoffs):
        bins[k] = np.searchsorted(cuts, numbers[:, k], side="left")
    bins[len(cutoffs) :] = bits.T
    sizes = [len(cuts) + 1 for cuts in cutoffs] + [2] * bits.shape[1]
    return Inputs(bins, np.array(sizes, dtype=np.int32), cutoffs)


def _even_cutoffs(values: npt.NDArray[np.float32], most: int) -> Floats:
    """Return cut-offs midway between neighbouring values; a missing value (-1) is below all."""
    known = np.sort(values[values >= 0]).astype(np.float64)
    distinct = np.unique(known)
    places = np.arange(len(distinct) - 1)
    if len(places) > most:
        ranks = (np.arange(1, most + 1) * len(known)) // (most + 1)
        places = np.unique(np.minimum(np.searchsorted(distinct, known[ranks]), len(distinct) - 2))
    return (distinct[places] + distinct[places + 1]) / 2


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

    Students are grown on the rows that their teacher saw and judged on those that it did not: first how much of the
    target should be the teacher's, then how few leaves do nearly as well, unless `max_leaves` says.
    """
    with ThreadPoolExecutor(max_workers=max(1, n_threads)) as pool:
        taught = []
        for teacher in pool.map(lambda k: _one_teacher(inputs, y, weight, seed, k), range(n_teachers)):
            taught.append(teacher)
            after_each()

        def error(share: float, leaves: int) -> float:
            """Return the squared error of the students of the first teachers."""
            return sum(
                pool.map(
                    lambda teacher: _student_error(inputs, teacher, y, weight, share, leaves, seed), taught[:TRIALS]
                )
            )

        most = LEAVES[-1] if max_leaves is None else max_leaves
        errors = {share: error(share, most) for share in SHARES}
        share = min(errors, key=errors.__getitem__)
        leaves = most
        if max_leaves is None:
            by_leaves = {fewer: error(share, fewer) for fewer in LEAVES[:-1]} | {most: errors[share]}
            enough = min(by_leaves.values()) * (1.0 + ENOUGH)
            leaves = min(fewer for fewer, found in by_leaves.items() if found <= enough)
    prediction = np.mean([teacher.prediction for teacher in taught], axis=0)
    gains = np.sum([teacher.gains for teacher in taught], axis=0)
    return Lesson(prediction, gains, share, leaves)


@dataclass(frozen=True, slots=True)
class _Teacher:
    """A teacher's predictions for all rows, its gains, and which rows it saw and which it did not."""

    prediction: Floats
    gains: Floats
    rows: Rows
    aside: Rows


def _one_teacher(inputs: Inputs, y: Floats, weight: Floats, seed: int, k: int) -> _Teacher:
    """Boost trees on a share of the rows until the rest is predicted no better."""
    rng = np.random.default_rng([seed, 1, k])
    order = rng.permutation(inputs.n_rows)
    n_aside = max(1, round(TEACHER_ASIDE * inputs.n_rows))
    aside, rows = np.sort(order[:n_aside]), np.sort(order[n_aside:])
    features = np.arange(len(inputs.n_bins), dtype=np.int32)
    leaves = np.empty(inputs.n_rows, dtype=np.int32)
    prediction = np.full(inputs.n_rows, np.average(y[rows], weights=weight[rows]))
    best, best_error, waited = prediction.copy(), np.inf, 0
    gains = np.zeros((len(inputs.n_bins), int(inputs.n_bins.max())))
    for _ in range(TEACHER_TREES):
        chosen = np.sort(rng.permutation(rows)[: max(1, round(TEACHER_ROWS * len(rows)))]).astype(np.int32)
        tree = grow(
            inputs.bins,
            inputs.n_bins,
            chosen,
            y - prediction,
            weight,
            features,
            TEACHER_LEAVES,
            MIN_LEAF,
            TEACHER_PENALTY,
        )
        leaf_of(tree, inputs.bins, leaves)
        prediction = prediction + TEACHER_RATE * tree.value[leaves]
        _add_gains(tree, gains)
        error = float(np.average((y[aside] - prediction[aside]) ** 2, weights=weight[aside]))
        waited += 1
        if error < best_error:
            best, best_error, waited = prediction, error, 0
        if waited >= TEACHER_PATIENCE:
            break
    return _Teacher(best, gains, rows, aside)


def _add_gains(tree: Tree, gains: Floats) -> None:
    for node in np.flatnonzero(tree.feature >= 0):
        left, right = tree.left[node], tree.right[node]
        squares = tree.weight * tree.value**2
        gains[tree.feature[node], tree.threshold[node]] += max(0.0, squares[left] + squares[right] - squares[node])


def _student_error(
    inputs: Inputs, teacher: _Teacher, y: Floats, weight: Floats, share: float, leaves: int, seed: int
) -> float:
    """Return the squared error, on rows that the teacher did not see, of rules grown on those that it saw."""
    rows, aside = teacher.rows, teacher.aside
    target = share * y[rows] + (1 - share) * teacher.prediction[rows]
    seen, unseen = inputs.at(rows), inputs.at(aside)
    rules = grow_rules(seen, target, weight[rows], TRIAL_RULES, max_leaves=leaves, seed=seed, rate=TRIAL_RATE)
    intercept, weights = solve_weights(fire_matrix(rules, seen), target, weight[rows])
    predicted = intercept + weights @ fire_matrix(rules, unseen)
    return float((y[aside] - predicted) ** 2 @ weight[aside])


def fire_matrix(rules: Sequence[GrownRule], inputs: Inputs) -> npt.NDArray[np.bool_]:
    """Return where rules fire, ``(n_rules, n_rows)``."""
    return np.array([rule.fires(inputs) for rule in rules], dtype=np.bool_).reshape(len(rules), inputs.n_rows)


def keep_cutoffs(inputs: Inputs, gains: Floats, most: int) -> Inputs:
    """Return the inputs with at most so many cut-offs in all: those by which the teachers gained most.

    A column's share goes with the square root of its gain; within a column they lie at even shares of it.
    """
    n_scaled = len(inputs.cutoffs)
    available = np.array([int((gains[k] > 0).sum()) for k in range(n_scaled)], dtype=np.int64)
    pull = np.sqrt(gains[:n_scaled].sum(axis=1))
    counts = np.zeros(n_scaled, dtype=np.int64)
    for _ in range(min(most, int(available.sum()))):
        counts[int(np.argmax(np.where(counts < available, pull / (counts + 1), -1.0)))] += 1
    bins, sizes, cutoffs = inputs.bins.copy(), inputs.n_bins.copy(), []
    for k, count in enumerate(counts):
        share = np.cumsum(np.sqrt(gains[k]))
        places = np.unique(np.searchsorted(share, (np.arange(count) + 0.5) / max(int(count), 1) * share[-1]))
        bins[k] = np.searchsorted(places, inputs.bins[k], side="left")
        sizes[k] = len(places) + 1
        cutoffs.append(inputs.cutoffs[k][places])
    return Inputs(bins, sizes, tuple(cutoffs))


def grow_rules(
    inputs: Inputs,
    target: Floats,
    weight: Floats,
    n_rules: int,
    *,
    max_leaves: int,
    seed: int,
    rate: float = RATE,
    after_each: Callable[[], None] = lambda: None,
) -> list[GrownRule]:
    """Boost two-valued trees: each is grown on what those before it leave of the target."""
    rng = np.random.default_rng([seed, 2])
    left = target - np.average(target, weights=weight)
    features = np.arange(len(inputs.n_bins), dtype=np.int32)
    rules = []
    for _ in range(n_rules):
        after_each()
        rows = np.sort(rng.permutation(inputs.n_rows)[: max(1, round(ROW_SHARE * inputs.n_rows))]).astype(np.int32)
        rule = _grow_one(inputs, left, weight, rows, features, max_leaves)
        if rule is None:
            continue
        fires = rule.fires(inputs)
        if fires.all() or not fires.any():
            continue
        left = left - rate * np.where(fires, _mean(left, weight, fires), _mean(left, weight, ~fires))
        rules.append(rule)
    return rules


def polish(
    rules: list[GrownRule],
    inputs: Inputs,
    target: Floats,
    weight: Floats,
    others: npt.NDArray[np.bool_],
    *,
    sweeps: int,
    max_leaves: int,
    seed: int,
    after_each: Callable[[], None] = lambda: None,
) -> list[GrownRule]:
    """Grow each rule anew against what the rest leaves of the target, and keep it where the joint fit gets better.

    `others` are rules that stay as they are, ``(n_others, n_rows)``.
    """
    rng = np.random.default_rng([seed, 3])
    rules = list(rules)
    fires = np.concatenate([fire_matrix(rules, inputs), others])
    rows, features = np.arange(inputs.n_rows, dtype=np.int32), np.arange(len(inputs.n_bins), dtype=np.int32)
    fit = _Fit.of(fires, target, weight)
    for _ in range(sweeps):
        for j in rng.permutation(len(rules)):
            after_each()
            left = target - fit.intercept - fit.weights @ fires + fit.weights[j] * fires[j]
            rule = _grow_one(inputs, left, weight, rows, features, max_leaves)
            if rule is None:
                continue
            before = fires[j].copy()
            fires[j] = rule.fires(inputs)
            new = _Fit.of(fires, target, weight)
            if new.error < fit.error:
                rules[j], fit = rule, new
            else:
                fires[j] = before
    return rules


def polish_helps(
    n_rules: int,
    inputs: Inputs,
    target: Floats,
    y: Floats,
    weight: Floats,
    others: npt.NDArray[np.bool_],
    *,
    sweeps: int,
    max_leaves: int,
    seed: int,
) -> bool:
    """Whether so many rules, grown and polished on some of the rows, predict y on the rest better than unpolished.

    On the rows that they are polished on they always seem to, also where they only learn noise.
    """
    n_aside = round(POLISH_ASIDE * inputs.n_rows)
    if n_aside < MIN_ROWS_ASIDE:
        return False
    gained = 0.0
    for trial in range(TRIALS):
        order = np.random.default_rng([seed, 4, trial]).permutation(inputs.n_rows)
        aside, rows = np.sort(order[:n_aside]), np.sort(order[n_aside:])
        seen, unseen = inputs.at(rows), inputs.at(aside)
        part = (target[rows], weight[rows])
        rules = grow_rules(seen, *part, n_rules, max_leaves=max_leaves, seed=seed, rate=FEW_RULES_RATE)
        polished = polish(rules, seen, *part, others[:, rows], sweeps=sweeps, max_leaves=max_leaves, seed=seed)
        for found, sign in ((rules, 1.0), (polished, -1.0)):
            fit = _Fit.of(np.concatenate([fire_matrix(found, seen), others[:, rows]]), *part)
            fires = np.concatenate([fire_matrix(found, unseen), others[:, aside]])
            gained += sign * float((y[aside] - fit.intercept - fit.weights @ fires) ** 2 @ weight[aside])
    return gained > 0


@dataclass(frozen=True, slots=True)
class _Fit:
    """Weights of rules, solved for, and the squared error that they leave."""

    intercept: float
    weights: Floats
    error: float

    @classmethod
    def of(cls, fires: npt.NDArray[np.bool_], target: Floats, weight: Floats) -> _Fit:
        intercept, weights = solve_weights(fires, target, weight)
        return cls(intercept, weights, float((target - intercept - weights @ fires) ** 2 @ weight))


def _grow_one(
    inputs: Inputs, target: Floats, weight: Floats, rows: Ints, features: Ints, max_leaves: int
) -> GrownRule | None:
    tree = grow(inputs.bins, inputs.n_bins, rows, target, weight, features, max_leaves, MIN_LEAF, 0.0)
    upper = upper_leaves(tree)
    return None if upper is None else GrownRule(tree, upper)


def _mean(values: Floats, weight: Floats, where: npt.NDArray[np.bool_]) -> float:
    return float(np.average(values[where], weights=weight[where]))
