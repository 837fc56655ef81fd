"""The difference of two models: rules matched by their conditions, and on data the changed predictions with the causes.

It is exact: rules fire or do not, and weights of both models are whole steps of the finer of their grids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np

from dln._atomic import AnyPath, write_atomically
from dln.circuit._circuit import Category, Circuit, Values, from_grid, to_grid
from dln.circuit._formula import AllOf, AnyOf, CategoryCondition, Formula, NumberCondition, OddOf, formula
from dln.circuit._words import MAX_LITERALS_IN_TEXT, aligned, name_text, node_sizes, node_text, weight_text
from dln.circuit.bits import predict
from dln.readers._rules import Records
from dln.report._scores import errors_by

if TYPE_CHECKING:
    from dln.report._reportable import ReportableModel

#: Rules match if their conditions are at least this similar; those of equal words are more similar than any others.
MIN_SIMILARITY: Final = 0.5
EQUAL: Final = 2.0
#: Rows that change most, and the causes of each, that are listed.
MAX_ROWS: Final = 10
MAX_CAUSES: Final = 4
#: Bins of the distribution of changes.
N_BINS: Final = 20
_KINDS: Final = ("conditions", "weight", "removed", "added", "same")

#: A condition by names: the column, what low or other values and missing ones give, its cut-offs, its categories, and
#: how it is joined with others.
_Leaf: TypeAlias = tuple[str, bool, bool, tuple[float, ...], frozenset[Category], type | None]


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule before and after, and its places in the two circuits; None on one side if it was added or removed."""

    change: Literal["conditions", "weight", "removed", "added", "same"]
    before: str | None
    after: str | None
    weight_before: float | None
    weight_after: float | None
    index_before: int | None
    index_after: int | None

    @property
    def text(self) -> str:
        """The rule, in both versions if its conditions changed."""
        return " → ".join(dict.fromkeys(text for text in (self.before, self.after) if text is not None))


@dataclass(frozen=True, slots=True)
class Cause:
    """A rule that changes a prediction, and by how much."""

    rule: str
    change: float


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row, counted from 1, its prediction before and after, and the causes, which add up to the difference."""

    row: int
    before: float
    after: float
    causes: tuple[Cause, ...]


@dataclass(frozen=True, slots=True)
class Band:
    """Rows that are alike in a column, and the mean change of their predictions."""

    column: str
    label: str
    n_rows: int
    mean: float


@dataclass(frozen=True, slots=True)
class DataChange:
    """The change of predictions on data: its distribution, the rows that change most, the mean by column and band."""

    n_rows: int
    share: float
    """The share of rows whose prediction changes."""
    mean: float
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    rows: tuple[RowChange, ...]
    bands: tuple[Band, ...]


@dataclass(frozen=True, slots=True)
class ModelDiff(Records[RuleChange]):
    """The rules of two models: changed, removed, added and equal ones."""

    rows: tuple[RuleChange, ...]
    intercepts: tuple[float, float]
    decimals: int
    target: str
    data: DataChange | None = None
    _names: ClassVar = tuple(field.name for field in fields(RuleChange))

    def __repr__(self) -> str:
        from dln.report._render import render_part  # Jinja2 takes a while

        cells: list[tuple[str, ...]] = [("change", "before", "after", "rule")]
        for row in self.rows:
            weights = (
                "" if w is None else weight_text(w, self.decimals) for w in (row.weight_before, row.weight_after)
            )
            cells += [(row.change, *weights, row.text)] * (row.change != "same")
        return render_part("diff.txt", diff=self, rules=aligned(cells, left=1)).removesuffix("\n")

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain values."""
        plain = asdict(self)
        return {"rules": plain.pop("rows"), **plain}

    def report(self, path: AnyPath) -> Path:
        """Write the difference as one HTML page that loads nothing."""
        from dln.report._render import render_page  # Jinja2 takes a while

        write_atomically(path, render_page("diff.html", diff=self).encode())
        return Path(path)

    @property
    def counts(self) -> str:
        """The number of rules of each kind of change, in words."""
        kinds: list[str] = [row.change for row in self.rows]
        words = ("with other conditions", "with another weight", *_KINDS[2:])
        return ", ".join(f"{kinds.count(kind)} {text}" for kind, text in zip(_KINDS, words, strict=True))


