"""Folds of weighted rows, the same in any order and for repeated rows: dealt in turn, or as the user divides them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Final, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Values
from dln.data._column_kinds import is_missing_type
from dln.data._rows import CanonicalRows, Floats, row_hashes
from dln.data._source import refuse_mask

Rows: TypeAlias = npt.NDArray[np.intp]
Counts: TypeAlias = npt.NDArray[np.int64]
#: Quotients of weights are rounded down with this tolerance: sums of equal weights may be off by rounding.
_ROUNDING: Final = 1e-9
#: A row counts at most so often.
_MOST: Final = 1e6
#: A row's part in a split; in neither if 0.
TRAINED: Final = 1
TESTED: Final = 2


class Folds(NamedTuple):
    """For each fold the part of each row's weight that it holds out, and that it trains on, ``(n_folds, n)`` each."""

    held_out: Floats
    training: Floats


@dataclass(frozen=True, slots=True)
class Division:
    """How rows are divided into folds; by default in turn.

    `n_folds`: the user's number of folds. `groups`: ``(n,)``, each row's group, which no fold divides. `splits`:
    ``(n_splits, n) int8``, `TRAINED` or `TESTED`, the user's folds. `kind`: a name for the model file.
    """

    kind: str = ""
    n_folds: int | None = None
    groups: Counts | None = None
    splits: npt.NDArray[np.int8] | None = None

    @property
    def is_given(self) -> bool:
        """Whether the user divides the rows."""
        return bool(self.kind)

    @property
    def labels(self) -> list[Values]:
        """Columns ``(n,)`` in which rows differ that must not be merged."""
        groups = [] if self.groups is None else [self.groups]
        return [*groups, *(() if self.splits is None else self.splits)]

    def facts(self) -> dict[str, Any]:
        """Return what a model file keeps: the kind and the number of folds, and the number of groups."""
        n_folds = self.n_folds if self.splits is None else len(self.splits)
        n_groups = None if self.groups is None else len(np.unique(self.groups))
        return {"kind": self.kind, "n_folds": n_folds, "n_groups": n_groups}

    def at(self, rows: Rows | slice) -> Division:
        groups = None if self.groups is None else self.groups[rows]
        return Division(self.kind, self.n_folds, groups, None if self.splits is None else self.splits[:, rows])

    def folds(self, weight: Floats, n_folds: int, counts: Counts) -> Folds:
        """Return the folds, `n_folds` unless the user has another number; those that lack rows are left out."""
        if self.splits is not None:
            held_out, training = ((self.splits == part) * weight for part in (TESTED, TRAINED))
        else:
            n, groups = self.n_folds or n_folds, self.groups
            held_out = fold_weights(weight, n, counts) if groups is None else group_fold_weights(weight, n, groups)
            training = weight - held_out
        kept = held_out.any(axis=1) & training.any(axis=1)
        return Folds(held_out[kept], training[kept])

    def set_aside(self, weight: Floats, share: float, counts: Counts, seed: int) -> tuple[Floats, Floats]:
        """Return the weights ``(n,)`` to validate on and to train on: of the last fold, or about a share of all."""
        if self.splits is not None or self.n_folds is not None:
            folds = self.folds(weight, 0, counts)
            return (folds.held_out[-1], folds.training[-1]) if len(folds.training) else (np.zeros(len(weight)), weight)
        if self.groups is not None:
            held_out = held_out_groups(weight, share, self.groups, seed)
        else:
            held_out = held_out_weights(weight, share, counts, seed)
        return held_out, weight - held_out


