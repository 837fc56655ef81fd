"""Monitoring: how rows differ from those of training, whose distributions a model holds in a few bins per column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, UNKNOWN, Circuit, Column, Values
from dln.circuit._words import name_text, node_text, thousands
from dln.data._categories import recoded
from dln.readers._rules import Records

if TYPE_CHECKING:
    from dln.data._rows import CanonicalRows

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
        widths = [max(len(row[i]) for row in cells) for i in range(5)]
        lines = ["  ".join([*map(str.rjust, row, widths), row[-1]]) for row in cells]
        return "\n".join([f"{thousands(self.n_rows)} rows, {thousands(self.n_training)} in training", *lines])

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
    """Return the facts to compare with: profiles of the columns that rules read, and of the predictions.

    The `columns` are those of the table, and know categories that the circuit may have forgotten.
    """
    from dln.circuit.bits import predict  # loads Numba, which readers of model files do without

    rows = rows.sample(MAX_ROWS)
    own = [np.broadcast_to(np.zeros(1, float if c.categories is None else np.int32), len(rows.index)) for c in columns]
    profiles = {}
    for j in _used(circuit):
        own[j], categories = values[j][rows.index], circuit.columns[j].categories
        if categories is not None:
            own[j] = recoded(own[j], columns[j].categories or (), categories)
        profiles[circuit.columns[j].name] = _profile(own[j], rows.weight, categories)
    facts = {"profile": profiles} if profiles else {}
    return {**facts, "predictions": _profile(predict(circuit, own), rows.weight, None)}


def monitor(
    circuit: Circuit,
    support: Sequence[float] | None,
    facts: Mapping[str, Any],
    batches: Iterable[Sequence[Values]],
    target: str,
) -> Drift:
    """Compare rows, some at a time, with the facts of training; what a model does not know of it stays None."""
    profiles = dict(facts.get("profile", {}))
    used = [(j, circuit.columns[j], profiles.get(circuit.columns[j].name)) for j in _used(circuit)]
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
    shown = []
    for i, rule in enumerate(circuit.rules):
        share = fires[i] / n_rows
        then = None if support is None else support[i]
        psi = None if then is None else _psi(Profile((), (then, 1 - then)), np.array([share, 1 - share]))
        shown.append(DriftRow("rule", node_text(circuit, rule.node), psi, float(share), then))
    shown.sort(key=lambda row: -(row.psi or 0.0))
    return Drift((*rows, *shown), n_rows, int(facts["rows"]))


def _used(circuit: Circuit) -> list[int]:
    return sorted({literal.column for literal in circuit.literals})


def _profile(values: Values, weight: Floats, categories: Sequence[Any] | None) -> Profile:
    edges = _edges(values, weight) if categories is None else ()
    counts = _bin_counts(values, Profile(edges, ()), categories, weight)
    return Profile(edges, tuple(np.round(counts / weight.sum(), DECIMALS).tolist()))


def _edges(values: Values, weight: Floats) -> tuple[float, ...]:
    """Return the ends of about ten bins of equal weight; frequent values have bins of their own."""
    from dln.data._rows import weighted_quantile

    distinct = np.unique(values[~np.isnan(values)].astype(np.float64) + 0.0)  # -0.0 and 0.0 are one
    if len(distinct) <= N_BINS:
        return tuple(distinct[:-1].tolist())
    deciles = weighted_quantile(values, weight, np.arange(1, N_BINS) / N_BINS)
    frequent = deciles[1:][deciles[1:] == deciles[:-1]]
    before = distinct[np.searchsorted(distinct, frequent) - 1]  # of the smallest: the largest, which ends no bin
    edges = np.unique(np.concatenate([deciles, before]))
    return tuple(edges[edges < distinct[-1]].tolist())


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
