"""A smooth teacher: kernel ridge regression on where the bins lie.

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

from dln.training._binned import Inputs
from dln.training._trees import Bins, Floats

#: Shapes of the kernel that are tried: how much a column counts goes with its gain to some power; lengths are in
#: typical distances between rows; the ridge penalty is of one row.
POWERS: Final = (0.0, 0.25, 0.5)
LENGTHS: Final = (1.0, 2.0, 4.0)
PENALTIES: Final = (0.001, 0.01, 0.1, 1.0)
#: Rows that a smooth teacher learns from, and how many of them are centres of its bumps; fewer while shapes are tried.
MOST_ROWS: Final = 8000
MOST_CENTRES: Final = 1000
TRIAL_ROWS: Final = 1500
TRIAL_CENTRES: Final = 400
#: Added to the diagonal, so that equal centres do no harm; and rows that are predicted at a time.
_JITTER: Final = 1e-6
_CHUNK: Final = 4096
#: The least share of the largest gain that a column counts for, and the most that a row's own target may count.
_LEAST_GAIN: Final = 1e-4
_MOST_LEVERAGE: Final = 0.999


@dataclass(frozen=True, slots=True)
class Shape:
    """The kernel: how much each input counts for the distance between two rows, and the ridge penalty."""

    coordinates: tuple[Floats, ...]
    """Per input, where each bin lies."""
    scales: Floats
    penalty: float

    def places(self, inputs: Inputs) -> Floats:
        """Return where rows lie, ``(n_rows, n_inputs)``: their distances are those of the kernel."""
        columns = [coordinate[bins] for coordinate, bins in zip(self.coordinates, inputs.bins, strict=True)]
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


def find_shape(inputs: Inputs, y: Floats, weight: Floats, gains: Floats, seed: Sequence[int], pool: Executor) -> Shape:
    """Return the shape with which each row is predicted best from the others, among a sample of the rows.

    `gains` ``(n_inputs,)`` say how much boosted trees gained by each input.
    """
    shares = [_shares(bins, weight, n) for bins, n in zip(inputs.bins, inputs.n_bins, strict=True)]
    coordinates = tuple(map(_between_value_and_rank, _middles(inputs), shares))
    spread = np.array(list(map(_spread, coordinates, shares)))
    relevance = np.maximum(gains / max(float(gains.max()), np.finfo(np.float64).tiny), _LEAST_GAIN)
    sample = _Sample.draw(inputs, y, weight, TRIAL_ROWS, seed)

    def best_penalty(power_and_length: tuple[float, float]) -> tuple[float, Shape]:
        """Return the least error of all penalties, and its shape."""
        power, length = power_and_length
        counts = relevance**power
        scales = np.divide(counts, spread, out=np.zeros(len(spread)), where=spread > 0)
        scales /= length * np.sqrt((counts**2).sum())
        shapes = [Shape(coordinates, scales, penalty) for penalty in PENALTIES]
        errors = _errors_left_out(sample, shapes)
        return float(errors.min()), shapes[int(errors.argmin())]

    return min(pool.map(best_penalty, product(POWERS, LENGTHS)), key=lambda found: found[0])[1]


def fit_smooth(inputs: Inputs, y: Floats, weight: Floats, shape: Shape, seed: Sequence[int]) -> Smooth:
    """Return a smooth teacher of these rows, or of a sample of them."""
    sample = _Sample.draw(inputs, y, weight, MOST_ROWS, seed)
    centres, half, features = sample.features(shape, MOST_CENTRES)
    weighted = features * sample.weight
    gram = weighted @ features.T + shape.penalty * np.eye(len(features))
    coefficients = np.linalg.solve(gram, weighted @ sample.left)
    return Smooth(shape, centres, np.linalg.solve(half.T, coefficients), sample.mean)


@dataclass(frozen=True, slots=True)
class _Sample:
    """Rows to learn from, what is left of their targets without the mean, and weights of mean one."""

    inputs: Inputs
    left: Floats
    weight: Floats
    mean: float

    @classmethod
    def draw(cls, inputs: Inputs, y: Floats, weight: Floats, most: int, seed: Sequence[int]) -> _Sample:
        order = np.random.default_rng(seed).permutation(inputs.n_rows)[:most]
        y, weight = y[order], weight[order] / weight[order].mean()
        mean = float(np.average(y, weights=weight))
        return cls(inputs.at(order), y - mean, weight, mean)

    def features(self, shape: Shape, most_centres: int) -> tuple[Floats, Floats, Floats]:
        """Return centres, a root of the kernel among them, and features whose inner products are the kernel.

        As far as the centres tell: kernel ridge regression is ridge regression on the features ``(n_centres, n)``.
        """
        places = shape.places(self.inputs)
        centres = places[:most_centres]
        among = _bumps(centres, centres)
        among[np.diag_indices_from(among)] += _JITTER
        half = np.asarray(np.linalg.cholesky(among), dtype=np.float64)
        return centres, half, np.asarray(np.linalg.solve(half, _bumps(centres, places)), dtype=np.float64)


def _errors_left_out(sample: _Sample, shapes: Sequence[Shape]) -> Floats:
    """Return the squared errors when each row is predicted from all others, for shapes that differ in penalties only.

    What is left of a row, divided by one minus its leverage, is what would be left if the row had not been there.
    """
    _, _, features = sample.features(shapes[0], TRIAL_CENTRES)
    values, vectors = np.linalg.eigh((features * sample.weight) @ features.T)
    values = np.maximum(values, 0.0)
    turned = vectors.T @ features
    right, squares = turned @ (sample.weight * sample.left), turned**2
    errors = []
    for shape in shapes:
        shrunk = 1.0 / (values + shape.penalty)
        left = sample.left - (right * shrunk) @ turned
        leverage = np.minimum(sample.weight * (shrunk @ squares), _MOST_LEVERAGE)
        errors.append(float((left / (1.0 - leverage)) ** 2 @ sample.weight))
    return np.array(errors)


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


def _shares(bins: Bins, weight: Floats, n_bins: int) -> Floats:
    """Return each bin's share of the weight."""
    return np.asarray(np.bincount(bins, weight, n_bins) / weight.sum(), dtype=np.float64)


def _between_value_and_rank(values: Floats, share: Floats) -> Floats:
    """Return where bins lie, halfway between their values and their ranks.

    Where few rows have most of a column's range, values alone would put all others into one place.
    """
    where = np.zeros(len(values))
    for some in (values, np.cumsum(share) - share / 2):
        spread = _spread(some, share)
        if spread > 0:
            where += some / spread
    return where


def _spread(values: Floats, share: Floats) -> float:
    return float(np.sqrt((values - values @ share) ** 2 @ share))