#: The default.
IN_TURN: Final = Division()


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Columns of some rows, the standardised target there ``(n,)``, weights, counts and the division for folds."""

    values: Sequence[Values]
    y: Floats
    weight: Floats
    counts: Counts
    division: Division = IN_TURN

    def at(self, rows: Rows | slice) -> LabelledRows:
        values, division = [column[rows] for column in self.values], self.division.at(rows)
        return LabelledRows(values, self.y[rows], self.weight[rows], self.counts[rows], division)

    def weighted(self, weight: Floats) -> LabelledRows:
        """Return the rows with other weights, without those whose weight is zero."""
        kept = np.flatnonzero(weight > 0)
        return replace(self.at(kept), weight=weight[kept])


def repeats_inputs(values: Sequence[Values], rows: CanonicalRows) -> npt.NDArray[np.bool_]:
    """Return for each distinct row whether another one has the same inputs and another target, ``(n_distinct,)``."""
    hashes = row_hashes(values, np.zeros(len(values[0])))[0][rows.index]
    _, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse] > 1)


def row_counts(weight: Floats, repeated: npt.NDArray[np.bool_]) -> Counts:
    """Return how many rows of the table each distinct row stands for when folds are dealt, ``(n,)``.

    One, unless its inputs are `repeated` with other targets. Such a row counts as many times as the smallest weight
    goes into its own: held out whole, it would measure how a model extrapolates to inputs whose targets it lacks.
    """
    counts = np.ones(len(weight), dtype=np.int64)
    whole = np.minimum(weight[repeated] / float(weight.min()) * (1.0 + _ROUNDING), _MOST)
    counts[repeated] = np.maximum(whole.astype(np.int64), 1)
    return counts


def fold_weights(weight: Floats, n_folds: int, counts: Counts) -> Floats:
    """Return the part of each row's weight that every fold holds out, ``(n_folds, n)``; the parts add up to the weight.

    A row that counts once is held out whole, by one fold. The weight of the others is dealt out in equal units, one for
    each count, as evenly as whole units allow. Rows are dealt in turn.
    """
    each, extra = np.divmod(counts, n_folds)
    start = (np.cumsum(extra) - extra) % n_folds
    place = (np.arange(n_folds)[:, np.newaxis] - start) % n_folds
    shares: Floats = (each + (place < extra)) / counts
    return np.asarray(shares * weight)


def held_out_weights(weight: Floats, share: float, counts: Counts, seed: int) -> Floats:
    """Return the part of each row's weight that is held out to validate, about a `share` of all, ``(n,)``.

    A row that counts once is held out whole or not at all; of the others, as many of their equal units as the share is.

    >>> held_out_weights(np.array([1.0, 1.0, 10.0, 1.0]), 0.25, np.array([1, 1, 10, 1]), seed=1)
    array([1., 0., 2., 0.])
    """
    rank = np.random.default_rng([seed, len(weight)]).permutation(len(weight)) / max(len(weight), 1)
    return np.asarray(np.floor(counts * share + rank) / counts * weight)


def group_fold_weights(weight: Floats, n_folds: int, groups: Counts) -> Floats:
    """Return the part of each row's weight that every fold holds out, whole groups together, ``(n_folds, n)``.

    The heaviest groups are dealt first, each to the fold that is the lightest so far; among equals, in the order of
    their first rows.
    """
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    totals = np.bincount(inverse, weight)
    fold_of, filled = np.zeros(len(first), dtype=np.intp), np.zeros(n_folds)
    for group in np.lexsort((first, -totals)):
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += totals[group]
    return np.asarray((fold_of[inverse] == np.arange(n_folds)[:, np.newaxis]) * weight)


def held_out_groups(weight: Floats, share: float, groups: Counts, seed: int) -> Floats:
    """Return the weights of whole groups that are held out, about a share of all but at least one group, ``(n,)``."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    drawn = np.random.default_rng([seed, len(first)]).permutation(np.argsort(first))
    reached = np.cumsum(np.bincount(inverse, weight)[drawn][:-1])
    n_held_out = 1 + int(np.abs(reached - share * weight.sum()).argmin()) if len(reached) else 0
    return np.where(np.isin(inverse, drawn[:n_held_out]), weight, 0.0)


# --- the user's folds and groups --------------------------------------------------------------------------------------


