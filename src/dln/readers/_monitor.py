"""Monitoring: how rows differ from those of training, whose distributions a model holds in a few bins per column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, UNKNOWN, Circuit, Column, Values
from dln.circuit._words import aligned, name_text, node_text, thousands
from dln.data._categories import recoded
from dln.data._rows import CanonicalRows, weighted_quantile
from dln.readers._rules import Records

Floats = npt.NDArray[np.float64]

#: Bins of a number column, about: deciles.
N_BINS: Final = 10
#: Distinct rows of training that are counted, a sample by content: it gives shares to a tenth of a percent.
MAX_ROWS: Final = 50_000
#: Decimals of the shares that a model holds.
DECIMALS: Final = 6
#: A smaller share counts as this in the population stability index, which an empty bin would make infinite.
MIN_SHARE: Final = 1e-4


class Profile(NamedTuple):
    """The shares of training rows in bins of a column, or of the predictions; the last share is of missing values.

    Number bins end at the edges, which belong to them, and the last has no end. Category columns have no edges: a bin
    for each category that a rule names, and one for all others.
    """

    edges: tuple[float, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class DriftRow:
    """The predictions, a column or a rule, now and in training; None where a figure is unknown or means nothing.

    `psi` is the population stability index. `holds` is the share of rows in which a rule holds, `unknown` of those
    whose category no rule names, `outside` of those beyond the range of training.
    """

    kind: Literal["prediction", "column", "rule"]
    name: str
    psi: float | None = None
    holds: float | None = None
    holds_in_training: float | None = None
    missing: float | None = None
    missing_in_training: float | None = None
    unknown: float | None = None
    unknown_in_training: float | None = None
    outside: float | None = None


@dataclass(frozen=True, slots=True)
class Drift(Records[DriftRow]):
    """How rows differ from those of training: the predictions first, then columns and rules."""

    rows: tuple[DriftRow, ...]
    n_rows: int
    n_training: int
    _names: ClassVar = tuple(field.name for field in fields(DriftRow))

    def __repr__(self) -> str:
        cells: list[tuple[str, ...]] = [("PSI", "holds", "missing", "unknown", "outside", "now (in training)")]
        for row in self.rows:
            psi = "?" if row.psi is None else f"{row.psi:.3f}"
            outside = "" if row.outside is None else f"{row.outside:.1%}"
            pairs = (_pair(getattr(row, f), getattr(row, f"{f}_in_training")) for f in ("holds", "missing", "unknown"))
            cells.append((psi, *pairs, outside, f"{row.kind} {row.name}"))
        title = f"{thousands(self.n_rows)} rows, {thousands(self.n_training)} in training"
        return "\n".join([title, *aligned(cells)])

    def beyond(
        self,
        *,
        psi: float | None = None,
        missing: float | None = None,
        unknown: float | None = None,
        outside: float | None = None,
    ) -> list[str]:
        """Return a sentence for each figure above its limit; `missing` and `unknown` limit the rise since training."""
        limits = (psi, missing, unknown, outside)
        sentences = []
        for row in self.rows:
            for (figure, words), limit in zip(_FIGURES.items(), limits, strict=True):
                value, then = getattr(row, figure), getattr(row, f"{figure}_in_training", None) or 0.0
                if limit is not None and value is not None and value - then > limit:
                    sentences.append(f"{row.kind} {row.name}: {words} {value - then:.3g}, the limit is {limit:g}")
        return sentences


_FIGURES: Final = {
    "psi": "PSI",
    "missing": "rise of the share of missing values",
    "unknown": "rise of the share of categories that no rule names",
    "outside": "share beyond the range of training",
}


def training_profile(
    circuit: Circuit, columns: Sequence[Column], values: Sequence[Values], rows: CanonicalRows
) -> dict[str, Any]:
    """Return the facts to compare with: ranges and profiles of the columns that rules read, and of the predictions.

    The `columns` are those of the table, and know categories that the circuit may have forgotten. Beyond its range a
    column has no training rows: a prediction is a guess there, and is shown as one.
    """
    some = rows.sample(MAX_ROWS)
    own = [np.broadcast_to(np.zeros(1, float if c.categories is None else np.int32), len(some.index)) for c in columns]
    ranges, profiles = {}, {}
    for j in sorted({literal.column for literal in circuit.literals}):
        column, categories, own[j] = values[j], circuit.columns[j].categories, values[j][some.index]
        if categories is not None:
            own[j] = recoded(own[j], columns[j].categories or (), categories)
        elif len(known := (of_rows := column[rows.index])[~np.isnan(of_rows)]):
            ranges[circuit.columns[j].name] = (float(known.min()), float(known.max()))
        profiles[circuit.columns[j].name] = _profile(own[j], some.weight, categories)
    facts = {name: of_columns for name, of_columns in (("ranges", ranges), ("profile", profiles)) if of_columns}
    return {**facts, "predictions": _profile(circuit.evaluate(own), some.weight, None)}


def rule_support(fires: Sequence[npt.NDArray[np.bool_]], weight: Floats | None) -> list[float]:
    """Return the weighted share of rows on which each rule fires."""
    return [float(np.average(rule, weights=weight)) for rule in fires]


def monitor(
    circuit: Circuit,
    support: Sequence[float] | None,
    facts: Mapping[str, Any],
    batches: Iterable[Sequence[Values]],
    target: str,
) -> Drift:
    """Compare rows, some at a time, with the facts of training; what a model does not know of it stays None."""
    profiles = dict(facts.get("profile", {}))
    read = sorted({literal.column for literal in circuit.literals})
    used = [(j, circuit.columns[j], profiles.get(circuit.columns[j].name)) for j in read]
    ranges = {j: facts.get("ranges", {}).get(column.name) for j, column, _ in used}
    predictions = facts.get("predictions")
    counts: dict[int, Any] = {}
    n_rows = 0
    fires, outside = np.zeros(len(circuit.rules)), dict.fromkeys(ranges, 0)
    for values in batches:
        n_rows += len(values[0])
        fires += [rule.sum() for rule in circuit.rule_values(values)]
        counts[-1] = counts.get(-1, 0) + _bin_counts(circuit.evaluate(values), predictions, None)
        for j, column, profile in used:
            counts[j] = counts.get(j, 0) + _bin_counts(values[j], profile, column.categories)
            if ranges[j] is not None:
                outside[j] += int(((values[j] < ranges[j][0]) | (values[j] > ranges[j][1])).sum())
    rows = [DriftRow("prediction", name_text(target), _psi(predictions, counts[-1] / n_rows))]
    for j, column, profile in used:
        now = counts[j] / n_rows
        then = [None] * len(now) if profile is None else profile.shares
        unknown = (None, None) if column.categories is None else (float(now[-2]), then[-2])
        beyond = None if ranges[j] is None else outside[j] / n_rows
        shares = float(now[-1]), then[-1], *unknown, beyond
        rows.append(DriftRow("column", name_text(column.name), _psi(profile, now), None, None, *shares))
    shown, before = [], [None] * len(circuit.rules) if support is None else support
    for rule, share, was in zip(circuit.rules, (fires / n_rows).tolist(), before, strict=True):
        psi = None if was is None else _psi(Profile((), (was, 1 - was)), np.array([share, 1 - share]))
        shown.append(DriftRow("rule", node_text(circuit, rule.node), psi, share, was))
    shown.sort(key=lambda row: -(row.psi or 0.0))
    return Drift((*rows, *shown), n_rows, int(facts["rows"]))


def _profile(values: Values, weight: Floats, categories: Sequence[Any] | None) -> Profile:
    """Return the profile of a column: of numbers in about ten bins of equal weight, frequent values in their own."""
    edges: tuple[float, ...] = ()
    if categories is None:
        distinct = np.unique(values[~np.isnan(values)].astype(np.float64) + 0.0)  # -0.0 and 0.0 are one
        ends = distinct
        if len(distinct) > N_BINS:
            deciles = weighted_quantile(values, weight, np.arange(1, N_BINS) / N_BINS)
            frequent = deciles[1:][deciles[1:] == deciles[:-1]]
            # Before the smallest comes the largest, which ends no bin.
            before = distinct[np.searchsorted(distinct, frequent) - 1]
            ends = np.unique(np.concatenate([deciles, before]))
        edges = tuple(ends[ends < distinct.max(initial=-np.inf)].tolist())
    counts = _bin_counts(values, Profile(edges, ()), categories, weight)
    return Profile(edges, tuple(np.round(counts / weight.sum(), DECIMALS).tolist()))


def _bin_counts(
    values: Values, profile: Profile | None, categories: Sequence[Any] | None, weight: Floats | None = None
) -> Floats:
    """Return the weight of each bin."""
    if categories is None:
        edges = () if profile is None else profile.edges
        last = len(edges) + 1
        bins = np.where(np.isnan(values), last, np.searchsorted(edges, values, side="left"))
    else:
        last = len(categories) + 1
        bins = np.where(values == MISSING, last, np.where(values == UNKNOWN, last - 1, values))
    return np.bincount(bins, weights=weight, minlength=last + 1).astype(np.float64)


def _psi(training: Profile | None, now: Floats) -> float | None:
    """Return the population stability index: Σ (now − then) · ln(now / then) over bins."""
    if training is None:
        return None
    then, now = np.maximum(training.shares, MIN_SHARE), np.maximum(now, MIN_SHARE)
    return float(((now - then) * np.log(now / then)).sum())


def _pair(now: float | None, then: float | None) -> str:
    return "" if now is None else f"{now:.1%} ({'?' if then is None else f'{then:.1%}'})"