def diff_models(old: ReportableModel, new: ReportableModel, *values: Sequence[Values]) -> ModelDiff:
    """Return what changed from one model to another; `values` are the same rows as each of them reads them."""
    _check_columns(old, new)
    before, after = old.circuit_, new.circuit_
    ranges = [old.training_facts_.get("ranges", {}), new.training_facts_.get("ranges", {})]
    spreads = {name: high - low for of_model in ranges for name, (low, high) in of_model.items()}
    changes = sorted(
        _changes(before, after, spreads),
        key=lambda one: (_KINDS.index(one.change), -abs(one.weight_after or one.weight_before or 0.0)),
    )
    return ModelDiff(
        tuple(changes),
        (before.intercept, after.intercept),
        max(before.decimals, after.decimals),
        name_text(new._target()),  # noqa: SLF001 (a model of this package)
        _data_change(before, after, changes, *values) if values else None,
    )


def _check_columns(old: ReportableModel, new: ReportableModel) -> None:
    """Raise a `ValueError` unless both models are of the same columns."""
    names, others = old._inputs(), new._inputs()  # noqa: SLF001 (models of this package)
    kinds = {column.name: column.categories is None for column in old.circuit_.columns}
    mixed = [one.name for one in new.circuit_.columns if kinds.get(one.name) is (one.categories is not None)]
    differ = [f"only the first has {name!r}" for name in names if name not in others][:1]
    differ += [f"only the second has {name!r}" for name in others if name not in names][:1]
    differ += [f"{name!r} holds numbers in one and categories in the other" for name in mixed[:1]]
    if differ:
        raise ValueError(f"only models of the same columns can be compared, but {' and '.join(differ)}")


# --- rules ------------------------------------------------------------------------------------------------------------


def _changes(old: Circuit, new: Circuit, spreads: Mapping[str, float]) -> Iterator[RuleChange]:
    """Yield the matched rules, the most similar first, and those without a match."""
    words, others = ([node_text(circuit, rule.node) for rule in circuit.rules] for circuit in (old, new))
    leaves, other_leaves = ([_leaves(circuit, rule.node) for rule in circuit.rules] for circuit in (old, new))
    pairs = []
    for i, rule in enumerate(old.rules):
        for k, other in enumerate(new.rules):
            same_sign = (rule.weight > 0) == (other.weight > 0)
            score = EQUAL if words[i] == others[k] else same_sign * _similarity(leaves[i], other_leaves[k], spreads)
            pairs += [(-score, abs(rule.weight - other.weight), i, k)] * (score >= MIN_SIMILARITY)
    left, right = dict(enumerate(words)), dict(enumerate(others))
    for score, gap, i, k in sorted(pairs):
        if i in left and k in right:
            kind: Any = "conditions" if -score < EQUAL else "weight" if gap else "same"
            yield RuleChange(kind, left.pop(i), right.pop(k), old.rules[i].weight, new.rules[k].weight, i, k)
    for i, text in left.items():
        yield RuleChange("removed", text, None, old.rules[i].weight, None, i, None)
    for k, text in right.items():
        yield RuleChange("added", None, text, None, new.rules[k].weight, None, k)


def _leaves(circuit: Circuit, node: int) -> list[_Leaf]:
    """Return the conditions of a rule, none if it is too long to write out."""
    is_short = node_sizes(circuit)[node] <= MAX_LITERALS_IN_TEXT
    parts: list[tuple[Formula, type | None]] = [(formula(circuit, node), None)] if is_short else []
    leaves: list[_Leaf] = []
    for part, joint in parts:  # which grows
        if isinstance(part, (AllOf, AnyOf, OddOf)):
            parts += [(inner, type(part)) for inner in part.parts]
        elif isinstance(part, NumberCondition):
            leaves.append((circuit.columns[part.column].name, part.low, part.missing, part.ends, frozenset(), joint))
        elif isinstance(part, CategoryCondition):
            column = circuit.columns[part.column]
            named = frozenset((column.categories or ())[code] for code in part.codes)
            leaves.append((column.name, part.other, part.missing, (), named, joint))
    return leaves