def read_division(cv: Any, X: Any, y: Floats, groups: Any, weight: Floats | None) -> Division:
    """Return how the rows of a table are divided, or raise what is wrong with `cv` or `groups`."""
    if cv is None and groups is None:
        return IN_TURN
    used = np.ones(len(y), dtype=np.bool_) if weight is None else weight > 0
    codes = None if groups is None else group_codes(groups, used)
    n_groups = 0 if codes is None else len(np.unique(codes[used]))
    if n_groups == 1:
        raise ValueError("groups must hold at least 2 different labels, so that one can be held out, got 1")
    if cv is None or isinstance(cv, Integral):
        what, most = ("rows", int(used.sum())) if codes is None else ("groups", n_groups)
        if cv is not None and int(cv) > most:
            raise ValueError(f"cv={cv} needs at least {cv} {what}, got {most}")
        return Division(what, None if cv is None else int(cv), codes)
    splits = []
    for k, parts in enumerate(_read_splits(cv, X, y, groups)):
        train, test = (rows[used[rows]] for rows in parts)
        splits.append(row := np.zeros(len(y), dtype=np.int8))
        row[train], row[test] = TRAINED, TESTED
        if not len(train) or not len(test):
            verb = "test" if len(train) else "train"
            raise ValueError(f"split {k} of cv must have rows of weight above 0 to {verb} on, got none")
        if codes is not None and (both := np.intersect1d(codes[train], codes[test])).size:
            raise ValueError(
                f"split {k} of cv must keep groups whole, but {len(both)} of them are both trained and tested on: use "
                "a splitter for groups, like GroupKFold"
            )
    return Division(type(cv).__name__ if hasattr(cv, "split") else "splits", None, codes, np.array(splits))


def group_codes(groups: Any, used: npt.NDArray[np.bool_]) -> Counts:
    """Return for each row the place of its label among those of the used rows, sorted."""
    refuse_mask(groups, "groups")
    series = nw.from_native(groups, series_only=True, pass_through=True)
    labels = series.to_numpy() if isinstance(series, nw.Series) else np.asarray(groups)
    if labels.shape != used.shape:
        raise ValueError(f"groups must hold one label per row, shape {used.shape}, got shape {labels.shape}")
    for row, label in enumerate(labels):
        if is_missing_type(type(label)) or label != label:  # noqa: PLR0124 (NaN and NaT)
            raise ValueError(f"groups must hold a label for every row, but that of row {row} is missing")
    codes = np.zeros(len(labels), dtype=np.int64)
    try:
        codes[used] = np.unique(labels[used], return_inverse=True)[1]
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise ValueError(f"groups must hold labels of one kind, numbers or text, got {kinds}") from None
    return codes


def _read_splits(cv: Any, X: Any, y: Floats, groups: Any) -> Iterator[tuple[Rows, Rows]]:
    """Yield the training and the test rows of each split of a splitter or an iterable, or raise what is wrong."""
    k = -1
    for k, split in enumerate(cv.split(X, y, groups) if hasattr(cv, "split") else cv):
        if not isinstance(split, (tuple, list)) or len(split) != 2:  # noqa: PLR2004
            raise ValueError(f"split {k} of cv must be a pair, training rows and test rows, got {split!r}")
        train, test = (_row_numbers(rows, k, len(y)) for rows in split)
        if (both := np.intersect1d(train, test)).size:
            raise ValueError(
                f"split {k} of cv must not train on rows that it tests, but row {both[0]} is in both parts"
            )
        yield train, test
    if k < 0:
        raise ValueError(
            "cv must hold at least one split, got none (an iterator is empty after its first use: give a list)"
        )


def _row_numbers(rows: Any, split: int, n_rows: int) -> Rows:
    found = np.asarray(rows)
    if found.dtype == np.bool_ and found.shape == (n_rows,):
        return np.flatnonzero(found)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ValueError(
            f"split {split} of cv must hold row numbers, got an array of {found.dtype}, shape {found.shape}"
        )
    if (wrong := found[(found < 0) | (found >= n_rows)]).size:
        raise ValueError(f"split {split} of cv must hold row numbers from 0 to {n_rows - 1}, got {wrong[0]}")
    return found.astype(np.intp)


@dataclass(frozen=True, slots=True)
class ForwardChaining:
    """A splitter for times given as groups: each fold tests rows of one span of time, and trains on all before it.

    Rows of one time stay together, and their order does not matter.
    """

    n_splits: int = 5

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002 (scikit-learn's)
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any) -> Iterator[tuple[Rows, Rows]]:  # noqa: ARG002 (scikit-learn's)
        """Yield training rows and test rows; a time that would fill two spans ends one fold early."""
        times = np.asarray(groups)
        starts = np.sort(times)[np.arange(1, self.n_splits + 1) * len(times) // (self.n_splits + 1)]
        starts = np.unique(np.maximum(starts, times[times > times.min()].min()))
        spans = np.searchsorted(starts, times, side="right")
        for span in range(1, len(starts) + 1):
            yield np.flatnonzero(spans < span), np.flatnonzero(spans == span)
