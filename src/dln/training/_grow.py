"""Rules grown from trees: the quickest way to good Boolean functions.

A regression tree of 32 leaves, cut in two where its values differ most, is one rule: a Boolean function of thresholds.
Boosting such two-valued trees, a hundred of them come close to a hundred whole trees, because the weights of all are
solved for together at the end. Rules grow where gradient descent is slow to find them.

What they are grown for is said by teachers (`_teach`). Where only a few rules are to do the work they are polished:
each is grown anew against what the others leave, and replaced where that helps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.training._binned import Inputs, set_aside
from dln.training._select import LeastSquares, solve_weights
from dln.training._trees import Floats, Ints, Tree, grow, leaf_of, upper_leaves

#: Shrinkage and share of the rows of a boosting step, and the least weight of a leaf, in rows.
RATE: Final = 0.06
ROW_SHARE: Final = 0.7
MIN_LEAF: Final = 5.0

#: Share of the rows by which polished rules are judged, the least number of them, and how often it is tried.
POLISH_ASIDE: Final = 0.25
MIN_ROWS_ASIDE: Final = 20
POLISH_TRIALS: Final = 3
#: Shrinkage where a few rules are to do the work.
FEW_RULES_RATE: Final = 0.3


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


def fire_matrix(rules: Sequence[GrownRule], inputs: Inputs) -> npt.NDArray[np.bool_]:
    """Return where rules fire, ``(n_rules, n_rows)``."""
    return np.array([rule.fires(inputs) for rule in rules], dtype=np.bool_).reshape(len(rules), inputs.n_rows)


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
    fires = np.concatenate([fire_matrix(rules, inputs), others]).astype(np.float64)
    rows, features = np.arange(inputs.n_rows, dtype=np.int32), np.arange(len(inputs.n_bins), dtype=np.int32)
    joint = LeastSquares(fires, target, weight)
    fit = _Fit.of(joint, fires, target, weight)
    for _ in range(sweeps):
        for j in rng.permutation(len(rules)):
            after_each()
            left = target - fit.intercept - fit.weights @ fires + fit.weights[j] * fires[j]
            rule = _grow_one(inputs, left, weight, rows, features, max_leaves)
            if rule is None:
                continue
            before = fires[j].copy()
            joint.replace(j, rule.fires(inputs))
            new = _Fit.of(joint, fires, target, weight)
            if new.error < fit.error:
                rules[j], fit = rule, new
            else:
                joint.replace(j, before)
    return rules


def polish_helps(
    n_rules: int,
    inputs: Inputs,
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
    if round(POLISH_ASIDE * inputs.n_rows) < MIN_ROWS_ASIDE:
        return False
    gained = 0.0
    for trial in range(POLISH_TRIALS):
        rows, aside = set_aside(inputs.n_rows, POLISH_ASIDE, np.random.default_rng([seed, 4, trial]))
        seen, unseen = inputs.at(rows), inputs.at(aside)
        part = (y[rows], weight[rows])
        rules = grow_rules(seen, *part, n_rules, max_leaves=max_leaves, seed=seed, rate=FEW_RULES_RATE)
        polished = polish(rules, seen, *part, others[:, rows], sweeps=sweeps, max_leaves=max_leaves, seed=seed)
        for found, sign in ((rules, 1.0), (polished, -1.0)):
            intercept, weights = solve_weights(np.concatenate([fire_matrix(found, seen), others[:, rows]]), *part)
            fires = np.concatenate([fire_matrix(found, unseen), others[:, aside]])
            gained += sign * float((y[aside] - intercept - weights @ fires) ** 2 @ weight[aside])
    return gained > 0


@dataclass(frozen=True, slots=True)
class _Fit:
    """Weights of rules, solved for, and the squared error that they leave."""

    intercept: float
    weights: Floats
    error: float

    @classmethod
    def of(cls, joint: LeastSquares, fires: Floats, target: Floats, weight: Floats) -> _Fit:
        _, intercept, weights = joint.solve()
        return cls(intercept, weights, float((target - intercept - weights @ fires) ** 2 @ weight))


def _grow_one(
    inputs: Inputs, target: Floats, weight: Floats, rows: Ints, features: Ints, max_leaves: int
) -> GrownRule | None:
    tree = grow(inputs.bins, inputs.n_bins, rows, target, weight, features, max_leaves, MIN_LEAF, 0.0)
    upper = upper_leaves(tree)
    return None if upper is None else GrownRule(tree, upper)


def _mean(values: Floats, weight: Floats, where: npt.NDArray[np.bool_]) -> float:
    return float(np.average(values[where], weights=weight[where]))