def _similarity(first: Sequence[_Leaf], second: Sequence[_Leaf], spreads: Mapping[str, float]) -> float:
    """Return the mean similarity of each condition to the most similar one of the other rule."""
    nearest = [max((_alike(a, b, spreads) for b in second), default=0.0) for a in first]
    return sum(nearest) / max(len(first), len(second), 1)


def _alike(a: _Leaf, b: _Leaf, spreads: Mapping[str, float]) -> float:
    """Return 1 less the distance of cut-offs as a share of the column's range, times the share of common categories.

    Conditions that are joined in different ways are not alike.
    """
    joints = {a[5], b[5]} - {None}
    if a[:3] != b[:3] or len(a[3]) != len(b[3]) or len(joints) > 1:
        return 0.0
    gaps = [abs(x - y) / (spreads.get(a[0]) or max(abs(x), abs(y), 1e-300)) for x, y in zip(a[3], b[3], strict=True)]
    common = len(a[4] & b[4]) / len(a[4] | b[4]) if a[4] | b[4] else 1.0
    return max(0.0, 1.0 - max(gaps, default=0.0)) * common


# --- data -------------------------------------------------------------------------------------------------------------


def _data_change(
    old: Circuit,
    new: Circuit,
    changes: Sequence[RuleChange],
    old_values: Sequence[Values],
    new_values: Sequence[Values],
) -> DataChange:
    decimals = max(old.decimals, new.decimals)
    before, after = predict(old, old_values), predict(new, new_values)
    change = from_grid(np.rint((after - before) * 10.0**decimals), decimals)  # a difference on the grid is exact
    top = np.argsort(-np.abs(change), kind="stable")[:MAX_ROWS]
    top = top[change[top] != 0]
    old_fires, new_fires = old.rule_values([v[top] for v in old_values]), new.rule_values([v[top] for v in new_values])
    rows = []
    for k, row in enumerate(top.tolist()):
        moved = [("intercept", to_grid(new.intercept, decimals) - to_grid(old.intercept, decimals))]
        for one in changes:
            gained = one.weight_after if one.index_after is not None and new_fires[one.index_after][k] else None
            lost = one.weight_before if one.index_before is not None and old_fires[one.index_before][k] else None
            moved.append((one.text, to_grid(gained or 0.0, decimals) - to_grid(lost or 0.0, decimals)))
        rows.append(RowChange(row + 1, float(before[row]), float(after[row]), _causes(moved, decimals)))
    edges = np.linspace(change.min(), change.max(), N_BINS + 1 if change.min() < change.max() else 2)
    read = {
        circuit.columns[test.column].name: (circuit.columns[test.column], values[test.column])
        for circuit, values in ((old, old_values), (new, new_values))
        for test in circuit.literals
    }
    bands = [
        Band(along.name, bin_.label, bin_.n_rows, bin_.bias)
        for along in errors_by(read.values(), change)
        for bin_ in along.bins
    ]
    share, mean, counts = float((change != 0).mean()), float(change.mean()), np.histogram(change, edges)[0]
    return DataChange(
        len(change), share, mean, tuple(edges.tolist()), tuple(counts.tolist()), tuple(rows), tuple(bands)
    )


def _causes(moved: Sequence[tuple[str, int]], decimals: int) -> tuple[Cause, ...]:
    """Return the rules that change a prediction most, and all others together, given steps of the grid."""
    moving = sorted((one for one in moved if one[1]), key=lambda one: -abs(one[1]))
    rest = sum(steps for _, steps in moving[MAX_CAUSES:])
    shown = moving[:MAX_CAUSES] + [("all other rules", rest)] * (rest != 0)
    return tuple(Cause(text, float(from_grid(np.array(float(steps)), decimals))) for text, steps in shown)
