"""A smooth teacher: kernel ridge regression on the middles of the bins.

Trees are poor at slopes and at rows far from others; a kernel is poor at steps and at columns that do not matter. The
two err in different places, so that a blend of both is a better teacher than either.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from dln.training._binned import Inputs, Rows
from dln.training._trees import Floats

#: Shapes of the kernel that are tried: how much a column counts goes with its gain to some power; lengths are in
#: typical distances between rows; the ridge penalty is of one row.
POWERS: Final = (0.0, 0.25, 0.5)
LENGTHS: Final = (1.0, 2.0, 4.0)
PENALTIES: Final = (0.01, 0.1, 1.0)
#: Rows that a smooth teacher learns from, and how many of them are centres of its bumps; fewer while shapes are tried.
MOST_ROWS: Final = 8000
MOST_CENTRES: Final = 1000
TRIAL_ROWS: Final = 1500
TRIAL_CENTRES: Final = 400
#: Added to the diagonal, so that equal centres do no harm; and rows that are predicted at a time.
_JITTER: Final = 1e-6
_CHUNK: Final = 4096
#: The least share of the largest gain that a column counts for.
_LEAST_GAIN: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Shape:
    """The kernel: how much each input counts for the distance between two rows, and the ridge penalty."""

    middles: tuple[Floats, ...]
    """Per input, the value of each bin."""
    scales: Floats
    penalty: float

    def places(self, inputs: Inputs) -> Floats:
        """Return where rows lie, ``(n_rows, n_inputs)``: their distances are those of the kernel."""
        columns = [middle[bins] for middle, bins in zip(self.middles, inputs.bins, strict=True)]
        return np.array(columns, dtype=np.float64).reshape(len(columns), inputs.n_rows).T * self.scales


@dataclass(frozen=True, slots=True)
class Smooth:
    """A sum of bumps around some of the rows."""

    shape: Shape
    centres: Floats
    heights: Floats
    mean: float

    def predict(self, inputs: Inputs) -> Floats:
        """Return what the teacher predicts, ``(n_rows,)``."""
        places = self.shape.places(inputs)
        chunks = [
            _bumps(places[start : start + _CHUNK], self.centres) @ self.heights
            for start in range(0, len(places), _CHUNK)
        ]
        return self.mean + np.concatenate([np.empty(0), *chunks])


def find_shape(
    inputs: Inputs,
    y: Floats,
    weight: Floats,
    gains: Floats,
    trials: Sequence[tuple[Rows, Rows]],
    seed: Sequence[int],
    pool: Executor,
) -> Shape:
    """Return the shape with which the rows set aside are predicted best; trials are pairs of rows seen and set aside.

    `gains` ``(n_inputs,)`` say how much boosted trees gained by each input.
    """
    middles = _middles(inputs)
    relevance = np.maximum(gains / max(float(gains.max()), np.finfo(np.float64).tiny), _LEAST_GAIN)
    share = weight / weight.sum()
    spread = np.array([_spread(middle[bins], share) for middle, bins in zip(middles, inputs.bins, strict=True)])
    parts = [
        [(inputs.at(some), y[some], weight[some]) for some in (rows, aside[:TRIAL_ROWS])] for rows, aside in trials
    ]

    def best_penalty(power_and_length: tuple[float, float]) -> tuple[float, Shape]:
        """Return the least error of all penalties, and its shape."""
        power, length = power_and_length
        counts = relevance**power
        scales = np.divide(counts, spread, out=np.zeros(len(spread)), where=spread > 0)
        scales /= length * np.sqrt((counts**2).sum())
        shapes = [Shape(middles, scales, penalty) for penalty in PENALTIES]
        errors = np.zeros(len(shapes))
        for seen, (unseen, unseen_y, unseen_weight) in parts:
            found = _fit(*seen, shapes, TRIAL_ROWS, TRIAL_CENTRES, seed)
            errors += [float((unseen_y - smooth.predict(unseen)) ** 2 @ unseen_weight) for smooth in found]
        return float(errors.min()), shapes[int(errors.argmin())]

    return min(pool.map(best_penalty, product(POWERS, LENGTHS)), key=lambda found: found[0])[1]


def fit_smooth(inputs: Inputs, y: Floats, weight: Floats, shape: Shape, seed: Sequence[int]) -> Smooth:
    """Return a smooth teacher of these rows."""
    return _fit(inputs, y, weight, [shape], MOST_ROWS, MOST_CENTRES, seed)[0]


def _fit(
    inputs: Inputs,
    y: Floats,
    weight: Floats,
    shapes: Sequence[Shape],
    most_rows: int,
    most_centres: int,
    seed: Sequence[int],
) -> list[Smooth]:
    """Return smooth teachers whose shapes differ in their penalties only, on a sample of the rows."""
    order = np.random.default_rng(seed).permutation(inputs.n_rows)[:most_rows]
    places, y, weight = shapes[0].places(inputs.at(order)), y[order], weight[order] / weight[order].mean()
    centres = places[:most_centres]
    mean = float(np.average(y, weights=weight))
    among = _bumps(centres, centres)
    among[np.diag_indices_from(among)] += _JITTER
    half = np.linalg.cholesky(among)
    # Features whose inner products are the kernel, as far as the centres tell: a ridge regression on them.
    features = np.linalg.solve(half, _bumps(centres, places))
    weighted = features * weight
    gram, right = weighted @ features.T, weighted @ (y - mean)
    found = []
    for shape in shapes:
        coefficients = np.linalg.solve(gram + shape.penalty * np.eye(len(gram)), right)
        found.append(Smooth(shape, centres, np.linalg.solve(half.T, coefficients), mean))
    return found


def _bumps(some: Floats, others: Floats) -> Floats:
    """Return the kernel (Matérn 3/2) of some rows' places with others', ``(n_some, n_others)``: (1 + d)·exp(-d)."""
    falling = (2.0 * some) @ others.T
    distance = (some**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)
    distance -= falling
    np.maximum(distance, 0.0, out=distance)
    distance *= 3.0
    np.sqrt(distance, out=distance)
    np.exp(np.negative(distance, out=falling), out=falling)
    distance += 1.0
    distance *= falling
    return np.asarray(distance)


def _middles(inputs: Inputs) -> tuple[Floats, ...]:
    """Return each bin's value: midway between its cut-offs; the outer bins are as wide as their neighbours."""
    found = []
    for k, n_bins in enumerate(inputs.n_bins):
        cutoffs = inputs.cutoffs[k] if k < len(inputs.cutoffs) else np.empty(0)
        if len(cutoffs) < 2:  # noqa: PLR2004 - two bins or one: any two numbers
            found.append(np.arange(n_bins, dtype=np.float64))
            continue
        first, last = cutoffs[1] - cutoffs[0], cutoffs[-1] - cutoffs[-2]
        edges = np.concatenate([[cutoffs[0] - first], cutoffs, [cutoffs[-1] + last]])
        found.append((edges[:-1] + edges[1:]) / 2)
    return tuple(found)


def _spread(values: Floats, share: Floats) -> float:
    return float(np.sqrt((values - values @ share) ** 2 @ share))
